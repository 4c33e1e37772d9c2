"""What passes between the transport and whoever does the work.

`server.rpc` (over a socket) and the in-process way make a `RunningRequest` for each request and hand it to a `Handler`,
which never learns how it was reached. The `Service` is the handler of the daemon; tests have a twin.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

__all__ = ["DEFAULT_MEMORY", "DEFAULT_SECONDS", "ClientInfo", "Handler", "RunningRequest"]

JsonObject = dict[str, Any]

# For calls that never reach a tool, whose limits the settings say: `status`, a list of tools, a page.
DEFAULT_SECONDS = 120.0
DEFAULT_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """Who asks and from where, as its `hello` said; `pid` is the kernel's word.

    `environ`, `flags` (`key=value`, `--root` among them as `roots=…`) and `config` are what settings are made of: the
    client itself reads none, which would cost it its quick start.
    """

    pid: int
    session: str
    cwd: str = "/"
    environ: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    config: str = ""
    version: str = ""

    @property
    def place(self) -> Hashable:
        """Clients with the same have the same workspace."""
        return (self.cwd, frozenset(self.environ.items()), self.flags, self.config)


class RunningRequest:
    """One request while it is worked on; used from the worker's thread. `received_at`: when, by `time.monotonic`.

    `seconds` and `memory` bound it (see `server.call_threads`); infinite `seconds` are for calls that last as long as
    their client stays, such as a live view.
    """

    def __init__(
        self,
        client: ClientInfo,
        emit: Callable[[JsonObject], None] | None = None,
        *,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        self.client = client
        self.received_at = time.monotonic()
        self.seconds = seconds
        self.memory: float = DEFAULT_MEMORY if seconds < math.inf else math.inf
        self._allowed = False
        self._emit = emit
        self._cancelled = threading.Event()

    def allow(self, seconds: float, memory: int) -> None:
        """Set the limits of the tool that answers. Only the first counts: a tool that calls others has its own."""
        if not self._allowed:
            self._allowed = True
            self.seconds, self.memory = seconds, memory

    def progress(self, event: JsonObject) -> None:
        """Tell the client how far it is, or a part of the answer; nothing happens when it wants no events or is gone.

        To be called in the call's own thread: it waits for a client that reads slowly.
        """
        if self._emit is not None and not self._cancelled.is_set():
            self._emit(event)

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep until cancelled or the time is over; True when cancelled."""
        return self._cancelled.wait(seconds)

    def cancel(self) -> None:
        self._cancelled.set()


class Handler(Protocol):
    """Does the work behind the transport. `call` runs in a worker thread, many at once."""

    def start(self) -> None:
        """Called once, in a thread, before the first call."""

    def call(self, method: str, params: JsonObject, call: RunningRequest) -> object:
        """The result as JSON values or dataclasses; an LlmcError reaches the client as it is."""

    def busy(self) -> str | None:
        """Why the daemon should not leave although no client is there; None when it may."""

    def close(self) -> None:
        """Finish or roll back what is under way; nothing is called afterwards."""
