"""Symbols and references that are packed already, by the process that parsed the text.

A pool sends these instead of the objects: of all CPU that the writing process used for kubernetes, more than half went
into making thousands of small objects out of a pipe, only to pack them for the catalog. They behave
like the symbols themselves, which are unpacked on access.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.base.model import Reference, ResolutionLink, Symbol
from llmc.store.catalog.definitions import index_name
from llmc.store.catalog.packing import (
    clean,
    pack_links,
    pack_references,
    pack_symbols,
    unpack_links,
    unpack_references,
    unpack_symbols,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.model import Parsed

__all__ = [
    "PackedLinks",
    "PackedReferences",
    "PackedSymbols",
    "defined_names",
    "link_blob",
    "packed",
    "reference_blob",
    "symbol_blob",
]


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


def defined_names(symbols: Sequence[Symbol]) -> Sequence[str]:
    """How the name table spells them, each once."""
    if isinstance(symbols, PackedSymbols):
        return symbols.names
    return sorted({clean(index_name(symbol.name)) for symbol in symbols})
