"""A JSON-RPC message a line: what both ends of such a stream have in common.

The SDK wants streams that are iterated and closed; `Stream` is that around `receive` and `send`, which the ends have of
their own. Of a line that is too long to be read only its id is looked for, so that whoever waits can be told.
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

# The id is written first or last; so much of either end of a line is kept.
END_BYTES = 256
_ID = rb'"id"\s*:\s*(\d+|"[^"\\]*")\s*'
_AT_START = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"[,}]")
_AT_END = re.compile(_ID + rb"\}\s*$")


def id_of(head: bytes, tail: bytes) -> bytes | None:
    """The id of a message as it is written, from the first and the last bytes of its line."""
    found = _AT_START.match(head) or _AT_END.search(tail[-END_BYTES:])
    return found[1] if found else None


class Stream(ABC):
    """Both streams that the SDK wants, in one. What is beneath is closed by whoever opened it."""

    @abstractmethod
    async def receive(self) -> SessionMessage | Exception:
        """The next message; StopAsyncIteration at the end."""

    @abstractmethod
    async def send(self, item: SessionMessage, /) -> None: ...

    async def aclose(self) -> None:  # noqa: B027 - there is nothing to close, and no end has more to do
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
