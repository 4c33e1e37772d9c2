"""Pages with scripts in them: HTML, Vue, Svelte, Astro. Scripts are parsed; ids and headings are read from the rest."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING

from llmc.base.model import Symbol
from llmc.indexer.syntax.outline import Mark, Outline
from llmc.indexer.syntax.sections import LONGEST_NAME, offsets
from llmc.indexer.syntax.tree import read_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_component", "read_html"]

MOST_IDS = 2_000
_SCRIPT = re.compile(r"<script\b([^<>]{0,500})>", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</script\b", re.IGNORECASE)
_OTHER_TYPE = re.compile(
    r"\btype\s?=\s?[\"']?(?!module|\w+/(?:javascript|babel|typescript|ecmascript|jsx))[\w/+.-]", re.IGNORECASE
)
_FENCE = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_HEADING_OR_ID = re.compile(
    r"<h[1-6]\b[^<>\n]{0,300}>(?P<heading>[^<\n]{1,300})<"
    r"|<[a-z][\w:-]{0,50}\s(?:[^<>]{0,500}?\s)?id=[\"'](?P<id>[^\"'{}<>\s]{1,100})[\"']",
    re.IGNORECASE,
)


def read_html(text: str) -> Outline:
    return _merged(_scripts(text, "javascript"), _with_ids(text))


def read_component(text: str) -> Outline:
    """A single-file component; its scripts may be TypeScript, whose grammar also reads JavaScript."""
    return _merged(_scripts(text, "typescript"), [])


def _merged(scripts: list[Outline], named: list[Mark]) -> Outline:
    marks = [*named, *(mark for one in scripts for mark in one.marks)]
    marks.sort(key=lambda mark: (mark.lead, -mark.symbol.end_line))
    references = tuple(reference for one in scripts for reference in one.references)
    links = tuple(link for one in scripts for link in one.links)
    return Outline(tuple(marks), references, links)


def _scripts(text: str, grammar: str) -> list[Outline]:
    outlines = []
    for start, end in [*(found.span(1) for found in _FENCE.finditer(text)), *_script_places(text)]:
        read = read_tree(grammar, text[start:end].encode("utf-8", "replace"))
        outlines.append(_shifted(read, text.count("\n", 0, start)))
    return outlines


def _script_places(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while len(text) > at and (begin := _SCRIPT.search(text, at)) and (end := _SCRIPT_END.search(text, begin.end())):
        at = end.end()
        if not _OTHER_TYPE.search(begin[1]):
            yield begin.end(), end.start()


def _shifted(read: Outline, lines: int) -> Outline:
    marks = tuple(Mark(_lower(mark.symbol, lines), mark.lead + lines) for mark in read.marks)
    references = tuple(one._replace(line=one.line + lines) for one in read.references)
    return Outline(marks, references, read.links)


def _lower(symbol: Symbol, lines: int) -> Symbol:
    return symbol._replace(start_line=symbol.start_line + lines, end_line=symbol.end_line + lines)


def _with_ids(text: str) -> list[Mark]:
    lines = offsets(text)
    return list(islice(_marks(text, lines), MOST_IDS))


def _marks(text: str, lines: list[int]) -> Iterator[Mark]:
    for found in _HEADING_OR_ID.finditer(text):
        name, kind = (found["id"], "id") if found["id"] else (" ".join(found["heading"].split()), "heading")
        line = bisect_right(lines, found.start())
        if name:
            yield Mark(Symbol(name[:LONGEST_NAME], kind, "", line, line, name[:LONGEST_NAME]), line)
