"""Walks a root: which files are on disk now?

`scan` walks a folder and everything below it, yields a `FolderListing` per folder, and skips what the rules hide
(`ignore`) and what cannot be indexed, the latter with a reason. `look` returns the same for a single path. Both only
stat files; whether a file is binary is decided when it is read. Everything goes through `root_fs`, folder by folder, so
that a folder that is replaced by a link during the walk is not entered.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError, RootError
from llmc.base.ignore import FolderRules, Rules
from llmc.base.paths import LONGEST_PATH
from llmc.base.root_fs import ReadError, ReadRefusal, stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.model import Stamp
    from llmc.base.root_fs import RootFs

__all__ = ["FolderListing", "Rules", "ScanLimits", "SkipReason", "SkippedFile", "Tally", "scan"]

_LONGEST_NAME = 255  # bytes, on every file system of note


class SkipReason(StrEnum):
    """Why an entry was skipped."""

    LARGE = "too large"
    LINK = "symbolic link"
    SPECIAL = "not a regular file"
    UNREADABLE = "cannot be read"
    DEEP = "too deep"
    LONG = "path too long"
    MANY = "too many files"
    CHECKOUT = "another checkout of this repository"


@dataclass(frozen=True, slots=True)
class ScanLimits:
    max_file_bytes: int = 2 << 20
    max_depth: int = 256
    max_files: int = 1_000_000


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """`stamp` is set for files: an entry with an equal one has not changed."""

    path: str
    why: SkipReason
    stamp: Stamp | None = None


@dataclass(slots=True)
class FolderListing:
    """One folder: its files by path, the skipped entries, the denied ones, and the number of entries hidden by
    rules."""

    folder: str
    files: dict[str, Stamp] = field(default_factory=dict)
    passed: list[SkippedFile] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)
    ignored: int = 0


@dataclass(slots=True)
class Tally:
    """The counts of a walk, with the first few names for each reason."""

    files: int = 0
    folders: int = 0
    ignored: int = 0
    passed: Counter[SkipReason] = field(default_factory=Counter)
    examples: dict[SkipReason, list[str]] = field(default_factory=dict)

    def add(self, listing: FolderListing, names: int = 20) -> None:
        self.folders += 1
        self.files += len(listing.files)
        self.ignored += listing.ignored
        for passed in listing.passed:
            self.passed[passed.why] += 1
            examples = self.examples.setdefault(passed.why, [])
            if len(examples) < names:
                examples.append(passed.path)


def scan(
    root_fs: RootFs, rules: Rules, limits: ScanLimits, folder: str = "", *, named: bool = False
) -> Iterator[FolderListing]:
    """Walk a folder and all below it; yields nothing if it is hidden or missing. The whole root reloads the rules.

    `named`: the user named this folder, so it is walked even if the rules hide it.

    RootError: the root is gone, or was replaced during the walk; earlier listings may be of either folder.
    """
    root_fs.stat("")
    generation = root_fs.generation
    parent: FolderRules | None = None
    if folder and named:
        parent = rules.named_frame(folder.rpartition("/")[0])
    elif folder:
        parent = rules.frame(folder.rpartition("/")[0])
        hidden = parent.closed or parent.hides(folder.rpartition("/")[2], is_folder=True)
        if hidden or rules.denies(folder, is_folder=True):
            return
    else:
        rules.reload()
    left = limits.max_files
    todo = [(parent, folder)]
    while todo:
        above, path = todo.pop()
        listing = FolderListing(path)
        try:
            fd = root_fs.open_folder(path)
        except NotFoundError:
            continue
        except ReadError as error:
            listing.passed.append(SkippedFile(path, _WHY.get(error.refusal, SkipReason.UNREADABLE)))
            yield listing
            continue
        try:
            frame, folders = _list(fd, rules, above, limits, listing)
        finally:
            os.close(fd)
        left -= len(listing.files)
        if left < 0:
            yield _cut(listing, left)
            return
        yield listing
        todo += [(frame, each) for each in folders]
    root_fs.stat("")
    if root_fs.generation != generation:
        raise RootError("the root was replaced while it was walked", hint="Walk it again.", path=root_fs.path)


_WHY: dict[str, SkipReason] = {ReadRefusal.LINK: SkipReason.LINK, ReadRefusal.SPECIAL: SkipReason.SPECIAL}


def _list(
    fd: int, rules: Rules, above: FolderRules | None, limits: ScanLimits, listing: FolderListing
) -> tuple[FolderRules, list[str]]:
    """Fill the listing from an open folder; returns its rules, and the folders in it to walk, the last one first."""
    path, folders = listing.folder, list[str]()
    try:
        with os.scandir(fd) as found:
            entries = list(found)
    except OSError:
        entries = []
        listing.passed.append(SkippedFile(path, SkipReason.UNREADABLE))
    frame = rules.enter(above, path, {entry.name for entry in entries})
    if frame.closed:
        listing.passed.append(SkippedFile(path, SkipReason.CHECKOUT))
        return frame, folders
    prefix = f"{path}/" if path else ""
    room = LONGEST_PATH - len(os.fsencode(prefix))
    deepest = prefix.count("/") >= limits.max_depth
    for entry in entries:
        name = entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if frame.hides(name, is_folder=is_folder):
            listing.ignored += 1
        elif rules.denies(prefix + name, is_folder=is_folder):
            listing.denied.append(prefix + name)
        elif room < _LONGEST_NAME and len(os.fsencode(name)) > room:
            listing.passed.append(SkippedFile(prefix + name, SkipReason.LONG))
        elif not is_folder:
            _file(entry, prefix + name, limits.max_file_bytes, listing)
        elif deepest:
            listing.passed.append(SkippedFile(prefix + name, SkipReason.DEEP))
        else:
            folders.append(prefix + name)
    folders.sort(reverse=True)
    return frame, folders


def _file(entry: os.DirEntry[str], path: str, largest: int, listing: FolderListing) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError:
        listing.passed.append(SkippedFile(path, SkipReason.UNREADABLE))
        return
    if not stat.S_ISREG(status.st_mode):
        listing.passed.append(
            SkippedFile(path, SkipReason.LINK if stat.S_ISLNK(status.st_mode) else SkipReason.SPECIAL)
        )
    elif status.st_size > largest:
        listing.passed.append(SkippedFile(path, SkipReason.LARGE, stamp_of(status)))
    else:
        listing.files[path] = stamp_of(status)


def _cut(listing: FolderListing, left: int) -> FolderListing:
    """The last listing of a walk that reached the limit of files."""
    paths = sorted(listing.files)
    for path in paths[left:]:
        del listing.files[path]
    listing.passed.append(SkippedFile(paths[left], SkipReason.MANY))
    return listing
