"""From bytes to text and lines: encodings, what counts as binary, and where a line ends.

`decode` never fails: it gives a `DecodedText` that can be stored as UTF-8, or says that the bytes are `Binary` and why.
A line ends at a line feed and nowhere else, as in ripgrep; a carriage return before it belongs to the ending. The
chunker and grep both count so. Making control characters visible is left to the envelope.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from hashlib import blake2b

__all__ = ["Binary", "DecodedText", "content_hash", "count_lines", "decode", "is_plain", "split_lines"]

_HEAD = 8192  # a NUL among this many first bytes means binary; git looks at 8,000, ripgrep at its first buffer
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b")) + b"\x7f"  # terminal logs are full of backspace and escape
_CONTROL_SHARE = 1 / 32  # random bytes have 0.1 of them, compressed ones as many, texts hardly any
_BROKEN_SHARE = 1 / 100  # random bytes read as UTF-16 have 0.03 of halves of pairs
_ZERO_SHARE = 0.7  # of the high bytes of UTF-16 that is mostly Latin


@dataclass(frozen=True, slots=True)
class DecodedText:
    """`encoding` is a codec's name. `lossy`: bytes that the codec does not know became U+FFFD."""

    text: str
    encoding: str
    lossy: bool = False


@dataclass(frozen=True, slots=True)
class Binary:
    """`controls`: it holds no NUL near its start, only many other control characters; ripgrep searches such a file."""

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
    """UTF-8 without a mark and without surprises: the lines of such a text can be cut out of its bytes."""
    if data.find(0, 0, _HEAD) >= 0 or data.startswith(codecs.BOM_UTF8):
        return False
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
    return True


def content_hash(data: bytes) -> str:
    """What tells one content from another; part of the index format."""
    return blake2b(data, digest_size=16).hexdigest()


def split_lines(text: str) -> list[str]:
    """The lines without their endings. A carriage return that no line feed follows stays in its line."""
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
    # A few bad bytes in a UTF-8 file must not turn all its other letters into pairs of Latin-1 ones.
    if whole >= broken or encoding == "utf-8-sig":
        return DecodedText(text, encoding, lossy=True)
    return DecodedText(data.decode("latin-1"), "latin-1")


def _marked_utf16(data: bytes) -> DecodedText | Binary:
    encoding = "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    text = data[2:].decode(encoding, "replace")
    broken = text.count("\ufffd")
    if "\0" in text[:_HEAD] or broken > max(1, len(text) * _BROKEN_SHARE):
        return Binary("not the UTF-16 that its mark says")
    return DecodedText(text, encoding, lossy=broken > 0)


def _unmarked_utf16(data: bytes) -> DecodedText | None:
    """UTF-16 without a mark, if nothing else explains the bytes: NULs in most of one half alone, and no controls."""
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
