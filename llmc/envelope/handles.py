"""Stores results that did not fit into a reply, for a day: put, open, list, drop.

A handle is `h` and a few letters derived from the call and its result: the same call has the same handle as long as the
result is the same. It stores the call, the items, which of them were shown, and a stamp of every file, so that a later
page can report changes.

The user's own processes share their handles (owner `local`). Any other owner is a client over the network: its handles
have 128 secret bits, and only that client can open them.

Rows are stored by diskcache through `TextDisk`, which stores only text and never executes anything: by default each row
selects its decoder, and one of them is pickle, so a process that can write a row could execute code (CVE-2025-69872, no
fixed version).
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import re
import sqlite3
import time
from base64 import b32encode
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from llmc.base.errors import NotFoundError, StoreFullError
from llmc.envelope.fit import leave
from llmc.envelope.packing import VERSION, decode, encode, pack, unpack
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.envelope.envelope import Envelope, Item
    from llmc.envelope.fit import Kept

__all__ = ["HANDLE", "LOCAL", "Handle", "Handles", "Stored"]

LOCAL: Final = "local"
HANDLE: Final = re.compile(r"h[a-z2-7]{3,32}")
_THREE: Final = re.compile(r"\d[a-z]")  # letters, digits and letters are at least three tokens
LETTERS: Final = 4  # a million names; with a thousand handles, one in a thousand needs its second choice
CHOICES: Final = 96
LONG: Final = 26  # 130 bits
RECENT: Final = 8

HEAD: Final = frozenset({"version", "letters", "owner", "tool", "args", "items", "left", "made"})

AMOUNTS: Final = frozenset({"budget", "all", "fresh"})

Place = tuple[str, str, str]  # root, path, stamp


def open_cache(folder: str, max_bytes: int) -> Any:
    """A cache in a private folder; the least recently used entries are deleted first."""
    import diskcache  # noqa: PLC0415 - 40 ms, only for truncated replies

    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - strings, as in Home
    return diskcache.Cache(
        folder, disk=text_disk(), size_limit=max_bytes, eviction_policy="least-recently-used", timeout=5
    )


def text_disk() -> type:
    import diskcache  # noqa: PLC0415 - see `open_cache`

    class TextDisk(diskcache.Disk):  # type: ignore[misc]
        def put(self, key: object) -> tuple[str, bool]:
            return checked(key), True

        def get(self, key: object, raw: bool) -> str:
            """The key of a row, or an empty string for a row of another program. It is never decoded."""
            return key if raw and isinstance(key, str) else ""

        def store(self, value: object, read: bool, key: object = None) -> Any:
            if read:
                raise TypeError("streams cannot be stored")
            # Files are written as bytes: diskcache writes text line by line, which takes twice as long.
            text = checked(value)
            return super().store(text if len(text) < self.min_file_size else text.encode(), False, key=key)

        def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> str | None:
            """Ignores `mode`, the decoder that the row selects."""
            del mode
            text = value if filename is None else read_below(self._directory, filename)
            return text if isinstance(text, str) and not read else None

    return TextDisk


def checked(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("only strings can be stored")
    return value


def read_below(folder: str, name: str) -> str | None:
    top = Path(folder).resolve()
    full = (top / name).resolve()
    try:
        return full.read_text("utf-8") if full.is_relative_to(top) else None
    except (OSError, UnicodeDecodeError):
        return None


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry in the list of handles."""

    id: str
    question: str
    made: float
    expires: float
    items: int
    left: str
    size: int


@dataclass(frozen=True, slots=True)
class Handle:
    """`kept` are the parts of `whole` that were shown; `files` are (root, path, stamp) of its files."""

    id: str
    owner: str
    tool: str
    args: dict[str, Any]
    whole: Envelope
    kept: Kept = field(default_factory=dict)
    files: tuple[Place, ...] = ()
    made: float = 0.0

    @property
    def question(self) -> str:
        return question_of(self.tool, self.args)

    @property
    def rest(self) -> Envelope:
        return replace(self.whole, groups=leave(self.whole, self.kept))

    def items(self) -> list[Item]:
        """In the order in which a reader counts them: the items of the reply, then those of the next page."""
        groups = self.whole.groups
        shown = [groups[at].items[index] for at, index in sorted(self.kept)]
        return [*shown, *self.rest.items()]


class Handles:
    """`owner` separates clients that must not see each other's handles."""

    def __init__(self, folder: str, *, hours: float = 24, max_bytes: int = 256 << 20) -> None:
        self._folder = folder
        self._seconds = hours * 3600
        self._max_bytes = max_bytes
        self._opened: Any = None
        self._secret = b""
        self._recent: dict[str, Handle] = {}

    @property
    def _cache(self) -> Any:
        if self._opened is None:
            self._opened = open_cache(self._folder, self._max_bytes)
        return self._opened

    def put(
        self,
        tool: str,
        args: dict[str, Any],
        whole: Envelope,
        kept: Kept,
        *,
        owner: str,
        left: str = "",
        files: Sequence[Place] = (),
    ) -> Handle:
        """`left` is the reply's description of the rest."""
        body = encode({**pack(whole), "kept": [[*place, rows] for place, rows in kept.items()], "files": files})
        call = json.dumps([owner, tool, args], sort_keys=True, default=str)
        letters = self._letters(f"{call}\n{body}", owner)
        made = time.time()
        head = {
            "version": VERSION,
            "letters": letters,
            "owner": owner,
            "tool": tool,
            "args": args,
            "items": sum(len(group.items) for group in whole.groups),
            "left": left,
            "made": made,
        }
        name = next(name for name in names_of(letters, owner) if self._is_free(name, letters))
        self._store(name, f"{encode(head)}\n{body}")
        return self._keep(letters, Handle(name, owner, tool, args, whole, kept, tuple(files), made))

    def open(self, name: str, owner: str) -> Handle:
        """Raises the same error for unknown, expired and foreign handles."""
        head, body = self._read(name) if HANDLE.fullmatch(name) else ({}, "")
        try:
            if head.get("owner") == owner:
                recent = self._recent.get(head["letters"])
                return recent or self._keep(head["letters"], handle_of(name, head, decode(body)))
        except (ValueError, KeyError, TypeError, IndexError):
            self._forget(name)  # damaged
        raise NotFoundError(
            f"no result has the handle {name}",
            reason="it has expired or never existed",
            hint="Run the query again.",
            handle=name,
        )

    def has(self, name: str, owner: str) -> bool:
        return bool(HANDLE.fullmatch(name)) and self._read(name)[0].get("owner") == owner

    def drop(self, name: str, owner: str) -> None:
        self.open(name, owner)
        self._forget(name)

    def drop_all(self, owner: str) -> int:
        dropped = [stored.id for stored in self.all(owner)]
        for name in dropped:
            self._forget(name)
        return len(dropped)

    def drop_root(self, root: str) -> int:
        """Forget every result with something of this root in it, whoever it belongs to."""
        dropped = 0
        for name in list(self._cache.iterkeys()):
            _, body = self._read(name) if HANDLE.fullmatch(name) else ({}, "")
            if body and holds_root(body, root):
                self._forget(name)
                dropped += 1
        self._recent.clear()
        return dropped

    def all(self, owner: str) -> Iterator[Stored]:
        """The stored handles, newest first."""
        handles = []
        for name in list(self._cache.iterkeys()):
            head, body = self._read(name) if HANDLE.fullmatch(name) else ({}, "")
            if head.get("owner") == owner and is_sound(head):
                question = question_of(head["tool"], head["args"])
                expires = head["made"] + self._seconds
                handles.append(Stored(name, question, head["made"], expires, head["items"], head["left"], len(body)))
        yield from sorted(handles, key=lambda stored: -stored.made)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _read(self, name: str) -> tuple[dict[str, Any], str]:
        """(head, stored body); empty if the entry does not exist or cannot be read."""
        try:
            text = self._cache.get(name)
        except sqlite3.OperationalError:
            return {}, ""
        except sqlite3.DatabaseError:
            self._reset()
            return {}, ""
        head, _, body = text.partition("\n") if isinstance(text, str) else ("", "", "")
        try:
            read = decode(head) if head else {}
        except ValueError:
            return {}, ""
        return (read, body) if isinstance(read, dict) and read.keys() >= HEAD else ({}, "")

    def _store(self, name: str, text: str) -> None:
        """Raises StoreFullError if there is no space."""
        try:
            self._cache.set(name, text, expire=self._seconds)
        except (sqlite3.Error, OSError) as error:
            raise StoreFullError("the remaining results cannot be stored", reason=str(error)) from error

    def _forget(self, name: str) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._cache.delete(name)

    def _reset(self) -> None:
        """Delete a damaged cache, so that new handles can be stored."""
        self.close()
        for name in ("cache.db", "cache.db-wal", "cache.db-shm"):
            Path(self._folder, name).unlink(missing_ok=True)

    def _keep(self, letters: str, handle: Handle) -> Handle:
        """Keep the handle in memory, since its next page is usually requested soon."""
        self._recent[letters] = handle
        for old in list(self._recent)[:-RECENT]:
            self._recent.pop(old, None)
        return handle

    def _is_free(self, name: str, letters: str) -> bool:
        head = self._read(name)[0]
        return not head or head["letters"] == letters

    def _letters(self, text: str, owner: str) -> str:
        data = blake2b(text.encode("utf-8", "surrogatepass")).digest()
        if owner != LOCAL:
            data = hmac.digest(self._key(), data, "sha512")
        return b32encode(data).decode().lower().rstrip("=")

    def _key(self) -> bytes:
        """Created once and stored with the handles, so that their names survive a restart."""
        if not self._secret:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - strings, as in Home
            path = Path(self._folder, "key")
            try:
                fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                pass
            else:
                with os.fdopen(fd, "wb") as file:
                    file.write(os.urandom(32))
            self._secret = path.read_bytes()
        return self._secret


def handle_of(name: str, head: dict[str, Any], packed: dict[str, Any]) -> Handle:
    kept = {(at, index): rows for at, index, rows in packed["kept"]}
    files = tuple((root, path, stamp) for root, path, stamp in packed["files"])
    if head["version"] != VERSION:
        raise ValueError("written by another version")
    return Handle(name, head["owner"], head["tool"], head["args"], unpack(packed), kept, files, head["made"])


def holds_root(body: str, root: str) -> bool:
    try:
        return any(place[0] == root for place in decode(body)["places"])
    except (ValueError, KeyError, TypeError, IndexError):
        return False


def is_sound(head: dict[str, Any]) -> bool:
    """Whether this version wrote the entry; other programs may write into the cache."""
    kinds = {"version": int, "tool": str, "args": dict, "items": int, "left": str, "made": float}
    return head.get("version") == VERSION and all(isinstance(head.get(name), kind) for name, kind in kinds.items())


def names_of(letters: str, owner: str) -> Iterator[str]:
    """The names to try. A short name is any part of the letters that costs a model few tokens."""
    if owner == LOCAL:
        short = ["h" + letters[at : at + LETTERS] for at in range(CHOICES)]
        yield from (name for name in short if is_cheap(name))
        yield from short
    yield "h" + letters[:LONG]


def is_cheap(name: str) -> bool:
    """Whether the name has two tokens, as one name in nine does. A single token is a word, which could be a file."""
    return not _THREE.search(name) and count(f" {name}") == 2  # noqa: PLR2004 - named by the docstring


def question_of(tool: str, args: dict[str, Any]) -> str:
    """The call in a form that can be repeated, without arguments that only limit the reply."""
    if "output" in args:  # the location of an output is not part of the call
        return f"{tool} {args['command']}"
    shown = {name: value for name, value in args.items() if name not in AMOUNTS and value not in (None, "", [], False)}
    return " ".join([tool, *(f"{name}={value!r}" for name, value in shown.items())])
