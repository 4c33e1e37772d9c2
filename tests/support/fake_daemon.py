"""A daemon whose handler only does what tests need: `python fake_daemon.py` takes the place of `-m llmc.server`.

Everything around the handler is real: lock, socket, transport, start and end. Variables `LLMC_TWIN_*` make it older,
exit sooner or broken.
"""

# Every `do_` method takes the call, and few look at it:
# ruff: noqa: ARG002

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.base.errors import NotFoundError, RootError
from llmc.server import daemon
from llmc.server.__main__ import main
from llmc.server.daemon import Opened
from llmc.server.status import IndexDifference, IndexResult, RootStatus, StatusReport

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from llmc.base.home import Home
    from llmc.envelope.request import ClientInfo, RunningRequest


class Twin:
    """Calls meet at named gates, so that tests wait on events."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._gates: dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        self._busy: str | None = None

    def start(self) -> None:
        if os.environ.get("LLMC_TWIN_BROKEN"):
            raise NotFoundError("the twin is broken", hint="Mend it.", path="/x")

    def close(self) -> None:
        Path(self._home.path, "closed").write_text("closed\n")

    def busy(self) -> str | None:
        Path(self._home.path, "asked").touch()
        return self._busy

    def call(self, method: str, params: dict[str, Any], call: RunningRequest) -> object:
        return getattr(self, f"do_{method}")(call, **params)

    def do_echo(self, call: RunningRequest, **params: Any) -> object:
        return params

    def do_who(self, call: RunningRequest) -> object:
        return call.client

    def do_fail(self, call: RunningRequest, kind: str) -> object:
        if kind == "known":
            raise NotFoundError("no such thing", reason="it is not there", hint="Look again.", path="a.py", line=3)
        if kind == "exit":
            raise SystemExit(1)
        raise ValueError("out of order")

    def do_big(self, call: RunningRequest, size: int) -> object:
        return "x" * size

    def do_odd(self, call: RunningRequest) -> object:
        return {"path": os.fsdecode(b"caf\xe9")}

    def do_count(self, call: RunningRequest, to: int) -> object:
        for number in range(to):
            call.progress({"done": number})
        self._gate("counted").set()
        return to

    def do_wait(self, call: RunningRequest, gate: str) -> object:
        """Wait until the gate is opened or the call is cancelled; the gates `reached` and `cancelled` announce both."""
        self._gate(f"{gate} reached").set()
        opened = self._gate(gate)
        while not opened.wait(0.01):
            if call.cancelled:
                self._gate(f"{gate} cancelled").set()
                return "cancelled"
        return "opened"

    def do_open(self, call: RunningRequest, gate: str) -> object:
        self._gate(gate).set()
        return True

    def do_meet(self, call: RunningRequest, gate: str) -> object:
        return self._gate(gate).wait(20)

    def do_hold(self, call: RunningRequest, reason: str | None) -> object:
        self._busy = reason
        return None

    def do_crash(self, call: RunningRequest) -> object:
        os.abort()

    def do_half(self, call: RunningRequest) -> object:
        """Waits until the half has certainly been sent: its reader opens the gate."""
        call.progress({"half": 1})
        self._gate("half heard").wait(20)
        os.abort()

    def do_status(self, call: RunningRequest) -> object:
        return StatusReport(roots=(RootStatus("/src", "src", "f", "ready", indexed=3),))

    def do_index(self, call: RunningRequest, roots: list[str], **flags: bool) -> object:
        if "/bad" in roots:
            raise RootError("/bad cannot be a root", reason="it does not exist", hint="Name another.")
        for done in range(3):
            call.progress({"stage": "scan", "done": done, "total": 2, "rate": 10.0, "eta": 0.5, "root": "/src"})
        if not any(flags[each] for each in ("once", "verify", "detach")):
            call.progress({"stage": "watch", "root": "/src", "done": 0})
            call.progress(
                {"stage": "watch", "root": "/src", "done": 2, "removed": 1, "path": "a\n.py", "seconds": 0.25}
            )
            call.wait()
        different = (IndexDifference("/src", "a\n.py", "stale", "its hash differs"),) if flags["verify"] else ()
        return IndexResult((RootStatus("/src", "src", "f", "ready", indexed=3, skipped=1),), 1.25, different)

    def _gate(self, name: str) -> threading.Event:
        with self._lock:
            return self._gates.setdefault(name, threading.Event())


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: ClientInfo) -> None:
    writer.write(b"welcome\n")
    while chunk := await reader.read(65_536):
        writer.write(chunk)
        await writer.drain()


def open_twin(home: Home, environ: Mapping[str, str], *, alone: bool = False) -> Opened:
    return Opened(Twin(home), float(environ.get("LLMC_TWIN_IDLE", "60")), {"echo": echo})


if __name__ == "__main__":
    daemon.TEND_SECONDS = float(os.environ.get("LLMC_TWIN_TEND", "60"))
    daemon.PROTOCOL = int(os.environ.get("LLMC_TWIN_PROTOCOL", daemon.PROTOCOL))  # type: ignore[attr-defined]
    # Newer than any source: a file that is edited while tests run must not have the twin replaced by the real daemon.
    daemon.build_number = lambda: 1 << 53  # type: ignore[attr-defined]
    daemon.__version__ = os.environ.get("LLMC_TWIN_VERSION", daemon.__version__)  # type: ignore[attr-defined]
    main(open_twin)
