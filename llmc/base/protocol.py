"""What a client and the daemon must agree on before they talk.

Framing: one JSON object on each line, in UTF-8, at most `MAX_MESSAGE` bytes.

    → {"id": 1, "method": "status", "params": {}, "events": true}     ← {"id": 1, "event": {...}}   any number
    → {"cancel": 1}                                                   ← {"id": 1, "result": ...}    or "error", once
    → {"method": "stream", "kind": "mcp"}                             ← {"stream": "mcp"}           then plain bytes

The first request is `hello`: who each side is, and where the client stands (folder, LLMC_* variables, flags). The
daemon's end is `server.rpc`, the other is `client`. Standard library only, and little of it.
"""

from __future__ import annotations

import os

__all__ = ["MAX_MESSAGE", "PROTOCOL", "build_number", "is_newer"]

PROTOCOL = 1  # raised when an older side would misread a newer one
MAX_MESSAGE = 16 * 1024 * 1024


def build_number() -> int:
    """When the newest source file of this installation was written, in milliseconds.

    Two builds of one version differ by it, and it has an order: the newer side wins and nobody plays ping-pong. The
    next client thereby notices a daemon that was upgraded on disk below its feet. Costs 0.4 ms for 100 files.
    """
    newest = 0
    folders = [os.path.dirname(os.path.dirname(__file__))]  # noqa: PTH120 - importing pathlib costs 5 ms
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    newest = max(newest, entry.stat().st_mtime_ns)
                elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return newest // 1_000_000


def is_newer(version: str, build: int, than_version: str, than_build: int) -> bool:
    """By version, then by build."""
    return (_numbers(version), build) > (_numbers(than_version), than_build)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
