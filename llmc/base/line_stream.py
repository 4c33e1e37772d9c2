"""One message per line: framing for the daemon's socket, MCP over stdio, downstream servers and script workers.

`LineBuffer` splits what a blocking reader received; `next_line` reads from an asyncio stream. Lines have a limit: of an
oversized one only the id is kept, so that the request can be answered with an error. The MCP SDK expects streams that
can be iterated and closed; `Stream` implements that with `receive` and `send`. Standard library only, for the relay.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType
    from typing import Self

    from mcp.shared.message import SessionMessage

__all__ = ["LineBuffer", "OversizedLine", "Stream", "next_line"]

# The id comes first or last in a message; this much of both ends of a line is kept.
END_BYTES = 256
_ID = rb'"id"\s*:\s*(\d+|"[^"\\]*")\s*'
_AT_START = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"[,}]")
_AT_END = re.compile(_ID + rb"\}\s*$")


def id_of(head: bytes, tail: bytes) -> bytes | None:
    """The id of a message, as written, from the first and last bytes of its line."""
    match = _AT_START.match(head) or _AT_END.search(tail[-END_BYTES:])
    return match[1] if match else None


class LineBuffer:
    """Splits a byte stream into lines, with their line ends. A line of more than `most` bytes is returned in pieces."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> list[bytes]:
        *lines, rest = chunk.split(b"\n")
        complete = [line + b"\n" for line in lines]
        if complete:
            complete[0] = self.rest() + complete[0]
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        if self._size > self._most:
            complete.append(self.rest())
        return complete

    def rest(self) -> bytes:
        """The beginning of an unfinished line, which is forgotten here."""
        rest, self._parts, self._size = b"".join(self._parts), [], 0
        return rest


class OversizedLine(NamedTuple):
    """A line that was skipped; `id` is that of its message, as written, if it was found."""

    id: bytes | None


async def next_line(
    reader: asyncio.StreamReader, most: int, give_up: float = float("inf")
) -> bytes | OversizedLine | None:
    """The next line; None at the end of the stream, or of a line of more than `give_up` bytes."""
    import asyncio  # noqa: PLC0415 - the relay does without

    head = tail = b""
    size = 0
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except asyncio.LimitOverrunError as over:
            part = await reader.readexactly(over.consumed)
            head, tail, size = head or part[:END_BYTES], part[-END_BYTES:], size + len(part)
            if size > give_up:
                return None
            continue
        if not head and len(line) <= most:
            return line
        return OversizedLine(id_of(head or line[:END_BYTES], tail + line))


class Stream(ABC):
    """The SDK's read and write stream in one object. The underlying transport is closed by its owner."""

    @abstractmethod
    async def receive(self) -> SessionMessage | Exception:
        """The next message; StopAsyncIteration at the end."""

    @abstractmethod
    async def send(self, item: SessionMessage, /) -> None: ...

    async def aclose(self) -> None:  # noqa: B027 - nothing to close
        pass

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self.receive()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
