"""From the `Authorization` header to a caller of a shared server.

`SharedVerifier` is a `TokenVerifier` of the MCP SDK: a token of the token file, or a JWT. The SDK's resource-server
support does the rest: `BearerAuthBackend` reads the header and checks the expiry, and its metadata route tells clients
which issuer to ask. What a caller may read becomes `HttpCaller.repositories`, and from there `access.Access`.
"""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.requests import HTTPConnection

from llmc.base.errors import ConfigError
from llmc.server.http.callers import STRANGER, HttpCaller
from llmc.server.shared.issuer import Issuer, repositories_of
from llmc.server.shared.token_file import TokenFile

if TYPE_CHECKING:
    from starlette.routing import Route
    from starlette.types import Scope

    from llmc.settings import SharedSettings

__all__ = ["SharedCallers"]

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
# Load balancers have no token; these replies hold nothing about repositories.
PUBLIC: Final = frozenset({"/health", "/ready"})
JWT_DOTS: Final = 2


class SharedVerifier:
    """Which token is whose; the claims of an `AccessToken` carry its repositories."""

    def __init__(self, settings: SharedSettings, tokens: TokenFile | None, issuer: Issuer | None) -> None:
        self._settings = settings
        self._tokens = tokens
        self._issuer = issuer

    async def verify_token(self, token: str) -> AccessToken | None:
        if self._tokens is not None and (entry := self._tokens.find(token)) is not None:
            claims = {"repositories": entry.repositories, "metrics": entry.metrics}
            expires = int(entry.expires) or None
            return AccessToken(token="", client_id=f"token:{entry.name}", scopes=[], expires_at=expires, claims=claims)
        if self._issuer is None or token.count(".") != JWT_DOTS:
            return None
        found = await asyncio.to_thread(self._issuer.verify, token)
        if found is None:
            return None
        claims = {"iss": self._issuer.url, "repositories": repositories_of(found, self._settings), "metrics": False}
        subject = str(found["sub"])
        return AccessToken(token="", client_id=f"jwt:{subject}", scopes=[], subject=subject, claims=claims)


class SharedCallers:
    """`Authenticator` of a shared server. ConfigError if neither a token file nor an issuer is set."""

    hint = "Send `Authorization: Bearer TOKEN` with a token of this server's token file, or a JWT of its issuer."

    def __init__(self, settings: SharedSettings, url: str) -> None:
        if not settings.tokens and not settings.issuer:
            raise ConfigError(
                "no access rules are configured for the shared index",
                hint="Pass --tokens FILE (`llmc shared token` makes one), or set shared.issuer and shared.groups.",
            )
        self._resource = AnyHttpUrl(f"{(settings.resource_url or url).rstrip('/')}/mcp")
        tokens = TokenFile(settings.tokens) if settings.tokens else None
        issuer = Issuer(settings, str(self._resource)) if settings.issuer else None
        self._issuer_url = settings.issuer
        self._backend = BearerAuthBackend(SharedVerifier(settings, tokens, issuer))
        metadata = f', resource_metadata="{build_resource_metadata_url(self._resource)}"' if settings.issuer else ""
        self.challenge = f'Bearer realm="llmc", error="invalid_token"{metadata}'

    def routes(self) -> list[Route]:
        """The metadata of the protected resource, if there is an issuer to point to."""
        if not self._issuer_url:
            return []
        return create_protected_resource_routes(self._resource, [AnyHttpUrl(self._issuer_url)], resource_name="llmc")

    async def identify(self, scope: Scope) -> HttpCaller | None:
        if scope["path"] in PUBLIC or scope["path"].startswith(WELL_KNOWN):
            return STRANGER
        found = await self._backend.authenticate(HTTPConnection(scope))
        return caller_of(found[1]) if found is not None else None


def caller_of(user: AuthenticatedUser) -> HttpCaller:
    """Permissions are part of the owner, so that handles cannot be opened after permissions were withdrawn."""
    claims = user.access_token.claims or {}
    repositories = tuple(claims["repositories"])
    identity = "\0".join([str(claims.get("iss", "")), user.access_token.client_id, *sorted(repositories)])
    owner = "shared-" + blake2b(identity.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return HttpCaller(owner, user.access_token.client_id, repositories, monitors=bool(claims.get("metrics")))
