"""Which lines of one file match? In process, with RE2, where it is sure to agree with ripgrep; `Undecided` otherwise.

RE2 and ripgrep agree on every ASCII file. Elsewhere RE2 knows Unicode's characters and case, but its \\w, \\d, \\s
and \\b are ASCII; and a file that is not UTF-8 has no characters for it at all. Those go to ripgrep.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.retrieval.grep.pattern import GrepPlan

__all__ = ["ROW", "MatchedLine", "Matcher", "Undecided", "read_rows", "rows_of", "searched_end"]


class Undecided(Exception):  # noqa: N818 - not an error: ripgrep is asked instead
    """Only ripgrep knows for this file; of its `lines`, so many count, None for all."""

    def __init__(self, lines: int | None = None) -> None:
        super().__init__()
        self.lines = lines


@dataclass(frozen=True, slots=True)
class MatchedLine:
    """`around` is the text that matched, where the line is too long to be shown whole."""

    number: int
    text: str
    matched: bool = True
    around: str = ""


@dataclass(frozen=True)
class Matcher:
    plan: GrepPlan
    word: bool = False

    def lines(self, data: bytes, stop: int | None = None) -> list[tuple[int, int, int]]:
        """(number, start, end) of each matching line, at most `stop` of them."""
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise Undecided
        if self.plan.literal is not None and not self.word:
            return literal_lines(data, self.plan.literal.encode(), stop)
        if data.isascii():
            return regex_lines(data, self._ascii, stop)
        if self.plan.ascii_only or self.word or not is_utf8(data):
            raise Undecided
        return regex_lines(data, self._unicode, stop)

    def spans(self, line: bytes) -> list[tuple[int, int]]:
        """Where an ASCII line matches."""
        if self.plan.literal is not None and not self.word:
            needle = self.plan.literal.encode()
            found = (match.span() for match in re.finditer(re.escape(needle), line))
        else:
            found = (match.span() for match in self._ascii.finditer(line))
        return [span for _, span in zip(range(MOST_SPANS), found, strict=False)]

    def first_match(self, line: str) -> str:
        """The text that matches first; empty if only ripgrep knows."""
        if self.plan.literal is not None and not self.word:
            return self.plan.literal
        try:
            regex = self._ascii if line.isascii() else self._unicode
            match = regex.search(line.encode("utf-8", "replace"))
        except Undecided:
            return ""
        return match.group().decode("utf-8", "replace") if match else ""

    @property
    def source(self) -> str:
        if not self.word:
            return self.plan.source
        flags, _, rest = self.plan.source.partition(")")
        return f"{flags}){WORD_START}(?:{rest}){WORD_END}"

    @cached_property
    def _ascii(self) -> Any:
        return compiled(self.source.encode(), latin1=self.source.isascii())

    @cached_property
    def _unicode(self) -> Any:
        return compiled(self.source.encode(), latin1=False)


MOST_SPANS = 20  # of one line, enough to tell what it is


# ripgrep's -w requires no word character before and none after, whatever the match itself begins and ends with.
WORD_START = r"(?:^|\W)"
WORD_END = r"(?:$|\W)"


@lru_cache(maxsize=64)
def compiled(source: bytes, *, latin1: bool) -> Any:
    """Raises Undecided when RE2 will not take the pattern (too large a program)."""
    import re2  # noqa: PLC0415 - 20 ms that a client's start need not pay

    options = re2.Options()
    options.never_nl = True
    options.never_capture = True
    options.log_errors = False
    if latin1:
        options.encoding = re2.Options.Encoding.LATIN1
    try:
        return re2.compile(source, options)
    except re2.error as error:
        raise Undecided from error


# ripgrep reads a file by so many bytes, whole lines of them, and twice as many for a line that is longer.
BUFFER = 65_536


def searched_end(data: bytes) -> int:
    """How far ripgrep searches a file that it came across: up to the buffer that holds a NUL byte."""
    nul = data.find(0)
    if nul < 0 or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return len(data)
    start = end = 0  # of the line that is not whole yet, and of what was read
    room = BUFFER
    while nul >= start + room:
        newline = data.rfind(b"\n", end, start + room)
        end = start + room
        start, room = (newline + 1, room) if newline >= 0 else (start, room * 2)
    return start


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def literal_lines(data: bytes, needle: bytes, stop: int | None) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    number, counted, at = 1, 0, data.find(needle)
    size = len(data)
    while at >= 0 and at < size and len(found) != stop:
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = size if end < 0 else end
        number += data.count(b"\n", counted, start)
        counted = start
        found.append((number, start, end))
        at = data.find(needle, end + 1) if end < size else -1
    return found


def regex_lines(data: bytes, regex: Any, stop: int | None) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    number, counted, at, size = 1, 0, 0, len(data)
    while at < size and len(found) != stop:
        match = regex.search(data, at)
        if match is None:
            break
        hit = match.start()
        if hit >= size and data.endswith(b"\n"):
            break  # behind the last line there is no further, empty one
        start = data.rfind(b"\n", 0, hit) + 1
        end = data.find(b"\n", hit)
        end = size if end < 0 else end
        number += data.count(b"\n", counted, start)
        counted = start
        found.append((number, start, end))
        at = end + 1
    return found


def rows_of(data: bytes, hits: list[tuple[int, int, int]], before: int, after: int) -> bytes:
    """The matching lines with their context as ripgrep prints them, each line once, in order."""
    if not before and not after:
        return b"\n".join(b"%d:%s" % (number, data[start:end]) for number, start, end in hits)
    matched = {number for number, _, _ in hits}
    wanted = {line for number in matched for line in range(number - before, number + after + 1)}
    lines = data.removesuffix(b"\n").split(b"\n")
    return b"\n".join(
        b"%d%s%s" % (line, b":" if line in matched else b"-", lines[line - 1])
        for line in sorted(wanted)
        if 1 <= line <= len(lines)
    )


def read_rows(rows: bytes) -> Iterator[MatchedLine]:
    for row in rows.split(b"\n"):
        match = ROW.match(row)
        if match is not None:
            yield MatchedLine(int(match[1]), show(row[match.end() :]), match[2] == b":")


ROW = re.compile(rb"(\d+)([:-])")


def show(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")
