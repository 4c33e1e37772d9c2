"""Symbols and references in the catalog: which documents define a name, and what a document defines and uses.

The name table maps names to documents only; the rest of a definition is in the document's blob. To find the uses of a
name, query the keyword store for documents that may contain it and read their `references`. `SymbolQueries` is the part
that does not depend on where names and blobs are stored; the catalog of a shared index uses it too.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from llmc.store.catalog.packing import (
    UNREADABLE,
    Declarations,
    index_name,
    unpack_reference_words,
    unpack_references,
    unpack_symbols,
)
from llmc.store.catalog.schema import Connections
from llmc.store.integrity.native_errors import guard
from llmc.store.values import StoredDefinition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from llmc.base.model import Reference, Symbol

__all__ = ["DefinitionReader", "SymbolQueries"]

LAST_CHARACTER = "\U0010ffff"


def spellings(name: str) -> set[str]:
    """How the index spells a name, and the last part of a qualified one."""
    return {index_name(name), index_name(_last(name))}


class SymbolQueries(ABC):
    """Definitions by name, from a table of names and the packed symbols of each document."""

    @abstractmethod
    def _holding(self, names: Collection[str]) -> set[int]:
        """The documents that define one of these names, spelled as by `index_name`."""

    @abstractmethod
    def _holding_prefix(self, start: str) -> set[int]: ...

    @abstractmethod
    def _symbol_blobs(self, docs: Collection[int]) -> Iterable[tuple[int, bytes]]:
        """(document, its packed symbols), ascending by document."""

    def symbols(
        self,
        *,
        name: str | None = None,
        prefix: str | None = None,
        doc: int | None = None,
        docs: Collection[int] | None = None,
        kind: str | None = None,
    ) -> list[StoredDefinition]:
        """Definitions by name or by prefix, or all definitions of some documents; case-insensitive.

        A name may be qualified (`Parser.feed`, `Parser::feed`): then its last part is looked up and the container must
        end with the rest. Order: by document, then as in the file.
        """
        scope = None if doc is None and docs is None else {*(docs or ()), *(() if doc is None else (doc,))}
        if name is not None:
            full, last = name.casefold(), _last(name)
            holding = self.defining(name)
            found = self._defined(_within_scope(scope, holding), lambda candidate: candidate.casefold() in {full, last})
            found = [one for one in found if _is_named(one.symbol, full)]
        elif prefix is not None:
            start = index_name(prefix)
            holding = self._holding_prefix(start)
            found = self._defined(
                _within_scope(scope, holding), lambda candidate: candidate.casefold().startswith(start)
            )
        else:
            found = self._defined(scope or (), None)
        return [one for one in found if kind in {None, one.symbol.kind}]

    def symbols_around(self, doc: int, first: int, last: int) -> tuple[Symbol, ...]:
        """The definitions of a document that overlap these lines; a generated file has thousands of others."""
        for _, blob in self._symbol_blobs([doc]):
            return unpack_symbols(blob, lines=(first, last)) if blob else ()
        return ()

    def defining(self, name: str) -> set[int]:
        """The documents that define this name, or the last part of a qualified one; `symbols` returns the
        definitions."""
        return self._holding(spellings(name))

    def _defined(self, docs: Collection[int], wanted: Callable[[str], bool] | None) -> list[StoredDefinition]:
        blobs = self._symbol_blobs(docs)
        return [StoredDefinition(doc, symbol) for doc, blob in blobs for symbol in unpack_symbols(blob, wanted)]


class DefinitionReader(SymbolQueries, Connections):
    def symbols(
        self,
        *,
        name: str | None = None,
        prefix: str | None = None,
        doc: int | None = None,
        docs: Collection[int] | None = None,
        kind: str | None = None,
    ) -> list[StoredDefinition]:
        with guard(self.path.parent, "reading the catalog", *UNREADABLE):
            return super().symbols(name=name, prefix=prefix, doc=doc, docs=docs, kind=kind)

    def symbols_around(self, doc: int, first: int, last: int) -> tuple[Symbol, ...]:
        with guard(self.path.parent, "reading the catalog", *UNREADABLE):
            return super().symbols_around(doc, first, last)

    def defining_each(self, names: Collection[str]) -> dict[str, list[int]]:
        """`defining` for several unqualified names, in one statement."""
        spelled: dict[str, list[str]] = {}
        for name in names:
            spelled.setdefault(index_name(name), []).append(name)
        found: dict[str, list[int]] = {name: [] for name in names}
        for spelling, doc in self.listed("SELECT name, doc FROM names WHERE name IN ({})", list(spelled)):
            for name in spelled[spelling]:
                found[name].append(doc)
        return found

    def _holding(self, names: Collection[str]) -> set[int]:
        return {doc for (doc,) in self.listed("SELECT DISTINCT doc FROM names WHERE name IN ({})", list(names))}

    def _holding_prefix(self, start: str) -> set[int]:
        statement = "SELECT DISTINCT doc FROM names WHERE name >= ? AND name < ?"
        return {doc for (doc,) in self.rows(statement, (start, start + LAST_CHARACTER))}

    def _symbol_blobs(self, docs: Collection[int]) -> list[tuple[int, bytes]]:
        return sorted(self.listed("SELECT doc, symbols FROM bodies WHERE doc IN ({})", docs))

    def names(self, prefix: str = "", limit: int | None = None) -> list[str]:
        """Case-folded names of definitions with this prefix, in order: for completion and for suggesting the nearest
        name."""
        start = index_name(prefix)
        rows = self.rows(
            "SELECT DISTINCT name FROM names WHERE name >= ? AND name < ? ORDER BY name LIMIT ?",
            (start, start + LAST_CHARACTER, -1 if limit is None else limit),
        )
        return [name for (name,) in rows]

    def references_named(self, name: str, docs: Collection[int]) -> dict[int, tuple[Reference, ...]]:
        """document → its uses of exactly this name; documents without a use are omitted."""
        rows = self.listed("SELECT doc, refs FROM bodies WHERE doc IN ({})", docs)
        with guard(self.path.parent, "reading the catalog", *UNREADABLE):
            found = {doc: unpack_references(blob, name) for doc, blob in rows if blob}
        return {doc: references for doc, references in found.items() if references}

    def words_of_references(self, docs: Collection[int]) -> dict[int, frozenset[str]]:
        """All names in the references of these documents: used names, those of enclosing definitions, receivers."""
        rows = self.listed("SELECT doc, refs FROM bodies WHERE doc IN ({})", docs)
        with guard(self.path.parent, "reading the catalog", *UNREADABLE):
            return {doc: unpack_reference_words(blob) for doc, blob in rows}

    def references(self, doc: int) -> tuple[Reference, ...]:
        blob = self.one("SELECT refs FROM bodies WHERE doc = ?", (doc,))
        with guard(self.path.parent, "reading the catalog", *UNREADABLE):
            return unpack_references(blob) if blob else ()

    def declarations(self, docs: Collection[int]) -> dict[int, Declarations]:
        """document → what it defines and declares; unknown documents are omitted."""
        rows = self.listed(
            "SELECT b.doc, d.path, d.language, b.symbols, b.links FROM bodies b CROSS JOIN documents d"
            " WHERE d.doc = b.doc AND b.doc IN ({})",
            docs,
        )
        return {
            doc: Declarations(os.fsdecode(path), language, symbols, links, self.path.parent)
            for doc, path, language, symbols, links in rows
        }


def _within_scope(scope: Collection[int] | None, found: set[int]) -> set[int]:
    return found if scope is None else found & set(scope)


def _is_named(symbol: Symbol, name: str) -> bool:
    qualified, dotted = _dotted(symbol.qualified).casefold(), _dotted(name)
    return symbol.name.casefold() == name or qualified == dotted or qualified.endswith(f".{dotted}")


def _last(name: str) -> str:
    return _dotted(name).rpartition(".")[2].casefold()


def _dotted(name: str) -> str:
    """The name with dots, whatever the language joins names with: `A::b`, `A#b` and `A->b` become `A.b`."""
    return name.replace("::", ".").replace("#", ".").replace("->", ".").strip(".")
