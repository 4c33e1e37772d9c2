"""The tasks of a writer: index paths of a root, embed documents that lack vectors, clean up the store.

A task runs in a worker process with a pool, or in this process without one; the steps are the same. Reports are plain
dicts, which can be sent between processes: `{"stage", "done", "total", "path", "committed"}`. A worker opens the store
for itself and closes it; in the daemon, `WritableStore` keeps it open from one save to the next.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmc.base.denylist import Denylist
from llmc.base.errors import EmbedError, LlmcError, StoreError, VectorsUnavailableError
from llmc.base.root_fs import RootFs
from llmc.base.text import Binary, content_hash, decode
from llmc.embed import open_embedder
from llmc.indexer.digest import digest
from llmc.indexer.pipeline import BatchLimits, IndexOutcome, adopt, index_paths
from llmc.indexer.pool import DigestPool, Inline
from llmc.indexer.remote_vectors import RemoteVectors
from llmc.store import Store
from llmc.store.vectors import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from llmc.base.model import Root, Vectors
    from llmc.embed import Embedder
    from llmc.indexer.pool import Digester
    from llmc.settings import EmbedderSettings, Settings

    Report = Callable[[dict[str, Any]], None]

__all__ = ["IndexTask", "WritableStore", "adopt_here", "embeds_at_once", "run", "run_here", "try_embedder"]

# Starting each process of a pool takes a third of a second, longer than digesting fewer files than this.
POOL_FILES = 200
# How long to wait for another writer, such as the worker of a daemon that was just killed.
WAIT_SECONDS = 30.0
FILL_DOCUMENTS = 200
# Editors and agents save again within seconds, and opening and closing the store costs more than the batch of a save.
# An open store takes two threads and some 60 MB.
IDLE_SECONDS = 10.0
# How often an idle writer checks whether another process waits for the lock.
AWAITED_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class IndexTask:
    """`paths` are read even if their stamps are unchanged. Without paths, documents without vectors are embedded and
    the store is cleaned up."""

    store: str
    root: Root
    settings: Settings
    paths: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()  # changed paths that the rules exclude


@dataclass(slots=True, eq=False)
class WritableStore:
    """The store of one family, opened for writing when it is first needed and kept open for further saves. Its owner
    calls `release` before a worker process starts, and when `is_due` returns true. Not thread-safe."""

    folder: str
    _store: Store | None = None
    _roots: set[Root] = field(default_factory=set)
    _used_at: float = 0.0

    @contextmanager
    def opened(self, root: Root, embedder: Embedder | None, on_lost_vectors: Callable[[str], None]) -> Iterator[Store]:
        """Open the store for writing. It is closed after an error, since opening it again repairs it."""
        try:
            store = self._current() or self._open(embedder)
            if root not in self._roots:
                store.put_root(root)
                self._roots.add(root)
            yield store
        except BaseException:
            with suppress(StoreError):  # the first error is the one to report
                self.release()
            raise
        self._used_at = time.monotonic()
        if store.lost_vectors:
            on_lost_vectors(store.lost_vectors)
            self.release()

    def _current(self) -> Store | None:
        if self._store is not None and not self._store.can_continue():
            self.release()
        return self._store

    def _open(self, embedder: Embedder | None) -> Store:
        self._store = open_store(self.folder, embedder)
        return self._store

    def release(self) -> None:
        store, self._store = self._store, None
        self._roots.clear()
        if store is not None:
            store.close()

    def is_due(self) -> bool:
        """Whether to release the store: it was idle for a while, or another process waits."""
        if self._store is None:
            return False
        return time.monotonic() - self._used_at >= IDLE_SECONDS or self._store.is_awaited()

    @property
    def check_seconds(self) -> float | None:
        """When to ask `is_due` again; None while nothing is open."""
        return None if self._store is None else AWAITED_SECONDS


def run(task: IndexTask, report: Report) -> IndexOutcome:
    """Run a whole task; called in a worker process."""
    os.nice(5)  # a build must not slow down the user's own programs
    embedder, trouble = try_embedder(task.settings.embedder)
    if embedder is not None:
        engine.preload()  # in parallel with parsing the first files
    if trouble:
        report({"stage": "embed", "trouble": trouble})
    inline = embedder if embeds_at_once(task.settings.embedder) else None
    digester: Digester = Inline(inline)
    if len(task.paths) >= POOL_FILES:
        digester = DigestPool(
            task.settings, task.settings.index.workers or max(2, os.cpu_count() or 2), embed=inline is not None
        )
    try:
        with open_store(task.store, embedder) as store, open_files(task) as root_fs:
            store.put_root(task.root)
            if store.lost_vectors:
                report({"stage": "repair", "lost_vectors": store.lost_vectors})
            outcome = index(task, store, root_fs, digester, report)
            store.flush_vectors()
            digester.close()  # the processes of a pool take 100 MB each
            if embedder is not None:
                fill_vectors(task, store, root_fs, embedder, report)
            report({"stage": "tidy"})
            started = time.process_time()
            store.sweep()
            store.optimize_vectors()
            outcome.cpu["tidy"] = time.process_time() - started
    finally:
        digester.close()
    return outcome


def run_here(task: IndexTask, store: Store, root_fs: RootFs, embedder: Embedder | None, report: Report) -> None:
    """Run a small task, such as a save, in this process; without paths, embed documents that lack vectors."""
    inline = embedder if embeds_at_once(task.settings.embedder) else None
    index(task, store, root_fs, Inline(inline), report)
    store.flush_vectors()
    if embedder is not None and not task.paths:
        fill_vectors(task, store, root_fs, embedder, report)
        store.optimize_vectors()


def drop_vectors_here(folder: str, embedder: Embedder | None, reason: str) -> None:
    """Drop a vector table that cannot be used; `fill_vectors` creates the vectors again."""
    with open_store(folder, embedder) as store:
        if not store.lost_vectors:  # else opening it has dropped the table already
            store.drop_vectors(reason)


def adopt_here(task: IndexTask, store: Store, root_fs: RootFs) -> tuple[str, ...]:
    """Index the files whose documents are in the store; returns the other paths, for a worker."""
    return tuple(adopt(task.root.id, task.paths, root_fs=root_fs, store=store, limits=limits_of(task)))


def limits_of(task: IndexTask) -> BatchLimits:
    return BatchLimits(max_file_bytes=task.settings.index.max_file_bytes)


def try_embedder(settings: EmbedderSettings) -> tuple[Embedder | None, str]:
    """(the embedder, why it cannot be used): without one, files are indexed without vectors."""
    try:
        return open_embedder(settings), ""
    except EmbedError as error:
        return None, error.one_line


def embeds_at_once(settings: EmbedderSettings) -> bool:
    """Whether files are embedded as they are parsed: static models embed thousands of chunks per second. Other models
    run after everything else is searchable."""
    return settings.kind in {"builtin", "hash"}


def open_store(folder: str, embedder: Embedder | None) -> Store:
    name, dimension = (embedder.name, embedder.dimension) if embedder else (None, 0)
    return Store.open(folder, name, dimension, write=True, wait=WAIT_SECONDS)


def open_files(task: IndexTask) -> RootFs:
    return RootFs(task.root.path, denylist=Denylist(task.settings.index.deny, task.settings.index.exclude))


def index(task: IndexTask, store: Store, root_fs: RootFs, digester: Digester, report: Report) -> IndexOutcome:
    total, done = len(task.paths) + len(task.hidden), 0

    def on_batch(outcome: IndexOutcome, paths: list[str]) -> None:
        nonlocal done
        done += len(paths)
        report({"stage": "index", "done": done, "total": total, "path": paths[-1], "committed": outcome.generation})

    return index_paths(
        task.root.id,
        task.paths,
        root_fs=root_fs,
        store=store,
        digester=digester,
        limits=limits_of(task),
        hidden=task.hidden,
        on_batch=on_batch,
    )


def fill_vectors(task: IndexTask, store: Store, root_fs: RootFs, embedder: Embedder, report: Report) -> None:
    """Embed documents without vectors of this model: it is new, could not be used before, or its table was lost."""
    places = store.catalog.places(task.root.id)
    missing = places.keep(store.without_vectors())
    remote = RemoteVectors(task.settings, task.root.path, embedder)
    for start in range(0, len(missing), FILL_DOCUMENTS):
        report({"stage": "embed", "done": start, "total": len(missing)})
        docs = missing[start : start + FILL_DOCUMENTS]
        batch = {} if embeds_at_once(task.settings.embedder) else published_vectors(store, remote, docs)
        if remote.trouble:
            report({"stage": "embed", "trouble": remote.trouble})
        for doc in docs:
            if doc in batch:
                continue
            vectors = embed_file(root_fs, places[doc], store.catalog.content_hash(doc), embedder)
            if vectors is not None:
                batch[doc] = vectors
        try:
            store.put_vectors(batch)
        except VectorsUnavailableError as error:
            report({"stage": "embed", "trouble": error.one_line})
            return
    store.use_vectors()


def published_vectors(store: Store, remote: RemoteVectors, docs: Collection[int]) -> dict[int, Vectors]:
    """Vectors of documents whose content is published and has as many chunks there as here."""
    hashes = {doc: store.catalog.content_hash(doc) for doc in docs}
    found = remote.find({one for one in hashes.values() if one})
    chunks = store.catalog.chunks_of([doc for doc, one in hashes.items() if one in found])
    known = {doc: found[one] for doc, one in hashes.items() if one in found}
    return {doc: vectors for doc, vectors in known.items() if len(vectors) == len(chunks.get(doc, ()))}


def embed_file(root_fs: RootFs, path: str, expected: str | None, embedder: Embedder) -> Vectors | None:
    """None if the file has changed since it was indexed: the watcher or the next walk will report it."""
    try:
        data, _ = root_fs.read(path, 1 << 30)
    except LlmcError:
        return None
    text = decode(data)
    if isinstance(text, Binary) or content_hash(data) != expected:
        return None
    return digest([(path, text.text)], embedder)[0].vectors
