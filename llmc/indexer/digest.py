"""Turns text into chunks, symbols, references and vectors, without any store, so that a pool of processes can do it.

`syntax` reads the outline of a file: its definitions, and where it may be cut. `cut` divides the lines into chunks,
`capsule` describes each, `parse` joins them, `digest` adds vectors. Every line is in exactly one chunk. `root_fs` reads
the files, and `pipeline` decides which of them are new.

*Cutting.* Every line within the maximum size of a chunk is a candidate for the next cut and has a price. The price is
higher for a line deeper in the nesting of definitions (between two top-level definitions it is zero, within a paragraph
it is highest), for a chunk further from the intended size, and for a chunk that contains other lines before the start
of a definition that it cuts. The cheapest line is chosen. As a result small neighbours share a chunk, a medium
definition has its own, and a large one is cut between its methods or at a blank line.

*Capsules* describe the context of a chunk for retrieval: the names and signatures of the enclosing definitions. They
are never shown and contain no path, so a renamed file needs no new vectors. Imports are omitted, since they lead to the
users of a definition rather than to the definition.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from llmc.base.languages import language_of
from llmc.base.model import Chunk, Parsed
from llmc.embed.static import StaticEmbedder
from llmc.embed.vectors import in_context
from llmc.indexer.syntax import EMPTY, outline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.base.model import Symbol, Vectors
    from llmc.embed import Embedder
    from llmc.indexer.syntax import Mark, Outline

__all__ = ["Digest", "capsule", "digest", "document_key", "document_vectors", "embedded_texts", "parse", "settings",
           "symbols_in"]  # fmt: skip

AIM = 1_500  # characters
LONGEST_CHUNK = 3_000
MOST_LINES = 120
LAST = 2_000  # a remainder of up to this size becomes one chunk

# Prices in units of the chunk size: 1.0 is the price of an empty chunk.
TOO_SHORT = 0.9
TOO_LONG = 0.6
DEPTHS = (0.0, 0.15, 0.3, 0.45)
VALUE = 0.1  # between two constants or fields
HALF_OPEN = 0.45
BLANK_LINE = 0.7
PLAIN_LINE = 1.1
INDENT = 0.02  # for each column, up to ten
_CLOSERS = frozenset({"", "}", "};", "})", "});", ")", "]", "end", "*/", "},", "],", "fi", "done", "esac", "{"})
_VALUES = frozenset({"variable", "constant", "field", "property"})
LONGEST_CAPSULE = 300
LONGEST_LINE = 120
_HEAD_LINES = 12
DOCUMENT_KINDS = frozenset({"heading", "cell", "section", "key"})
_COMMENT_SIGNS = re.compile(r"^[\s/*#;!\-\"'<>|%({]+")
_QUOTES = re.compile(r"\s*[rRuU]?(?:\"\"\"|''')\s*(\S.*)")
_CONFIG = frozenset({"json", "yaml", "toml", "ini", "properties", "xml", "hcl", "gomod"})
# A table of constants has more heads than text. The judged questions rank as well with 2,000 as without a limit, but
# not with 1,000.
LONGEST_HEADS = 2_000


def cut(text: str, starts: Sequence[int], marks: Sequence[Mark]) -> list[int]:
    """The first lines of the chunks, counted from 0. `starts` are the offsets of the lines and, last, of the end."""
    total = len(starts) - 1
    if total and _fits(starts, 0, total):
        return [0]
    places = _Places(text, starts, marks)
    firsts = []
    first = 0
    while first < total:
        firsts.append(first)
        first = total if _fits(starts, first, total) else places.next_cut(first)
    return firsts


def _fits(starts: Sequence[int], first: int, total: int) -> bool:
    return starts[total] - starts[first] <= LAST and total - first <= MOST_LINES


class _Places:
    def __init__(self, text: str, starts: Sequence[int], marks: Sequence[Mark]) -> None:
        self._text = text
        self._starts = starts
        self._prices: dict[int, float] = {}
        self._opened: dict[int, int] = {}
        self._inner_from = [0]
        self._inner_lead = [-1]
        self._read(marks)
        self._edges = sorted(self._prices)

    def _read(self, marks: Sequence[Mark]) -> None:
        """Collect the edges: lines at which a definition begins, or the first line after one."""
        stack: list[tuple[int, int, float]] = []  # end, lead, price
        for mark in marks:
            lead, end = mark.lead - 1, mark.symbol.end_line
            self._leave(stack, lead)
            outer = stack[-1][1] if stack else -1
            price = DEPTHS[min(len(stack), len(DEPTHS) - 1)] + (VALUE if mark.symbol.kind in _VALUES else 0.0)
            self._edge(lead, price, outer)
            stack.append((end, lead, price))
            self._inner_from.append(lead)
            self._inner_lead.append(lead)
        self._leave(stack, len(self._starts))

    def _leave(self, stack: list[tuple[int, int, float]], line: int) -> None:
        while stack and stack[-1][0] <= line:
            end, _, price = stack.pop()
            outer = stack[-1][1] if stack else -1
            self._inner_from.append(end)
            self._inner_lead.append(outer)
            after = end
            while after < len(self._starts) - 1 and after < end + 3 and self._line(after).strip() in _CLOSERS:
                after += 1
            self._edge(after, price, outer)

    def _edge(self, line: int, price: float, outer: int) -> None:
        if price < self._prices.get(line, PLAIN_LINE):
            self._prices[line] = price
            self._opened[line] = outer

    def _line(self, line: int) -> str:
        return self._text[self._starts[line] : min(self._starts[line + 1], self._starts[line] + 200)]

    def next_cut(self, first: int) -> int:
        starts, total = self._starts, len(self._starts) - 1
        reach = min(bisect_right(starts, starts[first] + LONGEST_CHUNK) - 1, first + MOST_LINES, total)
        if reach <= first + 1:
            return first + 1
        best, price = self._best_edge(first, reach)
        if price > BLANK_LINE:
            _, best = min([(price, best), *self._lines(first, reach)])
        return best

    def _best_edge(self, first: int, reach: int) -> tuple[int, float]:
        edges = self._edges
        best, lowest = reach, (0.0 if reach == len(self._starts) - 1 else PLAIN_LINE) + self._size_price(first, reach)
        for line in edges[bisect_right(edges, first) : bisect_right(edges, reach)]:
            price = self._prices[line] + self._size_price(first, line) + HALF_OPEN * (self._opened[line] > first)
            if price < lowest:
                best, lowest = line, price
        return best, lowest

    def _lines(self, first: int, reach: int) -> list[tuple[float, int]]:
        """(price, line) of lines at which no definition begins; lower after a blank line and with less indentation."""
        near = max(first + 1, bisect_left(self._starts, self._starts[first] + AIM // 3))
        priced = []
        blank = False
        for line in range(min(near, reach), reach + 1):
            text = self._line(line) if line < len(self._starts) - 1 else ""
            bare = text.lstrip()
            if bare:
                price = (BLANK_LINE if blank else PLAIN_LINE) + INDENT * min(len(text) - len(bare), 10)
                inner = self._inner_lead[bisect_right(self._inner_from, line) - 1]
                priced.append((price + self._size_price(first, line) + HALF_OPEN * (inner > first), line))
            blank = not bare
        return priced

    def _size_price(self, first: int, line: int) -> float:
        size = self._starts[line] - self._starts[first]
        return TOO_SHORT * (AIM - size) / AIM if size < AIM else TOO_LONG * (size - AIM) / AIM


class Setting(NamedTuple):
    """The surroundings of a chunk: `around` are the definitions that began before it, outermost first."""

    first: int
    last: int
    main: Mark | None
    around: tuple[Mark, ...]


def settings(marks: Sequence[Mark], spans: Sequence[tuple[int, int]]) -> Iterator[Setting]:
    """The surroundings of each span (first line, last line); spans are in order."""
    open_marks: list[Mark] = []
    at = 0
    for first, last in spans:
        open_marks = [mark for mark in open_marks if mark.symbol.end_line >= first]
        around = tuple(open_marks)
        begun: list[Mark] = []
        while at < len(marks) and marks[at].lead <= last:
            begun.append(marks[at])
            at += 1
        yield Setting(first, last, _main(around, begun, first, last), around)
        open_marks += [mark for mark in begun if mark.symbol.end_line > last]


def _main(around: tuple[Mark, ...], begun: list[Mark], first: int, last: int) -> Mark | None:
    """The definition with the most lines here; one that spans the whole chunk only if nothing begins in it."""
    candidates = list(begun)
    if around and (not begun or around[-1].symbol.end_line < last):
        candidates.append(around[-1])
    return max(
        candidates,
        key=lambda mark: min(mark.symbol.end_line, last) - max(mark.lead, first),
        default=None,
    )


def capsule(setting: Setting, line: Callable[[int], str]) -> str:
    """`line` gives the text of a line by its number."""
    parts = [*_names(setting), *_outer_heads(setting, line)]
    return "\n".join(parts)[:LONGEST_CAPSULE].rstrip()


def _names(setting: Setting) -> Iterator[str]:
    main = setting.main
    if main and main.symbol.kind in DOCUMENT_KINDS:
        around = [mark.symbol.name for mark in setting.around]
        yield " > ".join(dict.fromkeys([*around, main.symbol.name]))[:LONGEST_LINE]
    elif main and (main.symbol.container or main in setting.around):
        yield main.symbol.qualified[:LONGEST_LINE]


def _outer_heads(setting: Setting, line: Callable[[int], str]) -> Iterator[str]:
    """Headers and descriptions of the enclosing definitions that begin in an earlier chunk, nearest first."""
    for mark in reversed(setting.around):
        if mark.symbol.kind not in DOCUMENT_KINDS:
            yield mark.symbol.signature[:LONGEST_LINE]
    if setting.main and setting.main in setting.around:
        yield _about(setting.main, line)[:LONGEST_LINE]


def _about(mark: Mark, line: Callable[[int], str]) -> str:
    """The first words of the comment above a definition or of the string below its head."""
    for number in range(mark.lead, mark.symbol.start_line):
        if words := _COMMENT_SIGNS.sub("", line(number)).strip():
            return words
    for number in range(mark.symbol.start_line, min(mark.symbol.start_line + _HEAD_LINES, mark.symbol.end_line) + 1):
        if found := _QUOTES.match(line(number)):
            return found[1].strip("\"' ")
    return ""


def parse(path: str, text: str) -> Parsed:
    """Never fails: text that no reader understands is cut by lines alone."""
    language = language_of(path, text)
    try:
        read = outline(language, text)
    except Exception:  # noqa: BLE001 - a fault in one reader costs a file its symbols, and never the run
        read = EMPTY
    starts = _line_starts(text)
    chunks = tuple(_chunks(language, text, starts, read))
    symbols = tuple(mark.symbol for mark in read.marks)
    return Parsed(language, len(starts) - 1, chunks, symbols, read.references, read.links)


def symbols_in(path: str, text: str) -> tuple[Symbol, ...]:
    """The definitions in the text; none if no reader understands it."""
    try:
        read = outline(language_of(path, text), text)
    except Exception:  # noqa: BLE001 - as in `parse`
        return ()
    return tuple(mark.symbol for mark in read.marks)


def _chunks(language: str, text: str, starts: list[int], read: Outline) -> Iterator[Chunk]:
    def line(number: int) -> str:
        return text[starts[number - 1] : starts[number]]

    gap = "config" if language in _CONFIG else "text"
    firsts = cut(text, starts, read.marks)
    spans = [(first + 1, after) for first, after in pairwise([*firsts, len(starts) - 1])]
    for ordinal, setting in enumerate(settings(read.marks, spans)):
        body = text[starts[setting.first - 1] : starts[setting.last]]
        symbol = setting.main.symbol if setting.main else None
        kind, name = (symbol.kind, symbol.qualified) if symbol else (gap, "")
        yield Chunk(ordinal, setting.first, setting.last, kind, name, body, capsule(setting, line))


def _line_starts(text: str) -> list[int]:
    """The offset of each line, and finally that of the end of the text."""
    lengths = [len(line) + 1 for line in text.split("\n")]
    lengths[-1] -= 1
    starts = list(accumulate(lengths, initial=0))
    return starts if lengths[-1] else starts[:-1]


@dataclass(frozen=True, slots=True)
class Digest:
    """`vectors` is None if the caller has them already (after a rename) or if there is no embedder."""

    parsed: Parsed
    vectors: Vectors | None


def document_key(path: str, content: str) -> str:
    return blake2b(path.encode("utf-8", "surrogateescape") + b"\0" + content.encode(), digest_size=16).hexdigest()


def digest(files: Sequence[tuple[str, str]], embedder: Embedder | None) -> list[Digest]:
    """Parse (path, text) pairs and embed all their chunks in one go: a model works best in batches."""
    parsed = [parse(path, text) for path, text in files]
    if embedder is None:
        return [Digest(one, None) for one in parsed]
    return [Digest(one, rows) for one, rows in zip(parsed, document_vectors(parsed, embedder), strict=True)]


def document_vectors(parsed: Sequence[Parsed], embedder: Embedder) -> list[Vectors]:
    """The vectors of each document's chunks. Only those of a static model get a share of their neighbours; this was not
    measured with other models."""
    rows = embedder.embed([text for one in parsed for text in embedded_texts(one)])
    ends = np.cumsum([len(one.chunks) for one in parsed])
    found = [rows[end - len(one.chunks) : end] for one, end in zip(parsed, ends, strict=True)]
    return [in_context(one) for one in found] if isinstance(embedder, StaticEmbedder) else found


def embedded_texts(parsed: Parsed) -> Iterator[str]:
    """The text to embed for each chunk. It contains no path, so that a rename needs no embedding.

    The names and signatures that a chunk defines precede its text twice: in a model that averages words, one line among
    forty has little weight (docs/decisions/0023).
    """
    for chunk, said in zip(parsed.chunks, _heads(parsed), strict=True):
        heads = "\n".join(said)[:LONGEST_HEADS]
        yield "\n".join(part for part in (heads, heads, chunk.capsule, chunk.text) if part)


def _heads(parsed: Parsed) -> list[list[str]]:
    starts = [chunk.start_line for chunk in parsed.chunks]
    heads: list[list[str]] = [[] for _ in starts]
    for symbol in parsed.symbols if starts else ():
        if symbol.kind not in DOCUMENT_KINDS:
            chunk = max(0, bisect_right(starts, symbol.start_line) - 1)
            heads[chunk] += (symbol.qualified, symbol.signature)
    return heads
