"""store: where is my chunk?

`Store` is the whole of it: catalog (SQLite), keywords (tantivy), vectors (a file of int8 rows, and LanceDB as the
table of record). `protocols` are the seams, `memory` their twins. Names are imported when they are first used: whoever
wants only a `Batch` or the trigram folding does not pay for tantivy and numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmc.store.catalog.document_paths import DocumentPaths
    from llmc.store.catalog.reader import Catalog
    from llmc.store.store import Store
    from llmc.store.values import Batch, Counts, Embedding, StoredDefinition, StoreDifference

__all__ = ["Batch", "Catalog", "Counts", "DocumentPaths", "Embedding", "Store", "StoreDifference", "StoredDefinition"]

_HOMES = {"Catalog": "catalog.reader", "DocumentPaths": "catalog.document_paths", "Store": "store"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 part of the laziness

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'values')}"), name)
