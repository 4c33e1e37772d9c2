"""Packs the many small rows of a document into one blob, and unpacks them.

Chunks, symbols and references are only ever read by document, so each kind is stored as one table of columns: JSON,
deflated. SQLite rows with their indexes took 3.5 times the space.

The process that parses a file packs its symbols and references too, and a pool sends the blobs instead of thousands of
small objects, whose transfer took more than half of the writing process's CPU time. Packed values behave like the
objects and are unpacked on access; so are `Declarations`, since a query touches many documents and little of each.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, compress
from operator import add
from typing import TYPE_CHECKING, Any, overload

import orjson

from llmc.base.model import ChunkPlace, Reference, ResolutionLink, Symbol
from llmc.store.integrity.native_errors import guard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from llmc.base.model import Chunk, Parsed

__all__ = [
    "UNREADABLE",
    "ChunkPlaces",
    "Declarations",
    "PackedLinks",
    "PackedReferences",
    "PackedSymbols",
    "SymbolColumns",
    "clean",
    "compact_hash",
    "defined_names",
    "expand_hash",
    "index_name",
    "link_blob",
    "pack_chunks",
    "pack_links",
    "pack_references",
    "pack_symbols",
    "packed",
    "reference_blob",
    "symbol_blob",
    "unpack_chunks",
    "unpack_links",
    "unpack_reference_words",
    "unpack_references",
    "unpack_symbols",
]

# The errors that unpacking a damaged blob can raise.
UNREADABLE = (zlib.error, ValueError, TypeError, IndexError)
PLAIN, DEFLATED = b"\0", b"\1"
LONGEST_SIGNATURE = 400
LONGEST_NAME = 120


def clean(text: str) -> str:
    """Replace lone surrogates, which only a broken UTF-16 file contains, by `?`, so that UTF-8 can encode the text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def compact_hash(digest: str) -> str | bytes:
    """A hexadecimal hash as bytes, which take half the space; any other string unchanged."""
    try:
        data = bytes.fromhex(digest)
    except ValueError:
        return digest
    return data if data.hex() == digest else digest


def expand_hash(value: str | bytes) -> str:
    return value.hex() if isinstance(value, bytes) else value


def pack_chunks(chunks: Sequence[Chunk]) -> bytes:
    starts, lengths, kinds, names = [], [], [], []
    line = 1
    for chunk in chunks:
        starts.append(chunk.start_line - line)
        lengths.append(chunk.end_line - chunk.start_line)
        kinds.append(chunk.kind)
        names.append(chunk.name)
        line = chunk.end_line + 1
    return _pack([starts, lengths, kinds, names])


@dataclass(frozen=True, slots=True)
class ChunkPlaces(Sequence[ChunkPlace]):
    """The chunks of a document, each created on access: a search needs two or three of hundreds."""

    doc: int
    lengths: list[int]
    kinds: list[str]
    names: list[str]
    skipped: list[int]  # for each chunk, the sum of all `skips` and `lengths` before it

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, at: int) -> ChunkPlace: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ChunkPlace, ...]: ...
    def __getitem__(self, at: int | slice) -> ChunkPlace | tuple[ChunkPlace, ...]:
        if isinstance(at, slice):
            return tuple(self[one] for one in range(*at.indices(len(self))))
        ordinal = range(len(self))[at]
        end = self.skipped[ordinal] + ordinal + 1
        return ChunkPlace(self.doc, ordinal, end - self.lengths[ordinal], end, self.kinds[ordinal], self.names[ordinal])


def unpack_chunks(doc: int, blob: bytes) -> ChunkPlaces:
    skips, lengths, kinds, names = _unpack(blob)[:4]
    if not len(skips) == len(lengths) == len(kinds) == len(names):
        raise ValueError("columns of different lengths")
    # A chunk begins `skip` lines after the line that follows the previous chunk, and ends `length` lines later.
    return ChunkPlaces(doc, lengths, kinds, names, list(accumulate(map(add, skips, lengths))))


def pack_symbols(symbols: Sequence[Symbol]) -> bytes:
    names, kinds, containers, starts, lengths, signatures = [], [], [], [], [], []
    line = 0
    for symbol in symbols:
        names.append(symbol.name)
        kinds.append(symbol.kind)
        containers.append(symbol.container)
        starts.append(symbol.start_line - line)
        lengths.append(symbol.end_line - symbol.start_line)
        signatures.append(symbol.signature[:LONGEST_SIGNATURE])
        line = symbol.start_line
    return _pack([names, kinds, containers, starts, lengths, signatures])


def unpack_symbols(
    blob: bytes, matches: Callable[[str], bool] | None = None, lines: tuple[int, int] | None = None
) -> tuple[Symbol, ...]:
    """All symbols, or those whose names `matches` accepts, or which overlap `lines`: creating the objects takes most of
    the time."""
    names, kinds, containers, skips, lengths, signatures = _unpack(blob)
    starts = list(accumulate(skips))
    rows: Iterable[tuple[Any, ...]] = zip(names, kinds, containers, starts, lengths, signatures, strict=True)
    if lines is not None:
        first, last = lines
        inside = [start <= last and start + length >= first for start, length in zip(starts, lengths, strict=True)]
        rows = compress(rows, inside)
    if matches is not None:
        rows = [row for row in rows if matches(row[0])]
    return tuple(
        [
            Symbol(name, kind, container, start, start + length, signature)
            for name, kind, container, start, length, signature in rows
        ]
    )


@dataclass(frozen=True, slots=True)
class SymbolColumns(Sequence[Symbol]):
    """The symbols of a document, each created on access. Names alone show whether a type has a method, and creating the
    objects takes most of the time."""

    names: list[str]
    kinds: list[str]
    containers: list[str]
    starts: list[int]
    lengths: list[int]
    signatures: list[str]

    @classmethod
    def unpacked(cls, blob: bytes) -> SymbolColumns:
        names, kinds, containers, skips, lengths, signatures = _unpack(blob)
        if not len(names) == len(kinds) == len(containers) == len(skips) == len(lengths) == len(signatures):
            raise ValueError("columns of different lengths")
        return cls(names, kinds, containers, list(accumulate(skips)), lengths, signatures)

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, at: int) -> Symbol: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Symbol, ...]: ...
    def __getitem__(self, at: int | slice) -> Symbol | tuple[Symbol, ...]:
        if isinstance(at, slice):
            return tuple(self[one] for one in range(*at.indices(len(self))))
        start = self.starts[at]
        end = start + self.lengths[at]
        return Symbol(self.names[at], self.kinds[at], self.containers[at], start, end, self.signatures[at])

    def places(self, qualified: str) -> list[int]:
        """The indexes of the definitions of a qualified name, if names contain no dots."""
        container, _, name = qualified.rpartition(".")
        return [at for at in self._named(name) if self.containers[at] == container]

    def qualified_of(self, name: str) -> list[str]:
        """The qualified names of all definitions of this name, each once."""
        return list(dict.fromkeys(self[at].qualified for at in self._named(name)))

    def _named(self, name: str) -> Iterator[int]:
        at = -1
        for _ in range(self.names.count(name)):
            at = self.names.index(name, at + 1)
            yield at

    def qualified(self) -> list[str]:
        """The qualified name of each."""
        named = zip(self.containers, self.names, strict=True)
        return [f"{container}.{name}" if container else name for container, name in named]


def pack_references(references: Sequence[Reference]) -> bytes:
    """Names and containers repeat within a file: each is stored once, the rows hold its number."""
    words: dict[str, int] = {}
    names, kinds, lines, containers, receivers = [], [], [], [], []
    line = 0
    for reference in references:
        names.append(words.setdefault(reference.name, len(words)))
        kinds.append(words.setdefault(reference.kind, len(words)))
        lines.append(reference.line - line)
        containers.append(words.setdefault(reference.container, len(words)))
        receivers.append(words.setdefault(reference.receiver, len(words)))
        line = reference.line
    return _pack([list(words), names, kinds, lines, containers, receivers])


def unpack_references(blob: bytes, only: str | None = None) -> tuple[Reference, ...]:
    """All references, or those to one name: most documents that may use it have thousands of others."""
    if only is not None and only.isascii() and f'"{only}"'.encode() not in _plain(blob):
        return ()  # found out in a sixth of the time of parsing the JSON
    words, *columns = _unpack(blob)
    if only is not None and only not in words:
        return ()
    named, kinds, skips, containers, receivers = columns
    lines = list(accumulate(skips))
    if only is not None:
        number = words.index(only)
        rows = [at for at, name in enumerate(named) if name == number]
        named, kinds, lines, containers, receivers = (
            [column[at] for at in rows] for column in (named, kinds, lines, containers, receivers)
        )
    spelled = [[words[at] for at in column] for column in (named, kinds, containers, receivers)]
    return tuple(map(Reference._make, zip(spelled[0], spelled[1], lines, spelled[2], spelled[3], strict=True)))


def unpack_reference_words(blob: bytes) -> frozenset[str]:
    """Every name, kind, container and receiver in the references: only the first column, in a third of the time."""
    if not blob:
        return frozenset()
    plain = _plain(blob)
    try:
        return frozenset(orjson.loads(plain[1 : plain.index(b'"],[') + 2]))
    except ValueError:  # a word contains these characters too
        return frozenset(orjson.loads(plain)[0])


def pack_links(links: Sequence[ResolutionLink]) -> bytes:
    words: dict[str, int] = {}
    columns = [[words.setdefault(value, len(words)) for value in column] for column in zip(*links, strict=True)]
    return _pack([list(words), *columns])


def unpack_links(blob: bytes) -> tuple[ResolutionLink, ...]:
    if not blob:
        return ()
    words, *columns = _unpack(blob)
    return tuple(map(ResolutionLink._make, zip(*([words[at] for at in column] for column in columns), strict=True)))


def _pack(columns: list[list[Any]]) -> bytes:
    if not any(columns):
        return b""
    try:
        plain = orjson.dumps(columns)
    except TypeError:  # a string that UTF-8 cannot hold
        plain = orjson.dumps([[clean(v) if isinstance(v, str) else v for v in column] for column in columns])
    deflated = zlib.compress(plain)
    return DEFLATED + deflated if len(deflated) < len(plain) else PLAIN + plain


def _unpack(blob: bytes) -> list[list[Any]]:
    if not blob:
        return [[] for _ in range(6)]  # as many columns as any table has
    columns: list[list[Any]] = orjson.loads(_plain(blob))
    return columns


def _plain(blob: bytes) -> bytes:
    return zlib.decompress(memoryview(blob)[1:]) if blob[:1] == DEFLATED else blob[1:]


@dataclass(frozen=True, eq=False)
class PackedSymbols(Sequence[Symbol]):
    """`names` are those of the name table."""

    blob: bytes
    names: tuple[str, ...]
    total: int

    def __len__(self) -> int:
        return self.total

    def __getitem__(self, at: Any) -> Any:
        return unpack_symbols(self.blob)[at]

    def __iter__(self) -> Iterator[Symbol]:
        return iter(unpack_symbols(self.blob))


@dataclass(frozen=True, eq=False)
class PackedReferences(Sequence[Reference]):
    blob: bytes
    total: int

    def __len__(self) -> int:
        return self.total

    def __getitem__(self, at: Any) -> Any:
        return unpack_references(self.blob)[at]

    def __iter__(self) -> Iterator[Reference]:
        return iter(unpack_references(self.blob))


@dataclass(frozen=True, eq=False)
class PackedLinks(Sequence[ResolutionLink]):
    blob: bytes
    total: int

    def __len__(self) -> int:
        return self.total

    def __getitem__(self, at: Any) -> Any:
        return unpack_links(self.blob)[at]

    def __iter__(self) -> Iterator[ResolutionLink]:
        return iter(unpack_links(self.blob))


def packed(parsed: Parsed) -> tuple[PackedSymbols, PackedReferences, PackedLinks]:
    symbols, references, links = parsed.symbols, parsed.references, parsed.links
    return (
        PackedSymbols(pack_symbols(symbols), tuple(defined_names(symbols)), len(symbols)),
        PackedReferences(pack_references(references), len(references)),
        PackedLinks(pack_links(links), len(links)),
    )


def symbol_blob(symbols: Sequence[Symbol]) -> bytes:
    return symbols.blob if isinstance(symbols, PackedSymbols) else pack_symbols(symbols)


def reference_blob(references: Sequence[Reference]) -> bytes:
    return references.blob if isinstance(references, PackedReferences) else pack_references(references)


def link_blob(links: Sequence[ResolutionLink]) -> bytes:
    return links.blob if isinstance(links, PackedLinks) else pack_links(links)


def index_name(name: str) -> str:
    """The key of a name in the name table: case-folded and truncated."""
    return name.casefold()[:LONGEST_NAME]


def defined_names(symbols: Sequence[Symbol]) -> Sequence[str]:
    """The keys of these symbols in the name table, each once."""
    if isinstance(symbols, PackedSymbols):
        return symbols.names
    return sorted({clean(index_name(symbol.name)) for symbol in symbols})


@dataclass(frozen=True, slots=True)
class Declarations:
    path: str
    language: str
    symbol_blob: bytes
    link_blob: bytes
    folder: Path

    @property
    def size(self) -> int:
        return len(self.symbol_blob) + len(self.link_blob)

    def symbols(self) -> SymbolColumns:
        with guard(self.folder, "reading the catalog", *UNREADABLE):
            return SymbolColumns.unpacked(self.symbol_blob)

    def links(self) -> tuple[ResolutionLink, ...]:
        with guard(self.folder, "reading the catalog", *UNREADABLE):
            return unpack_links(self.link_blob)
