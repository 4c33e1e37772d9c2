"""The ledger page: the figures of `llmc stats`, with plots."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from llmc.server.http.page.layout import ago, table
from llmc.server.http.page.markup import Safe, fill, join, link
from llmc.server.http.page.plots import overhead_plot, served_plot, tool_plot

if TYPE_CHECKING:
    from llmc.state.ledger.stats_schema import CallStats, Figures

__all__ = ["SPANS", "ledger_view", "since_of"]

SPANS: Final = {"2h": 7_200, "24h": 86_400, "7d": 604_800, "90d": 7_776_000}
GOAL: Final = 0.01
LEGEND: Final = Safe('<p class="legend"><i class="served"></i> served <i class="kept"></i> kept back</p>')


def since_of(span: str) -> float:
    return time.time() - SPANS.get(span, SPANS["24h"])


def ledger_view(found: Figures, span: str, session: str, tool: str) -> Safe:
    filters = {"session": session, "tool": tool}
    spans = join(
        fill(
            '<a href="{url}"{current}>{name}</a>',
            url=link("/page/ledger", since=name, **filters),
            name=name,
            current=Safe(' aria-current="page"') if name == span else Safe(),
        )
        for name in SPANS
    )
    only = join(
        fill(
            '<span class="state">{name} {value} <a href="{url}" title="all">×</a></span>',
            name=name,
            value=value,
            url=link("/page/ledger", since=span, **{**filters, name: ""}),
        )
        for name, value in filters.items()
        if value
    )
    notes = join(fill('<p class="error">{note}</p>', note=note) for note in found.notes)
    head = fill(
        '<h1>Token ledger</h1><nav class="spans" aria-label="Time">{spans}</nav> {only}{notes}',
        spans=spans,
        only=only,
        notes=notes,
    )
    if not found.tokens.calls:
        return join([head, Safe('<p class="empty">No calls in this time.</p>')])
    return join([head, cards(found), pictures(found, span), tables(found, span), Safe(HONEST)])


HONEST: Final = (
    '<p class="quiet">Savings are capped at what a client would have shown of a plain tool’s reply. Content fetched '
    "later is subtracted, and calls that cost more than a plain tool count as negative. Sizes beyond what was served "
    "are estimated from its tokens per character. Nothing here leaves this machine, and no query or content is "
    "stored.</p>"
)


def cards(found: Figures) -> Safe:
    tokens = found.tokens
    share = "–" if found.share is None else f"{found.share:.2%}"
    good = found.share is not None and found.share <= GOAL
    facts = (
        ("overhead", share, f"{found.overhead:,} of {tokens.content:,} tokens", "good" if good else "warn"),
        ("served", f"{tokens.content:,}", f"tokens in {tokens.calls:,} calls", ""),
        ("kept back", f"{tokens.kept_back:,}", f"{tokens.fetched:,} of them fetched later", ""),
        ("net", f"{found.net:,}", "tokens against plain tools", "good" if found.net >= 0 else "bad"),
        ("negative", f"{tokens.negative:,}", f"calls cost {tokens.lost:,} tokens more", ""),
        ("time", f"{found.latency.p50 * 1000:.0f} ms", f"p95 {found.latency.p95 * 1000:.0f} ms", ""),
    )
    return fill('<div class="cards">{cards}</div>', cards=join(card(*fact) for fact in facts))


def card(name: str, value: str, more: str, kind: str) -> Safe:
    template = (
        '<div class="card figure"><h2>{name}</h2><p class="value {kind}">{value}</p><p class="quiet">{more}</p></div>'
    )
    return fill(template, name=name, value=value, more=more, kind=kind)


def pictures(found: Figures, span: str) -> Safe:
    return fill(
        '<div class="plots"><section><h2>Overhead over time</h2>{overhead}</section>'
        "<section><h2>Served against kept back</h2>{served}{legend}</section>"
        '<section class="wide"><h2>By tool</h2><div>{tools}{legend}</div>{table}</section></div>',
        overhead=overhead_plot(found.slots),
        served=served_plot(found.slots),
        tools=tool_plot(found.tools[:12]),
        legend=LEGEND,
        table=tool_table(found, span),
    )


def tool_table(found: Figures, span: str) -> Safe:
    rows = [
        (
            fill('<a href="{url}">{tool}</a>', url=link("/page/ledger", since=span, tool=one.tool), tool=one.tool),
            *(f"{value:,}" for value in (one.tokens.calls, one.tokens.content, one.tokens.frame)),
            *(f"{value:,}" for value in (one.tokens.kept_back, one.tokens.fetched, one.net)),
            *(f"{value * 1000:.1f}" for value in (one.latency.p50, one.latency.p95)),
        )
        for one in found.tools
    ]
    return table(("tool", "calls", "content", "frame", "kept back", "fetched", "net", "p50 ms", "p95 ms"), rows)


def tables(found: Figures, span: str) -> Safe:
    sessions = [
        (
            fill('<a href="{url}">{id}</a>', url=link("/page/ledger", since=span, session=one.session), id=one.session),
            one.client or one.surface,
            *(f"{value:,}" for value in (one.calls, one.content, one.overhead, one.net)),
            ago(one.last),
        )
        for one in found.sessions
    ]
    calls = ("tool", "ms", "tokens", "plain", "when")
    return fill(
        "<h2>Sessions</h2>{sessions}<h2>Slowest</h2>{slowest}<h2>Largest</h2>{largest}",
        sessions=table(("session", "client", "calls", "content", "overhead", "net", "last"), sessions, 2),
        slowest=table(calls, map(call_row, found.slowest)),
        largest=table(calls, map(call_row, found.largest)),
    )


def call_row(one: CallStats) -> tuple[object, ...]:
    return one.tool, f"{one.seconds * 1000:.1f}", f"{one.content + one.frame:,}", f"{one.raw:,}", ago(one.at)
