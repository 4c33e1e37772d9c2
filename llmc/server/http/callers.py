"""Determines the caller of a request from `Authorization` or a cookie.

`Guard` first calls an `Authenticator`. `HomeCallers` is the one of a user's own server, with the token and logins in
the home; a server of a shared index has another one (`server.shared.authentication`).
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
    """`owner` owns sessions and handles; it is empty for an unauthenticated caller, who may only access public paths.
    `name` is for logs. `repositories` are patterns of readable repositories in a shared index. `monitors`: may read
    the metrics."""

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
        """The caller; `STRANGER` for an unauthenticated request to a public path; None if access is denied."""


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
    """The token of the only `Authorization` header; empty if there is none, or if it uses another scheme."""
    scheme, _, token = (presented[0] if len(presented) == 1 else "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def header_values(headers: Any, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]
