"""A minimal client for any MCP server on stdin and stdout: one line per message, every wait bounded.

It knows no tools. A server that does not answer, that exits, or that answers with an error raises `ServerError` with
the server's last output.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Answer", "Server", "ServerError"]

SECONDS = 120.0
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "llmc-bench", "version": "1"},
}


class ServerError(Exception):
    """Why there is no answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The text that a model would receive."""

    text: str
    error: bool
    seconds: float


class Server:
    """A context manager; `instructions` are the server's instructions from initialization."""

    def __init__(self, command: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> None:
        self._command = list(command)
        self._cwd = cwd
        self._environ = dict(environ)
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._last = 0
        self.instructions = ""

    def __enter__(self) -> Self:
        self._said = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._cwd,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
            )
        except OSError as error:
            self._said.close()
            raise ServerError(str(error)) from error
        threading.Thread(target=self._pump, daemon=True).start()
        try:
            self.instructions = str(self.ask("initialize", GREETING).get("instructions") or "")
            self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Waits for the server to exit, then kills it."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._said.close()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def tools(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = self.ask("tools/list", params)
            found += page["tools"]
            if not page.get("nextCursor"):
                return found
            params = {"cursor": page["nextCursor"]}

    def call(self, name: str, arguments: dict[str, Any], seconds: float = SECONDS) -> Answer:
        began = time.perf_counter()
        result = self.ask("tools/call", {"name": name, "arguments": arguments}, seconds)
        took = time.perf_counter() - began
        text = "\n".join(part.get("text", "") for part in result.get("content", ()))
        return Answer(text, bool(result.get("isError")), took)

    def ask(self, method: str, params: dict[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
        self._last += 1
        self._write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        deadline = time.monotonic() + seconds
        while True:
            message = self._next(deadline - time.monotonic(), method)
            if message.get("id") == self._last and "method" not in message:
                break
            if "method" in message and message.get("id") is not None:
                self._refuse(message)
        if "error" in message:
            raise ServerError(f"{method}: {message['error'].get('message', message['error'])}")
        found: dict[str, Any] = message["result"]
        return found

    def _refuse(self, request: dict[str, Any]) -> None:
        """Requests of a server to its client (roots, sampling) are not supported."""
        error = {"code": -32601, "message": "Method not found"}
        self._write({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def _next(self, seconds: float, method: str) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=max(0.0, seconds))
        except queue.Empty:
            raise ServerError(f"{method}: no answer in time") from None
        if line is None:
            raise ServerError(f"{method}: it ended; {self._last_words()}")
        try:
            message: Any = json.loads(line)
        except ValueError:
            return {}  # not protocol: some print where they should not
        return message if isinstance(message, dict) else {}

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise ServerError(f"it ended; {self._last_words()}") from None

    def _pump(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put(None)

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1].strip()[:300] if lines else "it said nothing"
