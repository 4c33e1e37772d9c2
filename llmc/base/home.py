"""The home folder, where llmc stores its state: one folder per user, never inside a root.

This module owns the names below that folder, its permissions and the path of the daemon's socket. The modules that
write the files own their content: `daemon_lock`, `logs`, `store`. Standard library only, since the thin client imports
it.
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
    """The home folder. A plain class: importing dataclasses would cost the thin client 8 ms."""

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
        """Held by the client that starts the daemon, so that concurrent clients start only one."""
        return os.path.join(self.path, "start.lock")

    @property
    def logs(self) -> str:
        return os.path.join(self.path, "logs")

    @property
    def log(self) -> str:
        return os.path.join(self.logs, "daemon.log")

    @property
    def output(self) -> str:
        """stdout and stderr of the detached daemon, mostly tracebacks of a crash."""
        return os.path.join(self.logs, "daemon.out")

    @property
    def stores(self) -> str:
        """One folder for each family of work trees."""
        return os.path.join(self.path, "stores")

    @property
    def handles(self) -> str:
        """Results that did not fit into replies."""
        return os.path.join(self.path, "handles")

    @property
    def ledger(self) -> str:
        """Cost and savings of calls."""
        return os.path.join(self.path, "ledger.db")

    @property
    def socket(self) -> str:
        """In the home folder, or in a short private folder if that path is too long for a unix socket.

        Not in XDG_RUNTIME_DIR, since it is not set in all sessions of a user, and all must find the socket.
        """
        path = os.path.join(self.path, "daemon.sock")
        if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
            return path
        import hashlib  # noqa: PLC0415 - rarely needed, and 2 ms to import

        digest = hashlib.blake2b(os.fsencode(self.path), digest_size=8).hexdigest()
        return f"/tmp/llmc-{os.getuid()}-{digest}/daemon.sock"  # noqa: S108 - `make` accepts only a private folder

    def make(self) -> None:
        """Create the folders that the daemon and its clients share, accessible only to their owner."""
        for folder in (self.path, self.logs, os.path.dirname(self.socket)):
            _make_private(folder)


def find_home(environ: Mapping[str, str]) -> Home:
    """`LLMC_HOME`, else `llmc` in the user's cache folder."""
    return Home(_state_folder(environ))


def _state_folder(environ: Mapping[str, str]) -> str:
    """Links are resolved, so that two names of one folder lead to the same daemon."""
    named = environ.get("LLMC_HOME", "")
    if named:
        return os.path.realpath(named)
    cache = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # the XDG specification requires relative paths to be ignored
        cache = os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    return os.path.realpath(os.path.join(cache, "llmc"))


def _make_private(folder: str) -> None:
    """Create a 0700 folder of this user. With any other folder, another user could impersonate the daemon."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise DaemonError(
                f"cannot use {folder}",
                reason="it is a link or belongs to another user",
                hint="Set LLMC_HOME to a folder of your own.",
            )
        if status.st_mode & 0o077:
            os.chmod(folder, 0o700)
    except OSError as error:
        raise DaemonError(
            f"cannot use {folder} as the home folder",
            reason=error.strerror or str(error),
            hint="Set LLMC_HOME to a writable folder, or use --no-daemon.",
        ) from error
