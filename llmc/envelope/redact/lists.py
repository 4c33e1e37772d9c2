"""Lists of names: in `['email', 'password', 'signatureDate']`, `password` has no value.

A list has square brackets or is PHP's `array(...)`, and contains at least three quoted names and nothing else: with a
flag, an address or a pair it may contain values (`["tool", "--password", "x"]`). Two strings are a name and its
value, as are two arguments of a call. A word with digits, or one that looks generated, is judged as a value everywhere.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from llmc.envelope.redact.values import is_passphrase, is_random

__all__ = ["is_name_in_list"]

_NAME: Final = rb"""\\?["'`][A-Za-z_][\w.\-]*\\?["'`]"""
_NAMES: Final = re.compile(rb"\s*" + _NAME + rb"(?:\s*,\s*" + _NAME + rb"){2,}\s*(?:,\s*)?")
_WITHOUT_DIGITS: Final = re.compile(rb"[A-Za-z_][A-Za-z_.\-]*")
_CLOSING: Final = {b"[": b"]", b"(": b")"}
_REACH: Final = 2048  # bytes to either side, since this is checked for each value of a long list


def is_name_in_list(data: bytes, start: int, end: int) -> bool:
    """Whether the word from `start` to `end` is a name in a list of names."""
    if not is_like_name(data[start:end]):
        return False
    first = max(0, start - _REACH)
    opened = max(data.rfind(bracket, first, start) for bracket in _CLOSING)
    if opened < 0:
        return False
    bracket = data[opened : opened + 1]
    if bracket == b"(" and data[max(0, opened - 5) : opened].lower() != b"array":
        return False
    closed = data.find(_CLOSING[bracket], end, end + _REACH)
    return closed >= 0 and are_names(data[opened + 1 : closed])


@lru_cache(1024)
def is_like_name(word: bytes) -> bool:
    if not _WITHOUT_DIGITS.fullmatch(word):
        return False
    shown = word.decode("ascii")
    return not (is_random(shown) or is_passphrase(shown))


@lru_cache(64)
def are_names(inside: bytes) -> bool:
    return _NAMES.fullmatch(inside) is not None
