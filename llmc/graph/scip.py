"""Reads an `index.scip`: which symbol is at which place, as found by a compiler or type checker.

SCIP is protobuf (github.com/sourcegraph/scip, scip.proto); only documents, their occurrences and the relations of
symbols are read. The input is untrusted: sizes are bounded, unknown fields are skipped, and invalid data raises
`ScipError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from llmc.base.errors import LlmcError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "DEFINITION",
    "IMPORT",
    "Occurrence",
    "Relation",
    "ScipDocument",
    "ScipError",
    "document_spans",
    "read_document",
    "read_scip",
]

DEFINITION, IMPORT = 1, 2
MOST_DOCUMENTS = 500_000
MOST_OCCURRENCES = 2_000_000  # of one document
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
LONGEST_VARINT = 10
_SINGLE_LINE = 3


class ScipError(LlmcError):
    """An index.scip that cannot be read."""

    code = "scip"


class Occurrence(NamedTuple):
    """Lines and columns from 0, the end excluded; `enclosing` is the extent of a definition, as (first, last) line."""

    line: int
    start: int
    end_line: int
    end: int
    symbol: str
    roles: int
    enclosing: tuple[int, int] | None = None


class Relation(NamedTuple):
    symbol: str
    other: str
    is_implementation: bool


class ScipDocument(NamedTuple):
    path: str
    occurrences: list[Occurrence]
    relations: list[Relation]
    text: str


def read_scip(data: bytes) -> Iterator[ScipDocument]:
    """Every document, for benchmarks."""
    view = memoryview(data)
    for start, end in document_spans(view).values():
        yield read_document(view[start:end])


def document_spans(data: memoryview) -> dict[str, tuple[int, int]]:
    """path → where its document is in the data; only the path is parsed."""
    spans: dict[str, tuple[int, int]] = {}
    for number, value, start in fields(data):
        if number == 2 and isinstance(value, memoryview):  # noqa: PLR2004 - Index.documents
            if len(spans) >= MOST_DOCUMENTS:
                raise ScipError("index.scip is too large", reason=f"over {MOST_DOCUMENTS:,} documents")
            path = next((_text(inner) for tag, inner, _ in fields(value) if tag == 1), "")
            spans[path] = (start, start + len(value))
    return spans


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview, int]]:
    """(field number, value, start of the value) of each field of a message."""
    at, size = 0, len(data)
    while at < size:
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise ScipError("index.scip is damaged", reason="a field without a number")
        if wire == VARINT:
            value, end = _varint(data, at)
            yield number, value, at
            at = end
        elif wire == BYTES:
            length, at = _varint(data, at)
            if length > size - at:
                raise ScipError("index.scip is damaged", reason="a field is longer than its message")
            yield number, data[at : at + length], at
            at += length
        elif wire in (FIXED64, FIXED32):
            at += 8 if wire == FIXED64 else 4
        else:
            raise ScipError("index.scip is damaged", reason=f"wire type {wire}")
    if at != size:
        raise ScipError("index.scip is damaged", reason="it ends in the middle of a field")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    for position in range(at, min(at + LONGEST_VARINT, len(data))):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position + 1
        shift += 7
    raise ScipError("index.scip is damaged", reason="a number does not end")


def _text(value: int | memoryview) -> str:
    return bytes(value).decode("utf-8", "replace") if isinstance(value, memoryview) else ""


def read_document(data: memoryview) -> ScipDocument:
    path, text = "", ""
    occurrences: list[Occurrence] = []
    relations: list[Relation] = []
    for number, value, _ in fields(data):
        if number == 1:
            path = _text(value)
        elif number == 2 and isinstance(value, memoryview):  # noqa: PLR2004 - Document.occurrences
            if len(occurrences) >= MOST_OCCURRENCES:
                raise ScipError("index.scip is too large", reason=f"{path} has over {MOST_OCCURRENCES:,} occurrences")
            if (found := _occurrence(value)) is not None:
                occurrences.append(found)
        elif number == 3 and isinstance(value, memoryview):  # noqa: PLR2004 - Document.symbols
            relations += _relations(value)
        elif number == 5:  # noqa: PLR2004 - Document.text
            text = _text(value)
    return ScipDocument(path, occurrences, relations, text)


def _numbers(value: int | memoryview) -> list[int]:
    if isinstance(value, int):
        return [value]
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(number)
    return numbers


def _occurrence(data: memoryview) -> Occurrence | None:
    place: list[int] = []
    around: list[int] = []
    symbol, roles = "", 0
    for number, value, _ in fields(data):
        if number == 1:
            place += _numbers(value)
        elif number == 2:  # noqa: PLR2004 - Occurrence.symbol
            symbol = _text(value)
        elif number == 3 and isinstance(value, int):  # noqa: PLR2004 - Occurrence.symbol_roles
            roles = value
        elif number == 7:  # noqa: PLR2004 - Occurrence.enclosing_range
            around += _numbers(value)
    if len(place) < _SINGLE_LINE or not symbol:
        return None
    line, start, *rest = place
    end_line, end = (line, rest[0]) if len(place) == _SINGLE_LINE else (rest[0], rest[1])
    extent = None
    if len(around) >= _SINGLE_LINE:
        extent = (around[0], around[0] if len(around) == _SINGLE_LINE else around[2])
    return Occurrence(line, start, end_line, end, symbol, roles, extent)


def _relations(data: memoryview) -> Iterator[Relation]:
    symbol, others = "", []
    for number, value, _ in fields(data):
        if number == 1:
            symbol = _text(value)
        elif number == 4 and isinstance(value, memoryview):  # noqa: PLR2004 - SymbolInformation.relationships
            inner = {tag: content for tag, content, _ in fields(value)}
            others.append((_text(inner.get(1, 0)), bool(inner.get(3, 0))))
    yield from (Relation(symbol, other, implementation) for other, implementation in others if other)
