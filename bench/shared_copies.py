"""Many repositories from a few: a work tree is digested once and published again and again with modified content.

In each copy a twentieth of all names is different from every other copy's, in texts, chunks, symbols and references
alike, so that no two repositories share a document. What is saved is parsing and embedding; everything that a publisher
writes goes through `Publication` as always.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import TYPE_CHECKING

import numpy as np

from llmc.base.model import Document, Parsed
from llmc.base.text import Binary, content_hash, decode
from llmc.indexer.digest import digest, document_key
from llmc.store.shared.manifest import Head
from llmc.store.shared.publishing import Publication
from llmc.store.shared.rows import NumberedDocument
from llmc.store.shared.schema import document_number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.base.model import Vectors
    from llmc.embed import Embedder
    from llmc.store.shared.database import SharedDatabase

__all__ = ["DigestedFile", "digested", "modified", "publish_copy", "write_copy"]

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,40}")
MOST_FILE_BYTES = 200_000
AT_ONCE = 200
# A changed name moves a vector by about as much.
NOISE = 0.02


@dataclass(frozen=True, slots=True)
class DigestedFile:
    path: str
    text: str
    parsed: Parsed
    vectors: Vectors


def listed(source: Path) -> Iterator[tuple[str, bytes]]:
    """(path, content) of a work tree's files, without attributes that make git convert them."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=source, capture_output=True, check=True).stdout
    for name in sorted(names.decode("utf-8", "surrogateescape").split("\0")):
        place = source / name
        if not name or place.name == ".gitattributes" or not place.is_file() or place.is_symlink():
            continue
        if place.stat().st_size < MOST_FILE_BYTES:
            yield name, place.read_bytes()


def digested(source: Path, embedder: Embedder) -> Iterator[DigestedFile]:
    texts = [(path, decoded.text) for path, data in listed(source) if not isinstance(decoded := decode(data), Binary)]
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        for (path, text), found in zip(some, digest(some, embedder), strict=True):
            assert found.vectors is not None
            yield DigestedFile(path, text, found.parsed, found.vectors)


def modified(text: str, number: int) -> str:
    return IDENTIFIER.sub(lambda found: renamed(found[0], number), text)


def renamed(name: str, number: int) -> str:
    return f"{name}{number}" if sum(name.encode()) % 20 == 0 else name


def write_copy(files: list[DigestedFile], number: int, folder: Path) -> None:
    for one in files:
        target = folder / one.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(modified(one.text, number), "utf-8", "surrogateescape", "")


def copied(one: DigestedFile, number: int) -> Document:
    text, parsed = modified(one.text, number), one.parsed
    content = text.encode("utf-8", "surrogateescape")
    noise = np.random.default_rng(number).normal(0, NOISE, one.vectors.shape).astype(np.float32)
    vectors = one.vectors + noise
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    hashed = content_hash(content)
    return Document(
        document_key(one.path, hashed),
        one.path,
        hashed,
        len(content),
        text,
        replace(
            parsed,
            chunks=tuple(
                replace(chunk, text=modified(chunk.text, number), name=modified(chunk.name, number))
                for chunk in parsed.chunks
            ),
            symbols=[
                symbol._replace(
                    name=modified(symbol.name, number),
                    container=modified(symbol.container, number),
                    signature=modified(symbol.signature, number),
                )
                for symbol in parsed.symbols
            ],
            references=[
                reference._replace(
                    name=modified(reference.name, number), container=modified(reference.container, number)
                )
                for reference in parsed.references
            ],
        ),
        vectors,
    )


def publish_copy(database: SharedDatabase, repo: str, files: list[DigestedFile], number: int) -> int:
    """The number of chunks. A later `llmc publish` of the same tree finds every document."""
    with Publication(database, repo, "main") as publication:
        entries = []
        for start in range(0, len(files), 10 * AT_ONCE):
            some = [copied(one, number) for one in files[start : start + 10 * AT_ONCE]]
            rows = [numbered(repo, one, database.description.redactor) for one in some]
            publication.write(rows)
            entries += [known for one in rows if (known := publication.known(one.doc)) is not None]
        published, _ = publication.commit(entries, Head(repo, "main", f"{number:040x}", 0, "", committed=1.0))
        return published.chunks


def numbered(repo: str, document: Document, redactor: str) -> NumberedDocument:
    content = document.text.encode("utf-8", "surrogateescape")
    blob = sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    return NumberedDocument(document_number(repo, document.path, blob, redactor), document, content)
