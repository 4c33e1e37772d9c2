"""store: where is my chunk?

`Store` combines the catalog (SQLite), keywords (tantivy) and vectors (LanceDB). `protocols` defines the interfaces,
`memory` implements them in memory. Names are imported when they are first used, so that a module that needs only a
`Batch` or the trigram folding does not import tantivy and numpy.
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
