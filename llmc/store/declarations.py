"""What a document defines and declares, unpacked when it is looked at: a question touches many documents and little of
each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.store.catalog.packing import UNREADABLE, unpack_links, unpack_symbols
from llmc.store.integrity.native_errors import guard

if TYPE_CHECKING:
    from pathlib import Path

    from llmc.base.model import ResolutionLink, Symbol

__all__ = ["Declarations"]


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

    def symbols(self) -> tuple[Symbol, ...]:
        with guard(self.folder, "reading the catalog", *UNREADABLE):
            return unpack_symbols(self.symbol_blob)

    def links(self) -> tuple[ResolutionLink, ...]:
        with guard(self.folder, "reading the catalog", *UNREADABLE):
            return unpack_links(self.link_blob)
