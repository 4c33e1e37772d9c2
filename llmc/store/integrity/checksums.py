"""Is the index on disk what we wrote? Checksums at opening, a glance at every file before an answer.

tantivy checks nothing when it reads, and SQLite knows no checksums of pages, so a flipped bit would become a wrong
answer. The catalog's manifest names the files of every other store with size and CRC-32; the catalog itself is named
by the *seal*, a small file beside it, which is written whenever a writer has changed the catalog's main file. zlib's
CRC-32 runs at 3 GB/s, and a file whose size, times and inode are as they were when it was last read is not read again.

The seal also holds the last generation: a catalog that knows less has lost its write-ahead log.
"""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.store.integrity.native_errors import corrupt
from llmc.store.values import Extent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import RawIOBase
    from pathlib import Path
    from typing import BinaryIO

__all__ = [
    "Checksums",
    "Signature",
    "check_files",
    "check_moving",
    "crc_of",
    "live_files",
    "manifest_of",
    "read_meta",
    "signature",
]

META = "meta.json"
READ_BYTES = 1 << 20
# The end of every file that tantivy writes for a segment: JSON with the checksum of what precedes it, the length
# of that JSON, and a magic number.
FOOTER_MAGIC = 1337
FOOTER_TAIL = 8
SEAL_BYTES = 256
SEGMENT_FILES = ("fast", "fieldnorm", "idx", "pos", "store", "term")

Signature = tuple[int, int, int, int, int]

# What was read once and has not changed since: path → (signature, checksum). Only for files that are never changed in
# place.
_read: dict[str, tuple[Signature, int]] = {}
MOST_REMEMBERED = 20_000


def signature(path: Path | str) -> Signature:
    found = os.stat(path)  # noqa: PTH116 - a hundred of them before each answer, and `Path.stat` takes twice as long
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def crc_of(path: Path, *, changes: bool = False) -> Extent:
    """Size and checksum. `changes`: the file is written again and again, and the clock of file systems is too coarse
    to tell."""
    now = signature(path)
    remembered = _read.get(str(path))
    if remembered and remembered[0] == now and not changes:
        return Extent(path.name, now[2], remembered[1])
    with path.open("rb", buffering=0) as file:
        size, crc = crc_until(file, None)
    if len(_read) >= MOST_REMEMBERED:
        _read.clear()
    _read[str(path)] = (now, crc)
    return Extent(path.name, size, crc)


def crc_until(file: RawIOBase | BinaryIO, end: int | None) -> tuple[int, int]:
    size = crc = 0
    while data := file.read(READ_BYTES if end is None else min(READ_BYTES, end - size)):
        size, crc = size + len(data), zlib.crc32(data, crc)
    return size, crc


def read_meta(folder: Path) -> dict[str, Any]:
    """tantivy's list of segments."""
    meta: dict[str, Any] = json.loads((folder / META).read_bytes())
    return meta


def live_files(folder: Path) -> list[str]:
    """The files that tantivy's own list of segments calls for, and that list. Others are leftovers of a merge or of a
    commit that failed."""
    names = [META]
    for segment in read_meta(folder)["segments"]:
        name = segment["segment_id"].replace("-", "")
        names += [f"{name}.{kind}" for kind in SEGMENT_FILES]
        if segment["deletes"] is not None:
            names.append(f"{name}.{segment['deletes']['opstamp']}.del")
    return names


def manifest_of(folder: Path) -> dict[str, Extent]:
    """Every live file. One that a merge takes away meanwhile is left out: its successor will be named the next time."""
    manifest = {}
    for name in live_files(folder):
        with suppress(FileNotFoundError):
            manifest[name] = crc_of(folder / name, changes=name == META)
    return manifest


def check_files(folder: Path, manifest: Mapping[str, Extent]) -> None:
    """CorruptStoreError unless every file of the manifest is there as it was."""
    for name, extent in manifest.items():
        try:
            found = crc_of(folder / name, changes=name == META)
        except FileNotFoundError:
            raise corrupt("the index does not check out", f"{folder.name}/{name} is missing", folder) from None
        if (found.size, found.crc) != (extent.size, extent.crc):
            raise corrupt("the index does not check out", f"{folder.name}/{name} differs from its checksum", folder)


def check_moving(folder: Path, manifest: Mapping[str, Extent]) -> None:
    """While a writer is at work, or was cut short, tantivy is ahead of the manifest: its own checksums are used for
    the rest."""
    names = [name for name in live_files(folder) if name != META]
    check_files(folder, {name: manifest[name] for name in names if name in manifest})
    for name in names:
        if name not in manifest and not footer_holds(folder / name):
            raise corrupt("the index does not check out", f"{folder.name}/{name} differs from its checksum", folder)


def footer_holds(path: Path) -> bool:
    try:
        with path.open("rb", buffering=0) as file:
            total = file.seek(0, os.SEEK_END)
            file.seek(max(0, total - FOOTER_TAIL))
            tail = file.read(FOOTER_TAIL)
            length, magic = int.from_bytes(tail[:4], "little"), int.from_bytes(tail[4:], "little")
            end = total - FOOTER_TAIL - length
            if magic != FOOTER_MAGIC or end < 0:
                return False
            file.seek(end)
            crc = json.loads(file.read(length))["crc"]
            file.seek(0)
            return crc_until(file, end) == (end, crc)
    except (ValueError, KeyError, TypeError, FileNotFoundError):
        return False


@dataclass(frozen=True, slots=True)
class Checksums:
    """`catalog` is the main file of the catalog, None while a writer may be changing it."""

    generation: int
    catalog: Extent | None

    @classmethod
    def read(cls, path: Path) -> Checksums | None:
        """None when there is none that can be trusted: then the catalog is checked by other means."""
        try:
            body, _, crc = path.read_text("ascii").strip().rpartition("\n")
            if int(crc) != zlib.crc32(body.encode()):
                return None
            generation, *catalog = json.loads(body)
        except (OSError, ValueError):
            return None
        return cls(generation, Extent(*catalog) if catalog else None)

    def write(self, path: Path) -> None:
        """In place and always of one length: that works on a full disk too."""
        catalog = [] if self.catalog is None else [self.catalog.file, self.catalog.size, self.catalog.crc]
        body = json.dumps([self.generation, *catalog])
        text = f"{body}\n{zlib.crc32(body.encode())}".ljust(SEAL_BYTES)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(file, text.encode("ascii"), 0)
        finally:
            os.close(file)
