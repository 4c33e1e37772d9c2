"""Turns text into chunks, symbols, references and vectors, without any store, so that a pool of processes can do it.
`root_fs` reads the files, and `pipeline` decides which of them are new."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from llmc.indexer.capsule import DOCUMENT_KINDS
from llmc.indexer.chunk import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.base.model import Parsed, Vectors
    from llmc.embed import Embedder

__all__ = ["Digest", "digest", "document_key", "embedded_texts"]

# A table of constants has more heads than text. Judged questions rank with 2,000 as well as without a limit, with
# 1,000 they do not.
LONGEST_HEADS = 2_000


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
    rows = embedder.embed([text for one in parsed for text in embedded_texts(one)])
    ends = np.cumsum([len(one.chunks) for one in parsed])
    return [Digest(one, rows[end - len(one.chunks) : end]) for one, end in zip(parsed, ends, strict=True)]


def embedded_texts(parsed: Parsed) -> Iterator[str]:
    """What the model sees of each chunk. Content only, never the path: a rename then needs no embedding.

    The names and signatures that a chunk defines precede its text twice: in a model that averages words, one line among
    forty has little weight (docs/decisions/0023).
    """
    for chunk, said in zip(parsed.chunks, _heads(parsed), strict=True):
        heads = "\n".join(said)[:LONGEST_HEADS]
        yield "\n".join(part for part in (heads, heads, chunk.capsule, chunk.text) if part)


def _heads(parsed: Parsed) -> list[list[str]]:
    starts = [chunk.start_line for chunk in parsed.chunks]
    heads: list[list[str]] = [[] for _ in starts]
    for symbol in parsed.symbols if starts else ():
        if symbol.kind not in DOCUMENT_KINDS:
            chunk = max(0, bisect_right(starts, symbol.start_line) - 1)
            heads[chunk] += (symbol.qualified, symbol.signature)
    return heads
