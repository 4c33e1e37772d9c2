"""The service of a shared server: every call uses the repositories that its caller may read.

It has no roots and no daemon, and its home is a temporary folder of the process. Settings are read once.

Handles are objects beside the tables, so a handle works on every server. Their names are secret (130 bits derived with
a key that all servers share), and each is bound to its owner, which includes the caller's permissions. `llmc shared
optimize` removes them after a day.

The audit log has one line of JSON for each call: time, caller, tool, the publications that the reply quotes, the error
code and the duration. It has no arguments and no content, since both may contain secrets.
"""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from llmc.base import logs
from llmc.base.errors import ConfigError, LlmcError, StorageError, StoreFullError
from llmc.envelope.handles import Handles
from llmc.server.service import Service
from llmc.shared_workspace import SharedSite
from llmc.store.shared.access import Access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.base.home import Home
    from llmc.envelope.request import ClientInfo, RunningRequest
    from llmc.extend.delegates.offer import Offer
    from llmc.settings import Settings
    from llmc.shared_workspace import SharedWorkspace
    from llmc.store.shared.index import SharedIndex
    from llmc.store.shared.storage import Storage

__all__ = ["SharedService"]

log = logs.get("audit")

FOLDER = "handles"
KEY = "handle-key"
MOST_NAMED = 50
# Tools that need a work tree, write files, call a model, or list state of other servers.
LOCAL_TOOLS: Final = (
    "run",
    "shell",
    "history",
    "ask",
    "create_handoff",
    "resume_handoff",
    "web_research",
    "session",
    "handle",
)
PROFILE_FLAG: Final = "server.profile="


class ObjectCache:
    """The cache interface that `Handles` uses, on objects in storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def get(self, name: str) -> str | None:
        found = self._storage.read(f"{FOLDER}/{name}")
        return found.decode("utf-8", "surrogatepass") if found is not None else None

    def set(self, name: str, text: str, expire: float) -> None:  # noqa: ARG002 - `StoredHandles` looks at its age
        self._storage.write(f"{FOLDER}/{name}", text.encode("utf-8", "surrogatepass"))

    def delete(self, name: str) -> None:
        self._storage.delete([f"{FOLDER}/{name}"])

    def close(self) -> None:
        """Does nothing: no file is open."""


class StoredHandles(Handles):
    def __init__(self, storage: Storage, hours: float) -> None:
        super().__init__("", hours=hours)
        self._storage = storage
        self._opened = ObjectCache(storage)

    def _read(self, name: str) -> tuple[dict[str, Any], str]:
        head, body = super()._read(name)
        made = head.get("made")
        is_alive = isinstance(made, int | float) and made + self._seconds > time.time()
        return (head, body) if is_alive else ({}, "")

    def _store(self, name: str, text: str) -> None:
        """Store a handle. If the storage does not respond, only the handle is lost, not the reply."""
        try:
            super()._store(name, text)
        except (StorageError, StoreFullError) as error:
            raise StoreFullError("the remaining results cannot be stored", reason=error.message) from error

    def _is_free(self, name: str, letters: str) -> bool:  # noqa: ARG002 - 130 bits are never taken
        return True

    def _forget(self, name: str) -> None:
        try:
            super()._forget(name)
        except LlmcError:
            return

    def _key(self) -> bytes:
        """The key of handles, created by the first server and read by all others."""
        if not self._secret:
            made = os.urandom(32)
            self._secret = made if self._storage.create(KEY, made) else self._storage.read(KEY) or b""
            if not self._secret:
                raise StorageError("the key of handles cannot be read", hint="Try again.")
        return self._secret


class AuditLog:
    """Thread-safe. The file is opened for each line, so that any program may rotate it. ConfigError if it cannot be
    written when the server starts."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            self._append("")
        except OSError as error:
            raise ConfigError(f"the audit log {path} cannot be written", reason=error.strerror or str(error)) from None

    def record(self, caller: str, tool: str, repos: Sequence[str], error: str, seconds: float) -> None:
        fields = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "caller": caller,
            "tool": tool,
            "repositories": list(repos[:MOST_NAMED]),
            "more_repositories": max(0, len(repos) - MOST_NAMED),
            "error": error,
            "ms": round(seconds * 1000),
        }
        try:
            self._append(json.dumps(fields) + "\n")
        except OSError as problem:
            log.warning("the audit log cannot be written", reason=problem.strerror or str(problem))

    def _append(self, line: str) -> None:
        with self._lock:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)


class SharedService(Service):
    has_personas = False

    def __init__(self, settings: Settings, home: Home, index: SharedIndex) -> None:
        super().__init__(for_server(settings), home)
        self.handles = StoredHandles(index.database.storage, self.settings.envelope.handle_ttl_hours)
        audit = AuditLog(settings.shared.audit_log) if settings.shared.audit_log else None
        self.site = SharedSite(index, self._registry, self.settings, audit)

    def settings_of(self, client: ClientInfo) -> Settings:
        named = next((flag for flag in client.flags if flag.startswith(PROFILE_FLAG)), "")
        return with_profile(self.settings, named.removeprefix(PROFILE_FLAG)) if named else self.settings

    def workspace(self, call: RunningRequest, named: list[str] | None = None) -> SharedWorkspace:  # noqa: ARG002 - no roots
        client = call.client
        access = Access.of(client.repositories or ())
        return self.site.workspace(access, self.settings_of(client), caller=client.session)

    def bare_workspace(self, call: RunningRequest) -> SharedWorkspace:
        return self.workspace(call)

    def extra_tools(self, client: ClientInfo, settings: Settings) -> Offer | None:  # noqa: ARG002 - it has none
        return None


def for_server(settings: Settings) -> Settings:
    """The settings without tools that need more than an index, and without a ledger, since the audit log records
    calls."""
    server = settings.server.model_copy(
        update={"without_tools": (*settings.server.without_tools, *LOCAL_TOOLS), "agent": ""}
    )
    changes = {"server": server, "ledger": settings.ledger.model_copy(update={"enabled": False})}
    return settings.model_copy(update=changes)


def with_profile(settings: Settings, profile: str) -> Settings:
    return settings.model_copy(update={"server": settings.server.model_copy(update={"profile": profile})})
