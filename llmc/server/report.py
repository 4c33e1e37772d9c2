"""From what the indexer knows to what `llmc status` says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from llmc.indexer.watch import Mode
from llmc.server.status import (
    Difference,
    EmbedderStatus,
    Passed,
    Progress,
    RootStatus,
    StoreStatus,
)

if TYPE_CHECKING:
    from llmc.embed import Embedder
    from llmc.indexer.keeper import Keeper
    from llmc.indexer.lane import Lane
    from llmc.indexer.verify import Discrepancy
    from llmc.settings import EmbedderSettings

__all__ = ["difference", "embedder_status", "progress_of", "root_status", "store_status"]

EXAMPLES = 20


def root_status(keeper: Keeper, lane: Lane) -> RootStatus:
    lane.store.refresh()
    catalog = lane.store.catalog
    counts = catalog.counts(keeper.root.id).files
    skipped, failed = catalog.skipped(keeper.root.id), catalog.failed(keeper.root.id)
    walk = keeper.tally.passed if keeper.tally else Counter()
    reasons = Counter(state.reason for state in [*failed, *skipped])
    reasons |= Counter({str(why): count for why, count in walk.items()})
    health = keeper.health()
    progress = progress_of(keeper)
    return RootStatus(
        path=keeper.root.path,
        name=keeper.root.name,
        family=keeper.root.family,
        state=state_of(keeper, lane),
        indexed=counts.get("indexed", 0),
        skipped=counts.get("skipped", 0),
        failed=counts.get("failed", 0),
        pending=len(keeper.pending.paths()) + len(keeper.pending.folders()),
        reasons=dict(reasons),
        examples=tuple(Passed(one.path, str(one.status), one.reason) for one in [*failed, *skipped][:EXAMPLES]),
        generation=catalog.generation(),
        last_change=keeper.last_change,
        last_commit=keeper.last_commit,
        last_scan=keeper.last_scan,
        watcher=str(health.mode) if health else "off",
        degraded=health.degraded if health else "",
        error=keeper.error or lane.trouble,
        progress=Progress(**progress) if progress else None,
    )


def state_of(keeper: Keeper, lane: Lane) -> str:
    health = keeper.health()
    if health is not None and health.mode is Mode.GONE:
        return "missing"
    if keeper.error or lane.trouble:
        return "failed"
    if keeper.built:
        return "ready"
    return "building" if keeper.progress else "waiting"


def progress_of(keeper: Keeper) -> dict[str, Any] | None:
    progress = keeper.progress
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


def store_status(lane: Lane) -> StoreStatus:
    counts = lane.store.counts()
    disk = counts.disk_bytes
    return StoreStatus(
        family=lane.family,
        path=lane.folder,
        documents=counts.documents,
        chunks=counts.chunks,
        symbols=counts.symbols,
        text_bytes=counts.text_bytes,
        catalog_bytes=disk.get("catalog", 0),
        keyword_bytes=disk.get("chunks", 0) + disk.get("files", 0),
        vector_bytes=disk.get("vectors", 0) + disk.get("lance", 0),
        read_only=lane.trouble,
    )


def embedder_status(settings: EmbedderSettings, embedder: Embedder | None, trouble: str) -> EmbedderStatus:
    if embedder is None:
        return EmbedderStatus(settings.model or settings.kind, 0, "failed", trouble)
    return EmbedderStatus(embedder.name, embedder.dimension)


def difference(one: Discrepancy) -> Difference:
    return Difference(one.root, one.path, one.kind, one.detail)
