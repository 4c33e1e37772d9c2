"""`/metrics`: call counters and root statistics in the Prometheus text format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc import __version__
from llmc.server.report import root_status, store_status
from llmc.server.status import process_status
from llmc.state.metrics import BOUNDS, METER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.workspace import Workspace

    # labels and value of one line
    Sample = tuple[dict[str, str], float]

__all__ = ["CONTENT_TYPE", "exposition"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STATES = ("ready", "building", "waiting", "failed", "missing")


def exposition(workspace: Workspace, sessions: int) -> str:
    """Metrics of the roots of this workspace only; other roots are not visible to this client."""
    lines = [*answered(), *indexed(workspace), *process(sessions)]
    return "\n".join(lines) + "\n"


def answered() -> Iterator[str]:
    timings = {tool: (list(one.counts), one.seconds) for tool, one in sorted(METER.timings.items())}
    calls = [({"tool": tool}, float(sum(counts))) for tool, (counts, _) in timings.items()]
    yield from family("llmc_calls_total", "counter", "Calls answered, by tool.", calls)
    errors = [({"tool": tool, "code": code}, float(n)) for (tool, code), n in sorted(METER.errors.items())]
    yield from family("llmc_errors_total", "counter", "Calls answered with an error, by tool and code.", errors)
    yield "# HELP llmc_call_seconds Duration of calls, by tool."
    yield "# TYPE llmc_call_seconds histogram"
    for tool, (counts, seconds) in timings.items():
        below = 0
        for bound, count in zip((*BOUNDS, float("inf")), counts, strict=True):
            below += count
            yield sample("llmc_call_seconds_bucket", {"tool": tool, "le": number(bound)}, below)
        yield sample("llmc_call_seconds_sum", {"tool": tool}, seconds)
        yield sample("llmc_call_seconds_count", {"tool": tool}, below)
    tokens = [
        ({"tool": tool, "kind": kind}, float(n))
        for kind, counter in (("content", METER.content), ("frame", METER.frame))
        for tool, n in sorted(counter.items())
    ]
    yield from family("llmc_reply_tokens_total", "counter", "Tokens of replies, by content and frame.", tokens)


def indexed(workspace: Workspace) -> Iterator[str]:
    roots = [
        root_status(root_index, workspace.registry.writer_thread(root_index)) for root_index in workspace.root_indexes
    ]
    files = [
        ({"root": root.name, "state": state}, float(getattr(root, state)))
        for root in roots
        for state in ("indexed", "skipped", "failed")
    ]
    yield from family("llmc_files", "gauge", "Files of a root, by state.", files)
    pending = [({"root": root.name}, float(root.pending)) for root in roots]
    yield from family("llmc_pending", "gauge", "Changes that are not indexed yet.", pending)
    ready = [({"root": root.name, "state": state}, float(root.state == state)) for root in roots for state in STATES]
    yield from family("llmc_root_state", "gauge", "1 for the current state of the root.", ready)
    stores = [store_status(writer_thread) for writer_thread in workspace.writer_threads]
    sizes = [
        ({"store": store.family, "part": part}, float(getattr(store, f"{part}_bytes")))
        for store in stores
        for part in ("catalog", "keyword", "vector", "text")
    ]
    yield from family("llmc_index_bytes", "gauge", "Size of the index on disk, by part.", sizes)
    rows = [
        ({"store": store.family, "kind": kind}, float(getattr(store, kind)))
        for store in stores
        for kind in ("documents", "chunks", "symbols")
    ]
    yield from family("llmc_index_rows", "gauge", "Number of rows in the index.", rows)


def process(sessions: int) -> Iterator[str]:
    daemon = process_status("daemon")
    yield from family("llmc_sessions", "gauge", "Sessions in memory.", [({}, float(sessions))])
    yield from family("llmc_resident_bytes", "gauge", "Memory of the daemon.", [({}, float(daemon.rss))])
    yield from family("llmc_cpu_seconds_total", "counter", "CPU time of the daemon.", [({}, daemon.cpu_seconds)])
    yield from family("llmc_info", "gauge", "Version.", [({"version": __version__}, 1.0)])


def family(name: str, kind: str, meaning: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield sample(name, labels, value)


def sample(name: str, labels: dict[str, str], value: float) -> str:
    inner = ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inner}}} {number(value)}" if inner else f"{name} {number(value)}"


def number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)


def escaped(text: str) -> str:
    """Escape a label; names of roots may contain any character of a folder name."""
    safe = text.encode("utf-8", "backslashreplace").decode()
    return safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
