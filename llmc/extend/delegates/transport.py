"""Transports to downstream servers: stdio of a program, streamable HTTP, SSE.

A stdio server gets a few environment variables plus those of its entry, and runs in its own process group, which is
killed with it. A line that is too long fails the call it belongs to; a server that floods is disconnected. HTTP
requests go only to the configured address: no redirects and no proxies from the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from typing import TYPE_CHECKING, Any

import mcp_types as types
import orjson
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from llmc.base.errors import ConfigError
from llmc.base.line_stream import Stream, next_line
from llmc.base.outbound import is_plain, web_client
from llmc.base.process import signal_group
from llmc.envelope.clean import clean_text
from llmc.settings.secret import hide_secrets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from llmc.settings import Mcp

    Streams = tuple[Any, Any]

__all__ = ["StderrTail", "environment_of", "open_streams"]

# Variables that programs generally need; all others must be set in `env` of the entry.
INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
# The largest results of known servers have a few hundred kilobytes.
LONGEST_LINE = 4 << 20
# This many bytes without a single response count as flooding.
MOST_BYTES = 32 << 20
LEAVE_SECONDS = 2.0
HTTP_SECONDS, SILENT_SECONDS = 30.0, 3_600.0


class StderrTail:
    """The last lines a server wrote to stderr, without its secrets, to explain why it failed."""

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        self._secrets = secrets
        self._lines: deque[str] = deque(maxlen=20)

    def add(self, line: bytes) -> None:
        self._lines.append(self.clean(line[:400].decode("utf-8", "replace").rstrip()))

    def clean(self, text: str) -> str:
        return clean_text(hide_secrets(text, self._secrets))

    @property
    def last(self) -> str:
        lines = [line for line in self._lines if line.strip()]
        error_line = next(
            (line for line in reversed(lines) if re.search(r"error|not found|cannot|no such", line, re.IGNORECASE)), ""
        )
        return error_line or (lines[-1] if lines else "")


def environment_of(mcp: Mcp, environ: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: environ[name] for name in INHERITED if name in environ}
    return {**inherited, **{name: value.reveal() for name, value in mcp.env.items()}}


@contextlib.asynccontextmanager
async def open_streams(mcp: Mcp, cwd: str, environ: Mapping[str, str], stderr: StderrTail) -> AsyncIterator[Streams]:
    if mcp.transport == "stdio":
        async with program(mcp, cwd, environ, stderr) as lines:
            yield lines, lines
        return
    if not is_plain(mcp.url):
        raise ConfigError("its url is not a plain URL", hint="For example http://127.0.0.1:8080/mcp")
    headers = {name: value.reveal() for name, value in mcp.headers.items()}
    if mcp.transport == "sse":
        from mcp.client.sse import sse_client  # noqa: PLC0415 - rarely used

        async with sse_client(mcp.url, headers, HTTP_SECONDS, SILENT_SECONDS, client_for) as streams:
            yield streams
        return
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - only needed for HTTP

    async with (
        client_for(headers) as client,
        streamable_http_client(mcp.url, http_client=client, max_sse_event_size=LONGEST_LINE) as streams,
    ):
        yield streams


def client_for(headers: dict[str, str] | None = None, timeout: Any = None, auth: Any = None) -> Any:
    """The HTTP client; the SDK bounds the size of each server-sent event."""
    import httpx2  # noqa: PLC0415 - only needed for HTTP

    wait = timeout or httpx2.Timeout(HTTP_SECONDS, read=SILENT_SECONDS)
    return web_client(LONGEST_LINE, wait, seconds=SILENT_SECONDS, headers=headers, auth=auth, events=False)


@contextlib.asynccontextmanager
async def program(mcp: Mcp, cwd: str, environ: Mapping[str, str], stderr: StderrTail) -> AsyncIterator[PipeLines]:
    process = await asyncio.create_subprocess_exec(
        mcp.command,
        *mcp.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment_of(mcp, environ),
        cwd=cwd,
        start_new_session=True,
        limit=LONGEST_LINE,
    )
    listening = asyncio.create_task(collect_stderr(process, stderr))
    try:
        yield PipeLines(process)
    finally:
        await asyncio.shield(stop(process))
        listening.cancel()


async def collect_stderr(process: asyncio.subprocess.Process, stderr: StderrTail) -> None:
    assert process.stderr is not None
    while part := await process.stderr.read(4096):
        for line in part.splitlines():
            stderr.add(line)


async def stop(process: asyncio.subprocess.Process) -> None:
    """Close stdin, wait for the program to exit, then kill its process group."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), LEAVE_SECONDS)
    signal_group(process.pid)
    await process.wait()


class PipeLines(Stream):
    """Messages over the stdio of a program."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._bytes = 0

    async def receive(self) -> SessionMessage | Exception:
        while True:
            line = await self._line()
            self._count(len(line))
            try:
                message = types.jsonrpc_message_adapter.validate_python(orjson.loads(line), by_name=False)
            except (ValueError, ValidationError):
                continue  # not a message: the program prints to stdout
            if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                self._bytes = 0
            return SessionMessage(message)

    def _count(self, size: int) -> None:
        self._bytes += size
        if self._bytes > MOST_BYTES:
            raise StopAsyncIteration

    async def _line(self) -> bytes:
        """The next line. A line that is too long is replaced by an error response with its id."""
        line = await next_line(self._out, LONGEST_LINE + 1, MOST_BYTES)
        if isinstance(line, bytes):
            return line
        if line is None or line.id is None or not line.id.isdigit():  # llmc uses numeric ids
            raise StopAsyncIteration
        return refusal(int(line.id))

    async def send(self, item: SessionMessage, /) -> None:
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        with contextlib.suppress(ConnectionError):
            self._in.write(line + b"\n")
            await self._in.drain()


def refusal(identifier: int) -> bytes:
    why = f"the response is larger than {LONGEST_LINE >> 20} MB"
    return orjson.dumps({"jsonrpc": "2.0", "id": identifier, "error": {"code": types.INTERNAL_ERROR, "message": why}})
