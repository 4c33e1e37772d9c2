"""Cleans the lines of a large grep in bulk: files with their matching lines come in, `path:12:text` goes out, without
secrets.

    cleaner = BulkCleaner(redactor, text_of)
    for piece in pieces: write(cleaner.clean(root, piece))

A piece is what ripgrep prints with `--heading --null`: for each file its path, NUL, its lines as `12:text`, and an
empty line between files. Hardly a line of source code holds anything to remove, so most of the text is only looked at:
three passes of RE2 say of some kilobytes at once that no rule, no field and nothing hidden can be in them. What is not
ruled out that way is redacted file by file, and cleaned as any other reply if that changes anything. The patterns are
those of `redact`, made to fit numbered lines; they may suspect too much and never too little.
"""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from llmc.envelope.clean import DOUBTFUL, NAMELESS, clean
from llmc.envelope.envelope import Envelope, Group, Item, Row
from llmc.envelope.redact.fields import BARE, BARE_IN_CODE, CONTINUED, SHAPES
from llmc.envelope.redact.table import compiled, matcher, table
from llmc.envelope.redact.values import ContentKind, kind_of
from llmc.envelope.visible import visible_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.envelope.clean import TextOf
    from llmc.envelope.redact.redactor import Redactor

__all__ = ["BulkCleaner"]

# Smaller segments are ruled out more often and cost more calls.
SEGMENT: Final = 16 << 10
# Lines of one file that are looked at together.
MOST_OF_FILE: Final = 128 << 10
BETWEEN: Final = b"\n\n"
FILES_KEPT: Final = 16_384
_NUMBER: Final = rb"(?:[0-9]+[:-])?"
_CONTROL: Final = rb"[\x00-\x08\x0b-\x1f\x7f]"
_VALUES: Final = NAMELESS.pattern.encode().replace(b"^[ ", b"^" + _NUMBER + b"[ ")
_NUMBERED: Final = re.compile(rb"(?m)^(\d+)([:-])")


class BulkCleaner:
    """`context`: some lines are not matches but surround them."""

    def __init__(self, redactor: Redactor, text_of: TextOf, *, context: bool = False) -> None:
        self._redactor = redactor
        self._text_of = text_of
        self._context = context
        self._known = (("", ""), False)

    def clean(self, root: str, piece: bytes) -> bytes:
        """The lines as they are printed."""
        out: list[bytes] = []
        for segment in segments(piece):
            blocks = [block.partition(b"\0") for block in segment.split(BETWEEN)]
            suspect = self._redactor.has_own_rules or is_suspect(segment, [path for path, _, _ in blocks])
            for path, nul, rows in blocks:
                plain = not suspect or (
                    len(blocks) > 1
                    and not self._redactor.has_own_rules
                    and not is_suspect(b"%s%s%s" % (path, nul, rows), [path])
                )
                out.append(self._printed(path, rows) if plain else self._checked(root, path, rows))
        return b"".join(out)

    def _printed(self, path: bytes, rows: bytes) -> bytes:
        """The path in front of every line, and a colon behind it for a match, a dash for context."""
        rows = without_returns(rows.removesuffix(b"\n"))
        if self._context:
            return _NUMBERED.sub(lambda start: path + start[2] + start[0], rows) + b"\n"
        start = path + b":"
        return start + rows.replace(b"\n", b"\n" + start) + b"\n"

    def names(self, lines: bytes) -> bytes:
        """Paths alone, one a line, perhaps with a count."""
        text = lines.decode("utf-8", "surrogateescape")
        return self._redactor.redact(text).text.encode("utf-8", "surrogateescape")

    def _checked(self, root: str, path: bytes, rows: bytes) -> bytes:
        name = os.fsdecode(path)
        data = without_returns(_NUMBERED.sub(b"", rows))
        text = data.decode("utf-8", "replace")
        if (
            compiled(DOUBTFUL).search(data)
            or self._redactor.redact(text, name).findings
            or is_hidden(data, text)
            or (not is_code(path) and compiled(_VALUES).search(rows) and self._has_secrets(root, name))
        ):
            return self._cleaned(root, name, rows)
        return self._printed(self.names(path), rows)

    def _has_secrets(self, root: str, name: str) -> bool:
        """Whether the whole file has any, whose names may be on lines that do not match. Pieces of one file follow each
        other."""
        if self._known[0] != (root, name):
            whole = self._text_of(root, name)
            self._known = ((root, name), whole is None or bool(self._redactor.redact(whole, name).findings))
        return self._known[1]

    def _cleaned(self, root: str, name: str, rows: bytes) -> bytes:
        """As any other reply."""
        marks = []
        shown = []
        for row in rows.removesuffix(b"\n").split(b"\n"):
            start = _NUMBERED.match(row)
            assert start is not None, "ripgrep numbers every line"
            marks.append(start[2].decode())
            line = row[start.end() :].removesuffix(b"\r").decode("utf-8", "replace")
            shown.append(Row(line, int(start[1])))
        group = Group("", (Item(tuple(shown), "", root, name),))
        (item,) = clean(Envelope("grep", "", (group,)), self._redactor, self._text_of, data=False).items()
        lines = zip(marks, item.rows, strict=True)
        name = os.fsdecode(self.names(os.fsencode(name)))
        text = "".join(f"{name}{mark}{row.number}{mark}{row.text}\n" for mark, row in lines)
        return text.encode("utf-8", "surrogateescape")


def without_returns(rows: bytes) -> bytes:
    """Without the carriage returns of line ends."""
    if b"\r" not in rows:
        return rows
    return (rows + b"\n").replace(b"\r\n", b"\n").removesuffix(b"\n")


def segments(piece: bytes) -> Iterator[bytes]:
    """Cut between files; one with very many matches is cut between lines, and its path repeated."""
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
    """The last file in these bytes is a large one."""
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


def is_suspect(segment: bytes, paths: Sequence[bytes]) -> bool:
    """Whether something may have to be removed or made visible in these files."""
    text = without_returns(segment.replace(b"\0", b"\n"))
    known = gates()
    found = known.rules.Match(text)
    if found and any(confirmed(text, index) for index in found):
        return True
    if any(gate.Match(text) for gate in known.anywhere) or any(map(has_own_rules, paths)):
        return True
    if known.outside_code.Match(text) and not all(map(is_code, paths)):
        return True
    return not text.isascii() and is_hidden(text, text.decode("utf-8", "replace"))


def confirmed(text: bytes, index: int) -> bool:
    """A rule may have been recognised by a cheaper pattern than its own."""
    rules = table().rules
    return index >= len(rules) or not rules[index].near or bool(compiled(numbered(rules[index].pattern)).search(text))


def is_hidden(data: bytes, text: str) -> bool:
    """Whether a character must be made visible, or is not UTF-8."""
    return visible_text(text, endings=False) != text or (not data.isascii() and text.encode() != data)


class Gates(NamedTuple):
    """Which patterns match at all. In one set they would take three times as long as one after the other."""

    rules: Any
    anywhere: tuple[Any, ...]
    outside_code: Any


@cache
def gates() -> Gates:
    known = table()
    rules = [numbered(rule.near or rule.pattern) for rule in known.rules]
    shapes = [numbered(shape.pattern) for shape in SHAPES if shape is not BARE]
    return Gates(
        matcher([*rules, known.block, known.hidden]),
        (matcher([*shapes, BARE_IN_CODE]), matcher([*map(numbered, CONTINUED), _CONTROL, numbered(DOUBTFUL)])),
        matcher([BARE.pattern, _VALUES]),
    )


def has_own_rules(path: bytes) -> bool:
    """Whether a file has rules of its own by its name."""
    return path.rpartition(b"/")[2].lstrip(b"._").partition(b".")[0] in file_names()


@cache
def file_names() -> frozenset[bytes]:
    return frozenset(map(str.encode, table().files))


@lru_cache(FILES_KEPT)
def is_code(path: bytes) -> bool:
    return kind_of(os.fsdecode(path)) is ContentKind.CODE


def numbered(pattern: bytes) -> bytes:
    """What begins a line of a file begins behind its number here."""
    for anchor in (b"(?m)^", b"(?mi)^"):
        if pattern.startswith(anchor):
            return anchor + _NUMBER + pattern[len(anchor) :]
    return pattern
