"""Is the index on disk what we wrote? Checksums when it is opened, file stamps before each answer.

tantivy verifies nothing when it reads and SQLite has no checksums of pages, so a flipped bit would become a wrong
answer. The catalog's manifest lists the files of every other store with size and CRC-32. The *seal*, a small file
beside the catalog, does the same for the catalog itself; it is written whenever a writer has changed the catalog's main
file. zlib's CRC-32 runs at 3 GB/s, and a file with unchanged size, times and inode is not read again.

The seal also contains the last generation: a catalog with an older one has lost its write-ahead log.
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

# Checksums of files that are never changed in place: path → (signature, checksum).
_read: dict[str, tuple[Signature, int]] = {}
MOST_REMEMBERED = 20_000


def signature(path: Path | str) -> Signature:
    found = os.stat(path)  # noqa: PTH116 - a hundred of them before each answer, and `Path.stat` takes twice as long
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def crc_of(path: Path, *, changes: bool = False) -> Extent:
    """Size and checksum. `changes`: the file is modified in place, and file times are too coarse to detect that."""
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
    """tantivy's list of segments and the files that it names. Others are left over from a merge or a failed commit."""
    names = [META]
    for segment in read_meta(folder)["segments"]:
        name = segment["segment_id"].replace("-", "")
        names += [f"{name}.{kind}" for kind in SEGMENT_FILES]
        if segment["deletes"] is not None:
            names.append(f"{name}.{segment['deletes']['opstamp']}.del")
    return names


def manifest_of(folder: Path) -> dict[str, Extent]:
    """Every live file. A file that a merge removes meanwhile is omitted; the next manifest lists its successor."""
    manifest = {}
    for name in live_files(folder):
        with suppress(FileNotFoundError):
            manifest[name] = crc_of(folder / name, changes=name == META)
    return manifest


def check_files(folder: Path, manifest: Mapping[str, Extent]) -> None:
    """CorruptStoreError unless every file of the manifest exists unchanged."""
    for name, extent in manifest.items():
        try:
            found = crc_of(folder / name, changes=name == META)
        except FileNotFoundError:
            raise corrupt("the index is damaged", f"{folder.name}/{name} is missing", folder) from None
        if (found.size, found.crc) != (extent.size, extent.crc):
            raise corrupt("the index is damaged", f"{folder.name}/{name} differs from its checksum", folder)


def check_moving(folder: Path, manifest: Mapping[str, Extent]) -> None:
    """Check the files while a writer is active or was interrupted. tantivy is then ahead of the manifest, and its own
    checksums are used for files that the manifest does not list."""
    names = [name for name in live_files(folder) if name != META]
    check_files(folder, {name: manifest[name] for name in names if name in manifest})
    for name in names:
        if name not in manifest and not footer_matches(folder / name):
            raise corrupt("the index is damaged", f"{folder.name}/{name} differs from its checksum", folder)


def footer_matches(path: Path) -> bool:
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
        """The seal; None if it is missing or damaged, and then SQLite checks the catalog."""
        try:
            body, _, crc = path.read_text("ascii").strip().rpartition("\n")
            if int(crc) != zlib.crc32(body.encode()):
                return None
            generation, *catalog = json.loads(body)
        except (OSError, ValueError):
            return None
        return cls(generation, Extent(*catalog) if catalog else None)

    def write(self, path: Path) -> None:
        """Write in place with a fixed length, which also works on a full disk."""
        catalog = [] if self.catalog is None else [self.catalog.file, self.catalog.size, self.catalog.crc]
        body = json.dumps([self.generation, *catalog])
        text = f"{body}\n{zlib.crc32(body.encode())}".ljust(SEAL_BYTES)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(file, text.encode("ascii"), 0)
        finally:
            os.close(file)
