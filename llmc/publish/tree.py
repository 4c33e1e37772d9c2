"""The files to publish: those of a commit as stored by git, or those of a work tree as they are on disk.

The same rules apply as for the index: ignore files in the tree, `index.include` and `index.exclude`, and the denylist,
whose files are counted but never read. Links and submodules are omitted. A commit is read directly from the git
directory (also a bare one), without running git, hooks or filters.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha1
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from llmc.base.denylist import Denylist
from llmc.base.errors import LlmcError, NotFoundError
from llmc.base.ignore import Rules
from llmc.base.root_fs import FileKind, RootFs, StatResult
from llmc.indexer.changes import scan_limits
from llmc.indexer.scan import SkipReason, scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.ignore import FolderRules
    from llmc.settings import Settings

__all__ = ["CommitTree", "SourceTree", "TreeFile", "WorkTree", "blob_name"]

# Up to this size, files that are too large for chunks are published for grep and read.
LARGEST_FILE = 32 << 20


class TreeFile(NamedTuple):
    """`blob` is the object id of the content in git."""

    path: str
    blob: str


class SourceTree(Protocol):
    """`denied` counts the files that the denylist kept out, `passed` those that cannot be read, by reason; both are
    complete after `files`."""

    commit: str
    committed: float
    denied: int
    passed: Counter[str]

    def files(self) -> Iterator[TreeFile]: ...

    def read(self, file: TreeFile) -> bytes | None:
        """The content; None if the file is too large or was deleted."""

    def close(self) -> None: ...


def blob_name(data: bytes) -> str:
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class CommitFs(RootFs):
    """The ignore files of a commit, as `Rules` read them."""

    def __init__(self, denylist: Denylist) -> None:
        self.path = "/"
        self.denylist = denylist
        self.generation = 0
        self.rule_files: dict[str, bytes] = {}

    def head(self, path: str, size: int, *, follow: bool = False) -> bytes:  # noqa: ARG002 - links are no ignore files
        try:
            return self.rule_files[path][:size]
        except KeyError:
            raise NotFoundError(f"{path} does not exist", path=path) from None

    def stat(self, path: str) -> StatResult | None:  # noqa: ARG002 - asked only for `.git`
        return None

    def open_folder(self, folder: str) -> int:
        raise NotFoundError(f"{folder or '.'} does not exist", path=folder)

    def close(self) -> None:
        """Does nothing: no file is open."""


@dataclass
class CommitTree:
    """The tree of a commit. `objects` is the folder of a git directory that holds its objects."""

    objects: str
    commit: str
    settings: Settings
    committed: float = 0.0
    denied: int = 0
    passed: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        from dulwich.object_store import DiskObjectStore  # noqa: PLC0415 - 0.1 s
        from dulwich.objects import Commit, Tag  # noqa: PLC0415 - 0.1 s

        self._store: Any = DiskObjectStore(self.objects)
        found = self._object(self.commit.encode())
        while isinstance(found, Tag):
            found = self._object(found.object[1])
        if not isinstance(found, Commit):
            raise NotFoundError(
                f"there is no commit {self.commit}",
                reason="the object is missing or is not a commit",
                hint="In a shallow clone, fetch the commit first.",
            )
        self.commit = found.id.decode()
        self.committed = float(found.commit_time)
        self._top: bytes = found.tree

    def _object(self, name: bytes) -> Any:
        try:
            return self._store[name]
        except Exception as error:  # dulwich raises errors of any kind for a broken pack
            raise NotFoundError(
                f"git object {name.decode('ascii', 'replace')} cannot be read",
                reason="it is missing or damaged",
                hint="Fetch the commit completely (no partial clone), or run `git fsck`.",
            ) from error

    def files(self) -> Iterator[TreeFile]:
        index = self.settings.index
        root_fs = CommitFs(Denylist(index.deny, index.exclude))
        rules = Rules(root_fs, include=index.include, exclude=index.exclude, hidden=index.hidden, nested_checkouts=True)
        yield from self._below(root_fs, rules, None, "", self._top)

    def _below(
        self, root_fs: CommitFs, rules: Rules, above: FolderRules | None, folder: str, tree: bytes
    ) -> Iterator[TreeFile]:
        entries = [(os.fsdecode(entry.path), entry) for entry in self._object(tree).items()]
        prefix = f"{folder}/" if folder else ""
        for name, entry in entries:
            if name.endswith("ignore") and stat.S_ISREG(entry.mode):
                root_fs.rule_files[prefix + name] = self._object(entry.sha).data
        frame = rules.enter(above, folder, {name for name, _ in entries})
        for name, entry in entries:
            path, is_folder = prefix + name, stat.S_ISDIR(entry.mode)
            if frame.hides(name, is_folder=is_folder):
                continue
            if rules.denies(path, is_folder=is_folder):
                self.denied += self._count(entry.sha) if is_folder else 1
            elif is_folder and path.count("/") >= self.settings.index.max_depth:
                self.passed[SkipReason.DEEP] += 1
            elif is_folder:
                yield from self._below(root_fs, rules, frame, path, entry.sha)
            elif stat.S_ISREG(entry.mode):
                yield TreeFile(path, entry.sha.decode())

    def _count(self, tree: bytes) -> int:
        entries = self._object(tree).items()
        return sum(self._count(entry.sha) if stat.S_ISDIR(entry.mode) else 1 for entry in entries)

    def read(self, file: TreeFile) -> bytes | None:
        data: bytes = self._object(file.blob.encode()).data
        return data if len(data) <= LARGEST_FILE else None

    def close(self) -> None:
        self._store.close()


@dataclass
class WorkTree:
    """The current files of a folder, including uncommitted changes."""

    folder: str
    commit: str
    committed: float
    settings: Settings
    denied: int = 0
    passed: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        index = self.settings.index
        self._root_fs = RootFs(self.folder, denylist=Denylist(index.deny, index.exclude))

    def files(self) -> Iterator[TreeFile]:
        index = self.settings.index
        rules = Rules(self._root_fs, include=index.include, exclude=index.exclude, hidden=index.hidden)
        for listing in scan(self._root_fs, rules, scan_limits(index)):
            self.denied += len(listing.denied)
            large = [one.path for one in listing.passed if one.why is SkipReason.LARGE]
            self.passed.update(str(one.why) for one in listing.passed if one.why in UNREAD)
            for path in (*listing.files, *large):
                data = self._data(path)
                if data is None:
                    self.passed[SkipReason.UNREADABLE] += 1
                else:
                    yield TreeFile(path, blob_name(data))

    def read(self, file: TreeFile) -> bytes | None:
        """The content; also None for a file that changed since it was listed, which the next publication will
        include."""
        data = self._data(file.path)
        return data if data is not None and blob_name(data) == file.blob else None

    def _data(self, path: str) -> bytes | None:
        try:
            seen = self._root_fs.stat(path)
            if seen is None or seen.kind is not FileKind.FILE:
                return None
            return self._root_fs.read(path, LARGEST_FILE, walking=True)[0]
        except LlmcError:
            return None

    def close(self) -> None:
        self._root_fs.close()


UNREAD = frozenset({SkipReason.UNREADABLE, SkipReason.DEEP, SkipReason.LONG, SkipReason.MANY})
