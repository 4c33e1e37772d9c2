"""`llmc status`: what is indexed, how fresh it is, and what failed."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from llmc.base.paths import shown
from llmc.cli._options import Options, pass_options
from llmc.cli._render import ago, count, duration, size

if TYPE_CHECKING:
    from collections.abc import Iterator

WATCH_SECONDS = 1.0
MAX_EXAMPLES = 5
COLOURS = {
    "ready": "green",
    "building": "yellow",
    "waiting": "yellow",
    "paused": "yellow",
    "missing": "red",
    "failed": "red",
}


@click.command()
@click.option("--watch", is_flag=True, help="Refresh until Ctrl-C.")
@pass_options
def command(options: Options, *, watch: bool) -> None:
    """Show what is indexed, how fresh it is, and what failed."""
    if not watch:
        click.echo(_text(options, options.ask("status")))
    elif options.json or options.plain or not sys.stdout.isatty():
        _repeat(options)
    else:
        _live(options)


def _text(options: Options, status: dict[str, Any]) -> str:
    if options.json:
        return json.dumps(status, indent=2)
    text = "\n".join(lines(status))
    return click.unstyle(text) if options.plain else text


def _repeat(options: Options) -> None:
    """Print the status repeatedly, for pipes: one JSON object per line, or blocks of text."""
    with options.connect() as connection:
        while True:
            status = connection.call("status")
            click.echo(json.dumps(status) if options.json else click.unstyle("\n".join(lines(status))) + "\n")
            time.sleep(WATCH_SECONDS)


def _live(options: Options) -> None:
    from rich.live import Live
    from rich.text import Text

    with options.connect() as connection, Live(screen=True, auto_refresh=False) as live:
        while True:
            live.update(Text.from_ansi("\n".join(lines(connection.call("status")))), refresh=True)
            time.sleep(WATCH_SECONDS)


def lines(status: dict[str, Any]) -> Iterator[str]:
    """The status as text: the process first, then a block for each root."""
    yield from _process_lines(status)
    stores = {store["family"]: store for store in status["stores"]}
    for root in status["roots"]:
        yield ""
        yield from _root_lines(root)
        if root["family"] in stores:
            yield from _store_lines(stores.pop(root["family"]))
    if not status["roots"]:
        yield "No root is indexed yet: run `llmc index` in a git work tree."
    for problem in status["problems"]:
        yield click.style(f"! {problem}", fg="yellow")


def _process_lines(status: dict[str, Any]) -> Iterator[str]:
    daemon, embedder = status["daemon"], status["embedder"]
    memory = [
        f"{process['role']} {size(process['rss'])} ({size(process['private'])} without files)"
        for process in status["processes"]
    ]
    if daemon is None:
        yield " · ".join(["in one process, without a daemon", *memory])
    else:
        facts = [f"pid {daemon['pid']}", f"llmc {daemon['version']}", f"up {duration(daemon['uptime'])}"]
        facts += [count(daemon["clients"], "client"), *(["in the foreground"] if daemon["foreground"] else []), *memory]
        yield f"daemon   {' · '.join(facts)}"
        yield f"log      {shown(daemon['log'])}"
    if kept := status["memory"]:
        replies = f"{kept['replies']:,} replies {size(kept['reply_bytes'])}"
        graph, cached, other = (size(kept[f"{name}_bytes"]) for name in ("graph", "index_cache", "other"))
        budget = f"graph {graph} · LanceDB's caches {cached} of {size(kept['budget_bytes'])}"
        yield f"kept     {replies} · {budget} · vectors {size(kept['vector_bytes'])} · other {other}"
    if embedder is not None:
        ready = f"{embedder['dimension']} dimensions"
        state = ready if embedder["state"] == "ready" else f"{embedder['state']} {embedder['error']}".rstrip()
        yield f"embedder {embedder['name']} · {state}"


def _root_lines(root: dict[str, Any]) -> Iterator[str]:
    state = click.style(root["state"], fg=COLOURS.get(root["state"], "yellow"))
    yield f"{click.style(shown(root['path']), bold=True)} · {state} · {root['watcher']}"
    for problem in filter(None, (root["error"], root["degraded"])):
        yield click.style(f"  ! {problem}", fg="yellow")
    if root["progress"]:
        yield f"  {progress_text(root['progress'])}"
    pending = f" · {count(root['pending'])} pending" if root["pending"] else ""
    skipped, failed = count(root["skipped"]), count(root["failed"])
    yield f"  {count(root['indexed'], 'file')} indexed · {skipped} skipped · {failed} failed{pending}"
    changed, searchable, scanned = (ago(root[f"last_{event}"]) for event in ("change", "commit", "scan"))
    yield f"  changed {changed} · searchable {searchable} · scanned {scanned}"
    if root["reasons"]:
        reasons = sorted(root["reasons"].items(), key=lambda item: (-item[1], item[0]))
        yield "  skipped: " + ", ".join(f"{number:,} {shown(reason)}" for reason, number in reasons)
    failures = [file for file in root["examples"] if file["status"] == "failed"]
    for file in failures[:MAX_EXAMPLES]:
        yield f"    {shown(file['path'])}: {shown(file['reason'])}"
    if root["failed"] > MAX_EXAMPLES:
        yield "    … --json has more"


def _store_lines(store: dict[str, Any]) -> Iterator[str]:
    parts = {name: store[f"{name}_bytes"] for name in ("catalog", "keyword", "vector")}
    detail = ", ".join(f"{name} {size(number)}" for name, number in parts.items())
    chunks = count(store["chunks"], "chunk")
    yield f"  {chunks} · {size(sum(parts.values()))} on disk for {size(store['text_bytes'])} of text ({detail})"
    if vectors := store.get("vectors"):
        yield f"  {vector_text(vectors)}"
    if store["read_only"]:
        yield click.style(f"  ! read-only: {store['read_only']}", fg="yellow")


ANSWERED_BY = {"memory": "exact search in memory", "lancedb": "LanceDB search"}


def vector_text(vectors: dict[str, Any]) -> str:
    """`vectors: LanceDB search · 165,016 rows`, or why search uses keywords only."""
    if not vectors["answered_by"]:
        return f"vectors: none, search uses keywords only ({shown(vectors['reason'])})"
    return f"vectors: {ANSWERED_BY[vectors['answered_by']]} · {count(vectors['rows'], 'row')}"


def progress_text(progress: dict[str, Any]) -> str:
    """`parse 1,200 of 5,012 · 820/s · 5 s left`."""
    done, total = progress.get("done", 0), progress.get("total", 0)
    if progress["stage"] == "paused":
        return "paused: `llmc index --resume` continues"
    text = f"{progress['stage']} {done:,}"
    if total:
        text += f" of {total:,}"
    if progress.get("rate"):
        text += f" · {progress['rate']:,.0f}/s"
    if progress.get("eta") is not None:
        text += f" · {duration(progress['eta'])} left"
    return text
