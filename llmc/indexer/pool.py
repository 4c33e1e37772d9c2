"""Where files are digested: in this process, or in a pool of processes for a whole root.

A file that crashes a parser (in native code, not with an exception) must not stop a run: the pool is recreated and the
files of the failed slice are tried one by one, each in its own process; a file that crashes again is marked as failed.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any, Protocol

from llmc.base.errors import EmbedError
from llmc.base.model import Chunk, Parsed
from llmc.embed import open_embedder
from llmc.indexer.digest import Digest, digest
from llmc.store.catalog.packing import PackedLinks, PackedReferences, PackedSymbols, packed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.base.model import Vectors
    from llmc.embed import Embedder
    from llmc.settings import Settings

__all__ = ["DigestPool", "Digester", "Inline", "Promise"]

# The files pack_result to a process at once: enough to hide the cost of the pipe, few enough to keep all cores busy.
SLICE_BYTES = 512 * 1024
SLICE_FILES = 64

File = tuple[str, str]
# A digest for sending through a pipe: few objects, since each takes some 10 µs.
PackedDigest = tuple[str, int, list[tuple[Any, ...]], PackedSymbols, PackedReferences, PackedLinks, "Vectors | None"]
Results = tuple[list[PackedDigest | str], float]


class Promise(Protocol):
    def result(self) -> Digest | str:
        """The digest, or the reason why there is none."""


class Digester(Protocol):
    cpu: float  # seconds spent on digesting so far, in whatever process

    def submit(self, files: Sequence[File], *, embed: bool) -> list[Promise]: ...

    def close(self) -> None: ...


class DigestResult:
    def __init__(self, value: Digest | str) -> None:
        self._value = value

    def result(self) -> Digest | str:
        return self._value


class Inline:
    """Digest at once, in this process: for a save, and for tests."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self.cpu = 0.0

    def submit(self, files: Sequence[File], *, embed: bool) -> list[Promise]:
        started = time.process_time()
        results = digest_safely(files, self._embedder if embed else None)
        self.cpu += time.process_time() - started
        return [DigestResult(result) for result in results]

    def close(self) -> None:
        pass


class DigestPool:
    """Digest in `workers` processes; each loads the embedder that the settings name, once."""

    def __init__(self, settings: Settings, workers: int, *, embed: bool) -> None:
        self._settings = settings
        self._workers = workers
        self._embed = embed
        self._executor: ProcessPoolExecutor | None = (
            None  # started by the first file: a work tree may have no new files
        )
        self.cpu = 0.0

    def submit(self, files: Sequence[File], *, embed: bool) -> list[Promise]:
        promises: list[Promise] = []
        for part in slices(files):
            self._executor = self._executor or self._start(self._workers)
            future = self._executor.submit(work, part, embed=embed)
            shared = Slice(self, part, embed, future)
            promises += [shared.promise(index) for index in range(len(part))]
        return promises

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def alone(self, file: File, *, embed: bool) -> Digest | str:
        """One file in a process of its own."""
        with self._start(1) as executor:
            try:
                results, _ = executor.submit(work, [file], embed=embed).result()
            except BrokenProcessPool:
                return "the parser crashed on this file"
            return unpack_result(results[0])

    def renew(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor = None

    def _start(self, workers: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=prepare,
            initargs=(self._settings if self._embed else None,),
        )


class Slice:
    """The files of one call and their results, which are fetched once and cached."""

    def __init__(self, pool: DigestPool, files: list[File], embed: bool, future: Future[Results]) -> None:
        self._pool = pool
        self._files = files
        self._embed = embed
        self._future = future
        self._results: list[Digest | str] | None = None

    def promise(self, index: int) -> Promise:
        return DigestPart(self, index)

    def results(self) -> Sequence[Digest | str]:
        if self._results is None:
            try:
                done, seconds = self._future.result()
            except (BrokenProcessPool, RuntimeError):
                self._pool.renew()
                self._results = [self._pool.alone(file, embed=self._embed) for file in self._files]
            else:
                self._pool.cpu += seconds
                self._results = [unpack_result(one) for one in done]
        return self._results


class DigestPart:
    def __init__(self, whole: Slice, index: int) -> None:
        self._whole = whole
        self._index = index

    def result(self) -> Digest | str:
        return self._whole.results()[self._index]


def slices(files: Sequence[File]) -> list[list[File]]:
    parts: list[list[File]] = []
    size = SLICE_BYTES
    for file in files:
        if size >= SLICE_BYTES or len(parts[-1]) >= SLICE_FILES:
            parts.append([])
            size = 0
        parts[-1].append(file)
        size += len(file[1])
    return parts


def digest_safely(files: Sequence[File], embedder: Embedder | None) -> list[Digest | str]:
    """An embedder that fails leaves the documents without vectors (they are filled in later), never without text."""
    try:
        return list(digest(files, embedder))
    except EmbedError:
        return list(digest(files, None))


# ---- inside a pool process ----

_embedder: Embedder | None = None


def prepare(settings: Settings | None) -> None:
    global _embedder  # noqa: PLW0603 - a process of the pool has exactly one embedder
    threading.Thread(target=end_with_parent, daemon=True).start()
    _embedder = open_embedder(settings.embedder) if settings else None


def end_with_parent() -> None:
    """End this process if its parent was killed; otherwise it would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)


def work(files: list[File], *, embed: bool) -> Results:
    started = time.process_time()
    results = [pack_result(one) for one in digest_safely(files, _embedder if embed else None)]
    return results, time.process_time() - started


def pack_result(result: Digest | str) -> PackedDigest | str:
    if isinstance(result, str):
        return result
    parsed = result.parsed
    chunks = [(c.ordinal, c.start_line, c.end_line, c.kind, c.name, c.text, c.capsule) for c in parsed.chunks]
    return parsed.language, parsed.lines, chunks, *packed(parsed), result.vectors


def unpack_result(result: PackedDigest | str) -> Digest | str:
    if isinstance(result, str):
        return result
    language, lines, chunks, symbols, references, links, vectors = result
    return Digest(Parsed(language, lines, tuple(Chunk(*one) for one in chunks), symbols, references, links), vectors)
