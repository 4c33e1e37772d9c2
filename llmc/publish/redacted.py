"""Removes secrets from the bytes of a file before they leave the machine.

A file without secrets is not changed. Otherwise the redacted text is encoded as before, and bytes that were invalid in
that encoding become U+FFFD.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, NamedTuple

from llmc.base.text import Binary, decode

if TYPE_CHECKING:
    from llmc.envelope.redact.redactor import Redactor

__all__ = ["CleanFile", "redact_file"]

MARKS = {"utf-8-sig": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}


class CleanFile(NamedTuple):
    """`is_prose` is False for data with many control characters, which only grep searches."""

    content: bytes
    text: str
    secrets: int
    is_prose: bool = True


def redact_file(redactor: Redactor, path: str, data: bytes) -> CleanFile | None:
    """None for binary files."""
    decoded = decode(data)
    if isinstance(decoded, Binary):
        return _controls(redactor, path, data) if decoded.controls else None
    done = redactor.redact(decoded.text, path)
    if not done.findings:
        return CleanFile(data, decoded.text, 0)
    codec = "utf-8" if decoded.encoding == "utf-8-sig" else decoded.encoding
    mark = MARKS.get(decoded.encoding, b"")
    marked = mark if data.startswith(mark) else b""
    return CleanFile(marked + done.text.encode(codec, "replace"), done.text, len(done.findings))


def _controls(redactor: Redactor, path: str, data: bytes) -> CleanFile:
    """Latin-1 maps every byte to one character and back."""
    done = redactor.redact(data.decode("latin-1"), path)
    content = done.text.encode("latin-1") if done.findings else data
    return CleanFile(content, content.decode("utf-8", "replace"), len(done.findings), is_prose=False)
