"""The published state of a repository: the commit of each ref, and the document of each of its files.

A publication appends one row. If a repository and ref have several rows, the one with the highest `Head.order` is
current: the newest commit, unless an older one was published on purpose. All readers therefore agree, whichever
publisher was faster, and an interrupted append leaves no row. A row without a commit marks a ref as dropped. Files and
word statistics of a publication are objects that are written before its row: 30,000 files take 600 KB, and rows are
read by every server when anything is published.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from bisect import bisect_left
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from llmc.base.errors import CorruptStoreError
from llmc.store.catalog.document_paths import DocumentPaths

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import pyarrow as pa

__all__ = [
    "FILES",
    "PUBLICATIONS",
    "TERMS",
    "Head",
    "Manifest",
    "ManifestEntry",
    "default_head",
    "format_age",
    "newest",
    "pack_entries",
    "read_heads",
]

# Objects of a publication: its files, and the statistics of their words.
PUBLICATIONS = "publications"
FILES, TERMS = "files", "terms"

HEAD_COLUMNS = ("repo", "ref", "sequence", "nonce", "head")
HOLDS_NUL = 1
END = b"\0"
DAY, HOUR, MINUTE = 86_400, 3_600, 60


@dataclass(frozen=True, slots=True)
class Head:
    """A publication of a ref of a repository, without its files.

    `committed` and `published` are seconds since the epoch; `versions` are those of the content tables that hold
    everything that the manifest lists. `denied` files are on the denylist, `omitted` ones are too large or unreadable,
    and `redacted` secrets were replaced.
    """

    repo: str
    ref: str
    commit: str
    sequence: int
    nonce: str
    shard: int = 0
    committed: float = 0.0
    published: float = 0.0
    files: int = 0
    documents: int = 0
    chunks: int = 0
    denied: int = 0
    omitted: int = 0
    redacted: int = 0
    versions: dict[str, int] = field(default_factory=dict, hash=False)

    @property
    def order(self) -> tuple[int, float, float, str]:
        return (self.sequence, self.committed, self.published, self.nonce)

    @property
    def is_dropped(self) -> bool:
        return not self.commit

    @property
    def short_commit(self) -> str:
        """The abbreviated commit; `+` marks a work tree that was published with uncommitted changes."""
        return f"{self.commit[:8]}+" if "+" in self.commit else self.commit[:8]

    @property
    def name(self) -> str:
        return f"{self.repo}@{self.short_commit}"

    def part(self, part: str) -> str:
        """The object that holds a part of this publication."""
        return f"{PUBLICATIONS}/{self.nonce}.{part}"

    def age(self, now: float | None = None) -> str:
        """`3 d old`, or `new`."""
        age = format_age((time.time() if now is None else now) - self.committed)
        return "new" if age == NOW else f"{age} old"

    def fields(self) -> str:
        """The fields other than repository, ref, sequence and nonce, as the table stores them."""
        own = ("repo", "ref", "sequence", "nonce")
        return json.dumps({name: value for name, value in asdict(self).items() if name not in own})


def format_age(seconds: float) -> str:
    """`3 d`, `2 h`, `5 min`; a negative age, from a clock that is behind, counts as zero."""
    for size, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "1 min" if seconds >= MINUTE // 2 else NOW


NOW: Final = "now"


def read_heads(rows: pa.Table) -> Iterator[Head]:
    """Every publication in these rows; damaged rows are omitted, and `verify` reports them."""
    columns = zip(*(rows[name].to_pylist() for name in HEAD_COLUMNS), strict=True)
    for repo, ref, sequence, nonce, fields in columns:
        try:
            yield Head(repo, ref, sequence=sequence, nonce=nonce, **json.loads(fields))
        except (ValueError, TypeError):
            continue


def newest(heads: Iterable[Head]) -> dict[tuple[str, str], Head]:
    """(repository, ref) → its current publication, dropped refs included."""
    found: dict[tuple[str, str], Head] = {}
    for head in heads:
        key = (head.repo, head.ref)
        if key not in found or head.order > found[key].order:
            found[key] = head
    return found


# The ref that is used by default, best first; without any of these, the one that was published last.
DEFAULT_REFS = ("main", "master", "trunk", "develop")


def default_head(heads: Collection[Head]) -> Head:
    by_ref = {head.ref: head for head in heads}
    named = next((by_ref[ref] for ref in DEFAULT_REFS if ref in by_ref), None)
    return named or max(heads, key=lambda head: (head.published, head.nonce))


class ManifestEntry(NamedTuple):
    """A file of a published tree. `doc` is negative for a file without text; `redactions` counts secrets that were
    replaced in it."""

    path: str
    doc: int
    size: int
    redactions: int = 0
    holds_nul: bool = False


def pack_entries(entries: Iterable[ManifestEntry]) -> bytes:
    ordered = sorted((os.fsencode(entry.path), entry) for entry in entries)
    columns = [
        END.join(path for path, _ in ordered),
        np.array([entry.doc for _, entry in ordered], "<i8").tobytes(),
        np.array([entry.size for _, entry in ordered], "<i8").tobytes(),
        np.array([min(entry.redactions, 65_535) for _, entry in ordered], "<u2").tobytes(),
        np.array([HOLDS_NUL * entry.holds_nul for _, entry in ordered], "<u1").tobytes(),
    ]
    packed = [zlib.compress(column) for column in columns]
    head = json.dumps([len(ordered), *map(len, packed)]).encode()
    return b"\n".join([head, b"".join(packed)])


class Manifest:
    """The files of a published tree, in order of path."""

    def __init__(self, head: Head, packed: bytes) -> None:
        self.head = head
        try:
            self.paths, self._docs, self._sizes, self._redactions, self._flags = _unpacked(packed)
        except (ValueError, zlib.error, UnicodeDecodeError) as error:
            raise CorruptStoreError(
                f"the manifest of {head.repo}@{head.ref} is damaged",
                reason=type(error).__name__,
                hint="Publish the repository again.",
            ) from error

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def size(self) -> int:
        """The approximate number of bytes in memory."""
        return 180 * len(self.paths)

    @cached_property
    def places(self) -> DocumentPaths:
        with_text = np.flatnonzero(self._docs > 0)
        return DocumentPaths((int(self._docs[at]), os.fsencode(self.paths[at])) for at in with_text.tolist())

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {path: at for at, path in enumerate(self.paths)}

    def find(self, path: str) -> ManifestEntry | None:
        at = self._positions.get(path)
        return None if at is None else self._entry(at)

    def documents_at(self, paths: Iterable[str]) -> dict[int, int]:
        """document → size of the files with text at these paths."""
        found = (at for path in paths if (at := self._positions.get(path)) is not None)
        places = np.fromiter(found, np.int64)
        places = places[self._docs[places] > 0]
        return dict(zip(self._docs[places].tolist(), self._sizes[places].tolist(), strict=True))

    @cached_property
    def holding_nul(self) -> tuple[str, ...]:
        """The paths of files that hold a NUL byte."""
        return tuple(self.paths[at] for at in np.flatnonzero(self._flags & HOLDS_NUL).tolist())

    @cached_property
    def without_text(self) -> tuple[str, ...]:
        return tuple(self.paths[at] for at in np.flatnonzero(self._docs <= 0).tolist())

    def entries(self) -> Iterator[ManifestEntry]:
        return map(self._entry, range(len(self.paths)))

    def _entry(self, at: int) -> ManifestEntry:
        doc, size, redactions = int(self._docs[at]), int(self._sizes[at]), int(self._redactions[at])
        return ManifestEntry(self.paths[at], doc, size, redactions, holds_nul=bool(self._flags[at] & HOLDS_NUL))

    def sizes(self, docs: Collection[int]) -> dict[int, int]:
        """document → the size of its file, for documents of this tree."""
        found = ((doc, self._sizes_by_doc.get(doc)) for doc in docs)
        return {doc: size for doc, size in found if size is not None}

    @cached_property
    def _sizes_by_doc(self) -> dict[int, int]:
        return dict(zip(self._docs.tolist(), self._sizes.tolist(), strict=True))

    def docs(self) -> set[int]:
        """The documents with text."""
        return set(self._docs[self._docs > 0].tolist())

    def below(self, folder: str) -> range:
        """The positions of all files below a folder; "" is the root."""
        if not folder:
            return range(len(self.paths))
        start, end = os.fsencode(folder) + b"/", os.fsencode(folder) + b"0"
        return range(bisect_left(self._encoded, start), bisect_left(self._encoded, end))

    @cached_property
    def _encoded(self) -> Sequence[bytes]:
        return [os.fsencode(path) for path in self.paths]


def _unpacked(packed: bytes) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    head, _, body = packed.partition(b"\n")
    total, *lengths = json.loads(head)
    ends = np.cumsum(lengths).tolist()
    columns = [zlib.decompress(body[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
    paths = [os.fsdecode(path) for path in columns[0].split(END)] if total else []
    numbers = [
        np.frombuffer(column, kind) for column, kind in zip(columns[1:], ("<i8", "<i8", "<u2", "<u1"), strict=True)
    ]
    if len(paths) != total or any(len(column) != total for column in numbers):
        raise ValueError("columns of different lengths")
    docs, sizes, redactions, flags = numbers
    return paths, docs, sizes, redactions, flags
