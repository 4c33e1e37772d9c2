"""The schema of `llmc status`, for people (tables) and programs (`--json`).

The `Service` fills a `StatusReport` with roots, stores and the embedder. The daemon adds `daemon`, which is None with
`--no-daemon`. Times are seconds since the epoch, sizes are bytes; None means "unknown" or "never". Scripts read this,
so fields are only added.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

__all__ = [
    "DaemonStatus",
    "EmbedderStatus",
    "IndexDifference",
    "IndexResult",
    "MemoryStatus",
    "ProcessStatus",
    "ProgressStatus",
    "RootStatus",
    "SkippedFileStatus",
    "StatusReport",
    "StoreStatus",
    "VectorStatus",
    "process_status",
]


@dataclass(frozen=True, slots=True)
class ProgressStatus:
    """Progress of a long operation; also the schema of the events of `index`.

    While watching, `index` sends `{"stage": "watch", "root", "path", "done", "removed", "seconds"}` for each batch.
    """

    stage: str  # scan, parse, embed, write, tidy, repair, watch, verify, paused
    done: int = 0
    total: int = 0  # 0 while unknown
    rate: float = 0.0  # per second
    eta: float | None = None  # seconds
    path: str = ""


@dataclass(frozen=True, slots=True)
class SkippedFileStatus:
    """A file that is not searchable, and why."""

    path: str
    status: str  # skipped, failed
    reason: str


@dataclass(frozen=True, slots=True)
class RootStatus:
    path: str
    name: str
    family: str
    state: str  # waiting, building, paused, ready, missing, failed
    indexed: int = 0
    skipped: int = 0
    failed: int = 0
    pending: int = 0
    reasons: dict[str, int] = field(default_factory=dict)  # why files were skipped or failed → how many
    examples: tuple[SkippedFileStatus, ...] = ()  # the first few, failures before skips
    generation: int = 0
    last_change: float | None = None  # when the watcher last saw a change
    last_commit: float | None = None  # when a change last became searchable
    last_scan: float | None = None  # when the last full scan ended
    watcher: str = "off"  # events, polling, gone, off
    degraded: str = ""  # why events may be late or lost; empty when healthy
    error: str = ""  # why the root cannot be indexed at all
    progress: ProgressStatus | None = None


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """`answered_by`: memory (an exact copy of a small table), lancedb (a search of the table), or empty while search
    uses keywords only; then `reason` says why."""

    answered_by: str = ""
    rows: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """One family of work trees."""

    family: str
    path: str
    documents: int = 0
    chunks: int = 0
    symbols: int = 0
    text_bytes: int = 0  # of the indexed text
    catalog_bytes: int = 0
    keyword_bytes: int = 0
    vector_bytes: int = 0
    read_only: str = ""  # why nothing can be written, such as a full disk
    vectors: VectorStatus | None = None


@dataclass(frozen=True, slots=True)
class EmbedderStatus:
    name: str
    dimension: int
    state: str = "ready"  # loading, ready, failed
    error: str = ""


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """`rss` includes pages of files, which the system takes back when it needs memory; `private` does not."""

    role: str  # daemon, worker
    pid: int
    rss: int
    cpu_seconds: float
    private: int = 0


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """The caches of the daemon. All are bounded, and released after a minute without calls, except for vectors and
    LanceDB's caches. `budget_bytes` is `daemon.cache_mb`, for replies, graph and LanceDB's caches."""

    replies: int = 0  # cached replies
    graph_bytes: int = 0  # cached symbols and references of documents
    vector_bytes: int = 0  # vectors in memory: of small stores, and of the latest saves of large ones
    index_cache_bytes: int = 0  # LanceDB's caches
    reply_bytes: int = 0
    other_bytes: int = 0  # results of small functions, words, scopes and layouts of roots
    budget_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    pid: int
    version: str
    build: int
    started: float
    uptime: float
    foreground: bool
    clients: int
    calls: int
    idle_exit: float  # exits after this many idle seconds; 0 means never
    home: str
    socket: str
    log: str


@dataclass(frozen=True, slots=True)
class StatusReport:
    roots: tuple[RootStatus, ...]
    stores: tuple[StoreStatus, ...] = ()
    embedder: EmbedderStatus | None = None
    processes: tuple[ProcessStatus, ...] = ()
    problems: tuple[str, ...] = ()  # problems that belong to no root
    daemon: DaemonStatus | None = None
    memory: MemoryStatus | None = None


@dataclass(frozen=True, slots=True)
class IndexDifference:
    """A difference between the index and the disk, or between two stores."""

    root: str
    path: str
    kind: str  # missing, stale, extra, store
    detail: str


@dataclass(frozen=True, slots=True)
class IndexResult:
    """The reply to `index`; `differences` are what `verify` found."""

    roots: tuple[RootStatus, ...]
    seconds: float
    differences: tuple[IndexDifference, ...] = ()


def process_status(role: str, pid: int | None = None) -> ProcessStatus:
    """Memory and CPU time of a process; zeros when it has exited."""
    import psutil  # noqa: PLC0415 - 15 ms, and only a status asks

    pid = pid or os.getpid()
    try:
        process = psutil.Process(pid)
        times = process.cpu_times()
        memory = process.memory_info()
        private = memory.rss - getattr(memory, "shared", 0)  # macOS does not report it
        return ProcessStatus(role, pid, memory.rss, times.user + times.system, private)
    except psutil.Error:
        return ProcessStatus(role, pid, 0, 0.0)
