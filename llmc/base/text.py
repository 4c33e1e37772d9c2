"""Decodes bytes to text and lines: encodings, detection of binary files, line endings.

`decode` never fails: it returns a `DecodedText` that can be stored as UTF-8, or `Binary` with the reason. Only a line
feed ends a line, as in ripgrep; a carriage return before it is part of the line ending. The chunker and grep both use
these rules. `envelope` makes control characters visible.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from hashlib import blake2b

__all__ = ["Binary", "DecodedText", "content_hash", "count_lines", "decode", "indent_of", "is_plain", "split_lines"]

_HEAD = 8192  # a NUL within this many bytes means binary; git checks 8,000 bytes, ripgrep its first buffer
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b")) + b"\x7f"  # terminal logs contain backspaces and escapes
_CONTROL_SHARE = 1 / 32  # about 0.1 in random and compressed data, close to 0 in text
_BROKEN_SHARE = 1 / 100  # random bytes read as UTF-16 have 0.03 lone surrogates
_ZERO_SHARE = 0.7  # of the high bytes in UTF-16 text that is mostly Latin


@dataclass(frozen=True, slots=True)
class DecodedText:
    """`encoding` is a codec's name. Invalid bytes became U+FFFD."""

    text: str
    encoding: str


@dataclass(frozen=True, slots=True)
class Binary:
    """`controls`: there is no NUL near the start, but many other control characters; ripgrep searches such files."""

    reason: str
    controls: bool = False


def decode(data: bytes) -> DecodedText | Binary:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _marked_utf16(data)
    if data.find(0, 0, _HEAD) >= 0:
        return _unmarked_utf16(data) or Binary("a NUL byte near its start")
    if len(data) - len(data.translate(None, _CONTROL)) > len(data) * _CONTROL_SHARE:
        return Binary("many control characters", controls=True)
    if data.startswith(codecs.BOM_UTF8):
        return _utf8(data[len(codecs.BOM_UTF8) :], "utf-8-sig")
    return _utf8(data, "utf-8")


def is_plain(data: bytes) -> bool:
    """Whether the data is valid UTF-8 without a BOM or NUL, so that its lines can be sliced from the bytes."""
    if data.find(0, 0, _HEAD) >= 0 or data.startswith(codecs.BOM_UTF8):
        return False
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
    return True


def content_hash(data: bytes) -> str:
    """The identity of a content; part of the index format."""
    return blake2b(data, digest_size=16).hexdigest()


def split_lines(text: str) -> list[str]:
    """The lines without their endings. A carriage return without a line feed stays in its line."""
    lines = text.split("\n")
    last = lines.pop()
    if "\r\n" in text:
        lines = [line.removesuffix("\r") for line in lines]
    if last:
        lines.append(last)
    return lines


def count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _utf8(data: bytes, encoding: str) -> DecodedText:
    try:
        return DecodedText(data.decode("utf-8"), encoding)
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = len(text) - len(text.encode("ascii", "ignore")) - broken
    # A few invalid bytes in a UTF-8 file must not turn all its other letters into pairs of Latin-1 characters.
    if whole >= broken or encoding == "utf-8-sig":
        return DecodedText(text, encoding)
    return DecodedText(data.decode("latin-1"), "latin-1")


def _marked_utf16(data: bytes) -> DecodedText | Binary:
    encoding = "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    text = data[2:].decode(encoding, "replace")
    broken = text.count("\ufffd")
    if "\0" in text[:_HEAD] or broken > max(1, len(text) * _BROKEN_SHARE):
        return Binary("invalid UTF-16 after a UTF-16 mark")
    return DecodedText(text, encoding)


def _unmarked_utf16(data: bytes) -> DecodedText | None:
    """UTF-16 without a BOM: NULs in most bytes at even positions or in most at odd ones, and no control characters."""
    first, second = data[:_HEAD:2].count(0), data[1:_HEAD:2].count(0)
    most, least = max(first, second), min(first, second)
    if len(data) % 2 or least * 20 > most or most < _ZERO_SHARE * min(len(data), _HEAD) / 2:
        return None
    encoding = "utf-16-be" if first > second else "utf-16-le"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if any(chr(byte) in text for byte in _CONTROL) else DecodedText(text, encoding)


def indent_of(line: str) -> int:
    """How many characters of white space a line begins with."""
    return len(line) - len(line.lstrip())
