"""How documents become rows of the content tables."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from llmc.base import words
from llmc.store.catalog.packing import clean, defined_names, link_blob, pack_chunks, reference_blob, symbol_blob
from llmc.store.keywords.trigrams import parts
from llmc.store.shared.documents import DocumentFacts
from llmc.store.shared.grams import gram_terms
from llmc.store.shared.schema import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt
    import pyarrow as pa

    from llmc.base.model import Document
    from llmc.store.shared.schema import Description

__all__ = ["NumberedDocument", "chunk_rows", "document_rows", "symbol_rows", "trigram_rows", "vector_rows"]


class NumberedDocument(NamedTuple):
    """A document to publish: `content` is its file, and `redactions` the number of secrets replaced in it."""

    doc: int
    document: Document
    content: bytes = b""
    redactions: int = 0


def document_rows(repo: str, documents: Sequence[NumberedDocument], description: Description) -> pa.Table:
    rows = [
        {
            "repo": repo,
            "doc": doc,
            "content_hash": document.content_hash,
            "size": document.size,
            "redactions": redactions,
            "nul": 0 in content,
            "facts": facts_of(document).pack(),
            "refs": reference_blob(document.parsed.references),
            "content": content,
        }
        for doc, document, content, redactions in documents
    ]
    return _table("documents", rows, description)


def facts_of(document: Document) -> DocumentFacts:
    parsed = document.parsed
    return DocumentFacts(
        path=document.path,
        content_hash=document.content_hash,
        language=clean(parsed.language),
        size=document.size,
        lines=parsed.lines,
        chunks=pack_chunks(parsed.chunks),
        symbols=symbol_blob(parsed.symbols),
        links=link_blob(parsed.links),
    )


def trigram_rows(repo: str, documents: Iterable[NumberedDocument], description: Description) -> pa.Table:
    rows = []
    for doc, document, *_ in documents:
        texts = list(parts(clean(document.text)))
        rows += [{"repo": repo, "doc": doc, "cut": len(texts) > 1, "grams": gram_terms(text)} for text in texts]
    return _table("trigrams", rows, description)


def chunk_rows(repo: str, documents: Iterable[NumberedDocument], description: Description) -> pa.Table:
    rows = [
        {
            "repo": repo,
            "doc": doc,
            "ordinal": chunk.ordinal,
            "language": clean(document.parsed.language),
            "body": clean(words.body(chunk.text)),
            "name": clean(words.name(chunk.name)),
            "path": words.path(clean(document.path)),
        }
        for doc, document, *_ in documents
        for chunk in document.parsed.chunks
    ]
    return _table("chunks", rows, description)


def symbol_rows(repo: str, documents: Iterable[NumberedDocument], description: Description) -> pa.Table:
    rows = [
        {"repo": repo, "doc": doc, "name": name}
        for doc, document, *_ in documents
        for name in defined_names(document.parsed.symbols)
    ]
    return _table("symbols", rows, description)


def vector_rows(
    repo: str, vectors: Sequence[tuple[int, npt.NDArray[np.float32]]], description: Description
) -> pa.Table:
    """The unit vectors of documents in order of their chunks. Values that are not finite become 0, so such a row is
    near to no query."""
    import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

    schema = schema_of("vectors", description)
    held = [(doc, rows) for doc, rows in vectors if len(rows)]
    if not held:
        return schema.empty_table()
    docs = np.concatenate([np.full(len(rows), doc, np.int64) for doc, rows in held])
    ordinals = np.concatenate([np.arange(len(rows), dtype=np.int32) for _, rows in held])
    halves = np.nan_to_num(np.concatenate([rows for _, rows in held]), posinf=0.0, neginf=0.0).astype(np.float16)
    column = pa.FixedSizeListArray.from_arrays(pa.array(halves.reshape(-1)), description.dimension)
    repos = pa.array([repo] * len(docs), pa.string())
    written = pa.array(np.full(len(docs), time.time()))
    return pa.table([repos, pa.array(docs), written, pa.array(ordinals), column], schema=schema)


def _table(name: str, rows: list[dict[str, object]], description: Description) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

    now = time.time()
    return pa.Table.from_pylist([{**row, "written": now} for row in rows], schema_of(name, description))
