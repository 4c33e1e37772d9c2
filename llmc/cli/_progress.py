"""Progress of long operations: bars on a terminal, occasional lines elsewhere, JSON lines for programs.

Displays the events of `index` (see `server.status.Progress`). After the build the same view shows the watcher's work.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

import click

from llmc.base.paths import shown
from llmc.cli._render import count, duration
from llmc.cli.status import progress_text

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID

    from llmc.cli._options import Options

__all__ = ["ProgressView", "view_for"]

LINE_SECONDS = 2.0
# Stages that are printed as messages and have no total.
MESSAGE_STAGES = frozenset({"note", "watch"})


class ProgressView(Protocol):
    def show(self, event: dict[str, Any]) -> None: ...

    def close(self) -> None: ...


def view_for(options: Options, *, watching: bool) -> ProgressView:
    """`watching`: the command keeps running, so its events are its output."""
    if options.json:
        return JsonLines() if watching else Silent()
    if options.quiet:
        return Silent()
    if options.plain or not sys.stderr.isatty():
        return ProgressLines()
    return Bars()


class Silent:
    def show(self, event: dict[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass


class JsonLines(Silent):
    def show(self, event: dict[str, Any]) -> None:
        import json

        click.echo(json.dumps(event))


class ProgressLines(Silent):
    """A line at the start and end of a stage, and one every two seconds in between. A stage that has nothing to count
    has no line."""

    def __init__(self) -> None:
        self._stage = ""
        self._printed_at = 0.0

    def show(self, event: dict[str, Any]) -> None:
        if event["stage"] in MESSAGE_STAGES:
            click.echo(_message(event), err=True)
            return
        if not event["done"] and not event.get("total"):
            return
        now = time.monotonic()
        ended = event.get("total", 0) and event["done"] >= event["total"]
        if event["stage"] != self._stage or ended or now - self._printed_at >= LINE_SECONDS:
            self._stage, self._printed_at = event["stage"], now
            click.echo(progress_text(event), err=True)


class Bars:
    """A bar for the current stage of each root, on stderr."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._bars: Progress = Progress(
            TextColumn("{task.description:<8}"),
            BarColumn(),
            TextColumn("{task.fields[counts]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self._bars.start()

    def show(self, event: dict[str, Any]) -> None:
        if event["stage"] in MESSAGE_STAGES:
            if event["stage"] == "watch":
                self.close()
            click.echo(_message(event), err=True)
            return
        root, stage, total = event.get("root", ""), event["stage"], event.get("total") or None
        if root not in self._tasks:
            self._tasks[root] = self._bars.add_task(stage, total=None, counts="")
        self._bars.update(
            self._tasks[root], description=stage, completed=event["done"], total=total, counts=_counts(event)
        )

    @property
    def tasks(self) -> list[Task]:
        return self._bars.tasks

    def close(self) -> None:
        self._bars.stop()


def _counts(event: dict[str, Any]) -> str:
    """`896/5,174 · 45/s · 2 min left`, as far as it is known."""
    done, total, rate, eta = event["done"], event.get("total"), event.get("rate"), event.get("eta")
    parts = [f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""]
    parts += [f"{rate:,.0f}/s"] if rate else []
    parts += [f"{duration(eta)} left"] if eta is not None else []
    return " · ".join(part for part in parts if part)


def _message(event: dict[str, Any]) -> str:
    """A note about the roots, or what the watcher re-indexed, as a log line."""
    if event["stage"] == "note":
        return f"note: {shown(event['path'])}"
    clock = time.strftime("%H:%M:%S")
    done, removed = event.get("done", 0), event.get("removed", 0)
    if not done and not removed:
        return f"{clock} up to date; watching for changes until Ctrl-C (the index stays)"
    parts = [f"{count(done, 'file')} re-indexed"] if done else []
    parts += [f"{removed:,} removed"] if removed else []
    elapsed = f" in {duration(event['seconds'])}" if event.get("seconds") is not None else ""
    return f"{clock} {', '.join(parts)}{elapsed} · {shown(event.get('path', ''))}"
