"""Logins of browsers: a one-time code valid for a minute, or the token typed by hand; then a cookie.

The cookie is signed with the token, so logins survive a restart of the daemon and end with `llmc token rotate`. It
opens only the page: `/mcp` and `/tools` require the token. Pages of other origins and other users of this machine
cannot use it.

Every user of the machine can connect to 127.0.0.1. A token identifies the client; a cookie is weaker, since it is sent
to every port of the host, and the login code of `llmc ui` is visible in the process list. For cookies and
codes, the kernel is therefore queried for the owner of the socket (`is_same_user`), which only Linux provides.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import threading
import time
from hashlib import blake2b
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import TYPE_CHECKING, Final

from llmc.server.http.token import Token, read_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Scope

    from llmc.base.home import Home

__all__ = ["LOGIN", "PAGE", "Logins"]

LOGIN: Final = "/login"
PAGE: Final = "/page/"
ASSETS: Final = ("style.css", "script.js", "icon.svg")
PUBLIC: Final = frozenset({LOGIN, *(PAGE + name for name in ASSETS)})
CODE_SECONDS: Final = 60.0
MOST_CODES: Final = 64
VISIT_SECONDS: Final = 12 * 3600
# Values of Sec-Fetch-Site; older browsers do not send it.
OWN_SITES: Final = ("same-origin", "none", "")

TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
LOCAL, REMOTE, UID = 1, 2, 7  # columns
ROOT: Final = 0  # root may forward ports, as on the host of a virtual machine, and has all access anyway


class Logins:
    """The logins of one listener."""

    def __init__(self, home: Home, port: int) -> None:
        self._home = home
        self._token = Token(home)
        self._codes: dict[bytes, float] = {}
        self._lock = threading.Lock()
        # Named by port, since all ports of a host share their cookies.
        self.cookie = f"llmc_{port}"

    def code(self) -> str:
        """A new code; only processes of the user on the daemon's socket can request one."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            now = time.monotonic()
            self._codes = {one: until for one, until in self._codes.items() if until > now}
            for old in list(self._codes)[: -MOST_CODES + 1]:
                del self._codes[old]
            self._codes[digest(code)] = now + CODE_SECONDS
        return code

    def exchange(self, code: str, scope: Scope) -> str | None:
        """A cookie for a code, which becomes invalid."""
        with self._lock:
            until = self._codes.pop(digest(code), 0.0)
        return self._sealed() if until > time.monotonic() and is_same_user(scope) else None

    def enter(self, token: str) -> str | None:
        """A cookie for the token itself; a client token is not enough, since the page shows all sessions."""
        return self._sealed() if "." not in token and self._token.owner(token) else None

    def admit(self, scope: Scope) -> str | None:
        """The owner of the login; "" for the login page, which anyone may see; None if access is denied."""
        path, method = scope["path"], scope["method"]
        if path in PUBLIC:
            return ""
        if path != "/" and not path.startswith(PAGE):
            return None
        owner = self._owner(scope)
        if owner is not None:
            return owner
        return "" if method == "GET" and "text/html" in header(scope, b"accept") else None

    def _owner(self, scope: Scope) -> str | None:
        sealed = cookie_of(scope, self.cookie)
        if not sealed or header(scope, b"sec-fetch-site") not in OWN_SITES or not is_same_user(scope):
            return None
        master = read_token(self._home)
        until, _, _ = sealed.partition(".")
        if master is None or not until.isdecimal() or not time.time() < int(until) <= time.time() + VISIT_SECONDS:
            return None
        right = hmac.compare_digest(seal(master, until, self.cookie).encode(), sealed.encode("utf-8", "replace"))
        return self._token.owner(master) if right else None

    def _sealed(self) -> str | None:
        master = read_token(self._home)
        return seal(master, str(int(time.time()) + VISIT_SECONDS), self.cookie) if master else None


def seal(master: str, until: str, name: str) -> str:
    mac = blake2b(f"{name} {until}".encode(), key=master.encode()[:64], digest_size=32, person=b"llmc-cookie")
    return f"{until}.{mac.hexdigest()}"


def digest(code: str) -> bytes:
    return blake2b(code.encode("utf-8", "replace"), digest_size=32).digest()


def header(scope: Scope, name: bytes) -> str:
    headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
    return ",".join(value.decode("latin-1") for key, value in headers if key == name)


def cookie_of(scope: Scope, name: str) -> str:
    try:
        found = SimpleCookie(header(scope, b"cookie").replace(",", ";"))
    except CookieError:
        return ""
    return found[name].value if name in found else ""


def is_same_user(scope: Scope) -> bool:
    """Whether the client belongs to this user; True if unknown, for remote clients and systems other than Linux."""
    client, server = scope.get("client"), scope.get("server")
    if not client or not server or not ipaddress.ip_address(client[0].partition("%")[0]).is_loopback:
        return True
    owner = uid_of((client[0], client[1]), (server[0], server[1] or 0))
    return owner in (None, os.getuid(), ROOT)


def uid_of(local: tuple[str, int], remote: tuple[str, int]) -> int | None:
    """The owner of the socket bound to `local` and connected to `remote`; None if it is not found."""
    wanted = {(near, far) for near in forms(*local) for far in forms(*remote)}
    for table in TABLES:
        try:
            lines = Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            columns = line.split()
            if (columns[LOCAL], columns[REMOTE]) in wanted:
                return int(columns[UID])
    return None


def forms(host: str, port: int) -> tuple[str, ...]:
    """An address in the format of the kernel: native byte order, IPv4 possibly mapped to IPv6."""
    address = ipaddress.ip_address(host.partition("%")[0])
    packed = [address.packed]
    if address.version == 4:  # noqa: PLR2004 - it says so
        packed.append(b"\0" * 10 + b"\xff\xff" + address.packed)
    return tuple(f"{words(one)}:{port:04X}" for one in packed)


def words(packed: bytes) -> str:
    return "".join(packed[at : at + 4][::-1].hex().upper() for at in range(0, len(packed), 4))
