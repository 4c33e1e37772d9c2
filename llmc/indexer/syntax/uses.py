"""The references of a tree: calls, imports, inheritance, types, and other uses of names that look like symbols.

A query captures only the name: `@call`, `@inherit`, `@type`, `@import` with its `@from` and `@alias` inside an
`@imports` statement (`@maybe.imports` where importing is a call like any other), and `@use` for every identifier.
Most identifiers are local variables. A use is recorded only if this file defines or imports the name, or if it is
spelled like a type or a constant, and only once per definition. (This leaves some 60,000 of 830,000 identifiers in the
Python code of Django.)
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from llmc.base.model import Reference
from llmc.indexer.syntax.names import IMPORTING, LONGEST_NAME, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.indexer.syntax.links import Receivers
    from llmc.indexer.syntax.names import Captures, DefinitionTree

__all__ = ["Found", "Imports", "as_references", "find_imports", "find_references"]

_PRIMITIVES = frozenset(
    b"int string bool byte error any str float void char double long short unsigned boolean number object String "
    b"Integer Boolean int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uint8_t uint16_t uint32_t uint64_t "
    b"int32_t int64_t size_t float32 float64 rune usize u8 u32 u64 i32 i64 None Self self var auto Int Object".split()
)
MOST = 20_000  # references of one file; more of them are tables
_KINDS = ("inherit", "call", "type", "write")
_JOINTS = str.maketrans("/\\:#", "....")


Found = tuple[int, str, str]  # byte, kind, name; creating a class instead would take a third of the time here


class Imports(NamedTuple):
    """`names` are the local names of imports; `spans` are the bytes of import statements, which contain no uses."""

    found: list[Found]
    names: set[str]
    spans: list[tuple[int, int]]


def find_imports(data: bytes, captures: Captures) -> Imports:
    spans = sorted(_statements(data, captures))
    inside = _Inside(data, captures, spans)
    found: list[Found] = [(start, "import", name) for start, name in inside.texts("from")]
    names = {name for _, name in inside.texts("alias")}
    for start, name in inside.texts("import"):
        last = _last_part(name)
        found += [(start, "import", each) for each in dict.fromkeys((name, last)) if each]
        names.add(last)
    return Imports(found, names - {""}, spans)


def _last_part(name: str) -> str:
    """`a.b.C` → C, `std::io` → io, `./lib/paths.js` → paths."""
    if "/" in name:
        return name.rstrip("/").rpartition("/")[2].partition(".")[0]
    return name.rstrip("*._:\\").translate(_JOINTS).rpartition(".")[2]


def _statements(data: bytes, captures: Captures) -> Iterator[tuple[int, int]]:
    for node in captures.get("imports", ()):
        yield node.start_byte, node.end_byte
    for node in captures.get("maybe.imports", ()):
        if IMPORTING.match(data, node.start_byte, node.end_byte):
            yield node.start_byte, node.end_byte


class _Inside:
    """The texts of captures; those marked `maybe` only within statements that are imports."""

    def __init__(self, data: bytes, captures: Captures, spans: list[tuple[int, int]]) -> None:
        self._data = data
        self._captures = captures
        self._spans = spans

    def texts(self, capture: str) -> list[tuple[int, str]]:
        nodes = list(self._captures.get(capture, ()))
        for node in self._captures.get(f"maybe.{capture}", ()):
            at = _statement(self._spans, node.start_byte)
            if at >= 0 and node.start_byte < self._spans[at][1]:
                nodes.append(node)
        pairs = (
            (node.start_byte, text_of(self._data, node.start_byte, node.end_byte).strip("<>():")) for node in nodes
        )
        return sorted((start, name) for start, name in pairs if name.strip("."))


def _statement(spans: list[tuple[int, int]], byte: int) -> int:
    return bisect_right(spans, (byte, byte + 1_000_000_000)) - 1


def find_references(
    data: bytes, captures: Captures, defined: DefinitionTree, imports: Imports, known: set[bytes]
) -> list[Found]:
    """All references by position. `known` are the names that this file defines or imports."""
    words = _Words()
    found = list(imports.found)
    taken = defined.places() | {node.start_byte for node in captures.get("skip", ())}
    for kind in _KINDS:
        for node in captures.get(kind, ()):
            start = node.start_byte
            word = data[start : node.end_byte]
            if start not in taken:
                taken.add(start)
                if kind == "type" and (len(word) == 1 or word in _PRIMITIVES) and word not in known:
                    continue
                found.append((start, kind, words[word]))
    spans = imports.spans
    attributes = {node.end_byte for node in captures.get("recv", ())}
    last_import = spans[-1][1] if spans else 0
    for node in captures.get("use", ()):
        start = node.start_byte
        if start not in taken:
            word = data[start : node.end_byte]
            if (
                word in known
                or (b"A" <= word[:1] <= b"Z" and len(word) > 2)  # noqa: PLR2004 - T and ID tell nothing
                or start - 1 in attributes
            ):
                if start < last_import and (at := _statement(spans, start)) >= 0 and start < spans[at][1]:
                    continue
                found.append((start, "use", words[word]))
    found.sort()
    return found[:MOST]


class _Words(dict[bytes, str]):
    """Decodes each distinct name once."""

    def __missing__(self, word: bytes) -> str:
        text = self[word] = " ".join(word.decode("utf-8", "replace").split())[:LONGEST_NAME]
        return text


def as_references(
    found: list[Found], lines: list[int], defined: DefinitionTree, receivers: Receivers
) -> list[Reference]:
    """References without duplicates: by receiver, line and kind; uses and types once per definition."""
    references = []
    seen: set[tuple[str, str, int | str, str]] = set()
    cuts, containers = defined.containers()
    for start, kind, name in found:
        line = bisect_right(lines, start)
        container = containers[bisect_right(cuts, start) - 1]
        receiver = "" if kind == "import" else receivers.before(start, name)
        key = (kind, name, line if kind == "call" else container, receiver)
        if key not in seen:
            seen.add(key)
            references.append(Reference(name, kind, line, container, receiver))
    return references
