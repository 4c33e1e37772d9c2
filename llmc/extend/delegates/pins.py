"""Pins the description of each downstream tool when it is first seen; a tool that changes is disabled.

The file in the home stores digests of description and schema by server. A new tool is accepted as it is, because the
user configured its server; a changed one needs `llmc delegate trust`.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmc.extend.delegates.description import ToolDescription

__all__ = ["Pins"]

Known = dict[str, dict[str, str]]


class Pins:
    """Thread-safe. The daemon is the only process that writes the file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()

    def changed(self, server: str, tools: Iterable[ToolDescription]) -> frozenset[str]:
        """The tools whose description changed; new tools are added. All tools when the file is damaged, since the
        pinned descriptions are unknown."""
        found = {one.name: one.digest for one in tools}
        with self._lock:
            known = self._read()
            if known is None:
                return frozenset(found)
            mine = known.setdefault(server, {})
            fresh = {name: digest for name, digest in found.items() if name not in mine}
            if fresh:
                mine.update(fresh)
                self._write(known)
            return frozenset(name for name, digest in found.items() if mine[name] != digest)

    def trust(self, server: str, tools: Iterable[ToolDescription]) -> None:
        """Pin the current descriptions of these tools."""
        with self._lock:
            known = self._read() or {}
            known.setdefault(server, {}).update({one.name: one.digest for one in tools})
            self._write(known)

    def _read(self) -> Known | None:
        try:
            found = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            return None
        whole = isinstance(found, dict) and all(isinstance(each, dict) for each in found.values())
        return found if whole else None

    def _write(self, known: Known) -> None:
        temporary = self._path.with_name(f"{self._path.name}.new")
        with contextlib.suppress(OSError):  # after a full disk, the tools count as new again
            with open(temporary, "w", encoding="utf-8", opener=_private) as file:
                json.dump(known, file, indent=1, sort_keys=True)
            temporary.replace(self._path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
