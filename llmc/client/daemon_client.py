"""The thin client: how any process of the user asks the daemon.

A `Caller` finds the daemon of a home, starts one when there is none, and settles versions; a `DaemonConnection` then
carries one call at a time, or becomes a plain stream of bytes. Standard library only, and nothing of llmc beyond names
and errors: from the start of Python to the request a command has some 60 ms, of which click takes 35.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc import __version__
from llmc.base.errors import DaemonError, DaemonGoneError
from llmc.base.protocol import PROTOCOL, build_number, is_newer
from llmc.client.connection import ConnectionLostError, DaemonConnection, dial, last_words, where_to_look

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llmc.base.home import Home

    OnEvent = Callable[[dict[str, Any]], None]

__all__ = ["Caller", "DaemonConnection"]

# A daemon answers `hello` in a millisecond; one that takes this long is stopped or hangs.
HELLO_SECONDS = 10.0
TRIES = 5
# Besides LLMC_*, what says where the user's own settings are.
SENT = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "PRUNER_URL", "PRUNER_TIMEOUT_MS", "MCP_PRUNER_CWD")


class Caller:
    """Who asks: the home, where it stands, and how it would start a daemon.

    `flags` (`key=value`), `config` and the variables are sent along, since the daemon reads the settings. `notify` gets
    a line when a daemon was started or replaced; `command` starts one, if not in the usual way.
    """

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        *,
        cwd: str,
        flags: Sequence[str] = (),
        config: str = "",
        session: str = "",
        notify: Callable[[str], None] = lambda _: None,
        command: Sequence[str] = (),
    ) -> None:
        self.home = home
        self.environ = environ
        self.notify = notify
        self.command = command
        self.about: dict[str, Any] = {
            "protocol": PROTOCOL,
            "version": __version__,
            "build": build_number(),
            "cwd": cwd,
            "environ": {name: value for name, value in environ.items() if name.startswith("LLMC_") or name in SENT},
            "flags": list(flags),
            "config": config,
            "session": session,
        }

    def connect(self, *, start: bool = True) -> DaemonConnection:
        """A connection to a daemon that understands us; one is started or replaced unless `start` is False."""
        for _ in range(TRIES):
            connection = _meet(self)
            if connection is None:
                _start(self, start=start)
            elif _agree(self, connection, start=start):
                return connection
        raise DaemonGoneError(
            "the daemon leaves as soon as it starts", reason=last_words(self.home), hint=where_to_look(self.home)
        )

    def ask(self, method: str, params: dict[str, Any] | None = None, *, on_event: OnEvent | None = None) -> Any:
        """One call, asked again when the daemon left or died before anything of the answer came: for what may be done
        twice."""
        heard: list[bool] = []

        def listen(event: dict[str, Any]) -> None:
            heard.append(True)
            assert on_event is not None
            on_event(event)

        listener = listen if on_event else None
        try:
            return self._ask_once(method, params, listener)
        except DaemonGoneError:
            if heard:
                raise
            return self._ask_once(method, params, listener)

    def _ask_once(self, method: str, params: dict[str, Any] | None, on_event: OnEvent | None) -> Any:
        with self.connect() as connection:
            return connection.call(method, params, on_event=on_event)


def _meet(caller: Caller) -> DaemonConnection | None:
    peer = dial(caller.home)
    if peer is None:
        return None
    connection = DaemonConnection(caller.home, peer)
    try:
        connection.hello = connection.call("hello", caller.about, timeout=HELLO_SECONDS)
    except ConnectionLostError:
        connection.close()
        return None  # it was about to leave
    except DaemonError:
        connection.close()
        raise
    return connection


def _start(caller: Caller, *, start: bool) -> None:
    if not start:
        raise DaemonGoneError(
            "no daemon is running", hint="Any other command starts it; `llmc index` shows it at work."
        )
    from llmc.client.start import start_daemon  # noqa: PLC0415 - 10 ms, and seldom needed

    pid = start_daemon(caller.home, caller.environ, caller.command)
    if pid:
        caller.notify(f"started the index daemon (pid {pid})")


def _agree(caller: Caller, connection: DaemonConnection, *, start: bool) -> bool:
    """Whether to stay with this daemon. An older one is asked to make room, unless a person holds it open."""
    ours, theirs = caller.about, connection.hello
    newer = is_newer(ours["version"], ours["build"], theirs["version"], theirs["build"])
    if newer and start and _make_room(caller, connection):
        return False
    if theirs["protocol"] != PROTOCOL:
        connection.close()
        spoken = f"llmc {theirs['version']} (pid {theirs['pid']}) speaks protocol {theirs['protocol']}, not {PROTOCOL}"
        upgrade = "the llmc that runs it" if newer else "this llmc"
        raise DaemonError(
            "the running daemon cannot be used", reason=spoken, hint=f"`llmc stop` ends it; upgrade {upgrade}."
        )
    return True


def _make_room(caller: Caller, connection: DaemonConnection) -> bool:
    answer = connection.call("stop", {"polite": True}, timeout=HELLO_SECONDS)
    if answer["leaving"]:
        caller.notify(f"replacing the daemon of llmc {connection.hello['version']} (pid {connection.hello['pid']})")
        connection.wait_for_end(HELLO_SECONDS)
        connection.close()
    return bool(answer["leaving"])
