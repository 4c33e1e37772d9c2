"""The daemon's log: one JSON object per line, rotated by size.

Modules log with `get(name)`; a process calls `open_log` once to set the file. Entries contain facts (paths, counts,
reasons), never file contents; secrets in paths and errors are removed. On a full disk lines are lost but the process
continues; the next line that fits records how many were lost. Not for the thin client: importing logging costs 10 ms.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
import traceback
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Log", "get", "log_to_stderr", "open_log", "tail"]

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Log:
    """Logs events with fields: `log.info("indexed", files=3)`."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, /, **fields: object) -> None:
        self._logger.debug(event, extra={"fields": fields})

    def info(self, event: str, /, **fields: object) -> None:
        self._logger.info(event, extra={"fields": fields})

    def warning(self, event: str, /, **fields: object) -> None:
        self._logger.warning(event, extra={"fields": fields})

    def error(self, event: str, /, **fields: object) -> None:
        self._logger.error(event, extra={"fields": fields})

    def exception(self, event: str, /, **fields: object) -> None:
        """Like `error`, with the traceback of the current exception."""
        self._logger.error(event, exc_info=True, extra={"fields": fields})  # noqa: LOG014 - called in an exception handler


def get(name: str) -> Log:
    return Log(name if name.startswith("llmc") else f"llmc.{name}")


def open_log(
    path: str,
    *,
    level: str = "info",
    max_bytes: int = 5 << 20,
    keep: int = 3,
    clean: Callable[[str], str],
    clean_level: str = "debug",
) -> logging.Handler:
    """Write all log entries of this process, including those of libraries, to `path`; replaces an earlier `open_log`.

    `clean` removes secrets from every string of entries of `clean_level` and above. Loading the redaction rules takes
    60 ms, so a starting process cleans only warnings and errors.
    """
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if isinstance(handler, LinesHandler)]:
        root.removeHandler(old)
        old.close()
    handler = LinesHandler(Path(path), max_bytes, keep, clean, _LEVELS[clean_level])
    root.addHandler(handler)
    root.setLevel(logging.WARNING)  # for libraries
    logging.getLogger("llmc").setLevel(_LEVELS[level])
    return handler


def tail(path: str, lines: int = 10) -> list[str]:
    """The last lines of a log, for an error message; empty if there is no log."""
    try:
        with Path(path).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 65_536))
            return file.read().decode(errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def log_to_stderr(*, level: str, clean: Callable[[str], str]) -> None:
    """Log to stderr: for a server in the foreground, whose output a process supervisor collects."""
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if isinstance(handler, StderrHandler)]:
        root.removeHandler(old)
    root.addHandler(StderrHandler(clean))
    root.setLevel(logging.WARNING)  # for libraries
    logging.getLogger("llmc").setLevel(_LEVELS[level])


class StderrHandler(logging.Handler):
    def __init__(self, clean: Callable[[str], str]) -> None:
        super().__init__()
        self._clean = clean

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, object] = cleaned(_fields(record), self._clean)
        line = _line(record.created, record.levelname, record.name, self._clean(record.getMessage()), fields)
        with contextlib.suppress(OSError):
            os.write(2, line)


class LinesHandler(logging.Handler):
    """Appends lines to a file of mode 0600 and keeps `keep` older files (`daemon.log.1` is the newest)."""

    def __init__(
        self,
        path: Path,
        max_bytes: int,
        keep: int,
        clean: Callable[[str], str],
        clean_level: int,
    ) -> None:
        super().__init__()
        self._clean = clean
        self._clean_level = clean_level
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._file: BinaryIO | None = None
        self._lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        clean = self._clean if record.levelno >= self._clean_level else str
        fields: dict[str, object] = cleaned(_fields(record), clean)
        lines = _line(record.created, record.levelname, record.name, clean(record.getMessage()), fields)
        if self._lost:
            lines = _line(time.time(), "WARNING", "llmc.base.logs", "lines lost", {"lines": self._lost}) + lines
        try:
            self._open().write(lines)
            self._lost = 0
        except OSError:
            self._lost += 1
            self._shut()

    def close(self) -> None:
        self._shut()
        super().close()

    def _shut(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO:
        """The file to write to. Unbuffered, so that entries are on disk if the process is killed."""
        if self._file is not None and self._file.tell() >= self._max_bytes:
            self._shut()
            self._rotate()
        if self._file is None:
            self._file = open(self._path, "ab", buffering=0, opener=_private)  # noqa: SIM115 - stays open
        return self._file

    def _rotate(self) -> None:
        files = [self._path, *(Path(f"{self._path}.{age}") for age in range(1, self._keep + 1))]
        for newer, older in reversed(list(pairwise(files))):
            if newer.exists():
                newer.replace(older)
        self._path.unlink(missing_ok=True)


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """Clean every string in the value; a list of lines is cleaned as one text, since a key may span lines."""
    if isinstance(value, dict):
        return {name: cleaned(inner, clean) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        if value and all(isinstance(line, str) for line in value):
            return clean("\n".join(value)).split("\n")
        return [cleaned(inner, clean) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return clean(str(value))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] = dict(getattr(record, "fields", {}))
    if record.exc_info and record.exc_info[0] is not None:
        fields["trace"] = "".join(traceback.format_exception(*record.exc_info)).splitlines()
    return fields


def _line(when: float, level: str, source: str, event: str, fields: dict[str, object]) -> bytes:
    stamp = datetime.fromtimestamp(when, tz=UTC).isoformat(timespec="milliseconds")
    entry = {"time": stamp, "level": level.lower(), "source": source, "event": event, **fields}
    return json.dumps(entry, default=str).encode() + b"\n"
