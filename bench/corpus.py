"""A folder, indexed by the real pipeline into a store of its own, as retrieval sees it: what the benches ask."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from llmc.base.model import Root
from llmc.base.root_fs import RootFs
from llmc.indexer import scan
from llmc.indexer.pipeline import BatchLimits, index_paths
from llmc.indexer.pool import Inline
from llmc.retrieval.view import View
from llmc.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from llmc.embed import Embedder

__all__ = ["indexed"]


def indexed(folder: Path, stores: Path, embedder: Embedder | None) -> View:
    """The view of `folder`, whose store is made anew below `stores`: what is measured is the code as it is now."""
    path = str(folder.resolve())
    place = stores / hashlib.blake2b(path.encode(), digest_size=8).hexdigest()
    name, dimension = (embedder.name, embedder.dimension) if embedder else (None, 0)
    root_fs = RootFs(path)
    with Store.open(place, name, dimension, write=True, rebuild=True) as store:
        paths = [
            file for listing in scan.scan(root_fs, scan.Rules(root_fs), scan.ScanLimits()) for file in listing.files
        ]
        index_paths(path, paths, root_fs=root_fs, store=store, digester=Inline(embedder), limits=BatchLimits())
    return View(Root(path, folder.name, place.name), root_fs, Store.open(place, name, dimension), embedder)
