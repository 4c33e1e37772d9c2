"""Complete command outputs, stored as long as their handles: cleaned once, then read in pages.

An output can be far larger than a reply, so it is stored in a file next to the handle, and pages are read from it. The
file contains what may be shown: decoded as a terminal would display it, redacted, with hidden characters visible. Lines
longer than a page are split.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from llmc.base.errors import NotFoundError
from llmc.base.text import Binary, DecodedText, decode
from llmc.envelope.logs import as_shown
from llmc.envelope.visible import visible_text

if TYPE_CHECKING:
    from llmc.base.home import Home
    from llmc.envelope.redact.redactor import Redactor
    from llmc.extend.shell.capture import Captured

__all__ = ["Outputs", "StoredOutput", "cleaned"]

LONGEST_LINE: Final = 2_000
NUL_SHARE: Final = 1 / 32
NAME: Final = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """`binary` is why the output is not text; it has no lines then."""

    lines: tuple[str, ...]
    binary: str = ""


def cleaned(captured: Captured, redactor: Redactor) -> StoredOutput:
    head = decode_lines(captured.head)
    if isinstance(head, Binary):
        return StoredOutput((), head.reason)
    lines = head
    if captured.dropped:
        tail = decode_lines(captured.tail)
        between = f"… {captured.dropped:,} bytes (about {captured.dropped_lines:,} lines) omitted …"
        lines = [*head, between, *([] if isinstance(tail, Binary) else tail)]
    # Redacted as one string, so that multi-line keys are recognized.
    lines = visible_text(redactor.redact("\n".join(lines)).text, endings=False).split("\n") if lines else []
    if any(len(line) > LONGEST_LINE for line in lines):
        lines = [piece for line in lines for piece in pieces(line)]
    return StoredOutput(tuple(lines))


def decode_lines(data: bytes) -> list[str] | Binary:
    """The lines, or why the data is binary. A few NUL bytes do not make text binary."""
    text = decode(data)
    if isinstance(text, Binary) and data.count(0) <= len(data) * NUL_SHARE:
        without = decode(data.replace(b"\0", b""))
        if isinstance(without, DecodedText):
            text = DecodedText(data.decode("utf-8", "replace"), "utf-8")
    return text if isinstance(text, Binary) else as_shown(text.text)


def pieces(line: str) -> list[str]:
    if len(line) <= LONGEST_LINE:
        return [line]
    return [line[at : at + LONGEST_LINE] for at in range(0, len(line), LONGEST_LINE)]


class Outputs:
    """`hours` and `max_bytes` are the limits of handles."""

    def __init__(self, home: Home, *, hours: float, max_bytes: int) -> None:
        self._folder = os.path.join(home.path, "outputs")  # noqa: PTH118 - strings, as in Home
        self._seconds = hours * 3600
        self._max_bytes = max_bytes

    def put(self, lines: tuple[str, ...]) -> str:
        """Store an output and return its name; equal outputs have the same name."""
        data = "\n".join(lines).encode("utf-8", "backslashreplace")
        name = blake2b(data, digest_size=16).hexdigest()
        os.makedirs(self._folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - strings, as in Home
        path = self._path(name)
        partial = f"{path}.{os.getpid()}.part"
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(data)
        os.replace(partial, path)  # noqa: PTH105 - strings, as in Home
        self._sweep(name)
        return name

    def lines(self, name: str) -> list[str]:
        try:
            if not NAME.fullmatch(name):
                raise FileNotFoundError(name)
            with os.fdopen(os.open(self._path(name), os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                data = file.read()
        except OSError:
            raise NotFoundError("this output has expired", hint="Run the command again.") from None
        return data.decode("utf-8", "replace").split("\n") if data else []

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"{name}.txt")  # noqa: PTH118 - strings, as in Home

    def _sweep(self, newest: str) -> None:
        """Delete expired outputs, then the oldest until the rest fits."""
        with os.scandir(self._folder) as entries:
            files = sorted(
                ((entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in entries), reverse=True
            )
        total, oldest = 0, time.time() - self._seconds
        for mtime, size, path in files:
            total += size
            if (mtime < oldest or total > self._max_bytes) and newest not in path:
                os.unlink(path)  # noqa: PTH108 - strings, as in Home
