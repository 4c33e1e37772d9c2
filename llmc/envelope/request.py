"""The interface between the transport and the handler of requests.

The socket connection and the in-process path create a `RunningRequest` for each request and pass it to a `Handler`,
which does not depend on the transport. `Service` is the daemon's handler; tests have another one.
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

# For calls that do not reach a tool, such as `status` or a list of tools; the settings define the limits of tools.
DEFAULT_SECONDS = 120.0
DEFAULT_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """The client, as described in its `hello`; the kernel reports `pid`.

    `environ`, `flags` (`key=value`, including `--root` as `roots=…`) and `config` are the inputs of the settings, which
    the client does not read itself to start quickly. `repositories` are patterns of the repositories that it may read
    in a shared index, None without a shared index.
    """

    pid: int
    session: str
    cwd: str = "/"
    environ: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    config: str = ""
    version: str = ""
    repositories: tuple[str, ...] | None = None

    @property
    def place(self) -> Hashable:
        """Clients with an equal value have the same workspace."""
        return (self.cwd, frozenset(self.environ.items()), self.flags, self.config)


class RunningRequest:
    """A request in progress; used in the worker's thread. `received_at` is a `time.monotonic` value.

    `seconds` and `memory` are its limits (see `server.call_threads`), counted from `limited_from` if that is later than
    its start; infinite `seconds` are for calls that last as long as the client is connected, such as a live view.
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
        self.limited_from = 0.0
        self._allowed = False
        self._emit = emit
        self._cancelled = threading.Event()

    def allow(self, seconds: float, memory: int) -> None:
        """Set the limits of the tool, counted from now, since without a daemon the index was built before. Only the
        first call has an effect: a tool that calls others keeps its own limits."""
        if not self._allowed:
            self._allowed = True
            self.limited_from = time.monotonic()
            self.seconds, self.memory = seconds, memory

    def progress(self, event: JsonObject) -> None:
        """Send progress or a part of the result; does nothing if the client wants no events or is gone.

        Call it in the request's own thread, since it waits for a client that reads slowly.
        """
        if self._emit is not None and not self._cancelled.is_set():
            self._emit(event)

    def send(self, data: bytes) -> None:
        """Send a part of the result as it is printed."""
        self.progress({"bytes": data})

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep until cancelled or until the time is over; True if cancelled."""
        return self._cancelled.wait(seconds)

    def cancel(self) -> None:
        self._cancelled.set()


class Handler(Protocol):
    """Handles requests. `call` runs in worker threads, concurrently."""

    def start(self) -> None:
        """Called once, in a thread, before the first call."""

    def call(self, method: str, params: JsonObject, call: RunningRequest) -> object:
        """The result as JSON values or dataclasses; an LlmcError is passed to the client."""

    def busy(self) -> str | None:
        """Why the daemon should not exit although no client is connected; None if it may."""

    def close(self) -> None:
        """Finish or roll back current work; no other method is called afterwards."""
