"""The thin client: how a process of the user calls the daemon.

A `Caller` finds the daemon of a home folder, starts one if there is none, and replaces an older version. A
`DaemonConnection` then carries one call at a time or becomes a byte stream. Standard library only, and little of llmc:
a command has about 60 ms from the start of Python to its request, of which click takes 35.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc import __version__
from llmc.base.errors import DaemonError, DaemonGoneError
from llmc.base.protocol import PROTOCOL, build_number, is_newer
from llmc.client.connection import ConnectionLostError, DaemonConnection, dial, last_output, log_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llmc.base.home import Home

    OnEvent = Callable[[dict[str, Any]], None]

__all__ = ["Caller", "DaemonConnection"]

# A daemon answers `hello` in a millisecond; one that takes this long is suspended or hangs.
HELLO_SECONDS = 20.0
TRIES = 5
# Sent besides LLMC_*: the variables that locate the user's settings, the pruner and the providers of models.
SENT_NAMES = (
    *("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "PRUNER_URL", "PRUNER_TIMEOUT_MS", "MCP_PRUNER_CWD"),
    *("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
)


class Caller:
    """The calling process: its home folder, current folder and settings inputs, and how it starts a daemon.

    `flags` (`key=value`), `config` and the variables are sent to the daemon, which reads the settings. `notify` gets a
    line when a daemon is started or replaced; `command` overrides the command that starts one.
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
            "environ": {
                name: value for name, value in environ.items() if name.startswith("LLMC_") or name in SENT_NAMES
            },
            "flags": list(flags),
            "config": config,
            "session": session,
        }

    def connect(self, *, start: bool = True) -> DaemonConnection:
        """Connect to a compatible daemon, which is started or replaced if necessary unless `start` is False."""
        for _ in range(TRIES):
            connection = _greet(self)
            if connection is None:
                _start(self, start=start)
            elif _is_compatible(self, connection, start=start):
                return connection
        raise DaemonGoneError(
            "the daemon exits as soon as it starts", reason=last_output(self.home), hint=log_hint(self.home)
        )

    def ask(self, method: str, params: dict[str, Any] | None = None, *, on_event: OnEvent | None = None) -> Any:
        """Make one call; retried if the daemon ends before it has sent anything, so the call must be repeatable."""
        events_seen = False

        def forward(event: dict[str, Any]) -> None:
            nonlocal events_seen
            events_seen = True
            assert on_event is not None
            on_event(event)

        listener = forward if on_event else None
        try:
            return self._ask_once(method, params, listener)
        except DaemonGoneError:
            if events_seen:
                raise
            return self._ask_once(method, params, listener)

    def _ask_once(self, method: str, params: dict[str, Any] | None, on_event: OnEvent | None) -> Any:
        with self.connect() as connection:
            return connection.call(method, params, on_event=on_event)


def _greet(caller: Caller) -> DaemonConnection | None:
    peer = dial(caller.home)
    if peer is None:
        return None
    connection = DaemonConnection(caller.home, peer)
    try:
        connection.hello = connection.call("hello", caller.about, timeout=HELLO_SECONDS)
    except ConnectionLostError:
        connection.close()
        return None  # it was about to exit
    except DaemonError:
        connection.close()
        raise
    return connection


def _start(caller: Caller, *, start: bool) -> None:
    if not start:
        raise DaemonGoneError(
            "no daemon is running", hint="Most commands start it; `llmc index` runs it in the foreground."
        )
    from llmc.client.start import start_daemon  # noqa: PLC0415 - 10 ms, and rarely needed

    pid = start_daemon(caller.home, caller.environ, caller.command)
    if pid:
        caller.notify(f"started the index daemon (pid {pid})")


def _is_compatible(caller: Caller, connection: DaemonConnection, *, start: bool) -> bool:
    """Whether to use this daemon. An older one is asked to exit, which it refuses in the foreground."""
    ours, theirs = caller.about, connection.hello
    newer = is_newer(ours["version"], ours["build"], theirs["version"], theirs["build"])
    if newer and start and _replace(caller, connection):
        return False
    if theirs["protocol"] != PROTOCOL:
        connection.close()
        reason = f"llmc {theirs['version']} (pid {theirs['pid']}) speaks protocol {theirs['protocol']}, not {PROTOCOL}"
        upgrade = "the llmc that runs it" if newer else "this llmc"
        raise DaemonError(
            "the running daemon is incompatible", reason=reason, hint=f"Run `llmc stop` and upgrade {upgrade}."
        )
    return True


def _replace(caller: Caller, connection: DaemonConnection) -> bool:
    answer = connection.call("stop", {"polite": True}, timeout=HELLO_SECONDS)
    if answer["leaving"]:
        caller.notify(f"replacing the daemon of llmc {connection.hello['version']} (pid {connection.hello['pid']})")
        connection.wait_for_end(HELLO_SECONDS)
        connection.close()
    return bool(answer["leaving"])
