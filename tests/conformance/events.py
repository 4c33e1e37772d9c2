"""The events of each stream, in memory, so that a client that lost one receives the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server.streamable_http import EventMessage, EventStore

if TYPE_CHECKING:
    from mcp.server.streamable_http import EventCallback, EventId, StreamId
    from mcp_types import JSONRPCMessage


class Events(EventStore):
    def __init__(self) -> None:
        self._sent: list[tuple[StreamId, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        self._sent.append((stream_id, message))
        return str(len(self._sent))

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        last = int(last_event_id) if last_event_id.isdecimal() else 0
        if not 1 <= last <= len(self._sent):
            return None
        stream = self._sent[last - 1][0]
        for number, (of, message) in enumerate(self._sent[last:], last + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
