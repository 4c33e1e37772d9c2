"""Builds the values of `llmc status` from the state of the indexer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from llmc.indexer.registry import OPENING
from llmc.indexer.watch import Mode
from llmc.server.status import (
    EmbedderStatus,
    IndexDifference,
    ProgressStatus,
    RootStatus,
    SkippedFileStatus,
    StoreStatus,
    VectorStatus,
)

if TYPE_CHECKING:
    from llmc.embed import Embedder
    from llmc.indexer.changes import Discrepancy
    from llmc.indexer.root_index import RootIndex
    from llmc.indexer.writer_thread import WriterThread
    from llmc.settings import EmbedderSettings

__all__ = ["difference", "embedder_status", "progress_of", "root_status", "store_status"]

EXAMPLES = 20


def root_status(root_index: RootIndex, writer_thread: WriterThread) -> RootStatus:
    writer_thread.store.refresh()
    catalog = writer_thread.store.catalog
    counts = catalog.counts(root_index.root.id).files
    skipped, failed = catalog.skipped(root_index.root.id), catalog.failed(root_index.root.id)
    walk = root_index.tally.passed if root_index.tally else Counter()
    reasons = Counter(state.reason for state in [*failed, *skipped])
    reasons |= Counter({str(why): count for why, count in walk.items()})
    health = root_index.health()
    progress = progress_of(root_index)
    return RootStatus(
        path=root_index.root.path,
        name=root_index.root.name,
        family=root_index.root.family,
        state=state_of(root_index, writer_thread),
        indexed=counts.get("indexed", 0),
        skipped=counts.get("skipped", 0),
        failed=counts.get("failed", 0),
        pending=len(root_index.pending.paths()) + len(root_index.pending.folders()),
        reasons=dict(reasons),
        examples=tuple(
            SkippedFileStatus(one.path, str(one.status), one.reason) for one in [*failed, *skipped][:EXAMPLES]
        ),
        generation=catalog.generation(),
        last_change=root_index.last_change,
        last_commit=root_index.last_commit,
        last_scan=root_index.last_scan,
        watcher=str(health.mode) if health else "off",
        degraded=health.degraded if health else "",
        error=root_index.error or writer_thread.trouble,
        progress=ProgressStatus(**progress) if progress else None,
    )


def state_of(root_index: RootIndex, writer_thread: WriterThread) -> str:
    health = root_index.health()
    if health is not None and health.mode is Mode.GONE:
        return "missing"
    if root_index.error or writer_thread.trouble:
        return "failed"
    if writer_thread.paused:
        return "paused"
    if root_index.built:
        return "ready"
    return "building" if root_index.progress else "waiting"


def progress_of(root_index: RootIndex) -> dict[str, Any] | None:
    progress = root_index.progress
    if progress is None:
        return None
    return {
        "stage": progress.stage,
        "done": progress.done,
        "total": progress.total,
        "rate": progress.rate,
        "eta": progress.eta,
        "path": progress.path,
    }


def store_status(writer_thread: WriterThread) -> StoreStatus:
    counts = writer_thread.store.counts()
    disk = counts.disk_bytes
    return StoreStatus(
        family=writer_thread.family,
        path=writer_thread.folder,
        documents=counts.documents,
        chunks=counts.chunks,
        symbols=counts.symbols,
        text_bytes=counts.text_bytes,
        catalog_bytes=disk.get("catalog", 0),
        keyword_bytes=disk.get("chunks", 0) + disk.get("files", 0),
        vector_bytes=disk.get("vectors", 0),
        vectors=vector_status(writer_thread),
        read_only=writer_thread.trouble,
    )


def vector_status(writer_thread: WriterThread) -> VectorStatus:
    if writer_thread.embedder is None:
        return VectorStatus(reason="there is no embedder")
    state = writer_thread.store.vector_state(wait=False)
    return VectorStatus(state.answered_by, state.rows, state.reason)


def embedder_status(settings: EmbedderSettings, embedder: Embedder | None, trouble: str) -> EmbedderStatus:
    if embedder is None:
        name = settings.model or settings.kind
        return EmbedderStatus(name, 0, "loading") if trouble == OPENING else EmbedderStatus(name, 0, "failed", trouble)
    return EmbedderStatus(embedder.name, embedder.dimension)


def difference(one: Discrepancy) -> IndexDifference:
    return IndexDifference(one.root, one.path, one.kind, one.detail)
