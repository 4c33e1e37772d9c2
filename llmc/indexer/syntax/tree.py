"""Turns a text with a grammar into an outline: parse, run the query, arrange definitions, collect references."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from llmc.base.model import Symbol
from llmc.indexer.syntax import grammar
from llmc.indexer.syntax.grammar import plain
from llmc.indexer.syntax.links import Receivers, find_links
from llmc.indexer.syntax.names import definitions, kind_of, parts_of
from llmc.indexer.syntax.outline import EMPTY, Mark, Outline
from llmc.indexer.syntax.uses import as_references, find_imports, find_references

if TYPE_CHECKING:
    from tree_sitter import Node

    from llmc.indexer.syntax.names import Captures, DefinedName, DefinitionNode, DefinitionTree

__all__ = ["line_starts", "read_tree"]

LONGEST_SIGNATURE = 200
MOST_SYMBOLS = 5_000  # of one file; more of them are tables
_ONE_LINE = frozenset({"variable", "constant", "field", "property", "type", "key", "section"})
_NEAR = 200  # bytes; lines written by hand are shorter
_BY_EQUATIONS = frozenset({"haskell", "elixir", "erlang"})
_BEFORE = frozenset({b"", b"template"})  # allowed before a comment or attribute on its line
_ANNOTATIONS = re.compile(r"^(?:@(?!mixin|function|keyframes|interface)[\w.]+(?:\([^()]*\))? |\[[^\]]*\] )+")
_ATTRIBUTES = frozenset({"annotation", "marker_annotation", "attribute", "attribute_list", "decorator"})
_MODIFIER_LISTS = frozenset({"modifiers", "modifier"})
_MODIFIERS = re.compile(rb"[\w\s]*")


def read_tree(name: str, data: bytes) -> Outline:
    """Read the outline with the grammar `name`."""
    captures = grammar.captures(name, plain(name, data))
    if captures is None:
        return EMPTY
    lines = line_starts(data)
    imports = find_imports(data, captures)
    defined = definitions(data, captures, {start for start, _ in imports.spans})
    marks = _Marks(data, lines, captures).all(defined)
    if name in _BY_EQUATIONS:
        marks = _joined(marks)
    known = {mark.symbol.name.encode() for mark in marks} | {name.encode() for name in imports.names}
    found = find_references(data, captures, defined, imports, known)
    references = as_references(found, lines, defined, Receivers(name, data, captures))
    return Outline(marks, tuple(references), find_links(name, data, lines, captures, defined, imports))


def line_starts(data: bytes) -> list[int]:
    """The offset of each line. Only a line feed ends a line."""
    feeds = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    starts: list[int] = (feeds + 1).tolist()
    return [0, *starts]


class _Marks:
    def __init__(self, data: bytes, lines: list[int], captures: Captures) -> None:
        self._data = data
        self._lines = lines
        self._comments = self._above(captures, "lead")
        self._spans = sorted((node.start_byte, node.end_byte) for node in captures.get("lead", ()))
        self._decorators = self._above(captures, "deco")

    def _above(self, captures: Captures, capture: str) -> dict[int, int]:
        """Last line → first line of comments and attributes above definitions, on lines of their own."""
        lines, data = self._lines, self._data
        rows: dict[int, int] = {}
        for node in captures.get(capture, ()):
            start = node.start_byte
            first = bisect_right(lines, start)
            last = bisect_right(lines, max(start, node.end_byte - 1))
            after = lines[last] if last < len(lines) else len(data)
            begin, end = lines[first - 1], node.end_byte
            if start - begin > _NEAR or after - end > _NEAR:
                continue
            if data[begin:start].strip() in _BEFORE and not data[end:after].strip():
                rows[last] = min(first, rows.get(last, first))
        return rows

    def all(self, defined: DefinitionTree) -> tuple[Mark, ...]:
        marks: list[Mark] = []
        for one in defined.all:
            marks += [self._mark(one, name) for name in one.names]
            if len(marks) > MOST_SYMBOLS:
                break
        return tuple(marks)

    def _mark(self, one: DefinitionNode, name: DefinedName) -> Mark:
        front, last = parts_of(self._data, name)
        container = f"{one.container}.{front}" if one.container and front else one.container or front
        kind = kind_of(name.kind, last, one.outer_kind)
        several = len(one.names) > 1 and kind in _ONE_LINE
        start, end = (name.start, name.end) if several else (one.start, one.end)
        first = bisect_right(self._lines, start)
        signature = self._signature(one, name, kind)
        first = _up(self._decorators, first)
        final = max(first, bisect_right(self._lines, max(start, end - 1)))
        return Mark(Symbol(last, kind, container, first, final, signature), _up(self._comments, first))

    def _signature(self, one: DefinitionNode, name: DefinedName, kind: str) -> str:
        """The source from the modifiers to the body, or to the end of the line with the name."""
        data, lines, start = self._data, self._lines, one.start
        line = lines[bisect_right(lines, start) - 1]
        if start - line < _NEAR and _MODIFIERS.fullmatch(data, line, start):
            start = line
        stop = self._body(one) if kind not in _ONE_LINE else None
        if stop is None:
            named_at = bisect_right(lines, name.start)
            stop = lines[named_at] if named_at < len(lines) else one.end
        attributes = attributes_of(one.node, name.start)
        source = self._declaration(start, min(stop, one.end), attributes)
        text = " ".join(source.decode("utf-8", "replace").split())
        if text[:1] in ("@", "[") and not one.default:
            text = _ANNOTATIONS.sub("", text)
        return text[:LONGEST_SIGNATURE].rstrip(" {:=;,")

    def _declaration(self, start: int, stop: int, attributes: list[tuple[int, int]]) -> bytes:
        """The source of a signature, without comments among its arguments or before its body, and without attributes,
        which may be longer than any signature."""
        left = 4 * LONGEST_SIGNATURE
        pieces = []
        spans = merge(attributes, islice(self._spans, bisect_left(self._spans, (start, 0)), None))
        for first, last in spans:
            if first >= min(stop, start + left):
                break
            pieces.append(self._data[start:first])
            left -= max(0, first - start)
            start = max(start, last)
        return b" ".join([*pieces, self._data[start : min(stop, start + left)]])

    def _body(self, one: DefinitionNode) -> int | None:
        if one.body is not None:
            return one.body
        node = one.node.child_by_field_name("body")
        return node.start_byte if node else None


def attributes_of(node: Node, before: int) -> list[tuple[int, int]]:
    """Annotations, attributes and decorators of a definition itself, in the order of the text: those of its parameters
    come after its name, which begins at `before`."""
    found: list[tuple[int, int]] = []
    for child in node.named_children:
        if child.end_byte > before:
            break
        if child.type in _ATTRIBUTES:
            found.append((child.start_byte, child.end_byte))
        elif child.type in _MODIFIER_LISTS:
            found += attributes_of(child, before)
    return found


def _up(rows: dict[int, int], line: int) -> int:
    while (above := rows.get(line - 1)) is not None:
        line = above
    return line


def _joined(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """The equations of one function are one definition, its type signature included."""
    joined: list[Mark] = []
    places: dict[str, int] = {}
    for mark in marks:
        at = places.get(mark.symbol.qualified)
        if at is not None and _continues(joined[at], mark):
            symbol = joined[at].symbol._replace(end_line=max(joined[at].symbol.end_line, mark.symbol.end_line))
            joined[at] = Mark(symbol, joined[at].lead)
        else:
            places[mark.symbol.qualified] = len(joined)
            joined.append(mark)
    return tuple(joined)


def _continues(one: Mark, other: Mark) -> bool:
    near = other.lead <= one.symbol.end_line + 2
    return near and one.symbol.kind == other.symbol.kind and other.symbol.kind in ("function", "macro")
