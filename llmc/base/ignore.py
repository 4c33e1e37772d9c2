"""Which entries of a root are ignored, according to all its ignore files, with ripgrep's precedence.

Every folder may have `.llmcignore`, `.rgignore`, `.ignore` and `.gitignore`, and a repository its `.git/info/exclude`.
An earlier file in this list takes precedence over a later one wherever they are; among files of the same name, the
deeper one takes precedence. They apply with and without a repository. Files outside the root are not read: no global
file and no parent folder. The setting `exclude` takes precedence over all files; `include` limits the index to what
it matches. Always hidden are `.git`, everything below an ignored folder, other work trees of the root's own repository,
and files on the denylist.

`Rules` caches the files that it read. A walk (`scan`) reads ignore files again; if an ignore file changes without a
walk, call `forget` for its folder. `patterns` parses a single file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from llmc.base import paths
from llmc.base.errors import LlmcError, NotFoundError, OutsideError
from llmc.base.globbing.patterns import MAX_BYTES, Layer, Patterns, read_patterns
from llmc.base.root_fs import ReadError
from llmc.base.roots import checkout

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from llmc.base.root_fs import RootFs

__all__ = ["RULE_FILES", "FolderRules", "Rules"]

RULE_FILES = (".llmcignore", ".rgignore", ".ignore", ".gitignore")  # highest precedence first
_RANKS = (*RULE_FILES, ".git/info/exclude")
_RULE_NAMES = frozenset({*RULE_FILES, ".git"})

# Limits on the cost of all ignore files that apply to one folder (see `patterns`), on the distinct lines in a root, and
# on the bytes of all ignore files. Reaching one of them takes about two seconds.
_MAX_COST = 4000
_MAX_LINES = 300_000
_MAX_BYTES = 64 << 20
_MAX_NOTES = 100


@dataclass(frozen=True, slots=True)
class _Files:
    """The ignore files that apply to a folder, by rank and from deep to high, each with its own folder."""

    ranks: tuple[tuple[tuple[Patterns, str], ...], ...]
    cost: int = 0

    def joined_by(self, own: dict[int, Patterns], folder: str) -> _Files:
        ranks = (((own[rank], folder), *above) if rank in own else above for rank, above in enumerate(self.ranks))
        return _Files(tuple(ranks), self.cost + sum(patterns.cost for patterns in own.values()))

    def placed(self, folder: str) -> list[tuple[Patterns, str]]:
        """Each file in order of precedence, and the folder relative to that file."""
        return [
            (patterns, folder[len(base) + 1 :] if base else folder) for rank in self.ranks for patterns, base in rank
        ]


class FolderRules:
    """The rules for the entries of one folder. `closed`: all of them are hidden."""

    __slots__ = ("_included", "above", "closed", "dots", "files", "folder", "include", "layers", "settled")

    def __init__(
        self, folder: str, files: _Files, above: FolderRules | None, include: Patterns | None, *, dots: bool
    ) -> None:
        self.folder = folder
        self.files = files
        self.above = above
        self.include = include  # None without such rules, and below a folder that they match
        self.dots = dots
        self.closed = False
        self._included = include.layer(folder) if include else None
        self.settled: bool
        self.layers: list[Layer]
        if above and above.settled and above.files is files:  # most folders have no ignore file
            self.settled, self.layers = True, above.layers
        else:
            placed = files.placed(folder)
            self.settled = all(patterns.is_settled(below) for patterns, below in placed)
            self.layers = [layer for patterns, below in placed if (layer := patterns.layer(below))]

    def hides(self, name: str, *, is_folder: bool) -> bool:
        if name == ".git":
            return True
        for layer in self.layers:
            verdict = layer.verdict(name, is_folder=is_folder)
            if verdict is not None:
                break
        else:
            verdict = not self.dots and name.startswith(".")
        return verdict or (self.include is not None and not self._may_include(name, is_folder=is_folder))

    def includes(self, name: str, *, is_folder: bool) -> bool:
        """Whether the include rules match this entry; for a folder, this includes everything below it."""
        return bool(self._included and self._included.verdict(name, is_folder=is_folder))

    def _may_include(self, name: str, *, is_folder: bool) -> bool:
        if self.includes(name, is_folder=is_folder):
            return True
        return is_folder and self.include is not None and self.include.may_match_below(_join(self.folder, name))


_CLOSED = FolderRules("", _Files(()), None, None, dots=True)
_CLOSED.closed = True


class Rules:
    """All rules of one root. Thread-safe, also during a walk."""

    def __init__(
        self,
        root_fs: RootFs,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        hidden: bool = True,
        nested_checkouts: bool = False,
    ) -> None:
        """`hidden`: whether names that begin with a dot are shown if no ignore file mentions them.
        `nested_checkouts`: whether other work trees of the root's own repository are shown."""
        self._root_fs = root_fs
        self._nested_checkouts = nested_checkouts
        self._hidden = hidden
        self._include, self._exclude = _from_settings(include), _from_settings(exclude)
        self._top = _Files((((self._exclude, ""),) if self._exclude else (), *((),) * len(_RANKS)))
        self._known: dict[bytes, Patterns] = {}
        self.version = 0  # changes whenever a verdict may
        self.reload()

    def reload(self) -> None:
        """Discard everything that was read; unchanged files are not parsed again."""
        self.version += 1
        self._frames: dict[str, FolderRules] = {}
        self._before, self._known = self._known, {}
        self._lines = self._bytes = 0
        self._notes: dict[str, tuple[str, ...]] = {}
        own = checkout(self._root_fs)
        inside = paths.inside(own.repository, self._root_fs.path) if own and not own.linked else None
        # A folder whose `.git` points to a bare repository inside it is not a checkout; it only contains some.
        self._bare = inside if inside != ".git" else None
        self._repository = own.repository if own and self._bare is None else ""
        if self._nested_checkouts:
            self._bare, self._repository = None, ""

    def forget(self, folder: str = "") -> None:
        """Read the ignore files of this folder and below again when they are next needed."""
        self.version += 1
        self._frames.pop(folder, None)

    @property
    def left_out(self) -> dict[str, tuple[str, ...]]:
        """Up to a hundred ignore files that could not be applied completely, with the parts left out."""
        settings = {"include": self._include, "exclude": self._exclude}
        notes = {f"settings: {name}": patterns.left_out for name, patterns in settings.items() if patterns}
        return {path: left_out for path, left_out in {**notes, **self._notes}.items() if left_out}

    def ignored(self, path: str, is_folder: bool, names: AbstractSet[str] | None = None) -> bool:
        """Whether a walk of the root would skip this path or one of its parents. `names` are the entries of the folder,
        if the caller has just listed it."""
        return self.denies(path, is_folder=is_folder) or self.hides(path, is_folder=is_folder, names=names)

    def denies(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether this path is on the denylist. A walk counts such files, since the user did not exclude them."""
        return self._root_fs.denylist.denies(path, is_folder=is_folder)

    def hides(self, path: str, *, is_folder: bool, names: AbstractSet[str] | None = None) -> bool:
        """Whether the ignore files or the settings hide the path."""
        parent, _, name = path.rpartition("/")
        frame = self.frame(parent)
        if path and (frame.closed or frame.hides(name, is_folder=is_folder)):
            return True
        return is_folder and self.frame(path, names).closed

    def frame(self, folder: str, names: AbstractSet[str] | None = None) -> FolderRules:
        """The rules for the entries of a folder, whether or not a walk has visited it."""
        frame = self._frames.get("") or self.enter(None, "", self._names(""))
        for name in folder.split("/") if folder else ():
            path = _join(frame.folder, name)
            known = self._frames.get(path)
            if known is None or known.above is not frame:  # cached under other rules, so no longer valid
                if frame.closed or frame.hides(name, is_folder=True):
                    return _CLOSED
                listed = names if names is not None and path == folder else self._names(path)
                known = self.enter(frame, path, listed)
            frame = known
        return frame

    def named_frame(self, folder: str) -> FolderRules:
        """The rules for the entries of a folder that the user named, even if it is ignored. Only for `Rules` that serve
        a single walk, because `frame` would treat the folder as visible afterwards."""
        frame = self.enter(None, "", self._names(""))
        for name in folder.split("/") if folder else ():
            path = _join(frame.folder, name)
            frame = self.enter(frame, path, self._names(path))
        return frame

    def enter(self, parent: FolderRules | None, folder: str, names: AbstractSet[str] | None) -> FolderRules:
        """Read the rules for a visible folder. `names` are its entries; None if it cannot be read."""
        files = parent.files if parent else self._top
        include = parent.include if parent else self._include
        if include and parent and parent.includes(folder.rpartition("/")[2], is_folder=True):
            include = None
        if names is not None and not names.isdisjoint(_RULE_NAMES) and (own := self._own(folder, names, files.cost)):
            files = files.joined_by(own, folder)
        frame = FolderRules(folder, files, parent, include, dots=self._hidden)
        if names is not None:
            frame.closed = folder == self._bare or (".git" in names and self._is_elsewhere(folder))
            if folder in self._frames:  # a walk read its files again
                self.version += 1
            self._frames[folder] = frame
        return frame

    def _own(self, folder: str, names: AbstractSet[str], cost: int) -> dict[int, Patterns]:
        """The ignore files in this folder by rank; rank 0 belongs to the settings."""
        own: dict[int, Patterns] = {}
        for rank, file in enumerate(_RANKS, start=1):
            path = _join(folder, file)
            patterns = self._read(path) if file.partition("/")[0] in names else None
            if patterns is None:
                continue
            cost += patterns.cost
            if cost > _MAX_COST:
                self._note(path, ("all of it: the ignore files above it have too many wildcards",))
                break
            own[rank] = patterns
        return own

    def _read(self, path: str) -> Patterns | None:
        if self._lines > _MAX_LINES or self._bytes > _MAX_BYTES:
            self._note(path, ("all of it: this root has too many ignore files",))
            return None
        try:
            data = self._root_fs.head(path, MAX_BYTES + 1, follow=True)
        except NotFoundError:
            return None
        except (OutsideError, ReadError) as error:
            self._note(path, (f"all of it: {error.reason or error.message}",))
            return None
        self._bytes += len(data)
        key = blake2b(data, digest_size=16).digest()
        patterns = self._known.get(key)
        if patterns is None:
            patterns = self._known[key] = self._before.get(key) or read_patterns(data)
            self._lines += patterns.lines
        self._note(path, patterns.left_out)
        return None if patterns.is_empty else patterns

    def _is_elsewhere(self, folder: str) -> bool:
        """Whether the folder is another checkout of the root's repository."""
        nested = checkout(self._root_fs, folder) if folder and self._repository else None
        return nested is not None and nested.repository == self._repository

    def _names(self, folder: str) -> AbstractSet[str] | None:
        try:
            fd = self._root_fs.open_folder(folder)
        except LlmcError:
            return None
        try:
            return frozenset(os.listdir(fd))  # noqa: PTH208 - pathlib does not accept a descriptor
        except OSError:
            return None
        finally:
            os.close(fd)

    def _note(self, path: str, left_out: tuple[str, ...]) -> None:
        if left_out and len(self._notes) < _MAX_NOTES:
            self._notes[path] = left_out


def _from_settings(globs: Sequence[str]) -> Patterns | None:
    return read_patterns(os.fsencode("\n".join(globs))) if globs else None


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
