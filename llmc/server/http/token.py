"""The token that every HTTP request must bring: made once, kept in the home for its owner alone, changed at will.

A *client token* is derived from it for a name (`NAME.` and a keyed hash): clients that must not see each other's
handles are given one each, nothing more has to be stored, and `rotate` ends all of them.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets
import stat
import tempfile
from hashlib import blake2b
from typing import TYPE_CHECKING

from llmc.base.errors import ConfigError, DaemonError

if TYPE_CHECKING:
    from llmc.base.home import Home

__all__ = ["Token", "client_token", "make_token", "rotate_token"]

BITS = 256
LEAST_LETTERS = 32
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Token:
    """Reads the file anew for each request, so that `llmc token rotate` holds at once."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def owner(self, presented: str) -> str | None:
        """Whose token this is, as a name for the owner of handles; None for a stranger. Takes as long either way."""
        master = read_token(self._home)
        if master is None:
            return None
        name, dot, _ = presented.partition(".")
        named = bool(dot) and NAME.fullmatch(name) is not None
        right = client_token(master, name) if named else master
        if not hmac.compare_digest(right.encode(), presented.encode("utf-8", "surrogateescape")):
            return None
        return "http-" + blake2b(right.encode(), digest_size=8, person=b"llmc-owner").hexdigest()


def token_path(home: Home) -> str:
    return os.path.join(home.path, "token")  # noqa: PTH118 - strings, as in Home


def make_token(home: Home) -> str:
    """The token, made when there is none yet or what is there cannot be one."""
    return read_token(home) or rotate_token(home)


def read_token(home: Home) -> str | None:
    """The token if the file is sound: ours, a plain file, for nobody else to read, long enough."""
    try:
        descriptor = os.open(token_path(home), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        text = os.read(descriptor, 1024).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)
    private = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return text if private and len(text) >= LEAST_LETTERS and text.isprintable() and "." not in text else None


def rotate_token(home: Home) -> str:
    """A new token in place of the old one, which is worth nothing from now on."""
    home.make()
    token = secrets.token_urlsafe(BITS // 8)
    try:
        descriptor, name = tempfile.mkstemp(prefix=".token.", dir=home.path)  # 0600
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(token + "\n")
            os.replace(name, token_path(home))  # noqa: PTH105 - strings, as in Home
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)  # noqa: PTH108 - likewise
    except OSError as error:
        raise DaemonError(f"cannot write {token_path(home)}", reason=error.strerror or str(error)) from error
    return token


def client_token(master: str, name: str) -> str:
    """The token of a named client."""
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot name a client", hint="Use letters, digits, - and _, at most 64.")
    mac = blake2b(name.encode(), key=master.encode()[:64], digest_size=32, person=b"llmc-client")
    return f"{name}.{mac.hexdigest()}"
