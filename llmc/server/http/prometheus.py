"""`/metrics`: call counters and root statistics in the Prometheus text format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc import __version__
from llmc.server.report import root_status, store_status
from llmc.server.status import process_status
from llmc.state.metrics import BOUNDS, METER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prometheus_client.core import Metric

    from llmc.workspace import Workspace

    # labels and value of one line
    Sample = tuple[dict[str, str], float]

__all__ = ["CONTENT_TYPE", "answered_calls", "exposition", "exposition_of", "gauge", "process_metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STATES = ("ready", "building", "waiting", "failed", "missing")


def exposition(workspace: Workspace, sessions: int) -> str:
    """Metrics of the roots of this workspace only; other roots are not visible to this client."""
    return exposition_of([*answered_calls(), *indexed(workspace), *process_metrics(sessions)])


def exposition_of(metrics: Sequence[Metric]) -> str:
    from prometheus_client.exposition import generate_latest  # noqa: PLC0415 - only where metrics are scraped

    class Collected:
        """The collector that the client library calls for its metrics."""

        def collect(self) -> Iterable[Metric]:
            return metrics

    return generate_latest(Collected()).decode()


def answered_calls() -> Iterator[Metric]:
    from prometheus_client.core import HistogramMetricFamily  # noqa: PLC0415 - as above

    timings = {tool: (list(one.counts), one.seconds) for tool, one in sorted(METER.timings.items())}
    calls = [({"tool": tool}, float(sum(counts))) for tool, (counts, _) in timings.items()]
    yield counter("llmc_calls", "Calls answered, by tool.", calls)
    errors = [({"tool": tool, "code": code}, float(n)) for (tool, code), n in sorted(METER.errors.items())]
    yield counter("llmc_errors", "Calls answered with an error, by tool and code.", errors)
    seconds_by_tool = HistogramMetricFamily("llmc_call_seconds", "Duration of calls, by tool.", labels=["tool"])
    for tool, (counts, seconds) in timings.items():
        seconds_by_tool.add_metric([tool], buckets=list(cumulative(counts)), sum_value=seconds)
    yield seconds_by_tool
    tokens = [
        ({"tool": tool, "kind": kind}, float(n))
        for kind, counted in (("content", METER.content), ("frame", METER.frame))
        for tool, n in sorted(counted.items())
    ]
    yield counter("llmc_reply_tokens", "Tokens of replies, by content and frame.", tokens)


def cumulative(counts: list[int]) -> Iterator[tuple[str, float]]:
    below = 0
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
        below += count
        yield bound, below


def indexed(workspace: Workspace) -> Iterator[Metric]:
    roots = [
        root_status(root_index, workspace.registry.writer_thread(root_index)) for root_index in workspace.root_indexes
    ]
    files = [
        ({"root": root.name, "state": state}, float(getattr(root, state)))
        for root in roots
        for state in ("indexed", "skipped", "failed")
    ]
    yield gauge("llmc_files", "Files of a root, by state.", files)
    pending = [({"root": root.name}, float(root.pending)) for root in roots]
    yield gauge("llmc_pending", "Changes that are not indexed yet.", pending)
    ready = [({"root": root.name, "state": state}, float(root.state == state)) for root in roots for state in STATES]
    yield gauge("llmc_root_state", "1 for the current state of the root.", ready)
    stores = [store_status(writer_thread) for writer_thread in workspace.writer_threads]
    sizes = [
        ({"store": store.family, "part": part}, float(getattr(store, f"{part}_bytes")))
        for store in stores
        for part in ("catalog", "keyword", "vector", "text")
    ]
    yield gauge("llmc_index_bytes", "Size of the index on disk, by part.", sizes)
    rows = [
        ({"store": store.family, "kind": kind}, float(getattr(store, kind)))
        for store in stores
        for kind in ("documents", "chunks", "symbols")
    ]
    yield gauge("llmc_index_rows", "Number of rows in the index.", rows)


def process_metrics(sessions: int) -> Iterator[Metric]:
    daemon = process_status("daemon")
    yield gauge("llmc_sessions", "Sessions in memory.", [({}, float(sessions))])
    yield gauge("llmc_resident_bytes", "Memory of the daemon.", [({}, float(daemon.rss))])
    yield counter("llmc_cpu_seconds", "CPU time of the daemon.", [({}, daemon.cpu_seconds)])
    yield gauge("llmc_info", "Version.", [({"version": __version__}, 1.0)])


def counter(name: str, meaning: str, samples: Iterable[Sample]) -> Metric:
    """The library appends `_total` to the name."""
    from prometheus_client.core import CounterMetricFamily  # noqa: PLC0415 - as above

    return filled(CounterMetricFamily, name, meaning, samples)


def gauge(name: str, meaning: str, samples: Iterable[Sample]) -> Metric:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    return filled(GaugeMetricFamily, name, meaning, samples)


def filled(family: Any, name: str, meaning: str, samples: Iterable[Sample]) -> Metric:
    listed = list(samples)
    metric = family(name, meaning, labels=list(listed[0][0]) if listed else [])
    for labels, value in listed:
        # Names of roots may contain any character of a folder name.
        metric.add_metric([text.encode("utf-8", "backslashreplace").decode() for text in labels.values()], value)
    made: Metric = metric
    return made
