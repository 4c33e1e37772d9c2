"""Copies the daemon's log to stderr: `llmc serve --log-level` follows it, and `-vv` prints the lines of one call.

The log file itself is not changed. Lines are copied as JSON objects, or formatted for a person; lines that only concern
other clients are omitted.
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

__all__ = ["entries_since", "follow", "format_entry"]

LEVELS = ("debug", "info", "warning", "error")
SOURCES = ("llmc.delegates", "llmc.mcp")
POLL_SECONDS = 0.1
LEADING_FIELDS = ("time", "level", "source", "event")


def follow(path: str, level: str, client: str, *, pretty: bool, sources: tuple[str, ...] = SOURCES) -> None:
    """Copy new lines about this client to stderr, by default those of its servers and delegates, in a thread that ends
    with the process."""
    log = Path(path)
    offset = log.stat().st_size if log.exists() else 0
    levels = LEVELS[LEVELS.index(level) :]

    def copy() -> None:
        for line in _follow_lines(log, offset):
            entry = parse_entry(line)
            about = entry.get("source") in sources and entry.get("level") in levels
            if about and client in entry.pop("clients", [client]):
                sys.stderr.write(format_entry(entry) if pretty else json.dumps(entry) + "\n")
                sys.stderr.flush()

    threading.Thread(target=copy, name="llmc-log", daemon=True).start()


def entries_since(path: str, offset: int) -> list[dict[str, Any]]:
    """The entries written after `offset`; a log that was rotated meanwhile is read from its beginning."""
    log = Path(path)
    if not log.exists():
        return []
    return [parse_entry(line) for line in _new_lines(log, _valid_offset(log, offset))]


def _follow_lines(log: Path, offset: int) -> Iterator[str]:
    while True:
        if log.exists():
            offset = _valid_offset(log, offset)
            for line in _new_lines(log, offset):
                offset += len(line.encode("utf-8", "surrogateescape"))
                yield line
        time.sleep(POLL_SECONDS)


def _valid_offset(log: Path, offset: int) -> int:
    """0 if the log has become shorter, which means that it was rotated."""
    return 0 if log.stat().st_size < offset else offset


def _new_lines(log: Path, offset: int) -> Iterator[str]:
    """The complete lines after `offset`."""
    with log.open("rb") as file:
        file.seek(offset)
        for line in file:
            if line.endswith(b"\n"):
                yield line.decode("utf-8", "surrogateescape")


def parse_entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def format_entry(entry: dict[str, Any]) -> str:
    details = " ".join(f"{name}={value}" for name, value in entry.items() if name not in LEADING_FIELDS)
    return f"{str(entry.get('time'))[11:19]} {entry.get('level')} {entry.get('event')} {details}".rstrip() + "\n"
