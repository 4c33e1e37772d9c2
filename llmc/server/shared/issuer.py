"""JWTs of a company's issuer: signature, issuer, audience and expiry, and the groups of the caller.

Keys are fetched from the issuer when a token names one that is not known, at most once in `RETRY_SECONDS`, so forged
tokens cannot make this server flood it. While the issuer does not answer, known keys stay valid for a day.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final

import httpx
import jwt

from llmc.base import logs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmc.settings import SharedSettings

__all__ = ["Issuer", "repositories_of"]

log = logs.get("shared")

# Asymmetric ones: with the others, who can verify a token can also make one.
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS: Final = 30
RETRY_SECONDS: Final = 10.0
FRESH_SECONDS: Final = 300.0
STALE_SECONDS: Final = 86_400.0
FETCH_SECONDS: Final = 5.0
MOST_BYTES: Final = 1 << 20
LONGEST_TOKEN: Final = 16 << 10
EVERYONE: Final = "*"


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
        """The key of this id; without an id, the only key there is."""
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
    """Keys of a kind that we do not know are left out."""
    for one in listed:
        try:
            key = jwt.PyJWK.from_dict(dict(one))
        except jwt.PyJWTError:
            continue
        if one.get("use", "sig") == "sig" and key.algorithm_name in ALGORITHMS:
            yield key


def repositories_of(claims: Mapping[str, Any], settings: SharedSettings) -> tuple[str, ...]:
    """What the groups of a caller may read. A claim that is no list of names grants nothing."""
    named = claims.get(settings.groups_claim)
    groups = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    wanted = [EVERYONE, *(group for group in groups if isinstance(group, str) and group != EVERYONE)]
    return tuple(dict.fromkeys(pattern for group in wanted for pattern in settings.groups.get(group, ())))
