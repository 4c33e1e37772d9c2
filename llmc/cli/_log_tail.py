"""`llmc serve --log-level`: what the daemon logs about servers and sessions, on stderr while the client is served.

The daemon's log stays where it is; lines that are added from now on, of this level and these sources, are copied: as
they are, one JSON object each, or written for a person.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LEVELS", "follow"]

LEVELS = ("debug", "info", "warning", "error")
SOURCES = ("llmc.delegates", "llmc.mcp")
POLL_SECONDS = 0.1
FIRST = ("time", "level", "source", "event")


def follow(path: str, level: str, *, pretty: bool) -> None:
    """In a thread that ends with the process."""
    log = Path(path)
    begin = log.stat().st_size if log.exists() else 0
    threading.Thread(target=_copy, args=(log, begin, level, pretty), name="llmc-log", daemon=True).start()


def _copy(log: Path, at: int, level: str, pretty: bool) -> None:
    wanted = LEVELS[LEVELS.index(level) :]
    for line in lines(log, at):
        entry = parsed(line)
        if entry.get("source") in SOURCES and entry.get("level") in wanted:
            sys.stderr.write(written(entry) if pretty else line)
            sys.stderr.flush()


def lines(log: Path, at: int) -> Iterator[str]:
    """As they are added; a log that was turned over begins anew."""
    while True:
        if log.exists():
            at = 0 if log.stat().st_size < at else at
            with log.open("rb") as file:
                file.seek(at)
                for line in file:
                    if line.endswith(b"\n"):
                        at += len(line)
                        yield line.decode("utf-8", "replace")
        time.sleep(POLL_SECONDS)


def parsed(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def written(entry: dict[str, Any]) -> str:
    more = " ".join(f"{name}={value}" for name, value in entry.items() if name not in FIRST)
    return f"{str(entry.get('time'))[11:19]} {entry.get('level')} {entry.get('event')} {more}".rstrip() + "\n"
