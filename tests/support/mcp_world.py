"""MCP clients for tests: the SDK's own over a real `llmc serve`, and a raw one that writes lines."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from daemons import PATIENCE, Place, as_work_tree
from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_types import CallToolResult

HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
}


def client(place: Place, folder: Path, *arguments: str, mode: Any = "auto", **options: Any) -> Client:
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "llmc", "serve", *arguments], env=place.environ, cwd=as_work_tree(folder)
    )
    return Client(started, mode=mode, read_timeout_seconds=PATIENCE, **options)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


class Raw:
    """A client that writes arbitrary data."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._last = 0

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def notify(self, method: str, **params: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def send(self, method: str, **params: Any) -> int:
        self._last += 1
        message = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        self.write(json.dumps(message).encode() + b"\n")
        return self._last

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        with self._patience():
            line = self.process.stdout.readline()
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The reply to this request; notifications may come before it."""
        number = self.send(method, **params)
        while (reply := self.receive()).get("id") != number:
            assert "method" in reply
        return reply

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=tool, arguments=arguments)

    def handshake(self) -> dict[str, Any]:
        reply = self.ask("initialize", **HANDSHAKE)
        self.notify("notifications/initialized")
        return reply

    def close(self) -> tuple[int, bytes]:
        """Closes its end; returns (exit code, remaining output)."""
        out, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out

    @contextlib.contextmanager
    def _patience(self) -> Iterator[None]:
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


@contextlib.contextmanager
def raw(
    place: Place,
    folder: Path,
    *arguments: str,
    command: tuple[str, ...] = ("-m", "llmc", "serve"),
    stderr: Any = subprocess.DEVNULL,
) -> Iterator[Raw]:
    process = subprocess.Popen(
        [sys.executable, *command, *arguments],
        env=place.environ,
        cwd=as_work_tree(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
    )
    with process:
        try:
            yield Raw(process)
        finally:
            process.kill()
