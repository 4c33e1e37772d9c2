"""What a grammar cannot read, put in words that it can, byte for byte of the same length.

Two habits hide whole files: macros around the items of a Rust module (`cfg_rt! { pub fn … }`), and the test cases of
bats. Only the parser sees the change; names and signatures are taken from the text as it is.
"""

from __future__ import annotations

import re

__all__ = ["plain"]

_ITEM_MACRO = re.compile(rb"^(?:[ \t]*cfg_\w+|[a-z]\w{4,})![ \t]*\{(?=[ \t]*\r?$)", re.MULTILINE)
_BATS_TEST = re.compile(rb"^@test ([\"'])([^\n]*)\1 \{", re.MULTILINE)
_NOT_A_WORD = re.compile(rb"\W")


def plain(grammar: str, data: bytes) -> bytes:
    if grammar == "rust" and b"! {" in data:
        return _ITEM_MACRO.sub(_block, data)
    if grammar == "bash" and b"@test " in data:
        return _BATS_TEST.sub(_function, data)
    return data


def _block(found: re.Match[bytes]) -> bytes:
    """`cfg_rt! {` → `extern  {`, which may hold any item and has no name."""
    text = found[0]
    indent = len(text) - len(text.lstrip())
    return text[:indent] + b"extern".ljust(len(text) - indent - 1) + b"{"


def _function(found: re.Match[bytes]) -> bytes:
    """`@test "adds 1" {` → `_______adds_1(){`."""
    return b"_" * 7 + _NOT_A_WORD.sub(b"_", found[2]) + b"(){"
