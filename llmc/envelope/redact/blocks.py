"""Secrets that span lines: private keys in PEM (with or without their end), PuTTY and OpenSSH format, and the values of
Kubernetes secrets.

A caller may have only some lines of a file. The lines above an END belong to its block even if the BEGIN is missing.
In torn text (`torn`: lines of a file, with gaps) a full line of base64 counts as part of a key, unless a BEGIN line
above it names a certificate or something else that is public.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from llmc.envelope.redact.table import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["blocks", "is_torn", "torn"]

_BEGIN: Final = re.compile(rb"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END: Final = re.compile(rb"-{4,5} ?END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PUTTY: Final = re.compile(rb"Private-Lines:[\t ]*\d+[\t ]*\r?\n")
_MATERIAL: Final = re.compile(rb"[A-Za-z0-9+/]{20}")
# A line of a block, also in a comment, a literal, a diff or indented text.
_BODY: Final = re.compile(
    rb"""[\t >|#/*"'+-]*"""
    rb"""(?:[A-Za-z0-9+/]{4,}={0,2}|=[A-Za-z0-9+/]{4}|(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\n]*)?"""
    rb"""(?:\\r|\\n|["'+,;\\)\s])*"""
)
_LONGEST: Final = 64 << 10  # an RSA key of 16,384 bits has 13 kB

_FULL: Final = re.compile(
    rb"""[\t >|#*"'+-]*([A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70}|[A-Za-z0-9+/]{76})(?:\\n|["'+,;\\\s])*"""
)
_RUN: Final = rb"[A-Za-z0-9+/]{64}"  # part of every full line
_OPENED: Final = re.compile(rb"-{4,5} ?BEGIN ([A-Z0-9 ]+?) ?-{4,5}")

_KUBERNETES: Final = re.compile(rb"(?m)^kind:[\t ]*[\"']?Secret[\"']?[\t ]*$")
_DATA: Final = re.compile(rb"(?m)^(?:data|stringData):[\t ]*\n((?:[\t ]+[^\n]*(?:\n|$)|[\t ]*\n)+)")
_ENTRY: Final = re.compile(rb"""(?m)^[\t ]+[\w.\-]+:[\t ]*["']?([^\s"'|>{$<][^\s"']*)""")


def blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """(start, end) of the secret part of each block, without its first and last line."""
    if b"PRIVATE KEY" in data:
        yield from pem(data)
    if b"Private-Lines" in data:
        for found in _PUTTY.finditer(data):
            yield found.end(), body_end(data, found.end())
    if b"Secret" in data and _KUBERNETES.search(data):
        for block in _DATA.finditer(data):
            yield from (entry.span(1) for entry in _ENTRY.finditer(data, *block.span(1)))


def pem(data: bytes) -> Iterator[tuple[int, int]]:
    begins = list(_BEGIN.finditer(data))
    for begin, following in zip_longest(begins, begins[1:]):
        limit = min(begin.end() + _LONGEST, following.start() if following else len(data))
        end = _END.search(data, begin.end(), limit)
        stop = end.start() if end else body_end(data, begin.end())
        if _MATERIAL.search(data, begin.end(), stop):
            yield begin.end(), stop
    for end in _END.finditer(data):
        start = body_start(data, end.start())
        if _MATERIAL.search(data, start, end.start()):
            yield start, end.start()


def body_end(data: bytes, at: int) -> int:
    """The end of the last line that can belong to a key whose block begins at `at`."""
    stop = at
    while at < len(data) and at - stop < _LONGEST:
        line_end = data.find(b"\n", at)
        line_end = len(data) if line_end < 0 else line_end
        line = data[at:line_end]
        if not (_BODY.fullmatch(line) or b"\\n" in line):
            break
        if line.strip():
            stop = line_end
        at = line_end + 1
    return stop


def body_start(data: bytes, at: int) -> int:
    """The start of the first line above `at` that can belong to a key."""
    start = data.rfind(b"\n", 0, at) + 1
    while start:
        above = data.rfind(b"\n", 0, start - 1) + 1
        line = data[above : start - 1]
        if not line.strip() or not _BODY.fullmatch(line):
            break
        start = above
    return start


def is_torn(data: bytes) -> bool:
    """Whether any line may be part of a key. Few texts have one, and this is one search for all lines."""
    return compiled(_RUN).search(data) is not None


def torn(lines: list[bytes]) -> Iterator[int]:
    """The indexes of lines that look like part of a key."""
    public = False
    for index, line in enumerate(lines):
        opened = _OPENED.search(line)
        if opened:
            public = b"PRIVATE" not in opened[1]
        full = _FULL.fullmatch(line)
        if full and not public and is_material(full[1]):
            yield index
        elif full is None and line.strip() and b"-----END" in line:
            public = False


def is_material(run: bytes) -> bool:
    """Random base64: letters of every kind and digits, with at least 24 different characters, so not hexadecimal."""
    kinds = (rb"[a-f]", rb"[g-z]", rb"[A-F]", rb"[G-Z]", rb"[0-9]")
    return all(re.search(kind, run) for kind in kinds) and len(set(run)) >= 24  # noqa: PLR2004 - 64 draws of 64 give 41
