"""A folder, indexed by the real pipeline into a store of its own, as retrieval sees it: what the benches ask."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from llmc.door import Door
from llmc.indexer import scan
from llmc.indexer.pipeline import Limits, index_paths
from llmc.indexer.pool import Inline
from llmc.model import Root
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
    door = Door(path)
    with Store.open(place, name, dimension, write=True, rebuild=True) as store:
        paths = [file for listing in scan.scan(door, scan.Rules(door), scan.Limits()) for file in listing.files]
        index_paths(path, paths, door=door, store=store, digester=Inline(embedder), limits=Limits())
    return View(Root(path, folder.name, place.name), door, Store.open(place, name, dimension), embedder)
