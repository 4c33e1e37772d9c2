"""The handler for one process: the daemon opens it behind its socket, `--no-daemon` without one.

Everything heavy is imported here, when it is called. Without a daemon the lock is still taken, since there must be one
writer; a home that cannot be written is replaced by a folder that lasts as long as the command.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

from llmc import __version__, logs
from llmc.errors import DaemonError, DaemonRunningError
from llmc.home import Home
from llmc.protocol import build_number
from llmc.server.calls import Call, Client
from llmc.server.lock import DaemonLock, Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from llmc.client import Caller
    from llmc.server.calls import Handler
    from llmc.server.daemon import Opened

__all__ = ["ask_here", "open_service", "opened_here"]

# As the daemon has it: a batch is committed or rolled back well within.
CLOSE_SECONDS = 30.0


def open_service(home: Home, environ: Mapping[str, str], *, alone: bool = False) -> Opened:
    """The service with the user's own settings; those of a client's folder come with each call."""
    from llmc.server.daemon import Opened  # noqa: PLC0415 - asyncio is not needed without a daemon
    from llmc.server.service import Service  # noqa: PLC0415 - the daemon listens before it pays for this
    from llmc.settings import load  # noqa: PLC0415 - likewise

    settings = load("/", environ).settings
    daemon = settings.daemon
    logs.open_log(home.log, level=daemon.log_level, max_bytes=daemon.log_bytes, keep=daemon.log_files)
    return Opened(Service(settings, home, alone=alone), daemon.idle_minutes * 60.0)


def ask_here(
    caller: Caller, method: str, params: dict[str, Any], *, on_event: Callable[[dict[str, Any]], None] | None = None
) -> Any:
    """One call, answered in this process."""
    about = caller.about
    client = Client(
        pid=os.getpid(),
        session=about["session"] or "here",
        cwd=about["cwd"],
        environ=about["environ"],
        flags=tuple(about["flags"]),
        config=about["config"],
        version=__version__,
    )
    with opened_here(caller.home, caller.environ, caller.notify) as handler:
        return _plain(_interruptible(handler, method, params, Call(client, on_event)))


@contextlib.contextmanager
def opened_here(home: Home, environ: Mapping[str, str], notify: Callable[[str], None]) -> Iterator[Handler]:
    with _writable(home, notify) as home_here, DaemonLock(home_here) as lock:
        _acquire(lock)
        handler = open_service(home_here, environ, alone=True).handler
        handler.start()
        try:
            yield handler
        finally:
            handler.close()


@contextlib.contextmanager
def _writable(home: Home, notify: Callable[[str], None]) -> Iterator[Home]:
    try:
        home.make()
        usable = os.access(home.path, os.W_OK)
    except DaemonError:
        usable = False
    if usable:
        yield home
        return
    notify(f"{home.path} cannot be written; the index is made in a temporary folder")
    with tempfile.TemporaryDirectory(prefix="llmc-") as folder:
        temporary = Home(folder)
        temporary.make()
        yield temporary


def _acquire(lock: DaemonLock) -> None:
    owner = Owner(os.getpid(), __version__, build_number(), time.time(), "llmc --no-daemon", foreground=True)
    try:
        lock.acquire(owner)
    except DaemonRunningError as error:
        error.hint = "Leave out --no-daemon to use it, or end it with `llmc stop`."
        raise


def _interruptible(handler: Handler, method: str, params: dict[str, Any], call: Call) -> object:
    """In a thread, so that Ctrl-C cancels the call as a client would, instead of striking anywhere in a commit."""
    future: Future[object] = Future()

    def work() -> None:
        try:
            future.set_result(handler.call(method, params, call))
        except BaseException as error:  # noqa: BLE001 - raised again by `result`
            future.set_exception(error)

    thread = threading.Thread(target=work, name="llmc-call")
    try:
        thread.start()  # Ctrl-C may come while this still waits for the thread to begin
        return future.result()
    except KeyboardInterrupt:
        call.cancel()
        wait([future], timeout=CLOSE_SECONDS)
        raise


def _plain(result: object) -> Any:
    """What a client would have got: JSON values."""
    from llmc.server.wire import decode, encode_line  # noqa: PLC0415 - orjson, which few need

    return decode(encode_line({"result": result}))["result"]
