"""Determines the caller of a shared server from the `Authorization` header.

`SharedVerifier` is a `TokenVerifier` of the MCP SDK: a token of the token file, or a JWT. The SDK's resource-server
support does the rest: `BearerAuthBackend` reads the header and checks the expiry, and its metadata route tells clients
which issuer to use. The readable repositories become `HttpCaller.repositories`, and then `access.Access`.

`Issuer` checks signature, issuer, audience and expiry of a JWT. Keys are fetched when a token names one that is not
known, at most once in `RETRY_SECONDS`, so forged tokens cannot make this server flood the issuer. While the issuer does
not respond, known keys stay valid for a day.
"""

from __future__ import annotations

import asyncio
import threading
import time
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import httpx
import jwt
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.requests import HTTPConnection

from llmc.base import logs
from llmc.base.errors import ConfigError
from llmc.server.http.callers import STRANGER, HttpCaller
from llmc.server.shared.token_file import TokenFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from starlette.routing import Route
    from starlette.types import Scope

    from llmc.settings import SharedSettings

__all__ = ["SharedCallers"]

log = logs.get("shared")

# Only asymmetric algorithms: with symmetric ones, anyone who can verify a token can also create one.
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS: Final = 30
RETRY_SECONDS: Final = 10.0
FRESH_SECONDS: Final = 300.0
STALE_SECONDS: Final = 86_400.0
FETCH_SECONDS: Final = 5.0
MOST_BYTES: Final = 1 << 20
LONGEST_TOKEN: Final = 16 << 10
EVERYONE: Final = "*"
WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
# Public, since load balancers have no token; these replies contain nothing about repositories.
PUBLIC: Final = frozenset({"/health", "/ready"})
JWT_DOTS: Final = 2


class Issuer:
    """Thread-safe; `verify` may wait for the issuer."""

    def __init__(self, settings: SharedSettings, audience: str) -> None:
        self.url = settings.issuer
        self._audience = settings.audience or audience
        self._keys = IssuerKeys(settings.issuer, settings.jwks_url)

    def verify(self, token: str) -> dict[str, Any] | None:
        """The claims of a valid token; None for any other."""
        if len(token) > LONGEST_TOKEN:
            return None
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in ALGORITHMS:
                return None
            key = self._keys.find(str(header.get("kid") or ""))
            return self._claims(token, key) if key is not None else None
        except jwt.PyJWTError as error:
            log.info("a JWT was refused", reason=type(error).__name__)
            return None

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name] if key.algorithm_name in ALGORITHMS else [],
            audience=self._audience,
            issuer=self.url,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
        return claims


class IssuerKeys:
    def __init__(self, issuer: str, jwks_url: str) -> None:
        self._issuer = issuer
        self._url = jwks_url
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = self._tried = -STALE_SECONDS
        self._lock = threading.Lock()

    def find(self, kid: str) -> jwt.PyJWK | None:
        """The key with this id; without an id, the only existing key."""
        with self._lock:
            now = time.monotonic()
            known = self._keys.get(kid) if kid else None
            is_fresh = known is not None and now - self._fetched < FRESH_SECONDS
            if not is_fresh and now - self._tried >= RETRY_SECONDS:
                self._tried = now
                self._fetch(now)
            if now - self._fetched > STALE_SECONDS:
                return None
            if not kid and len(self._keys) == 1:
                return next(iter(self._keys.values()))
            return self._keys.get(kid)

    def _fetch(self, now: float) -> None:
        try:
            with httpx.Client(timeout=FETCH_SECONDS, follow_redirects=False) as client:
                if not self._url:
                    found = _json(client, f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
                    self._url = str(found["jwks_uri"])
                listed = _json(client, self._url)["keys"]
            self._keys = {key.key_id or "": key for key in _usable(listed)}
            self._fetched = now
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            log.warning("the keys of the issuer cannot be fetched", reason=type(error).__name__)


def _json(client: httpx.Client, url: str) -> dict[str, Any]:
    with client.stream("GET", url) as response:
        response.raise_for_status()
        body = b""
        for part in response.iter_bytes():
            body += part
            if len(body) > MOST_BYTES:
                raise ValueError("too long")
    import orjson  # noqa: PLC0415 - only when keys are fetched

    found: dict[str, Any] = orjson.loads(body)
    return found


def _usable(listed: Sequence[Mapping[str, Any]]) -> Iterator[jwt.PyJWK]:
    """The keys of supported types."""
    for one in listed:
        try:
            key = jwt.PyJWK.from_dict(dict(one))
        except jwt.PyJWTError:
            continue
        if one.get("use", "sig") == "sig" and key.algorithm_name in ALGORITHMS:
            yield key


def repositories_of(claims: Mapping[str, Any], settings: SharedSettings) -> tuple[str, ...]:
    """The repositories that a caller's groups may read. A claim that is not a list of names grants nothing."""
    named = claims.get(settings.groups_claim)
    groups = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    wanted = [EVERYONE, *(group for group in groups if isinstance(group, str) and group != EVERYONE)]
    return tuple(dict.fromkeys(pattern for group in wanted for pattern in settings.groups.get(group, ())))


class SharedVerifier:
    """Verifies tokens and JWTs; the claims of an `AccessToken` contain its repositories."""

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
                hint="Pass --tokens FILE (`llmc shared token` creates one), or set shared.issuer and shared.groups.",
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
    """Permissions are part of the owner, so handles cannot be opened after permissions were revoked."""
    claims = user.access_token.claims or {}
    repositories = tuple(claims["repositories"])
    identity = "\0".join([str(claims.get("iss", "")), user.access_token.client_id, *sorted(repositories)])
    owner = "shared-" + blake2b(identity.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return HttpCaller(owner, user.access_token.client_id, repositories, monitors=bool(claims.get("metrics")))
