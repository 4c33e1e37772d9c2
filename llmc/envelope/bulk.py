"""Cleans the lines of a large grep in bulk: files with their matching lines become `path:12:text` without secrets.

    cleaner = BulkCleaner(redactor, text_of)
    for piece in pieces: write(cleaner.clean(root, piece))

A piece is output of ripgrep with `--heading --null`: for each file its path, NUL, its lines as `12:text`, and an empty
line between files. Hardly any line of source code needs cleaning, so two passes of RE2 first determine for some
kilobytes at once that they contain no secret, field or hidden character. Other files are redacted one by one, and
cleaned like any other reply if that changes anything. The patterns are those of `redact`, adapted to numbered lines;
they may have false positives but no false negatives.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from llmc.envelope.clean import DOUBTFUL, NAMELESS, EnvelopeCleaner
from llmc.envelope.envelope import Envelope, Group, Item, Row
from llmc.envelope.redact.fields import BARE, BARE_IN_CODE, CONTINUED, SHAPES
from llmc.envelope.redact.inserts import INSERT
from llmc.envelope.redact.table import compiled, matcher, table
from llmc.envelope.redact.values import ContentKind, kind_of
from llmc.envelope.visible import has_hidden

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.envelope.clean import TextOf
    from llmc.envelope.redact.redactor import Redactor

__all__ = ["BulkCleaner"]

# Smaller segments are more often clean, but cost more calls.
SEGMENT: Final = 16 << 10
# The bytes of one file that are checked together.
MOST_OF_FILE: Final = 128 << 10
BETWEEN: Final = b"\n\n"
FILES_KEPT: Final = 16_384
# What may have to change in the matching lines of a file, each with all before it.
NONE: Final = 0
VALUE: Final = 1  # values whose names may be on other lines
FIELD: Final = 2  # values of named fields
ANY: Final = 3
_NUMBER: Final = rb"(?:[0-9]+[:-])?"
_CONTROL: Final = rb"[\x00-\x08\x0b-\x1f\x7f]"
_VALUES: Final = NAMELESS.pattern.encode().replace(b"^[ ", b"^" + _NUMBER + b"[ ")
_LINE_START: Final = rb"^|(?m:^)[0-9]+[:-]"
_FLAGS: Final = re.compile(rb"(?s)((?:\(\?[a-z]+\))?)(.*)")
_SPACE: Final = re.compile(rb"(\[\^?\]?(?:[^\]\\]|\\.)*\])|\\s")  # a class, or a space outside of one
_CLASS: Final = re.compile(rb"\[(?:[^\]\\]|\\.)+\]")
_BETWEEN: Final = re.compile(BETWEEN)
_NUMBERED: Final = re.compile(rb"(?m)^(\d+)([:-])")
_NEXT_NUMBER: Final = re.compile(rb"\n\d+[:-]")  # `re` finds a literal first character ten times as fast as `^`


class BulkCleaner:
    """`context`: the lines include context lines around matches."""

    def __init__(self, redactor: Redactor, text_of: TextOf, *, context: bool = False) -> None:
        self._redactor = redactor
        self._text_of = text_of
        self._context = context
        self._of_file = (("", ""), EnvelopeCleaner(redactor, text_of))

    def clean(self, root: str, piece: bytes) -> bytes:
        """The lines of a piece as they are printed."""
        out: list[bytes] = []
        for segment in segments(piece):
            blocks = [block.partition(b"\0") for block in segment.split(BETWEEN)]
            doubts = dict.fromkeys(range(len(blocks)), ANY)
            if not self._redactor.has_own_rules:
                doubts = suspects(segment, [path for path, _, _ in blocks])
            for at, (path, _, rows) in enumerate(blocks):
                doubt = doubts.get(at, NONE)
                out.append(self._checked(root, path, rows, doubt) if doubt else self._printed(path, rows))
        return b"".join(out)

    def _printed(self, path: bytes, rows: bytes) -> bytes:
        """Put the path in front of every line, followed by a colon for a match or a dash for context."""
        rows = without_returns(rows.removesuffix(b"\n"))
        if self._context:
            return _NUMBERED.sub(lambda start: path + start[2] + start[0], rows) + b"\n"
        start = path + b":"
        return start + rows.replace(b"\n", b"\n" + start) + b"\n"

    def names(self, lines: bytes) -> bytes:
        """Clean lines with only a path, possibly with a count."""
        text = lines.decode("utf-8", "surrogateescape")
        return self._redactor.redact(text).text.encode("utf-8", "surrogateescape")

    def _checked(self, root: str, path: bytes, rows: bytes, doubt: int) -> bytes:
        name = os.fsdecode(path)
        if (doubt > VALUE and self._is_changed(name, without_returns(without_numbers(rows)), doubt)) or (
            not is_code(path) and compiled(_VALUES).search(rows) and self._has_secrets(root, name)
        ):
            return self._cleaned(root, name, rows)
        return self._printed(self.names(path), rows)

    def _is_changed(self, name: str, data: bytes, doubt: int) -> bool:
        """Whether the lines themselves have something to remove or to make visible."""
        text = data.decode("utf-8", "replace")
        if doubt == ANY and (is_hidden(data, text) or compiled(DOUBTFUL).search(data)):
            return True
        return bool(self._redactor.redact(text, name).findings)

    def _has_secrets(self, root: str, name: str) -> bool:
        """Whether the whole file has secrets, whose names may be on lines that do not match."""
        findings = self._cleaner(root, name).findings(root, name)
        return findings is None or bool(findings)

    def _cleaner(self, root: str, name: str) -> EnvelopeCleaner:
        """The cleaner for a file. It caches the findings of the whole file, and pieces of one file are consecutive."""
        if self._of_file[0] != (root, name):
            self._of_file = ((root, name), EnvelopeCleaner(self._redactor, self._text_of))
        return self._of_file[1]

    def _cleaned(self, root: str, name: str, rows: bytes) -> bytes:
        """Clean the rows like any other reply."""
        marks = []
        shown = []
        for row in rows.removesuffix(b"\n").split(b"\n"):
            start = _NUMBERED.match(row)
            assert start is not None, "ripgrep numbers every line"
            marks.append(start[2].decode())
            line = row[start.end() :].removesuffix(b"\r").decode("utf-8", "replace")
            shown.append(Row(line, int(start[1])))
        group = Group("", (Item(tuple(shown), "", root, name),))
        (item,) = self._cleaner(root, name).envelope(Envelope("grep", "", (group,))).items()
        lines = zip(marks, item.rows, strict=True)
        name = os.fsdecode(self.names(os.fsencode(name)))
        text = "".join(f"{name}{mark}{row.number}{mark}{row.text}\n" for mark, row in lines)
        return text.encode("utf-8", "surrogateescape")


def without_numbers(rows: bytes) -> bytes:
    return _NEXT_NUMBER.sub(b"\n", b"\n" + rows)[1:]


def without_returns(rows: bytes) -> bytes:
    """The rows without carriage returns at line ends."""
    if b"\r" not in rows:
        return rows
    return (rows + b"\n").replace(b"\r\n", b"\n").removesuffix(b"\n")


def segments(piece: bytes) -> Iterator[bytes]:
    """Split between files; a file with very many matches is split between lines, with its path repeated."""
    at = 0
    while len(piece) - at > SEGMENT:
        end = piece.find(BETWEEN, at + SEGMENT)
        end = len(piece) if end < 0 else end
        if end - at <= MOST_OF_FILE:
            yield piece[at:end]
        else:
            yield from parts(piece, at, end)
        at = end + len(BETWEEN)
    if at < len(piece):
        yield piece[at:]


def parts(piece: bytes, at: int, end: int) -> Iterator[bytes]:
    """Split bytes whose last file is large."""
    start = piece.rfind(BETWEEN, at, end) + len(BETWEEN)
    if start > at + 1:
        yield piece[at : start - len(BETWEEN)]
        at = start
    path = b""
    while at < end:
        cut = piece.find(b"\n", at + SEGMENT, end)
        cut = end if cut < 0 else cut
        yield path + piece[at:cut]
        path = path or piece[at : piece.find(b"\0", at) + 1]
        at = cut + 1


def suspects(segment: bytes, paths: Sequence[bytes]) -> dict[int, int]:
    """What may have to be removed or made visible, by the indexes of files."""
    text = without_returns(segment)
    doubts = {at: ANY for at, path in enumerate(paths) if has_own_rules(path)}
    ends: list[int] = []
    flat = text.replace(b"\0", b"\n")
    is_all_code = all(map(is_code, paths))
    for gate in gates():
        if gate.outside_code and is_all_code:
            continue
        found = gate.matcher.Match(flat)
        if found and not ends:
            ends = [*(match.start() for match in _BETWEEN.finditer(text)), len(text)]
        for index in found or ():
            regex, doubt = gate.patterns[index]
            for at in files_with(regex, flat, ends):
                if doubt > doubts.get(at, NONE) and not (gate.outside_code and is_code(paths[at])):
                    doubts[at] = doubt
    if not text.isascii() or text.count(b"\0") > len(paths):
        for at, block in enumerate(text.split(BETWEEN)):
            inner = block.replace(b"\0", b"\n", 1)
            # The patterns have found every other control character.
            if (not inner.isascii() or b"\0" in inner) and is_hidden(inner, inner.decode("utf-8", "replace")):
                doubts[at] = ANY
    return doubts


def is_hidden(data: bytes, text: str) -> bool:
    """Whether a character must be made visible, or the data is not UTF-8."""
    return has_hidden(text) or (not data.isascii() and text.encode() != data)


class Gate(NamedTuple):
    """Patterns that are searched for at once. `patterns` decide where one of them matches, and how much is doubtful
    there."""

    matcher: Any
    patterns: tuple[tuple[Any, int], ...]
    outside_code: bool = False


def files_with(regex: Any, text: bytes, ends: Sequence[int]) -> Iterator[int]:
    """The files with a match; a match across the end of a file is searched for again without the following text."""
    at = 0
    while (match := regex.search(text, at)) is not None:
        file = bisect_left(ends, match.start())
        end = ends[file]
        if match.end() <= end or regex.search(text, match.start(), end) is not None:
            yield file
        at = end + len(BETWEEN)
        if at >= len(text):
            return


@cache
def gates() -> tuple[Gate, ...]:
    """All patterns, in two sets, since one set would take five times as long, and those that count outside of code.

    The patterns in a set may be cheaper than those that decide, and match wherever these do.
    """
    known = table()
    near = [numbered(rule.near or rule.pattern) for rule in known.rules]
    rules = [numbered(rule.pattern) for rule in known.rules]
    signs = [known.block, known.hidden, _CONTROL, numbered(DOUBTFUL)]
    shapes = [*(numbered(shape.pattern) for shape in SHAPES if shape is not BARE), BARE_IN_CODE]
    shapes += [*map(numbered, CONTINUED), numbered(INSERT.replace(b"{1,1000}", b"+"))]
    return (
        Gate(matcher([*near, *signs]), tuple((compiled(pattern), ANY) for pattern in (*rules, *signs))),
        Gate(matcher(shapes), tuple((compiled(shape), FIELD) for shape in shapes)),
        Gate(
            matcher([BARE.pattern, _VALUES]),
            ((compiled(BARE.pattern), FIELD), (compiled(_VALUES), VALUE)),
            outside_code=True,
        ),
    )


def has_own_rules(path: bytes) -> bool:
    """Whether the name of a file has its own rules."""
    return path.rpartition(b"/")[2].lstrip(b"._").partition(b".")[0] in file_names()


@cache
def file_names() -> frozenset[bytes]:
    return frozenset(map(str.encode, table().files))


@lru_cache(FILES_KEPT)
def is_code(path: bytes) -> bool:
    return kind_of(os.fsdecode(path)) is ContentKind.CODE


def numbered(pattern: bytes) -> bytes:
    """Adapt a pattern to numbered lines: the start of a line, or the end of the previous one, precedes a number."""
    pattern = _SPACE.sub(lambda found: found[1] or rb"(?:\s|\n[0-9]+[:-])", pattern)
    flags, body = _FLAGS.fullmatch(pattern).groups()  # type: ignore[union-attr] # it matches every pattern
    if body.startswith(b"^"):
        return b"%s^%s%s" % (flags, _NUMBER, body[1:])
    if body.startswith(b"(?:^|"):
        return b"%s(?:%s|%s" % (flags, _LINE_START, body.removeprefix(b"(?:^|"))
    if (first := _CLASS.match(body)) is not None and (rb"\s" in first[0] or rb"\n" in first[0]):
        return b"%s(?:%s|%s)%s" % (flags, first[0], _LINE_START, body[first.end() :])
    return pattern
