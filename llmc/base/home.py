"""Where llmc keeps its state: one folder of the user, never inside a root.

This owns the names below that folder, its permissions and the path of the daemon's socket. What the files hold is the
business of whoever writes them: `server.lock`, `logs`, `store`. Standard library only: the thin client starts here.
"""

# os.path throughout, since importing pathlib would cost the thin client 5 ms:
# ruff: noqa: PTH101, PTH103, PTH111, PTH117, PTH118, PTH120

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

from llmc.base.errors import DaemonError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Home", "find_home"]

# sun_path holds 108 bytes on Linux and 104 on macOS, the final NUL included.
SOCKET_PATH_LIMIT = 107 if sys.platform == "linux" else 103


class Home:
    """The state folder. A plain class: importing dataclasses would cost the thin client 8 ms."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Home({self.path!r})"

    @property
    def lock(self) -> str:
        return os.path.join(self.path, "daemon.lock")

    @property
    def start_lock(self) -> str:
        """Held by the one client that starts the daemon, so that twenty at once start one."""
        return os.path.join(self.path, "start.lock")

    @property
    def logs(self) -> str:
        return os.path.join(self.path, "logs")

    @property
    def log(self) -> str:
        return os.path.join(self.logs, "daemon.log")

    @property
    def output(self) -> str:
        """What the detached daemon writes to stdout and stderr: tracebacks of a crash, mostly."""
        return os.path.join(self.logs, "daemon.out")

    @property
    def stores(self) -> str:
        """One folder for each family of work trees."""
        return os.path.join(self.path, "stores")

    @property
    def handles(self) -> str:
        """What did not fit into replies."""
        return os.path.join(self.path, "handles")

    @property
    def ledger(self) -> str:
        """What calls cost and saved."""
        return os.path.join(self.path, "ledger.db")

    @property
    def socket(self) -> str:
        """In the home itself, or in a short folder of ours when that path is too long for a unix socket.

        Not in XDG_RUNTIME_DIR, which is set in one session of the user and not in another: both must find it.
        """
        path = os.path.join(self.path, "daemon.sock")
        if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
            return path
        import hashlib  # noqa: PLC0415 - seldom needed, and 2 ms to import

        digest = hashlib.blake2b(os.fsencode(self.path), digest_size=8).hexdigest()
        return f"/tmp/llmc-{os.getuid()}-{digest}/daemon.sock"  # noqa: S108 - `make` takes no folder but our own

    def make(self) -> None:
        """Create the folders that the daemon and its clients share, for their owner alone."""
        for folder in (self.path, self.logs, os.path.dirname(self.socket)):
            _make_private(folder)


def find_home(environ: Mapping[str, str]) -> Home:
    """`LLMC_HOME`, else `llmc` in the user's cache folder."""
    return Home(_state_folder(environ))


def _state_folder(environ: Mapping[str, str]) -> str:
    """With links resolved, so that two names of one folder lead to one daemon."""
    named = environ.get("LLMC_HOME", "")
    if named:
        return os.path.realpath(named)
    cache = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # the XDG specification: a relative path is to be ignored
        cache = os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    return os.path.realpath(os.path.join(cache, "llmc"))


def _make_private(folder: str) -> None:
    """A 0700 folder that is ours; anything else at this path could let another user listen in our name."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise DaemonError(
                f"cannot use {folder}",
                reason="it is a link or belongs to another user",
                hint="Set LLMC_HOME to a folder of your own.",
            )
        if found.st_mode & 0o077:
            os.chmod(folder, 0o700)
    except OSError as error:
        raise DaemonError(
            f"cannot use {folder} for llmc's state",
            reason=error.strerror or str(error),
            hint="Set LLMC_HOME to a folder that you may write, or run the command with --no-daemon.",
        ) from error
