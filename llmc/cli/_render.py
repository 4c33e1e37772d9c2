"""Formats counts, sizes, durations and ages. Each command does its own layout."""

from __future__ import annotations

import time

__all__ = ["ago", "count", "duration", "size"]

STEP = 1_000
_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def count(number: int, noun: str = "") -> str:
    """`1 file`, `5,012 files`."""
    text = f"{number:,}"
    return text if not noun else f"{text} {noun}" if number == 1 else f"{text} {noun}s"


def size(number: float) -> str:
    units = ["B", "KB", "MB", "GB"]
    while number >= STEP and len(units) > 1:
        number /= STEP
        units.pop(0)
    return f"{_two_digits(number)} {units[0]}"


def duration(seconds: float) -> str:
    """With two significant digits: `40 ms`, `4.1 s`, `48 s`, `3 min`, `2 h`."""
    if seconds < 1:
        return f"{seconds * 1_000:.0f} ms"
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{_two_digits(seconds)} s"


def ago(when: float | None) -> str:
    return "never" if not when else f"{duration(max(0.0, time.time() - when))} ago"


def _two_digits(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0") if number < 10 else f"{number:.0f}"  # noqa: PLR2004 - named by the function
