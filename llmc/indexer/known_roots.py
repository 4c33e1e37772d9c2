"""Lists the roots that have an index on this machine, and removes the index of a root.

A store belongs to a family of work trees: forgetting a root removes its files from the store, and forgetting the last
root removes the store. For stores that are not in use, only the catalog is opened; an unreadable one is listed by its
family alone, and can be forgotten too.
"""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError, NotFoundError
from llmc.indexer.tasks import WAIT_SECONDS
from llmc.store import Store
from llmc.store.catalog.reader import Catalog
from llmc.store.integrity.main_file import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.indexer.registry import IndexRegistry

__all__ = ["KnownRoot", "forget_root", "known_roots"]


@dataclass(frozen=True, slots=True)
class KnownRoot:
    """`bytes` is the size of the store, which the roots of one family share. `path` is empty if it cannot be read."""

    path: str
    name: str
    family: str
    files: int = 0
    bytes: int = 0
    state: str = "stored"  # open, stored, missing (the folder is gone), unreadable


def known_roots(registry: IndexRegistry) -> list[KnownRoot]:
    """Every root with an index, by path."""
    try:
        families = sorted(entry.name for entry in os.scandir(registry.home.stores) if entry.is_dir())
    except FileNotFoundError:
        families = []
    return sorted((root for family in families for root in _of_family(registry, family)), key=lambda one: one.path)


def _of_family(registry: IndexRegistry, family: str) -> Iterator[KnownRoot]:
    folder = Path(registry.home.stores, family)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    try:
        with closing(Catalog(folder / MAIN)) as catalog:
            for root in catalog.roots():
                files = catalog.counts(root.id).files.get("indexed", 0)
                yield KnownRoot(root.path, root.name, family, files, size, _state(registry, root.id))
    except LlmcError:
        yield KnownRoot("", "", family, bytes=size, state="unreadable")


def _state(registry: IndexRegistry, root: str) -> str:
    if not os.path.isdir(root):  # noqa: PTH112 - text, as in `paths`
        return "missing"
    return "open" if root in registry.root_indexes else "stored"


def forget_root(registry: IndexRegistry, named: str) -> KnownRoot:
    """Stop indexing a root and remove its index. `named`: its path, its name, or the family of an unreadable store."""
    known = known_roots(registry)
    found = _find_named(known, named)
    registry.drop(found.path)
    if any(one.family == found.family and one is not found for one in known):
        _drop_from_store(registry, found)
    else:
        registry.drop_family(found.family)
        shutil.rmtree(Path(registry.home.stores, found.family))
    return found


def _find_named(known: list[KnownRoot], named: str) -> KnownRoot:
    for fits in (
        [one for one in known if one.path and one.path == os.path.realpath(named)],
        [one for one in known if named in {one.name, one.family} and named],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            paths = ", ".join(one.path or one.family for one in fits)
            raise NotFoundError(f"several roots are called {named}", hint=f"Give the path of one: {paths}.")
    raise NotFoundError(f"{named} is not an indexed root", hint="`llmc roots` lists them.", path=named)


def _drop_from_store(registry: IndexRegistry, root: KnownRoot) -> None:
    """Remove the root from its store; other work trees of the repository stay."""
    drop = partial(_drop_here, str(Path(registry.home.stores, root.family)), root.path)
    writer_thread = registry.writer_threads.get(root.family)
    if writer_thread is None:
        drop()
    else:
        writer_thread.do(drop).result()


def _drop_here(folder: str, root: str) -> None:
    with Store.open(folder, write=True, wait=WAIT_SECONDS) as store:
        store.drop_root(root)
        store.sweep(max_age=0.0)
