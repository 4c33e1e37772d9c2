"""Symbols and references in the catalog: which documents define a name, and what a document defines and uses.

The name table only leads to documents; the rest of a definition is in the document's blob. To find the uses of a name,
ask the keyword store which documents may hold it, and read their `references`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.store.connections import Connections
from llmc.store.guard import guard
from llmc.store.packing import unpack_references, unpack_symbols
from llmc.store.values import Definition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from llmc.model import Reference, Symbol

__all__ = ["Definitions", "index_name"]

LONGEST_NAME = 120
LAST_CHARACTER = "\U0010ffff"


def index_name(name: str) -> str:
    """How the name table spells a name: without case, and no longer than a key should be."""
    return name.casefold()[:LONGEST_NAME]


class Definitions(Connections):
    def symbols(
        self,
        *,
        name: str | None = None,
        prefix: str | None = None,
        doc: int | None = None,
        docs: Collection[int] | None = None,
        kind: str | None = None,
    ) -> list[Definition]:
        """Definitions by name, by the beginning of a name, or of documents; conditions add up. Case does not matter.

        A name may be qualified (`Parser.feed`, `Parser::feed`): then its last part is looked up and the container must
        end with the rest. Order: by document, then as in the file.
        """
        if doc is not None:
            docs = (doc,)
        tests: list[Callable[[Symbol], bool]] = []
        if kind is not None:
            tests.append(lambda symbol: symbol.kind == kind)
        if name is not None:
            tests.append(_is_named(name))
            docs = self._both(docs, self._defining("name IN (?, ?)", index_name(name), index_name(_last(name))))
        if prefix is not None:
            start = index_name(prefix)
            tests.append(lambda symbol: symbol.name.casefold().startswith(start))
            docs = self._both(docs, self._defining("name >= ? AND name < ?", start, start + LAST_CHARACTER))
        return [one for one in self._defined(docs or ()) if all(test(one.symbol) for test in tests)]

    @staticmethod
    def _both(asked: Collection[int] | None, found: set[int]) -> set[int]:
        return found if asked is None else found & set(asked)

    def _defining(self, where: str, *bounds: str) -> set[int]:
        return {doc for (doc,) in self.rows(f"SELECT DISTINCT doc FROM names WHERE {where}", bounds)}  # noqa: S608 ours

    def _defined(self, docs: Collection[int]) -> list[Definition]:
        rows = self.listed("SELECT doc, symbols FROM bodies WHERE doc IN ({})", sorted(docs))
        with guard(self.path.parent, "reading the catalog"):
            return [Definition(doc, symbol) for doc, blob in sorted(rows) for symbol in unpack_symbols(blob)]

    def names(self, prefix: str = "", limit: int | None = None) -> list[str]:
        """Case-folded names of definitions that begin so, in order: for completion and for the nearest name."""
        start = index_name(prefix)
        rows = self.rows(
            "SELECT DISTINCT name FROM names WHERE name >= ? AND name < ? ORDER BY name LIMIT ?",
            (start, start + LAST_CHARACTER, -1 if limit is None else limit),
        )
        return [name for (name,) in rows]

    def references(self, doc: int) -> tuple[Reference, ...]:
        blob = self.one("SELECT refs FROM bodies WHERE doc = ?", (doc,))
        with guard(self.path.parent, "reading the catalog"):
            return unpack_references(blob) if blob else ()


def _is_named(name: str) -> Callable[[Symbol], bool]:
    plain, dotted = name.casefold(), _dotted(name).casefold()

    def test(symbol: Symbol) -> bool:
        qualified = _dotted(symbol.qualified).casefold()
        return symbol.name.casefold() == plain or qualified == dotted or qualified.endswith("." + dotted)

    return test


def _last(name: str) -> str:
    return _dotted(name).rpartition(".")[2]


def _dotted(name: str) -> str:
    """However a language joins its names: `A::b`, `A#b` and `A->b` are `A.b`."""
    return name.replace("::", ".").replace("#", ".").replace("->", ".").strip(".")
