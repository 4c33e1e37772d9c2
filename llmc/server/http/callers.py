"""Who sends a request: how `Authorization` or a cookie becomes a caller.

`Guard` asks an `Authenticator` before anything else happens. `HomeCallers` is that of a user's own server, whose token
and logins are kept in the home; a server of a shared index has another (`server.shared.authentication`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from starlette.types import Scope

    from llmc.server.http.logins import Logins
    from llmc.server.http.token import Token

__all__ = ["CALLER", "STRANGER", "Authenticator", "HomeCallers", "HttpCaller", "bearer_of", "header_values"]

CALLER: Final = "llmc.caller"  # in the scope


@dataclass(frozen=True, slots=True)
class HttpCaller:
    """`owner` owns sessions and handles; it is empty for a stranger, who gets only what is public. `name` is for logs.
    `repositories` are patterns of what may be read of a shared index. `monitors`: may read the metrics."""

    owner: str = ""
    name: str = ""
    repositories: tuple[str, ...] | None = None
    monitors: bool = False


STRANGER: Final = HttpCaller()


class Authenticator(Protocol):
    """`challenge` is the `WWW-Authenticate` header and `hint` the advice of a refusal."""

    challenge: str
    hint: str

    async def identify(self, scope: Scope) -> HttpCaller | None:
        """The caller; `STRANGER` where anyone may go; None if access is denied."""


class HomeCallers:
    challenge = 'Bearer realm="llmc"'
    hint = "Send `Authorization: Bearer TOKEN`; `llmc token show` prints it."

    def __init__(self, token: Token, logins: Logins) -> None:
        self._token = token
        self._logins = logins

    async def identify(self, scope: Scope) -> HttpCaller | None:
        presented = header_values(scope["headers"], b"authorization")
        owner = self._token.owner(bearer_of(presented)) if presented else self._logins.admit(scope)
        return None if owner is None else HttpCaller(owner, owner, monitors=True)


def bearer_of(presented: list[str]) -> str:
    """The token of the only `Authorization` header; empty if there is none, or it is of another scheme."""
    scheme, _, token = (presented[0] if len(presented) == 1 else "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def header_values(headers: Any, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]
