"""What did not fit, kept for a day: put, open, page, drop.

A handle is `h` and a few letters, made from the question itself: the same question on the same generation has the
same one. It remembers the call, what was left out, and a hash of every file behind it, so that a later page can say
what changed.

The entries live in diskcache, whose stored rows choose their own decoder: a planted pickle would be run
(CVE-2025-69872, no fixed version). The `Disk` here writes JSON text and reads nothing else, in a folder that only its
owner may enter.
"""

from __future__ import annotations

import json
import os
import re
import time
from base64 import b32encode
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from llmc.envelope.envelope import Envelope, Group, Item, Row
from llmc.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HANDLE", "Handle", "Handles"]

HANDLE: Final = re.compile(r"h[a-z2-7]{4,26}")
SHORTEST: Final = 4
DIGEST_LETTERS: Final = 26


@dataclass(frozen=True, slots=True)
class Handle:
    """`rest` is what was cut of `whole`, whose items are numbered from 1; `files` are path → stamp."""

    id: str
    owner: str
    tool: str
    args: dict[str, Any]
    rest: Envelope
    whole: Envelope
    files: dict[str, str] = field(default_factory=dict)
    made: float = 0.0

    @property
    def question(self) -> str:
        shown = " ".join(f"{name}={value!r}" for name, value in self.args.items() if value not in (None, "", [], False))
        return f"{self.tool} {shown}".strip()


class Handles:
    """`owner` separates clients that must not see each other's handles; a user's own processes are one owner."""

    def __init__(self, folder: str, *, hours: float = 24, max_bytes: int = 256 << 20) -> None:
        self._folder = folder
        self._seconds = hours * 3600
        self._max_bytes = max_bytes
        self._opened: Any = None

    @property
    def _cache(self) -> Any:
        if self._opened is None:
            import diskcache  # noqa: PLC0415 - 40 ms that only a cut reply pays

            os.makedirs(self._folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - strings, as in Home
            self._opened = diskcache.Cache(
                self._folder,
                disk=json_disk(),
                size_limit=self._max_bytes,
                eviction_policy="least-recently-used",
                timeout=5,
            )
        return self._opened

    def put(
        self,
        tool: str,
        args: dict[str, Any],
        whole: Envelope,
        rest: Envelope,
        *,
        stamp: str,
        owner: str,
        files: dict[str, str],
    ) -> Handle:
        """`stamp` tells one state of the roots from another, so that a changed answer is not taken for the old one."""
        question = json.dumps([owner, tool, args, stamp], sort_keys=True, default=str).encode()
        letters = b32encode(blake2b(question, digest_size=16).digest()).decode().lower().rstrip("=")
        for length in range(SHORTEST, DIGEST_LETTERS + 1):
            name = "h" + letters[:length]
            other = self._cache.get(name)
            if other is None or other["digest"] == letters:
                break
        handle = Handle(name, owner, tool, args, rest, whole, files, time.time())
        self._cache.set(name, {"digest": letters, **to_json(handle)}, expire=self._seconds)
        return handle

    def open(self, name: str, owner: str) -> Handle:
        """Unknown, expired and foreign look the same."""
        value = self._cache.get(name) if HANDLE.fullmatch(name) else None
        if value is None or value["owner"] != owner:
            raise NotFoundError(
                f"there is no result {name}",
                reason="it expired, or never was",
                hint="Ask the question again.",
                handle=name,
            )
        return from_json(value)

    def drop(self, name: str, owner: str) -> None:
        self.open(name, owner)
        self._cache.delete(name)

    def all(self, owner: str) -> Iterator[Handle]:
        for name in self._cache.iterkeys():
            value = self._cache.get(name)
            if value is not None and value["owner"] == owner:
                yield from_json(value)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None


def to_json(handle: Handle) -> dict[str, Any]:
    return asdict(handle)


def from_json(value: dict[str, Any]) -> Handle:
    fields = {name: value[name] for name in ("id", "owner", "tool", "args", "files", "made")}
    return Handle(rest=envelope_of(value["rest"]), whole=envelope_of(value["whole"]), **fields)


def envelope_of(value: dict[str, Any]) -> Envelope:
    groups = tuple(
        Group(group["title"], tuple(item_of(item) for item in group["items"]), group["count"])
        for group in value["groups"]
    )
    rest = {name: value[name] for name in ("error", "data", "unit", "in_order")}
    return Envelope(value["tool"], value["found"], groups, tuple(value["notes"]), **rest)


def item_of(value: dict[str, Any]) -> Item:
    rows = tuple(Row(row["text"], row["number"], row["context"]) for row in value["rows"])
    return Item(rows, value["title"], value["root"], value["path"], value["start"], value["end"])


def json_disk() -> type:
    """A diskcache `Disk` that knows JSON text and string keys, and nothing else."""
    import diskcache  # noqa: PLC0415 - see `_cache`

    class JsonDisk(diskcache.Disk):  # type: ignore[misc]
        def put(self, key: object) -> tuple[str, bool]:
            return checked_key(key), True

        def get(self, key: object, raw: bool) -> str:
            if not raw:
                raise TypeError("not a handle of ours")
            return checked_key(key)

        def store(self, value: object, read: bool, key: object = None) -> Any:
            if read:
                raise TypeError("handles are not streams")
            return super().store(json.dumps(value, separators=(",", ":")), False, key=key)

        def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> Any:
            """The row says how it wants to be decoded; it is not asked."""
            del mode
            text = value if filename is None else read_below(self._directory, filename)
            return parsed(text) if not read else None

    return JsonDisk


def checked_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError("handles are strings")
    return key


def read_below(folder: str, name: str) -> str | None:
    top = Path(folder).resolve()
    full = (top / name).resolve()
    try:
        return full.read_text("utf-8") if full.is_relative_to(top) else None
    except (OSError, UnicodeDecodeError):
        return None


def parsed(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
