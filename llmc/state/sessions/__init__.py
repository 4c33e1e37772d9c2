"""memory: what was said and done before this connection, and before the last restart?

    memory = memory_of(workspace)
    kept = memory.open("local", "s4f2a90")
    memory.put(kept, Draft("plan", "…", writer="otto"))

A *kept* session lives in SQLite in the home: keys with versions, lists of entries, the history of tool calls, tokens.
`server.sessions.Session` is the quick thing of one connection; it joins a kept one when a request names a session or a
tool needs one (`joining`). `recall` searches in it, `checkpoint` says in 300 tokens where it stands, and `spending`
warns when it has been served too much. Whatever is written here is redacted by whoever writes it.
"""

from __future__ import annotations

from llmc.state.sessions.join import memory_of
from llmc.state.sessions.memory import Memory
from llmc.state.sessions.values import Draft, SessionEntry, SessionRecord, SessionValue

__all__ = ["Draft", "Memory", "SessionEntry", "SessionRecord", "SessionValue", "memory_of"]
