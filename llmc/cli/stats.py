"""`llmc stats`: tokens and time that calls cost and saved, from the token ledger."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import click

from llmc.base.errors import QueryError
from llmc.base.paths import shown
from llmc.cli._options import Options, pass_options
from llmc.cli._render import ago, count, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
SPAN = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*(s|m|min|h|d|w)")
DATES = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M")
GOAL = 0.01  # overhead as a share of content


@click.command()
@click.option("--session", default="", metavar="ID", help="Only this session; `cli` for the command line.")
@click.option("--since", default="", metavar="SPAN", help="Only the last 90m, 2h or 7d, or since 2026-11-16.")
@click.option("--tool", default="", metavar="NAME", help="Only this tool.")
@pass_options
def command(options: Options, /, session: str, since: str, tool: str) -> None:
    """Show what calls cost and saved: overhead, tokens served and held back, latency.

    Sizes and times are recorded on this machine; queries and file contents are not. Tokens held back are counted only
    up to what a client would have shown of a plain tool's reply (ledger.client_tokens). Later fetches are subtracted,
    and calls that cost more than a plain tool are counted as losses.
    """
    filters = {"session": session, "tool": tool, "since": parse_since(since) if since else 0}
    stats = options.ask("stats", filters)
    if options.json:
        click.echo(json.dumps(stats, indent=2))
        return
    text = "\n".join(lines(stats, by_tool=bool(tool)))
    click.echo(click.unstyle(text) if options.plain else text)


def parse_since(text: str) -> float:
    """Seconds since the epoch."""
    span = SPAN.fullmatch(text.strip())
    if span:
        return max(0.0, time.time() - float(span[1]) * UNITS[span[2]])
    for form in DATES:
        try:
            return time.mktime(time.strptime(text.strip(), form))
        except (ValueError, OverflowError):
            continue
    raise QueryError(f"{text!r} is not a time", hint="Use a span such as 90m, 2h or 7d, or a date such as 2026-11-16.")


def lines(stats: dict[str, Any], *, by_tool: bool) -> Iterator[str]:
    tokens = stats["tokens"]
    for note in stats["notes"]:
        yield click.style(f"! {shown(note)}", fg="yellow")
    if not tokens["calls"]:
        yield "No calls are recorded yet."
        return
    yield click.style(f"{count(tokens['calls'], 'call')} since {ago(stats['since'])}", bold=True)
    yield from _total_lines(stats, by_tool=by_tool)
    yield ""
    yield from _tool_lines(stats["tools"])
    if len(stats["sessions"]) > 1:
        yield ""
        yield from _session_lines(stats["sessions"])
    yield ""
    yield from _call_lines("slowest", stats["slowest"])
    yield from _call_lines("largest", stats["largest"])


def _total_lines(stats: dict[str, Any], *, by_tool: bool) -> Iterator[str]:
    tokens, times = stats["tokens"], stats["latency"]
    share = stats["share"]
    parts = f"frame {tokens['frame']:,}"
    if not by_tool:
        parts += f", definitions {stats['definitions']:,}, instructions {stats['instructions']:,}"
    overhead = "no content yet" if share is None else f"{share:.2%} of content"
    colour = "green" if share is not None and share <= GOAL else "yellow"
    yield f"  overhead    {click.style(overhead, fg=colour)} · {stats['overhead']:,} tokens ({parts})"
    yield f"  served      {tokens['content']:,} tokens of content"
    fetched = f"{tokens['fetched']:,} of them fetched later in {count(tokens['fetches'], 'call')}"
    yield f"  held back   {tokens['kept_back']:,} tokens, {fetched}"
    net = stats["net"]
    amount = click.style(f"{abs(net):,}", fg="green" if net >= 0 else "red")
    yield f"  net         {amount} tokens {'fewer' if net >= 0 else 'more'} than plain tools, overhead included"
    yield f"  negative    {count(tokens['negative'], 'call')} cost {tokens['lost']:,} tokens more than a plain tool"
    yield f"  time        p50 {_ms(times['p50'])} · p95 {_ms(times['p95'])} · p99 {_ms(times['p99'])}"
    counts = (f"{tokens[name]:,} {label}" for name, label in OTHER_COUNTS.items())
    yield f"  other       {' · '.join(counts)}"


OTHER_COUNTS = {"cached": "from the cache", "pending": "with changes pending", "errors": "errors"}


def _tool_lines(tools: list[dict[str, Any]]) -> Iterator[str]:
    head = ("tool", "calls", "content", "frame", "held back", "fetched", "net", "p50", "p95")
    rows = [
        (
            shown(one["tool"]),
            *(f"{one['tokens'][name]:,}" for name in ("calls", "content", "frame", "kept_back", "fetched")),
            f"{one['net']:,}",
            _ms(one["latency"]["p50"]),
            _ms(one["latency"]["p95"]),
        )
        for one in tools
    ]
    yield from _table(head, rows)


def _session_lines(sessions: list[dict[str, Any]]) -> Iterator[str]:
    head = ("session", "client", "calls", "content", "overhead", "net", "last")
    rows = [
        (
            shown(one["session"]),
            shown(one["client"] or one["surface"]),
            *(f"{one[name]:,}" for name in ("calls", "content", "overhead", "net")),
            ago(one["last"]),
        )
        for one in sessions[:10]
    ]
    yield from _table(head, rows, texts=2)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]], texts: int = 1) -> Iterator[str]:
    """Text columns are left-aligned, numbers right-aligned."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    for number, row in enumerate((head, *rows)):
        cells = [
            cell.ljust(width) if at < texts else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  " + "  ".join(cells).rstrip()
        yield line if number else click.style(line, dim=True)


def _call_lines(name: str, calls: list[dict[str, Any]]) -> Iterator[str]:
    for number, one in enumerate(calls):
        tokens = f"{one['content'] + one['frame']:,} tokens"
        handle = f" · {one['handle']}" if one["handle"] else ""
        when = f"{shown(one['tool'])} · {_ms(one['seconds'])} · {tokens} · {ago(one['at'])}{handle}"
        yield f"  {'' if number else name:<10}  {when}"


def _ms(seconds: float) -> str:
    """As `duration`, with one decimal below ten milliseconds."""
    return f"{seconds * 1_000:.1f} ms" if seconds < 0.01 else duration(seconds)  # noqa: PLR2004 - named by the docstring
