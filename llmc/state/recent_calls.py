"""The last calls of agents and people, for the web page: who asked what, and what it cost.

They are kept in memory only. The ledger on disk stores figures and no questions.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.envelope.clean import clean_text
from llmc.envelope.redact.redactor import redactor_for
from llmc.envelope.reply import weight_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.envelope.reply import Reply
    from llmc.state.connected_sessions import ConnectedSession
    from llmc.workspace import Workspace

__all__ = ["RECENT", "RecentCall", "RecentCalls"]

MOST_CALLS = 400
LONGEST_QUESTION = 200
CLI = "cli"


@dataclass(frozen=True, slots=True)
class RecentCall:
    """`question` is what the call was about, with secrets redacted; `saved` is negative if a plain tool was cheaper."""

    at: float
    session: str
    client: str
    workspace: str
    tool: str
    question: str
    found: str
    tokens: int
    saved: int
    seconds: float
    error: str


class RecentCalls:
    """Thread-safe."""

    def __init__(self) -> None:
        self._calls: deque[RecentCall] = deque(maxlen=MOST_CALLS)
        self._lock = threading.Lock()

    def add(
        self,
        workspace: Workspace,
        session: ConnectedSession | None,
        name: str,
        *,
        args: Mapping[str, Any],
        seconds: float,
        reply: Reply,
    ) -> None:
        weight = weight_of(reply)
        redactor = redactor_for(workspace.settings.redaction)
        tokens = weight.content + weight.frame
        call = RecentCall(
            at=time.time(),
            session=session.id if session else CLI,
            client=(session.client if session else "") or CLI,
            workspace=", ".join(one.root.name for one in workspace.root_indexes),
            tool=weight.tool or name,
            question=clean_text(question(args), redactor)[:LONGEST_QUESTION],
            found=clean_text(reply.text.partition("\n")[0], redactor)[:LONGEST_QUESTION],
            tokens=tokens,
            saved=0 if weight.fetched else weight.raw - tokens,
            seconds=seconds,
            error=reply.error,
        )
        with self._lock:
            self._calls.append(call)

    def newest(self, count: int = MOST_CALLS, *, session: str = "") -> list[RecentCall]:
        with self._lock:
            calls = list(self._calls)
        chosen = [call for call in reversed(calls) if not session or call.session == session]
        return chosen[:count]


def question(args: Mapping[str, Any]) -> str:
    """The texts of a call, the first argument first."""
    values = (item for value in args.values() for item in (value if isinstance(value, list) else [value]))
    return " ".join(" ".join(value for value in values if isinstance(value, str)).split())


RECENT = RecentCalls()
