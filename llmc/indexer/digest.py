"""What one file becomes: bytes → text → chunks, symbols, references → vectors. Pure work without any store, so that a
pool of processes can share it. Reading belongs to `door`, what is already known to `pipeline`."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from llmc.indexer.chunk import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.embed import Embedder
    from llmc.model import Chunk, Parsed, Vectors

__all__ = ["Digest", "digest", "document_key", "embedded_text"]


@dataclass(frozen=True, slots=True)
class Digest:
    """`vectors` is None when the caller has them already (a rename) or when there is no embedder."""

    parsed: Parsed
    vectors: Vectors | None


def document_key(path: str, content: str) -> str:
    return blake2b(path.encode("utf-8", "surrogateescape") + b"\0" + content.encode(), digest_size=16).hexdigest()


def digest(files: Sequence[tuple[str, str]], embedder: Embedder | None) -> list[Digest]:
    """Parse (path, text) pairs and embed all their chunks in one go: a model works best in batches."""
    parsed = [parse(path, text) for path, text in files]
    if embedder is None:
        return [Digest(one, None) for one in parsed]
    rows = embedder.embed([embedded_text(chunk) for one in parsed for chunk in one.chunks])
    ends = np.cumsum([len(one.chunks) for one in parsed])
    return [Digest(one, rows[end - len(one.chunks) : end]) for one, end in zip(parsed, ends, strict=True)]


def embedded_text(chunk: Chunk) -> str:
    """What the model sees. Content only, never the path: a rename then needs no embedding."""
    return f"{chunk.capsule}\n{chunk.text}" if chunk.capsule else chunk.text
