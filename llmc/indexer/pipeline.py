"""How a changed file becomes searchable: look, recognise, digest, write. One function, read top to bottom.

`changes` and the watcher find out which paths changed, `digest` parses and embeds, and the store writes a batch to all
its parts or none. The same code runs in the daemon for a save, and in a worker process with a pool for a whole root.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError, NotFoundError, OutsideError
from llmc.base.model import CONTROLS, HOLDS_NUL, TOO_LARGE, Document, FileState, FileStatus, Stamp
from llmc.base.root_fs import FileKind, ReadError, settled
from llmc.base.text import Binary, content_hash, decode
from llmc.indexer.digest import document_key
from llmc.store import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from llmc.base.model import Vectors
    from llmc.base.root_fs import RootFs
    from llmc.indexer.pool import Digester, Promise
    from llmc.store import Store

__all__ = ["BatchLimits", "IndexOutcome", "adopt", "index_paths"]

BINARY = "binary"
NO_STAMP = Stamp(size=-1, mtime_ns=0, ctime_ns=0, inode=0)
# The rows of one commit, and the files in memory for one catalog query that finds the known ones.
ADOPTED_AT_ONCE = 20_000
RECOGNISED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """`batch_files` and `batch_bytes` limit the size of a commit. The first commit is small, so that queries during the
    first build find something soon, and each next one may be twice as large: every commit is a segment with its own
    dictionary, and seven of them took more disk space than three."""

    max_file_bytes: int = 2 * 1024 * 1024
    first_files: int = 128
    batch_files: int = 4_000
    batch_bytes: int = 32 * 1024 * 1024


@dataclass(slots=True)
class IndexOutcome:
    """The counts of a run, for progress reports and `llmc status`."""

    files: Counter[str] = field(default_factory=Counter)  # indexed, known, skipped, failed, gone
    bytes: int = 0
    chunks: int = 0
    cpu: dict[str, float] = field(default_factory=lambda: {"look": 0.0, "digest": 0.0, "write": 0.0})  # seconds
    generation: int = 0


@dataclass(frozen=True, slots=True)
class FileLook:
    """The result of reading one path: `state` is None if it does not exist; `hash` and `text` are set if it is
    indexable."""

    path: str
    state: FileState | None
    hash: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """A file, and its digest if it is new to the store. `embedded`: the digest contains vectors; else the store has
    them."""

    seen: FileLook
    promise: Promise | None = None
    embedded: bool = True


def index_paths(
    root: str,
    paths: Iterable[str],
    *,
    root_fs: RootFs,
    store: Store,
    digester: Digester,
    limits: BatchLimits,
    hidden: Iterable[str] = (),
    on_batch: Callable[[IndexOutcome, list[str]], None] | None = None,
) -> IndexOutcome:
    """Update the store for these paths, whether they were created, changed, renamed or deleted.

    `hidden` paths are removed from the store even if they exist: the rules exclude them.
    """
    outcome = IndexOutcome()
    there = (look(root_fs, path, limits.max_file_bytes) for path in paths)
    looked = timed("look", chain(there, (FileLook(path, None) for path in hidden)), outcome)
    submitted = (recognise(batch, store, digester) for batch in batched(looked, limits))
    for batch in one_ahead(submitted):
        reused = vectors_to_reuse(batch, store)
        finished = [finish(work, reused) for work in batch]
        started = time.process_time()
        outcome.generation = store.apply(
            Batch(
                root=root,
                states=tuple(state for state, _ in finished if state),
                gone=tuple(work.seen.path for work in batch if work.seen.state is None),
                documents=tuple(document for _, document in finished if document),
            ),
            defer_vectors=True,
        )
        outcome.cpu["write"] += time.process_time() - started
        count(outcome, finished)
        if on_batch:
            on_batch(outcome, [work.seen.path for work in batch])
    outcome.cpu["digest"] = digester.cpu
    return outcome


def adopt(root: str, paths: Iterable[str], *, root_fs: RootFs, store: Store, limits: BatchLimits) -> list[str]:
    """Index every file whose document is in the store already, from another work tree or an earlier branch: each needs
    only one row. Returns the other paths.

    Many files share a commit, since only their rows are kept in memory and a commit waits for the disk.
    """
    left: list[str] = []
    waiting = iter(paths)
    while group := list(islice(waiting, ADOPTED_AT_ONCE)):
        states: list[FileState] = []
        glances = (glance(root_fs, path, limits.max_file_bytes) for path in group)
        while some := list(islice(glances, RECOGNISED_AT_ONCE)):
            known = store.catalog.numbers([key for _, key, _ in some if key])
            recognised = [adopted(one, known) for one in some]
            states += [state for state in recognised if state is not None]
        taken = {state.path for state in states}
        left += [path for path in group if path not in taken]
        store.apply(Batch(root=root, states=tuple(states)))
    return left


Glance = tuple[str, str, tuple[bytes, Stamp] | None]


def glance(root_fs: RootFs, path: str, max_bytes: int) -> Glance:
    """(path, key, content) of a file, which show whether the store knows it. `look` handles missing and unreadable
    paths."""
    try:
        data, stamp = root_fs.read(path, max_bytes, walking=True)
    except (LlmcError, OSError):
        return path, "", None
    return path, document_key(path, content_hash(data)), (data, stamp)


def adopted(one: Glance, known: Container[str]) -> FileState | None:
    """The state of a file that needs no digest: the store has its document, or it is binary."""
    path, key, content = one
    if content is None:
        return None
    data, stamp = content
    if key in known:
        return indexed_state(path, stamp, key, data)
    decoded = decode(data)
    return binary_state(path, stamp, decoded) if isinstance(decoded, Binary) else None


def indexed_state(path: str, stamp: Stamp, key: str, data: bytes) -> FileState:
    return FileState(path, lasting(stamp), FileStatus.INDEXED, key=key, reason=HOLDS_NUL if 0 in data else "")


def binary_state(path: str, stamp: Stamp, found: Binary) -> FileState:
    return FileState(path, lasting(stamp), FileStatus.SKIPPED, reason=CONTROLS if found.controls else BINARY)


def look(root_fs: RootFs, path: str, max_bytes: int) -> FileLook:
    """Read one file through `root_fs` and classify it. A bad file is a state with a reason, never an exception."""
    try:
        at = root_fs.stat(path)
        if at is None or at.kind is not FileKind.FILE:
            return FileLook(path, None)
        if at.stamp.size > max_bytes:
            return FileLook(path, FileState(path, lasting(at.stamp), FileStatus.SKIPPED, reason=TOO_LARGE))
        data, stamp = root_fs.read(path, max_bytes)
    except (NotFoundError, OutsideError):
        return FileLook(path, None)
    except ReadError as error:
        return FileLook(path, FileState(path, NO_STAMP, FileStatus.FAILED, reason=str(error.refusal)))
    decoded = decode(data)
    if isinstance(decoded, Binary):
        return FileLook(path, binary_state(path, stamp, decoded))
    content = content_hash(data)
    return FileLook(path, indexed_state(path, stamp, document_key(path, content), data), content, decoded.text)


def lasting(stamp: Stamp) -> Stamp:
    """The stamp, or one that equals no other if the file is so recent that another write might not change its stamp."""
    return stamp if settled(stamp) else Stamp(stamp.size, 0, 0, stamp.inode)


def recognise(batch: list[FileLook], store: Store, digester: Digester) -> list[Work]:
    """Submit the files that the store does not know: a second work tree costs only catalog rows, a rename no
    embedding."""
    known = store.catalog.numbers([seen.state.key for seen in batch if seen.state and seen.state.key])
    fresh = [seen for seen in batch if seen.state and seen.state.key and seen.state.key not in known]
    embedded = store.embedded_contents([seen.hash for seen in fresh])
    groups = ([s for s in fresh if s.hash not in embedded], [s for s in fresh if s.hash in embedded])
    promised: dict[str, Promise] = {}
    for group, embed in zip(groups, (True, False), strict=True):
        promises = digester.submit([(seen.path, seen.text) for seen in group], embed=embed)
        promised.update(zip((seen.path for seen in group), promises, strict=True))
    return [Work(seen, promised.get(seen.path), embedded=seen.hash not in embedded) for seen in batch]


def vectors_to_reuse(batch: list[Work], store: Store) -> dict[str, Vectors]:
    """content hash → vectors from the store, for files that were digested without embedding them."""
    return store.vectors_of_contents({work.seen.hash for work in batch if work.promise and not work.embedded})


def finish(work: Work, reused: Mapping[str, Vectors]) -> tuple[FileState | None, Document | None]:
    seen, state = work.seen, work.seen.state
    if work.promise is None or state is None or state.key is None:
        return state, None
    result = work.promise.result()
    if isinstance(result, str):
        return FileState(seen.path, state.stamp, FileStatus.FAILED, reason=result), None
    vectors = reused.get(seen.hash) if result.vectors is None else result.vectors
    if vectors is not None and len(vectors) != len(result.parsed.chunks):
        vectors = None  # from a version that chunked this text differently
    return state, Document(
        key=state.key,
        path=seen.path,
        content_hash=seen.hash,
        size=state.stamp.size,
        text=seen.text,
        parsed=result.parsed,
        vectors=vectors,
    )


def count(outcome: IndexOutcome, finished: list[tuple[FileState | None, Document | None]]) -> None:
    for state, document in finished:
        if state is None:
            outcome.files["gone"] += 1
        elif document is not None:
            outcome.files["indexed"] += 1
            outcome.bytes += document.size
            outcome.chunks += len(document.parsed.chunks)
        elif state.status is FileStatus.INDEXED:
            outcome.files["known"] += 1
        else:
            outcome.files[str(state.status)] += 1


def batched(looked: Iterable[FileLook], limits: BatchLimits) -> Iterator[list[FileLook]]:
    batch: list[FileLook] = []
    size, most = 0, limits.first_files
    for seen in looked:
        batch.append(seen)
        size += len(seen.text)
        if len(batch) >= most or size >= limits.batch_bytes:
            yield batch
            batch, size, most = [], 0, min(2 * most, limits.batch_files)
    if batch:
        yield batch


def one_ahead(batches: Iterator[list[Work]]) -> Iterator[list[Work]]:
    """Hand out a batch only after the next one is submitted: the pool digests while this process writes."""
    waiting = list(islice(batches, 1))
    for batch in batches:
        yield waiting.pop()
        waiting.append(batch)
    yield from waiting


def timed(stage: str, items: Iterable[FileLook], outcome: IndexOutcome) -> Iterator[FileLook]:
    iterator = iter(items)
    while True:
        started = time.process_time()
        seen = next(iterator, None)
        outcome.cpu[stage] += time.process_time() - started
        if seen is None:
            return
        yield seen
