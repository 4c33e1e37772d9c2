"""Publishes a tree to the shared index: list, recognise, read, redact, digest, write, commit.

Only files whose content the index does not have at their path are read. Redaction is the first step for a text, so no
chunk, vector or name contains a secret.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from llmc.base.errors import EmbedError
from llmc.base.languages import language_of
from llmc.base.model import Document, Parsed
from llmc.base.text import content_hash, count_lines
from llmc.indexer.digest import document_key
from llmc.publish.redacted import redact_file
from llmc.store.shared.heads import is_newer
from llmc.store.shared.manifest import Head, ManifestEntry
from llmc.store.shared.publishing import Publication
from llmc.store.shared.rows import NumberedDocument
from llmc.store.shared.schema import document_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmc.base.model import Vectors
    from llmc.embed import Embedder
    from llmc.envelope.redact.redactor import Redactor
    from llmc.indexer.pool import Digester, Promise
    from llmc.publish.redacted import CleanFile
    from llmc.publish.tree import SourceTree, TreeFile
    from llmc.store.shared.database import SharedDatabase

    Report = Callable[[dict[str, Any]], None]

__all__ = ["PublishRequest", "PublishResult", "publish"]

# The size of one write, which commits to several tables. Larger ones take more memory, smaller ones more requests.
BATCH_FILES = 2_000
BATCH_BYTES = 32 << 20


@dataclass(frozen=True)
class PublishRequest:
    """`chunked_bytes`: larger files are published for grep and read only. `embed_in_pool`: the embedder is fast, so
    that the digester embeds every file; a slow one embeds only contents without vectors. `force` replaces a newer
    commit."""

    repo: str
    ref: str
    tree: SourceTree
    redactor: Redactor
    digester: Digester
    embedder: Embedder
    chunked_bytes: int
    embed_in_pool: bool = True
    force: bool = False


@dataclass(frozen=True, slots=True)
class PublishResult:
    """`is_current`: the ref is at this commit now. If not, `superseded_by` is the newer commit that was there already,
    or that another publisher wrote meanwhile."""

    repo: str
    ref: str
    commit: str
    files: int
    documents: int
    chunks: int
    written: int
    bytes_written: int
    denied: int
    omitted: int
    redacted: int
    seconds: float
    is_current: bool = True
    superseded_by: str = ""
    shard: int = 0
    passed: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that the index does not have; `promise` is its digest."""

    file: TreeFile
    doc: int
    clean: CleanFile
    promise: Promise | None


def publish(database: SharedDatabase, request: PublishRequest, report: Report = lambda _event: None) -> PublishResult:
    started = time.monotonic()
    tree, repo = request.tree, request.repo
    with Publication(database, repo, request.ref) as publication:
        current = publication.current
        if current is not None and is_newer(current, tree.committed) and not request.force:
            return _superseded(request, current, started)
        redactor_version = request.redactor.fingerprint
        numbered = {document_number(repo, one.path, one.blob, redactor_version): one for one in tree.files()}
        report({"stage": "list", "done": len(numbered)})
        omitted = _write_new(publication, request, numbered, report) + sum(tree.passed.values())
        entries = [_entry(publication, doc, file) for doc, file in numbered.items()]
        head = Head(
            repo, request.ref, tree.commit, 0, "", committed=tree.committed, denied=tree.denied, omitted=omitted
        )
        report({"stage": "commit"})
        published, counting = publication.commit(entries, head, force=request.force)
        if not published.nonce:
            return _superseded(request, counting, started)
        return PublishResult(
            repo=repo,
            ref=request.ref,
            commit=tree.commit,
            files=published.files,
            documents=published.documents,
            chunks=published.chunks,
            written=publication.documents_written,
            bytes_written=publication.bytes_written,
            denied=published.denied,
            omitted=published.omitted,
            redacted=published.redacted,
            seconds=time.monotonic() - started,
            is_current=counting.nonce == published.nonce,
            superseded_by="" if counting.nonce == published.nonce else counting.commit,
            shard=published.shard,
            passed={str(why): count for why, count in tree.passed.items()},
        )


def _superseded(request: PublishRequest, current: Head, started: float) -> PublishResult:
    """The result of a late run for an older commit, which must not replace the newer one."""
    counts = (current.files, current.documents, current.chunks, 0, 0, current.denied, current.omitted, current.redacted)
    elapsed = time.monotonic() - started
    return PublishResult(
        request.repo, request.ref, request.tree.commit, *counts, elapsed, is_current=False, superseded_by=current.commit
    )


def _write_new(publication: Publication, request: PublishRequest, numbered: dict[int, TreeFile], report: Report) -> int:
    """Write the files that the index does not have; returns the number of unreadable files."""
    publication.expect(numbered)
    missing = {doc for doc in numbered if publication.known(doc) is None and publication.known(-doc) is None}
    ordered = sorted((numbered[doc], doc) for doc in missing)
    found = _new_files(publication, request, ordered)
    done = unread = 0
    while batch := list(_batched(found)):
        files = [one for one in batch if one is not None]
        reused = {} if request.embed_in_pool else _stored_vectors(publication, files)
        publication.write([_finished(one, reused, request.embedder) for one in files])
        done += len(batch)
        unread += len(batch) - len(files)
        path = files[-1].file.path if files else ""
        report({"stage": "publish", "done": done, "total": len(ordered), "path": path})
    if done < len(ordered):  # the others have no text
        report({"stage": "publish", "done": len(ordered), "total": len(ordered)})
    return unread


def _new_files(
    publication: Publication, request: PublishRequest, missing: Iterable[tuple[TreeFile, int]]
) -> Iterator[NewFile | None]:
    """Read and redact files, and submit them in groups to the digester; None for an unreadable file."""
    waiting = iter(missing)
    while group := list(islice(waiting, DIGESTED_AT_ONCE)):
        clean: list[tuple[TreeFile, int, CleanFile]] = []
        for file, doc in group:
            data = request.tree.read(file)
            cleaned = redact_file(request.redactor, file.path, data) if data is not None else None
            if cleaned is not None:
                clean.append((file, doc, cleaned))
                continue
            publication.note_without_text(doc, file.path, len(data or b""))
            if data is None:
                yield None
        chunked = [(file, doc, one) for file, doc, one in clean if _is_chunked(one, request.chunked_bytes)]
        texts = [(file.path, one.text) for file, _, one in chunked]
        promises = request.digester.submit(texts, embed=request.embed_in_pool)
        promised = dict(zip((doc for _, doc, _ in chunked), promises, strict=True))
        yield from (NewFile(file, doc, one, promised.get(doc)) for file, doc, one in clean)


DIGESTED_AT_ONCE = 500


def _is_chunked(clean: CleanFile, largest: int) -> bool:
    return clean.is_prose and len(clean.content) <= largest


def _batched(files: Iterator[NewFile | None]) -> Iterator[NewFile | None]:
    size = 0
    for count, one in enumerate(files, 1):
        yield one
        size += len(one.clean.content) if one else 0
        if count >= BATCH_FILES or size >= BATCH_BYTES:
            return


def _stored_vectors(publication: Publication, files: list[NewFile]) -> dict[str, Vectors]:
    return publication.vectors_of_contents({content_hash(one.clean.content) for one in files})


def _finished(one: NewFile, reused: dict[str, Vectors], embedder: Embedder) -> NumberedDocument:
    content, text = one.clean.content, one.clean.text
    path, hashed = one.file.path, content_hash(one.clean.content)
    result = one.promise.result() if one.promise is not None else "not cut into chunks"
    if isinstance(result, str):  # too large, or the parser failed: grep and read can still use it
        parsed, vectors = Parsed(language_of(path), count_lines(text), (), (), ()), None
    else:
        parsed = result.parsed
        vectors = reused.get(hashed) if result.vectors is None else result.vectors
        if vectors is None or len(vectors) != len(parsed.chunks):
            vectors = _embedded(parsed, embedder)
    document = Document(document_key(path, hashed), path, hashed, len(content), text, parsed, vectors)
    return NumberedDocument(one.doc, document, content, one.clean.secrets)


def _embedded(parsed: Parsed, embedder: Embedder) -> Vectors:
    from llmc.indexer.digest import document_vectors  # noqa: PLC0415 - numpy

    try:
        return document_vectors([parsed], embedder)[0]
    except EmbedError as error:
        error.hint = error.hint or "Nothing was published; run it again when the embedder is available."
        raise


def _entry(publication: Publication, doc: int, file: TreeFile) -> ManifestEntry:
    """A file without text is listed with its negative number, so that the next run need not read it again."""
    known = publication.known(doc) or publication.known(-doc)
    assert known is not None, "it was known, or was written just now"
    return known._replace(path=file.path)
