"""Notebooks by their cells: a cell is a definition, and so are the headings and the functions inside.

Line numbers are those of the JSON file. If each line of source is on a line of its own, as all tools write it, the code
of all cells is parsed as one Python text whose lines are mapped to the file.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from llmc.indexer.syntax.outline import EMPTY, Mark, Outline
from llmc.indexer.syntax.sections import LONGEST_NAME, TextSection, last_line, nest, offsets
from llmc.indexer.syntax.tree import read_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_notebook"]

LARGEST = 8_000_000  # characters
_HEAD = 2_000  # a cell's type is near its beginning
_CELL = re.compile(r"^[ \t]*\{[ \t]*\n[ \t]*\"(?:cell_type|attachments|execution_count|id|metadata)\"", re.MULTILINE)
_TYPE = re.compile(r"\"cell_type\":[ \t]*\"(\w+)\"")
_SOURCE = re.compile(r"^[ \t]*\"source\":[ \t]*\[[ \t]*\n((?:[ \t]*\".*\",?\r?\n)*)", re.MULTILINE)
_STRING = re.compile(r"[ \t]*(\".*\"),?\r?")


class NotebookCell(NamedTuple):
    line: int
    is_code: bool
    source: list[tuple[int, str]]  # line in the file, line of source


def read_notebook(text: str) -> Outline:
    if len(text) > LARGEST:
        return EMPTY
    cells = list(_cells(text))
    sections = [TextSection(cell.line, 1, _title(cell, number), "cell") for number, cell in enumerate(cells, start=1)]
    outer = nest(sections, last_line(text))
    inner = _code([line for cell in cells if cell.is_code for line in cell.source])
    marks = sorted([*outer.marks, *inner.marks], key=lambda mark: (mark.lead, -mark.symbol.end_line))
    return Outline(tuple(marks), inner.references, inner.links)


def _cells(text: str) -> Iterator[NotebookCell]:
    lines = offsets(text)
    begins = [one.start() for one in _CELL.finditer(text) if _TYPE.search(text, one.start(), one.start() + _HEAD)]
    for start, end in pairwise([*begins, len(text)]):
        kind = _TYPE.search(text, start, end)
        source = _SOURCE.search(text, start, end)
        strings = list(_strings(source[1], bisect_right(lines, source.start(1)))) if source else []
        yield NotebookCell(bisect_right(lines, start), kind is not None and kind[1] == "code", strings)


def _strings(block: str, line: int) -> Iterator[tuple[int, str]]:
    for number, row in enumerate(block.split("\n"), start=line):
        if found := _STRING.fullmatch(row):
            try:
                yield number, str(json.loads(found[1])).rstrip("\n")
            except ValueError:
                continue


def _title(cell: NotebookCell, number: int) -> str:
    """The first heading of a Markdown cell, otherwise the first words of any cell."""
    texts = [text.strip() for _, text in cell.source if text.strip()]
    heading = next((text for text in texts if text.startswith("#")), "") if not cell.is_code else ""
    return (heading or (texts[0] if texts else "")).strip("# ")[:LONGEST_NAME] or f"cell {number}"


def _code(source: list[tuple[int, str]]) -> Outline:
    """Parse the code; lines in notebook syntax (`%matplotlib`, `!pip`) are replaced by blank ones."""
    text = "\n".join("" if line.lstrip()[:1] in ("%", "!", "?") else line.replace("\n", " ") for _, line in source)
    read = read_tree("python", text.encode("utf-8", "replace"))
    at = [line for line, _ in source]
    marks = tuple(_moved(mark, at) for mark in read.marks)
    references = tuple(one._replace(line=at[one.line - 1]) for one in read.references)
    return Outline(marks, references, read.links)


def _moved(mark: Mark, at: list[int]) -> Mark:
    symbol = mark.symbol
    moved = symbol._replace(start_line=at[symbol.start_line - 1], end_line=at[min(symbol.end_line, len(at)) - 1])
    return Mark(moved, at[mark.lead - 1])
