"""The token that every HTTP request requires: created once, stored in the home for its owner only.

A *client token* is derived from it and a name (`NAME.` and a keyed hash): clients that must not see each other's
handles get one each, nothing else is stored, and `rotate` invalidates all of them.
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
    """Reads the file for each request, so that `llmc token rotate` takes effect at once."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def owner(self, presented: str) -> str | None:
        """The owner of a token, which owns handles; None if invalid. Takes constant time."""
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
    """The token, created if there is none or the file is invalid."""
    return read_token(home) or rotate_token(home)


def read_token(home: Home) -> str | None:
    """The token if the file is valid: a regular file of this user, not readable by others, long enough."""
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
    """Replace the token; the old one becomes invalid."""
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
                os.unlink(name)  # noqa: PTH108 - strings, as in Home
    except OSError as error:
        raise DaemonError(f"cannot write {token_path(home)}", reason=error.strerror or str(error)) from error
    return token


def client_token(master: str, name: str) -> str:
    """The token of a named client."""
    if not NAME.fullmatch(name):
        raise ConfigError(f"invalid client name {name!r}", hint="Use at most 64 letters, digits, - and _.")
    mac = blake2b(name.encode(), key=master.encode()[:64], digest_size=32, person=b"llmc-client")
    return f"{name}.{mac.hexdigest()}"
