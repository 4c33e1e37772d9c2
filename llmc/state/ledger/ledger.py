"""Records every reply: the call's thread queues a record, and a background thread writes it.

Recording costs a call about ten microseconds (`bench.ledger`) and never blocks or fails it. Records that arrive faster
than the disk can take them are dropped and counted.

The accounting rules are conservative. `raw` is capped at what a client would have shown. Content read through a
handle, or from a file that this session has already seen in part, has no `raw` of its own: a plain tool would have
returned it at once, so it is subtracted from the savings. Menus and signatures of the gateway count as frame.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections import OrderedDict
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from llmc.envelope.clean import clean_text
from llmc.envelope.reply import weight_of
from llmc.envelope.tokens import count
from llmc.state.ledger.database import CallEntry, ToolListEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.envelope.reply import Reply
    from llmc.envelope.tokens import TokenAccount
    from llmc.envelope.tool_definition import ToolDefinition
    from llmc.state.connected_sessions import ConnectedSession
    from llmc.state.ledger.database import LedgerDatabase

__all__ = ["CLI", "CLIENT_TOKENS", "Ledger"]

# How much of an MCP reply Claude Code shows by default; other clients show less or do not document it.
CLIENT_TOKENS: Final = 25_000
GATEWAY: Final = "llmc"
CLI: Final = "cli"
# Writing a hundred records costs as much as writing one.
GATHER_SECONDS: Final = 0.25
MOST_WAITING: Final = 20_000
MOST_AT_ONCE: Final = 2_000
MOST_CUT: Final = 4_096
# After this time, a second read of a file would have happened with any tool.
REMEMBERED_SECONDS: Final = 3_600.0
FLUSH_SECONDS: Final = 5.0
HANDLE_LETTERS: Final = 5
LONGEST_NAME: Final = 64

Line = CallEntry | ToolListEntry


class Ledger:
    """With `enabled` false nothing is recorded, but earlier records can be read."""

    def __init__(self, database: LedgerDatabase, *, enabled: bool = True, client_tokens: int = CLIENT_TOKENS) -> None:
        self.database = database
        self._enabled = enabled
        self._client_tokens = client_tokens
        self._lines: queue.SimpleQueue[Line | threading.Event | None] = queue.SimpleQueue()
        self._partly_shown: OrderedDict[tuple[str, str, str], float] = OrderedDict()
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None
        self._write_now = threading.Event()

    def note(self, session: ConnectedSession | None, name: str, seconds: float, reply: Reply) -> None:
        """Record one reply. CLI calls have no session."""
        if not self._enabled:
            return
        weight = weight_of(reply)
        tool = weight.tool or name
        identifier = session.id if session else CLI
        fetched = weight.fetched or self._seen_in_part(identifier, weight)
        menu = tool == GATEWAY
        self._put(
            CallEntry(
                at=time.time(),
                session=identifier,
                client=session.client if session else CLI,
                surface=surface_of(session),
                tool=tool,
                seconds=seconds,
                content=0 if menu else weight.content,
                frame=weight.frame + (weight.content if menu else 0),
                raw=0 if menu or fetched else self._visible_raw(weight),
                fetched=fetched,
                cached=reply.cached,
                pending=weight.pending,
                error=reply.error,
                handle=reply.handle[:HANDLE_LETTERS],
            )
        )

    def listed(self, session: ConnectedSession, definitions: Sequence[ToolDefinition], instructions: str) -> None:
        """Record a tool list sent to a model; instructions are sent with the first one."""
        if not self._enabled:
            return
        encoded = [json.dumps(one.as_dict(), separators=(",", ":"), ensure_ascii=False) for one in definitions]
        self._put(
            ToolListEntry(
                at=time.time(),
                session=session.id,
                client=session.client,
                surface=surface_of(session),
                profile=session.profile,
                definitions=sum(map(count_tokens, encoded)),
                instructions=count_tokens(instructions),
            )
        )

    def _visible_raw(self, weight: TokenAccount) -> int:
        """The part of a plain reply that a client would have shown. A longer reply of ours is cut in the same way."""
        return weight.content if weight.content > self._client_tokens else min(weight.raw, self._client_tokens)

    def flush(self) -> None:
        """Wait until all earlier records are written."""
        if self._writer is not None:
            done = threading.Event()
            self._lines.put(done)
            self._write_now.set()
            done.wait(FLUSH_SECONDS)

    def close(self) -> None:
        writer = self._writer
        if writer is not None:
            self._lines.put(None)
            self._write_now.set()
            writer.join(FLUSH_SECONDS)
        self.database.close()

    def _seen_in_part(self, session: str, weight: TokenAccount) -> bool:
        """Whether all files of this reply were already shown in part to this session."""
        if not weight.files:
            return False
        now = time.monotonic()
        places = [(session, root, path) for root, path in weight.files]
        with self._lock:
            known = all(
                now - self._partly_shown.get(place, -REMEMBERED_SECONDS) < REMEMBERED_SECONDS for place in places
            )
            if weight.cut:
                self._partly_shown.update(dict.fromkeys(places, now))
            while len(self._partly_shown) > MOST_CUT:
                self._partly_shown.popitem(last=False)
        return known

    def _put(self, line: Line) -> None:
        if self._lines.qsize() >= MOST_WAITING:
            self.database.lost += 1
            return
        self._lines.put(line)
        if self._writer is None:
            self._start()

    def _start(self) -> None:
        with self._lock:
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name="llmc-ledger", daemon=True)
                self._writer.start()

    def _write(self) -> None:
        """The writer thread. It blocks on the queue, so an idle daemon does not wake up."""
        closing = False
        while not closing:
            first = self._lines.get()
            if isinstance(first, CallEntry | ToolListEntry):
                self._write_now.wait(GATHER_SECONDS)
                self._write_now.clear()
            items = [first, *self._drain()]
            closing = None in items
            batch = [with_clean_names(line) for line in items if isinstance(line, CallEntry | ToolListEntry)]
            if batch:
                self.database.write(batch)
            for done in (one for one in items if isinstance(one, threading.Event)):
                done.set()

    def _drain(self) -> list[Line | threading.Event | None]:
        found: list[Line | threading.Event | None] = []
        while len(found) < MOST_AT_ONCE:
            try:
                found.append(self._lines.get_nowait())
            except queue.Empty:
                break
        return found


def surface_of(session: ConnectedSession | None) -> str:
    if session is None:
        return "cli"
    return "mcp" if session.owner == "local" else "http"


@lru_cache(maxsize=256)
def count_tokens(text: str) -> int:
    return count(text)


def with_clean_names(line: Line) -> Line:
    """Clients choose session and client names, so they are redacted, cleaned and truncated."""
    return replace(line, session=clean_name(line.session), client=clean_name(line.client))


@lru_cache(maxsize=1024)
def clean_name(text: str) -> str:
    return clean_text(text).replace("\n", " ")[:LONGEST_NAME]
