"""Resolves terminal control sequences: colours are removed, progress bars appear in their final state.

After a carriage return the line is overwritten from its start; a backspace moves back by one. Cursor movements across
the screen are dropped, since an output has no screen. `envelope.visible` makes other hidden characters visible.
"""

from __future__ import annotations

import re
from typing import Final

from llmc.envelope.visible import TERMINAL_ESCAPES

__all__ = ["as_shown", "shown_line"]

_ESCAPES: Final = re.compile(TERMINAL_ESCAPES)
_ERASE: Final = re.compile(r"\x1b\[[012]?K")
# Longer lines are data; processing them character by character would be slow.
LONGEST_DRAWN: Final = 20_000


def as_shown(text: str) -> list[str]:
    """The lines, without their endings."""
    if text.isascii() and "\x1b" not in text and "\r" not in text and "\b" not in text:
        lines = text.split("\n")
    else:
        lines = [shown_line(line) for line in text.split("\n")]
    if lines and not lines[-1]:
        lines.pop()
    return lines


def shown_line(line: str) -> str:
    if "\x1b" in line or "\x9b" in line:
        line = _ESCAPES.sub("", _ERASE.sub("\x7f" if "\r" in line else "", line))
    line = line.rstrip("\r")
    if "\r" in line or "\b" in line:
        line = drawn(line)
    return line.replace("\x7f", "") if "\x7f" in line else line


def drawn(line: str) -> str:
    """Write characters into cells as a cursor would; DEL is used here for "erase to the end of the line"."""
    if len(line) > LONGEST_DRAWN:
        return line.rpartition("\r")[2]
    cells: list[str] = []
    at = 0
    for character in line:
        if character == "\r":
            at = 0
        elif character == "\b":
            at = max(0, at - 1)
        elif character == "\x7f":
            del cells[at:]
        else:
            cells[at : at + 1] = character
            at += 1
    return "".join(cells)
