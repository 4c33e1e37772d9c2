"""The audit log of a shared server: one line of JSON for each call.

A line has time, caller, tool, the publications that the reply quotes, the error code and the duration. It has no
arguments and no content: both may hold secrets. The file is opened for each line, so that any program may rotate it.
"""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from llmc.base import logs
from llmc.base.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AuditLog"]

log = logs.get("audit")

MOST_NAMED = 50


class AuditLog:
    """Thread-safe. ConfigError if the file cannot be written when the server starts."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            self._append("")
        except OSError as error:
            raise ConfigError(f"the audit log {path} cannot be written", reason=error.strerror or str(error)) from None

    def record(self, caller: str, tool: str, repos: Sequence[str], error: str, seconds: float) -> None:
        fields = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "caller": caller,
            "tool": tool,
            "repositories": list(repos[:MOST_NAMED]),
            "more_repositories": max(0, len(repos) - MOST_NAMED),
            "error": error,
            "ms": round(seconds * 1000),
        }
        try:
            self._append(json.dumps(fields) + "\n")
        except OSError as problem:
            log.warning("the audit log cannot be written", reason=problem.strerror or str(problem))

    def _append(self, line: str) -> None:
        with self._lock:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
