"""What a terminal would show of these bytes: colours gone, progress bars as they ended, one string for each line.

A carriage return goes back to the start of the line and what follows is written over it; a backspace goes back by one.
Sequences that move about in the screen are dropped, since an output has no screen. What is left and cannot be seen is
made visible by the envelope.
"""

from __future__ import annotations

import re
from typing import Final

from llmc.envelope.visible import TERMINAL_ESCAPES

__all__ = ["as_shown", "shown_line"]

_ESCAPES: Final = re.compile(TERMINAL_ESCAPES)
_ERASE: Final = re.compile(r"\x1b\[[012]?K")
# A line longer than this is data; writing over it cell by cell would take as long as it is.
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
    """Characters written into cells, as the cursor goes; DEL stands for "erase to the end of the line" here."""
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
