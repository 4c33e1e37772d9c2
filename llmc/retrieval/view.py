"""What retrieval searches: one root at one moment. The workspace creates it after the barrier, so `pending` names
every path whose content the store may not have yet: recent changes, or everything that a first build has not reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.base.model import Root, Symbol
    from llmc.base.root_fs import RootFs
    from llmc.embed import Embedder
    from llmc.store.protocols import StoreReader

    ParseSymbols = Callable[[str, str], Sequence[Symbol]]

__all__ = ["View"]


@dataclass(frozen=True, slots=True)
class View:
    root: Root
    root_fs: RootFs
    store: StoreReader
    embedder: Embedder | None = None
    pending: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()  # files that the store may contain, but that an ignore file excludes now
    denied: frozenset[str] = frozenset()  # excluded by the denylist, but not by an ignore file
    named: frozenset[str] = frozenset()  # files outside the index that were named explicitly; read from disk
    share: float = 1.0  # how much of the root the first build has reached
    unsure: str = ""  # why there may be changed files that neither the store nor `pending` includes
    wait_for_vectors: bool = True  # otherwise they are loaded in the background, and keywords answer until then
    parse: ParseSymbols | None = None  # path, text → symbols, for files whose symbols the catalog does not have yet

    def is_stored(self, path: str) -> bool:
        """Whether what the store knows about an indexed file still holds: it has not changed and is not hidden."""
        return path not in self.pending and path not in self.hidden
