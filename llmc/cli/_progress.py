"""Long work as it goes: bars on a terminal, a line now and then elsewhere, JSON lines for machines.

Takes the events of `index` (see `server.status.Progress`). After the build the same view shows what the watcher does.
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
    from rich.progress import Progress, TaskID

    from llmc.cli._options import Options

__all__ = ["ProgressView", "view_for"]

LINE_SECONDS = 2.0
# Stages that are told in words and have no end.
WORDS = frozenset({"note", "watch"})


class ProgressView(Protocol):
    def show(self, event: dict[str, Any]) -> None: ...

    def close(self) -> None: ...


def view_for(options: Options, *, watching: bool) -> ProgressView:
    """`watching`: the command stays, so its events are its output."""
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
    """The first and the last word of a stage, and one every two seconds between."""

    def __init__(self) -> None:
        self._stage = ""
        self._said = 0.0

    def show(self, event: dict[str, Any]) -> None:
        if event["stage"] in WORDS:
            click.echo(_words(event), err=True)
            return
        now = time.monotonic()
        ended = event.get("total", 0) and event["done"] >= event["total"]
        if event["stage"] != self._stage or ended or now - self._said >= LINE_SECONDS:
            self._stage, self._said = event["stage"], now
            click.echo(progress_text(event), err=True)


class Bars:
    """A bar for each stage, on stderr."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._bars: Progress = Progress(
            TextColumn("{task.description:<8}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rest]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._bars.start()

    def show(self, event: dict[str, Any]) -> None:
        if event["stage"] in WORDS:
            if event["stage"] == "watch":
                self.close()
            click.echo(_words(event), err=True)
            return
        key = (event.get("root", ""), event["stage"])
        if key not in self._tasks:
            self._tasks[key] = self._bars.add_task(event["stage"], total=None, rest="")
        rate, eta = event.get("rate"), event.get("eta")
        rest = f"{rate:,.0f}/s" if rate else ""
        rest += f" · {duration(eta)} left" if eta is not None else ""
        self._bars.update(self._tasks[key], completed=event["done"], total=event.get("total") or None, rest=rest)

    def close(self) -> None:
        self._bars.stop()


def _words(event: dict[str, Any]) -> str:
    """A note about the roots, or what the watcher re-indexed, as a line of a log."""
    if event["stage"] == "note":
        return f"note: {shown(event['path'])}"
    clock = time.strftime("%H:%M:%S")
    done, removed = event.get("done", 0), event.get("removed", 0)
    if not done and not removed:
        return f"{clock} watching"
    what = [f"{count(done, 'file')} re-indexed"] if done else []
    what += [f"{removed:,} removed"] if removed else []
    took = f" in {duration(event['seconds'])}" if event.get("seconds") is not None else ""
    return f"{clock} {', '.join(what)}{took} · {shown(event.get('path', ''))}"
