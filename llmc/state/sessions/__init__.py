"""sessions: persistent session memory, which outlives connections and restarts.

    memory = memory_of(workspace)
    record = memory.open("local", "s4f2a90")
    memory.put(record, Draft("plan", "…", writer="otto"))

A persistent session is stored in SQLite in the home: versioned keys, lists of entries, the history of tool calls, and
token totals. A `ConnectedSession` exists per connection and joins a persistent one when a request names it or a tool
needs it (`join`). `recall` searches a session, `checkpoint` summarizes it in 300 tokens, and a reply warns when it has
used its token budget. Callers redact what they write.
"""

from __future__ import annotations

from llmc.state.sessions.join import memory_of
from llmc.state.sessions.memory import Memory
from llmc.state.sessions.values import Draft, SessionEntry, SessionRecord, SessionValue

__all__ = ["Draft", "Memory", "SessionEntry", "SessionRecord", "SessionValue", "memory_of"]
