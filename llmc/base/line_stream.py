"""Line-framed JSON-RPC streams: the code that both ends share.

The MCP SDK expects streams that can be iterated and closed; `Stream` implements that with `receive` and `send`. From an
oversized line only the id is extracted, so that the request can be answered with an error.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from mcp.shared.message import SessionMessage

__all__ = ["END_BYTES", "Stream", "id_of"]

# The id comes first or last in a message; this much of both ends of a line is kept.
END_BYTES = 256
_ID = rb'"id"\s*:\s*(\d+|"[^"\\]*")\s*'
_AT_START = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"[,}]")
_AT_END = re.compile(_ID + rb"\}\s*$")


def id_of(head: bytes, tail: bytes) -> bytes | None:
    """The id of a message, as written, from the first and last bytes of its line."""
    match = _AT_START.match(head) or _AT_END.search(tail[-END_BYTES:])
    return match[1] if match else None


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
