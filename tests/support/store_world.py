"""Small documents, batches and stores for the tests of the store."""

from __future__ import annotations

import hashlib
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from llmc.base.model import Chunk, Document, FileState, FileStatus, Parsed, Reference, Stamp, Symbol
from llmc.store import Batch, Store

if TYPE_CHECKING:
    import numpy.typing as npt

ROOT = "/work/tree"
EMBEDDER, DIMENSION = "test", 16
CHUNK_LINES = 5


def unit_vectors(seed: str, rows: int, dimension: int = DIMENSION) -> npt.NDArray[np.float32]:
    """Rows that depend on the seed alone."""
    number = int.from_bytes(hashlib.blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    vectors = np.random.default_rng(number).standard_normal((rows, dimension)).astype(np.float32)
    unit: npt.NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def document(path: str, text: str, *, embed: bool = True, language: str = "python") -> Document:
    """A document as the indexer would make it, with a chunk for every five lines."""
    content = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    key = hashlib.blake2b(f"{path}\0{content}".encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    parsed = parse(text, language)
    vectors = unit_vectors(content, len(parsed.chunks)) if embed else None
    return Document(key, path, content, len(text.encode("utf-8", "replace")), text, parsed, vectors)


def parse(text: str, language: str) -> Parsed:
    lines = text.splitlines(keepends=True)
    starts = range(0, len(lines), CHUNK_LINES)
    chunks = tuple(
        Chunk(
            ordinal,
            start + 1,
            min(start + CHUNK_LINES, len(lines)),
            "text",
            "",
            "".join(lines[start : start + CHUNK_LINES]),
        )
        for ordinal, start in enumerate(starts)
    )
    symbols = tuple(
        Symbol(found[2], "class" if found[1] == "class" else "function", "", number, number, line.strip())
        for number, line in enumerate(lines, 1)
        if (found := re.match(r"\s*(def|class) (\w+)", line))
    )
    references = tuple(
        Reference(name, "call", number, "")
        for number, line in enumerate(lines, 1)
        for name in re.findall(r"\b(\w{1,40})\(", line)
    )
    return Parsed(language, len(lines), chunks, symbols, references)


def state(
    path: str, of: Document | None = None, status: FileStatus = FileStatus.INDEXED, reason: str = ""
) -> FileState:
    size = of.size if of else 0
    return FileState(path, Stamp(size, 1_000 + size, 2_000 + size, 7), status, of.key if of else None, reason)


def batch(files: dict[str, str | None], root: str = ROOT) -> Batch:
    """path → text, None for a file that is gone."""
    documents = {path: document(path, text) for path, text in files.items() if text is not None}
    return Batch(
        root,
        tuple(state(path, one) for path, one in documents.items()),
        tuple(path for path, text in files.items() if text is None),
        tuple(documents.values()),
    )


def writer(folder: Path) -> Store:
    return Store.open(folder, EMBEDDER, DIMENSION, write=True, wait=10)


def reader(folder: Path) -> Store:
    return Store.open(folder, EMBEDDER, DIMENSION)


def filled(folder: Path, files: dict[str, str | None], root: str = ROOT) -> None:
    with writer(folder) as store:
        store.apply(batch(files, root))


def contents(store: Store, root: str = ROOT) -> dict[str, str | None]:
    """path → key of its document, as a reader sees the root."""
    return {path: found.key for path, found in store.catalog.files(root).items()}


def found_by_word(store: Store, word: str, root: str = ROOT) -> set[str]:
    """The paths that a search for one word gives."""
    from llmc.base import words
    from llmc.store.protocols import Clause, KeywordQuery

    places = store.catalog.places(root)
    clauses = tuple(Clause("body", term) for term in words.body(word).split())
    hits = store.keywords.search(KeywordQuery(any=clauses), 10_000)
    return {places[hit.doc] for hit in hits if hit.doc in places}


def found_by_substring(store: Store, text: str, root: str = ROOT) -> set[str]:
    """The paths that may hold a text, by trigrams."""
    from llmc.store.keywords.trigrams import trigrams
    from llmc.store.protocols import Trigrams

    places = store.catalog.places(root)
    return {places[doc] for doc in store.keywords.candidates(Trigrams(all=trigrams(text))) if doc in places}


def found_by_vector(store: Store, content: Document, root: str = ROOT) -> str | None:
    """The path of the nearest chunk to the first chunk of a document."""
    assert content.vectors is not None
    places = store.catalog.places(root)
    hits = store.vectors.search(content.vectors[0], 10, within=list(places))
    return places[hits[0].doc] if hits else None


def until_quiet() -> None:
    """tantivy reloads once in a thread of its own, some milliseconds after an index is opened. A file that is truncated
    under it just then kills the process, which no check of ours can prevent."""
    quiet = 0
    while quiet < 3 and Path("/proc/self/task").exists():
        names = _thread_names()
        quiet = quiet + 1 if "watch-callbacks" not in names and names.count("thread-tantivy-") >= 2 else 0
        time.sleep(0.01)


def _thread_names() -> list[str]:
    names = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has just ended
            names.append((task / "comm").read_text().strip())
    return names
