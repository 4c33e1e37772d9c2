"""Handles kept beside the tables of a shared index, so that one made by a server opens on every other.

Names of handles are secret (130 bits made with a key that all servers share), and each is bound to its owner, which
covers the caller's permissions. `llmc shared optimize` removes them after a day.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from llmc.base.errors import LlmcError, StorageError, StoreFullError
from llmc.envelope.handles import Handles

if TYPE_CHECKING:
    from llmc.store.shared.storage import Storage

__all__ = ["StoredHandles"]

FOLDER = "handles"
KEY = "handle-key"


class ObjectCache:
    """The part of a cache that `Handles` uses, as objects."""

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
        """Nothing is open."""


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
        """Storage that does not answer costs the handle, never the reply."""
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
        """Created by the first server; all others read it."""
        if not self._secret:
            made = os.urandom(32)
            self._secret = made if self._storage.create(KEY, made) else self._storage.read(KEY) or b""
            if not self._secret:
                raise StorageError("the key of handles cannot be read", hint="Try again.")
        return self._secret
