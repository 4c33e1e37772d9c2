"""How a command reaches the daemon: the values of the global options, and the calls made with them.

A command calls `options.ask("status")` and need not know whether the daemon or, with `--no-daemon`, this process
answered. Nothing here parses settings: the current folder, variables and flags are sent to the daemon, which reads the
settings files. click is not imported, so that `_grep_all` can do without it.
"""

# os.path throughout: importing pathlib would add 5 ms to the start of every command.
# ruff: noqa: PTH100, PTH109, PTH118, PTH120, PTH123, PTH202

from __future__ import annotations

import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any

from llmc.base.home import Home, find_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from llmc.client.daemon_client import Caller, DaemonConnection

    OnEvent = Callable[[dict[str, Any]], None]

__all__ = ["Options", "referenced_variables"]

SHOW_LOG = 2  # -vv
SETTINGS_FILES = ("llmc.toml", "llmc.json")
MAX_SETTINGS_BYTES = 1 << 20
KEY_SUFFIX = "_API_KEY"
VARIABLE = re.compile(r"\$\{(\w+)\}")


class Options:
    """The values of the global options."""

    def __init__(self) -> None:
        self.roots: tuple[str, ...] = ()
        self.config = ""
        self.set: tuple[str, ...] = ()
        self.no_daemon = False
        self.json = False
        self.plain = False
        self.quiet = False
        self.verbose = 0
        self.full_help = False
        # Commands that start MCP servers set this: the servers' settings refer to variables of this environment.
        self.send_variables = False

    @property
    def home(self) -> Home:
        return find_home(os.environ)

    @property
    def caller(self) -> Caller:
        from llmc.client.daemon_client import Caller

        flags = [*self.set, *(f"roots={os.path.abspath(root)}" for root in self.roots)]
        caller = Caller(self.home, os.environ, cwd=_cwd(), flags=flags, config=self.config, notify=self.notify)
        if self.send_variables:
            caller.about["environ"].update(referenced_variables(self.config, os.environ))
        return caller

    def about(self) -> dict[str, Any]:
        """The inputs of the settings in this process: `cwd`, `flags`, `config`."""
        return self.caller.about

    def ask(self, method: str, params: dict[str, Any] | None = None, *, on_event: OnEvent | None = None) -> Any:
        """Call a method of the daemon, or of a service in this process. The method must be safe to repeat."""
        started, log_offset = time.monotonic(), _size(self.home.log)
        try:
            if self.no_daemon:
                from llmc.server.local import ask_here

                return ask_here(self.caller, method, params or {}, on_event=on_event)
            return self.caller.ask(method, params, on_event=on_event)
        finally:
            if self.verbose:
                self._report_call(f"call {method}", started, log_offset)

    def connect(self, *, start: bool = True) -> DaemonConnection:
        started, log_offset = time.monotonic(), _size(self.home.log)
        connection = self.caller.connect(start=start)
        if self.verbose:
            hello = connection.hello
            self._report_call(f"connect to pid {hello['pid']}, llmc {hello['version']}", started, log_offset)
        return connection

    def notify(self, text: str) -> None:
        """Print a message for the person at the terminal, on stderr."""
        if not self.quiet:
            sys.stderr.write(f"llmc: {text}\n")

    def _report_call(self, name: str, started: float, log_offset: int) -> None:
        """Print the duration (`-v`), and the log lines of the call (`-vv`)."""
        where = "this process" if self.no_daemon else "the daemon"
        sys.stderr.write(f"llmc: {name}: {(time.monotonic() - started) * 1_000:.1f} ms in {where}\n")
        if self.verbose >= SHOW_LOG:
            from llmc.cli._log_tail import entries_since, format_entry

            for entry in entries_since(self.home.log, log_offset):
                sys.stderr.write(format_entry(entry))


def referenced_variables(config: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that the user's settings files refer to; the daemon was started in another environment.

    These are `${VAR}` in a file, `VENDOR_API_KEY` for each vendor that a file mentions, and PATH if a file names
    commands. The files are searched as text and not parsed: the daemon decides which settings apply.
    """
    text = "\n".join(_settings_texts(config or environ.get("LLMC_CONFIG", ""), environ))
    lowered = text.lower()
    names = set(VARIABLE.findall(text))
    names |= {
        name for name in environ if name.endswith(KEY_SUFFIX) and name.removesuffix(KEY_SUFFIX).lower() in lowered
    }
    if "command" in text:
        names.add("PATH")
    return {name: environ[name] for name in names if name in environ}


def _settings_texts(config: str, environ: Mapping[str, str]) -> Iterator[str]:
    home = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", ""), ".config")
    paths = [os.path.join(home, "llmc", name) for name in SETTINGS_FILES]
    paths += [os.path.abspath(config)] if config else list(_workspace_files(os.getcwd()))
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield file.read(MAX_SETTINGS_BYTES)
        except OSError:
            continue


def _workspace_files(folder: str) -> Iterator[str]:
    """Where a workspace file may be: in this folder or any above it."""
    while True:
        yield from (os.path.join(folder, name) for name in SETTINGS_FILES)
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        from llmc.base.errors import RootError

        raise RootError("the current folder no longer exists", hint="Change to another folder.") from None


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
