"""Where every reply is noted: a line is made and queued in the call's own thread, and written in another.

It costs a call some ten microseconds (`bench.ledger`), never blocks one and never fails one. Lines that come faster
than the disk takes them are dropped and counted.

What is honest is decided here. `raw` is capped at what a client would have shown of it. What is read through a handle,
or of a file that this session was shown in part, has no `raw` of its own: a plain tool would have given it at once, so
that it counts against what was kept back. The gateway's menus and signatures are frame: definitions, told late.
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
from llmc.state.ledger.entry import CallEntry, ToolListEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.envelope.reply import Reply
    from llmc.envelope.token_accounting import TokenAccount
    from llmc.envelope.tool_definition import ToolDefinition
    from llmc.state.connected_sessions import ConnectedSession
    from llmc.state.ledger.database import LedgerDatabase

__all__ = ["CLI", "CLIENT_TOKENS", "Ledger"]

# What Claude Code shows of a reply of an MCP server unless told otherwise; others show less or do not say.
CLIENT_TOKENS: Final = 25_000
GATEWAY: Final = "llmc"
CLI: Final = "cli"
# A write of a hundred lines costs as much as one of one.
GATHER_SECONDS: Final = 0.25
MOST_WAITING: Final = 20_000
MOST_AT_ONCE: Final = 2_000
MOST_CUT: Final = 4_096
# A session may well read a file again the next morning, and would then have read it again with any tool.
REMEMBERED_SECONDS: Final = 3_600.0
FLUSH_SECONDS: Final = 5.0
HANDLE_LETTERS: Final = 5
LONGEST_NAME: Final = 64

Line = CallEntry | ToolListEntry


class Ledger:
    """`enabled` false: nothing is noted, and what was is shown."""

    def __init__(self, book: LedgerDatabase, *, enabled: bool = True, client_tokens: int = CLIENT_TOKENS) -> None:
        self.book = book
        self._enabled = enabled
        self._client_tokens = client_tokens
        self._lines: queue.SimpleQueue[Line | threading.Event | None] = queue.SimpleQueue()
        self._cut: OrderedDict[tuple[str, str, str], float] = OrderedDict()
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None
        self._hurry = threading.Event()

    def note(self, session: ConnectedSession | None, name: str, seconds: float, reply: Reply) -> None:
        """One reply, as it left. A command line has no session."""
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
                raw=0 if menu or fetched else self._shown(weight),
                fetched=fetched,
                cached=reply.cached,
                pending=weight.pending,
                error=reply.error,
                handle=reply.handle[:HANDLE_LETTERS],
            )
        )

    def listed(self, session: ConnectedSession, definitions: Sequence[ToolDefinition], instructions: str) -> None:
        """A list of tools, as a model is shown it; instructions come with the first."""
        if not self._enabled:
            return
        shown = [json.dumps(one.as_dict(), separators=(",", ":"), ensure_ascii=False) for one in definitions]
        self._put(
            ToolListEntry(
                at=time.time(),
                session=session.id,
                client=session.client,
                surface=surface_of(session),
                profile=session.profile,
                definitions=sum(map(counted, shown)),
                instructions=counted(instructions),
            )
        )

    def _shown(self, weight: TokenAccount) -> int:
        """What a client would have shown of a plain reply. Where ours is longer than that, it is cut as well."""
        return weight.content if weight.content > self._client_tokens else min(weight.raw, self._client_tokens)

    def flush(self) -> None:
        """Until what was noted before can be read."""
        if self._writer is not None:
            done = threading.Event()
            self._lines.put(done)
            self._hurry.set()
            done.wait(FLUSH_SECONDS)

    def close(self) -> None:
        writer = self._writer
        if writer is not None:
            self._lines.put(None)
            self._hurry.set()
            writer.join(FLUSH_SECONDS)
        self.book.close()

    def _seen_in_part(self, session: str, weight: TokenAccount) -> bool:
        """Whether all that was read now belongs to files of which this session was shown a part a while ago."""
        if not weight.files:
            return False
        now = time.monotonic()
        places = [(session, root, path) for root, path in weight.files]
        with self._lock:
            known = all(now - self._cut.get(place, -REMEMBERED_SECONDS) < REMEMBERED_SECONDS for place in places)
            if weight.cut:
                self._cut.update(dict.fromkeys(places, now))
            while len(self._cut) > MOST_CUT:
                self._cut.popitem(last=False)
        return known

    def _put(self, line: Line) -> None:
        if self._lines.qsize() >= MOST_WAITING:
            self.book.lost += 1
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
        """In the thread. It sleeps until there is something: an idle daemon has nothing to wake up for."""
        last = False
        while not last:
            first = self._lines.get()
            if isinstance(first, CallEntry | ToolListEntry):
                self._hurry.wait(GATHER_SECONDS)
                self._hurry.clear()
            waiting = [first, *self._rest()]
            last = None in waiting
            batch = [named(line) for line in waiting if isinstance(line, CallEntry | ToolListEntry)]
            if batch:
                self.book.write(batch)
            for done in (one for one in waiting if isinstance(one, threading.Event)):
                done.set()

    def _rest(self) -> list[Line | threading.Event | None]:
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
def counted(text: str) -> int:
    return count(text)


def named(line: Line) -> Line:
    """Names are the client's own words: without secrets, visible, short."""
    return replace(line, session=as_name(line.session), client=as_name(line.client))


@lru_cache(maxsize=1024)
def as_name(text: str) -> str:
    return clean_text(text).replace("\n", " ")[:LONGEST_NAME]
