"""All roots of a process: their indexes, the writer threads of their stores, the one watcher, and the embedders.

The daemon has one registry; a `Workspace` without a daemon has its own. Opening a root is cheap: its store is opened or
created, watches are placed, and its writer thread starts to bring it up to date.

Each embedder is opened once, in its own thread, so that a slow endpoint delays nothing else. Callers wait for a local
model, and only briefly for an endpoint: until it answers, roots are indexed and searched without vectors. An endpoint
that cannot be reached is tried again later; `on_ready` is called when it can be used.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from llmc.base import logs, paths
from llmc.base.concurrency import released
from llmc.base.denylist import Denylist
from llmc.base.errors import CorruptStoreError, RootError
from llmc.base.ignore import Rules
from llmc.base.root_fs import RootFs
from llmc.indexer.root_index import RootIndex
from llmc.indexer.tasks import WAIT_SECONDS, try_embedder
from llmc.indexer.watch import open_watcher
from llmc.indexer.writer_thread import WriterThread, rebuild_note, vector_note
from llmc.store import Store
from llmc.store.vectors import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.base.home import Home
    from llmc.base.model import Root
    from llmc.embed import Embedder
    from llmc.indexer.root_index import Freshness
    from llmc.indexer.watch import Reason, Watcher
    from llmc.settings import EmbedderSettings, Settings

__all__ = ["OPENING", "IndexRegistry"]


# A local server responds within milliseconds, a remote one within a second.
OPEN_SECONDS: Final = 3.0
RETRY_SECONDS: Final = 60.0
OPENING: Final = "the embedder is being opened"
log = logs.get("registry")

# The first query waits this long for the first build, which is enough for a small repository. For a larger one it is
# answered from what is indexed so far, and the reply says how much that is.
FIRST_BUILD_SECONDS = 4.0


@dataclass(eq=False, slots=True)
class Opening:
    tried: threading.Event = field(default_factory=threading.Event)  # set after the first attempt
    embedder: Embedder | None = None
    trouble: str = OPENING


class Embedders:
    """The embedders by their settings; thread-safe."""

    def __init__(self, on_ready: Callable[[EmbedderSettings, Embedder], None]) -> None:
        self._on_ready = on_ready
        self._openings: dict[EmbedderSettings, Opening] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def get(self, settings: EmbedderSettings, seconds: float | None = None) -> tuple[Embedder | None, str]:
        """(the embedder, why there is none). `seconds` limits the wait; by default a call waits for a local model."""
        with self._lock:
            opening = self._openings.get(settings)
            if opening is None:
                opening = self._openings[settings] = Opening()
                threading.Thread(target=self._open, args=(settings, opening), name="llmc-embedder", daemon=True).start()
        if not opening.tried.is_set():
            with released():
                opening.tried.wait(seconds if seconds is not None else OPEN_SECONDS if is_remote(settings) else None)
        return opening.embedder, opening.trouble

    def close(self) -> None:
        self._closed.set()

    def _open(self, settings: EmbedderSettings, opening: Opening) -> None:
        while not self._closed.is_set():
            try:
                embedder, opening.trouble = try_embedder(settings)
            except BaseException as error:
                log.exception("embedder failed")
                embedder, opening.trouble = None, f"{type(error).__name__}: {error}"
            opening.embedder = embedder
            opening.tried.set()
            if embedder is not None:
                self._on_ready(settings, embedder)
            if embedder is not None or not is_remote(settings) or self._closed.wait(RETRY_SECONDS):
                return


def is_remote(settings: EmbedderSettings) -> bool:
    return settings.kind == "openai" or (settings.kind == "combined" and bool(settings.endpoint))


@dataclass(eq=False)
class IndexRegistry:
    """`processes`: run large tasks in worker processes. `watching`: watch the roots; otherwise `settle` walks them.
    `wait_for_vectors`: a search waits until the vectors are loaded; otherwise it uses only keywords until then."""

    home: Home
    watching: bool = True
    processes: bool = True
    wait_for_vectors: bool = True
    on_commit: Callable[[RootIndex, set[str]], None] = lambda _index, _paths: None
    root_indexes: dict[str, RootIndex] = field(default_factory=dict)
    writer_threads: dict[str, WriterThread] = field(default_factory=dict)
    _embedders: Embedders = field(init=False)
    _watcher: Watcher | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._embedders = Embedders(self._embedder_ready)

    def open(self, root: Root, settings: Settings) -> RootIndex:
        """The index of a root; the root is scanned again if its settings changed."""
        self._embedders.get(settings.embedder)  # without the lock: an endpoint may take seconds
        with self._lock:
            root_index = self.root_indexes.get(root.id)
            if root_index is not None and (root_index.settings.index, root_index.settings.embedder) == (
                settings.index,
                settings.embedder,
            ):
                return root_index
            if root_index is not None:
                self.drop(root.id)
            writer_thread = self._open_writer_thread(root, settings)
            root_index = self._open(root, settings)
            self.root_indexes[root.id] = root_index
            root_index.watch()
            writer_thread.root_indexes.append(root_index)
            writer_thread.wake()
        if writer_thread.embedder is None and (embedder := self.embedder(settings.embedder, 0)[0]) is not None:
            self._embedder_ready(settings.embedder, embedder)  # it became ready after the writer thread was created
        return root_index

    def knows(self, root: Root) -> bool:
        """Whether there is an index of this root's family."""
        return root.family in self.writer_threads or os.path.isdir(os.path.join(self.home.stores, root.family))  # noqa: PTH112, PTH118

    def drop(self, root: str) -> None:
        """Stop watching and indexing a root; its index stays on disk."""
        with self._lock:
            root_index = self.root_indexes.pop(root, None)
            if root_index is not None:
                self.writer_threads[root_index.root.family].root_indexes.remove(root_index)
                root_index.unwatch()

    def drop_family(self, family: str) -> None:
        """Close the store of a family, whose roots have all been dropped."""
        with self._lock:
            writer_thread = self.writer_threads.pop(family, None)
        if writer_thread is not None:
            writer_thread.close()
            writer_thread.store.close()

    def writer_thread(self, root_index: RootIndex) -> WriterThread:
        writer_thread = self.writer_threads.get(root_index.root.family)
        if writer_thread is None:
            raise RootError("this root was forgotten", hint="Run the command again.", path=root_index.root.path)
        return writer_thread

    def settle(self, root_indexes: Sequence[RootIndex], barrier: float, settle: float) -> list[Freshness]:
        """Wait, within bounds, until the store has all changes made before this call; returns what is missing."""
        uncovered = (
            self._watcher.barrier(barrier, [root_index.root for root_index in root_indexes]) if self._watcher else {}
        )
        for root_index in root_indexes:
            if self._watcher is None:
                root_index.pending.mark_folder("", "no watcher")
            if root_index.pending:
                self.writer_thread(root_index).wake(hurry=True)
        deadline = time.monotonic() + settle
        for root_index in root_indexes:
            last = deadline if root_index.built else root_index.opened + FIRST_BUILD_SECONDS
            if root_index.pending:
                with released():
                    root_index.pending.wait_settled(max(0.0, last - time.monotonic()))
        return [
            root_index.freshness(self.writer_thread(root_index).store.catalog, uncovered.get(root_index.root, ""))
            for root_index in root_indexes
        ]

    def catch_up(self, root_indexes: Sequence[RootIndex], barrier: float) -> None:
        """Schedule a walk of each root, unless its watcher guarantees that all changes are already pending."""
        uncovered = (
            self._watcher.barrier(barrier, [root_index.root for root_index in root_indexes]) if self._watcher else {}
        )
        for root_index in root_indexes:
            if self._watcher is None or root_index.root in uncovered or not root_index.is_watched():
                root_index.pending.mark_folder("", "asked for")
            self.writer_thread(root_index).wake(hurry=True)

    def close(self) -> None:
        self._embedders.close()
        with self._lock:
            for writer_thread in self.writer_threads.values():
                writer_thread.close()
            if self._watcher is not None:
                self._watcher.close()
            for root_index in self.root_indexes.values():
                root_index.root_fs.close()
            for writer_thread in self.writer_threads.values():
                for store in (writer_thread.store, *writer_thread.retired):
                    store.close()
            self.root_indexes.clear()
            self.writer_threads.clear()

    def release_memory(self) -> None:
        """Free what the next search loads again: 90 MB with 165,000 chunks."""
        for writer_thread in list(self.writer_threads.values()):
            writer_thread.store.release_memory()
        engine.release()

    @property
    def busy(self) -> bool:
        return any(writer_thread.busy for writer_thread in self.writer_threads.values())

    def embedder(self, settings: EmbedderSettings, seconds: float | None = None) -> tuple[Embedder | None, str]:
        """(the embedder, why there is none); `seconds` bounds the wait for one that is being opened."""
        return self._embedders.get(settings, seconds)

    def _embedder_ready(self, settings: EmbedderSettings, embedder: Embedder) -> None:
        """Pass the embedder to roots that were opened without it, and embed their documents."""
        with self._lock:
            writer_threads = [
                writer_thread for writer_thread in self.writer_threads.values() if writer_thread.embedder is None
            ]
            for writer_thread in writer_threads:
                if any(root_index.settings.embedder == settings for root_index in writer_thread.root_indexes):
                    writer_thread.do(partial(use_embedder, writer_thread, embedder))

    def _open(self, root: Root, settings: Settings) -> RootIndex:
        index = settings.index
        exclude = (*index.exclude, *self._own_folder(root))
        root_fs = RootFs(root.path, denylist=Denylist(index.deny, exclude))
        rules = Rules(root_fs, include=index.include, exclude=exclude, hidden=index.hidden)
        if self.watching and self._watcher is None:
            self._watcher = open_watcher(self._on_dirty, self._on_rescan)
        return RootIndex(root, settings, root_fs, rules, self._watcher)

    def _own_folder(self, root: Root) -> tuple[str, ...]:
        """Exclude the state folder if it is inside a root."""
        inside = paths.inside(self.home.path, root.path)
        return (f"/{inside}/",) if inside else ()

    def _open_writer_thread(self, root: Root, settings: Settings) -> WriterThread:
        writer_thread = self.writer_threads.get(root.family)
        if writer_thread is None:
            folder = os.path.join(self.home.stores, root.family)  # noqa: PTH118 - strings, as in Home
            embedder, trouble = self.embedder(settings.embedder, 0)
            if trouble:
                log.warning("no vectors", error=trouble)
            store, note = open_reader(folder, embedder)
            if embedder is not None and not self.wait_for_vectors:
                store.vector_state(wait=False)  # loads them in the background
            writer_thread = WriterThread(
                root.family, folder, store, embedder, self.processes, self.on_commit, note=note
            )
            self.writer_threads[root.family] = writer_thread
            writer_thread.start()
        return writer_thread

    def _on_dirty(self, root: Root, paths: set[str]) -> None:
        root_index = self.root_indexes.get(root.id)
        if root_index is None:
            return
        wanted = {path for path in paths if not root_index.ignores(path)}
        root_index.note_denied(paths - wanted)
        if wanted:
            root_index.mark(wanted)
            self.writer_thread(root_index).wake()

    def _on_rescan(self, root: Root, folder: str, reason: Reason) -> None:
        root_index = self.root_indexes.get(root.id)
        if root_index is not None:
            root_index.mark_folder(folder, str(reason))
            self.writer_thread(root_index).wake()


def use_embedder(writer_thread: WriterThread, embedder: Embedder) -> None:
    """Replace the embedder; runs in the writer's thread, between two batches."""
    if writer_thread.embedder is None:
        writer_thread.retired.append(writer_thread.store)
        writer_thread.store, note = open_reader(writer_thread.folder, embedder)
        writer_thread.embedder = embedder
        writer_thread.note = writer_thread.note or note
        for root_index in writer_thread.root_indexes:
            root_index.pending.mark_folder("", "the embedder can be used now")


def open_reader(folder: str, embedder: Embedder | None) -> tuple[Store, str]:
    """The store, and a note if it must be rebuilt. Opening it for writing first creates or repairs it. A store that is
    damaged or has an older format is emptied, since it can be built again from the files on disk.
    """
    name, dimension = (embedder.name, embedder.dimension) if embedder else (None, 0)
    note = ""
    try:
        with Store.open(folder, name, dimension, write=True, wait=WAIT_SECONDS) as store:
            reason = store.lost_vectors or missing_vectors(store)
            note = vector_note(reason) if reason else ""
    except CorruptStoreError as error:
        note = rebuild_note(error)
        log.warning(note, folder=folder, error=str(error))
        Store.open(folder, name, dimension, write=True, rebuild=True, wait=WAIT_SECONDS).close()
    return Store.open(folder, name, dimension), note


def missing_vectors(store: Store) -> str:
    """Why searches miss documents: a process that was killed while it replaced vectors leaves documents without any.
    Until a new embedder has all documents, the old one answers, and nothing is missing."""
    missing = len(store.without_vectors()) if store.embedding == store.target else 0
    return f"{missing:,} of {store.catalog.counts().documents:,} files have none" if missing else ""
