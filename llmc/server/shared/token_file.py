"""The token file of a shared server: tokens and the repositories that each may read.

    [[tokens]]
    name = "ann"
    sha256 = "9f86d081…"
    repositories = ["team/*", "!team/payroll"]
    expires = 2027-01-01T00:00:00Z

The file contains hashes, so it is not secret itself. It is read again when it changes; a file that cannot be read or
contains a mistake grants no access until it is corrected, since a mistake might be a revocation.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import tomllib
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from llmc.base import logs
from llmc.base.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TokenEntry", "TokenFile", "add_token"]

log = logs.get("shared")

TOKEN_BYTES = 32
HASH_LETTERS = 64


class TokenEntry(NamedTuple):
    name: str
    repositories: tuple[str, ...]
    expires: float  # seconds since the epoch; 0 never
    metrics: bool


class TokenFile:
    """Thread-safe."""

    def __init__(self, path: str) -> None:
        """ConfigError if the file cannot be used when the server starts."""
        self.path = path
        self._stamp: tuple[int, int] | None = _stamp_of(path)
        self._entries = read_tokens(path)
        self._lock = threading.Lock()

    def find(self, token: str) -> TokenEntry | None:
        """None for a token that is unknown or has expired."""
        entry = self._current().get(sha256(token.encode("utf-8", "surrogateescape")).hexdigest())
        return entry if entry is not None and not 0 < entry.expires <= time.time() else None

    def _current(self) -> dict[str, TokenEntry]:
        with self._lock:
            stamp = _stamp_of(self.path)
            if stamp is None or stamp != self._stamp:
                self._stamp = stamp
                try:
                    self._entries = read_tokens(self.path)
                except ConfigError as error:
                    log.warning("the token file is invalid, so no token is accepted", reason=str(error))
                    self._entries = {}
            return self._entries


def _stamp_of(path: str) -> tuple[int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def read_tokens(path: str) -> dict[str, TokenEntry]:
    """hash → entry"""
    try:
        listed = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("tokens", [])
    except OSError as error:
        raise ConfigError(
            f"the token file {path} cannot be read",
            reason=error.strerror or str(error),
            hint="`llmc shared token NAME 'team/*'` adds a token to it.",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the token file {path} is not valid TOML", reason=str(error)) from None
    if not isinstance(listed, list):
        raise ConfigError(f"`tokens` in {path} must be a list of tables", hint="Begin each token with [[tokens]].")
    return dict(_entry(path, number, fields) for number, fields in enumerate(listed, 1))


def _entry(path: str, number: int, fields: Any) -> tuple[str, TokenEntry]:
    place = f"token {number} in {path}"
    known = {"name": str, "sha256": str, "repositories": list, "expires": datetime, "metrics": bool}
    if not isinstance(fields, dict) or any(not isinstance(fields.get(name), str) for name in ("name", "sha256")):
        raise ConfigError(f"{place} needs a name and a sha256", hint="`llmc shared token` writes both.")
    for name, value in fields.items():
        if name not in known or not isinstance(value, known[name]):
            raise ConfigError(f"{place} has an invalid {name!r}", hint=f"Available: {', '.join(known)}.")
    hashed, patterns, expires = fields["sha256"].lower(), fields.get("repositories", []), fields.get("expires")
    if len(hashed) != HASH_LETTERS or not all(isinstance(pattern, str) for pattern in patterns):
        raise ConfigError(f"{place} has an invalid sha256 or repositories", hint="`llmc shared token` writes both.")
    until = expires.timestamp() if expires is not None else 0.0
    return hashed, TokenEntry(fields["name"], tuple(patterns), until, bool(fields.get("metrics")))


def add_token(path: str, name: str, patterns: Sequence[str], days: float = 0, *, metrics: bool = False) -> str:
    """Create a token and append its entry to the file, which contains only the hash."""
    import json  # noqa: PLC0415 - strings of JSON are strings of TOML

    if Path(path).exists():
        read_tokens(path)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    lines = [
        "[[tokens]]",
        f"name = {json.dumps(name)}",
        f'sha256 = "{sha256(token.encode()).hexdigest()}"',
        f"repositories = {json.dumps(list(patterns))}",
    ]
    if days:
        lines.append(f"expires = {datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}")
    if metrics:
        lines.append("metrics = true")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written", reason=error.strerror or str(error)) from None
    return token
