"""Which entries of a root are left out: all its ignore files together, as ripgrep weighs them.

Every folder may hold `.llmcignore`, `.rgignore`, `.ignore` and `.gitignore`, and a repository its `.git/info/exclude`.
An earlier one in this list outweighs a later one wherever they lie; among files of one name the deeper outweighs the
higher. They are honoured whether or not there is a repository. Nothing outside the root is asked: no global file, no
folder above. The settings' `exclude` outweighs all, their `include` keeps only what it names. Never shown are `.git`,
what lies below a folder that is left out, a further work tree of the root's own repository, as that is another
checkout, and what the door's denylist names.

`Rules` remembers what it read. A walk (`scan`) reads what lies on its way anew; when an ignore file changes and no walk
follows, `forget` its folder. How one file is read is left to `patterns`.
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

RULE_FILES = (".llmcignore", ".rgignore", ".ignore", ".gitignore")  # the weightiest first
_RANKS = (*RULE_FILES, ".git/info/exclude")
_SPEAKING = frozenset({*RULE_FILES, ".git"})

# What all the ignore files above one folder may cost together (see `patterns`), and how much there may be to read in a
# root: lines of files that differ, and bytes of all of them. Each takes some two seconds.
_MAX_COST = 4000
_MAX_LINES = 300_000
_MAX_BYTES = 64 << 20
_MAX_NOTES = 100


@dataclass(frozen=True, slots=True)
class _Files:
    """The ignore files that bear on a folder: for each rank from deep to high, with the folder that each lies in."""

    ranks: tuple[tuple[tuple[Patterns, str], ...], ...]
    cost: int = 0

    def joined_by(self, own: dict[int, Patterns], folder: str) -> _Files:
        ranks = (((own[rank], folder), *above) if rank in own else above for rank, above in enumerate(self.ranks))
        return _Files(tuple(ranks), self.cost + sum(patterns.cost for patterns in own.values()))

    def placed(self, folder: str) -> list[tuple[Patterns, str]]:
        """Each file, the weightiest first, and the folder as that file sees it."""
        return [
            (patterns, folder[len(base) + 1 :] if base else folder) for rank in self.ranks for patterns, base in rank
        ]


class FolderRules:
    """The rules as they bear on the entries of one folder. `closed`: nothing in it is shown."""

    __slots__ = ("_wanted", "above", "closed", "dots", "files", "folder", "include", "layers", "settled")

    def __init__(
        self, folder: str, files: _Files, above: FolderRules | None, include: Patterns | None, *, dots: bool
    ) -> None:
        self.folder = folder
        self.files = files
        self.above = above
        self.include = include  # None where there are no such rules, and below a folder that they name
        self.dots = dots
        self.closed = False
        self._wanted = include.layer(folder) if include else None
        self.settled: bool
        self.layers: list[Layer]
        if above and above.settled and above.files is files:  # most folders: nothing new is said here
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
        return verdict or (self.include is not None and not self._may_want(name, is_folder=is_folder))

    def wants(self, name: str, *, is_folder: bool) -> bool:
        """Whether the include rules name this entry; if it is a folder, then also everything below it."""
        return bool(self._wanted and self._wanted.verdict(name, is_folder=is_folder))

    def _may_want(self, name: str, *, is_folder: bool) -> bool:
        if self.wants(name, is_folder=is_folder):
            return True
        return is_folder and self.include is not None and self.include.may_match_below(_join(self.folder, name))


_CLOSED = FolderRules("", _Files(()), None, None, dots=True)
_CLOSED.closed = True


class Rules:
    """All rules of one root. Safe to ask from several threads, also during a walk."""

    def __init__(
        self,
        root_fs: RootFs,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        hidden: bool = True,
        nested_checkouts: bool = False,
    ) -> None:
        """`hidden`: whether names that begin with a dot are shown where no ignore file speaks of them.
        `nested_checkouts`: whether further work trees of the root's own repository are shown."""
        self._door = root_fs
        self._nested_checkouts = nested_checkouts
        self._hidden = hidden
        self._include, self._exclude = _from_settings(include), _from_settings(exclude)
        self._top = _Files((((self._exclude, ""),) if self._exclude else (), *((),) * len(_RANKS)))
        self._known: dict[bytes, Patterns] = {}
        self.reload()

    def reload(self) -> None:
        """Forget all that was read; a file that has not changed need not be understood again."""
        self._frames: dict[str, FolderRules] = {}
        self._before, self._known = self._known, {}
        self._lines = self._bytes = 0
        self._notes: dict[str, tuple[str, ...]] = {}
        own = checkout(self._door)
        inside = paths.inside(own.repository, self._door.path) if own and not own.linked else None
        # A folder whose `.git` points to a bare repository inside it is no checkout, it only holds some.
        self._bare = inside if inside != ".git" else None
        self._repository = own.repository if own and self._bare is None else ""
        if self._nested_checkouts:
            self._bare, self._repository = None, ""

    def forget(self, folder: str = "") -> None:
        """Read the ignore files of this folder and below anew when they are next needed."""
        self._frames.pop(folder, None)

    @property
    def left_out(self) -> dict[str, tuple[str, ...]]:
        """The ignore files (up to a hundred) that could not be honoured in full, and what was left out of each."""
        settings = {"include": self._include, "exclude": self._exclude}
        notes = {f"settings: {name}": patterns.left_out for name, patterns in settings.items() if patterns}
        return {path: left_out for path, left_out in {**notes, **self._notes}.items() if left_out}

    def ignored(self, path: str, is_folder: bool, names: AbstractSet[str] | None = None) -> bool:
        """Whether a walk of the root would pass over this path, or over a folder that it lies in. `names` are what is
        in the folder, where somebody has just listed it."""
        return self.denies(path, is_folder=is_folder) or self.hides(path, is_folder=is_folder, names=names)

    def denies(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the denylist names this path. A walk counts such files, since nobody chose to leave them out."""
        return self._door.denylist.denies(path, is_folder=is_folder)

    def hides(self, path: str, *, is_folder: bool, names: AbstractSet[str] | None = None) -> bool:
        """Whether the ignore files and the settings leave it out."""
        parent, _, name = path.rpartition("/")
        frame = self.frame(parent)
        if path and (frame.closed or frame.hides(name, is_folder=is_folder)):
            return True
        return is_folder and self.frame(path, names).closed

    def frame(self, folder: str, names: AbstractSet[str] | None = None) -> FolderRules:
        """The rules for the entries of a folder, whether or not a walk has come there."""
        frame = self._frames.get("") or self.enter(None, "", self._names(""))
        for name in folder.split("/") if folder else ():
            path = _join(frame.folder, name)
            known = self._frames.get(path)
            if known is None or known.above is not frame:  # what stood under other rules does not count any more
                if frame.closed or frame.hides(name, is_folder=True):
                    return _CLOSED
                listed = names if names is not None and path == folder else self._names(path)
                known = self.enter(frame, path, listed)
            frame = known
        return frame

    def named_frame(self, folder: str) -> FolderRules:
        """The rules for the entries of a folder as if nothing hid it: somebody named it. Only for rules that serve this
        one walk, because `frame` would take the folder for a shown one afterwards."""
        frame = self.enter(None, "", self._names(""))
        for name in folder.split("/") if folder else ():
            path = _join(frame.folder, name)
            frame = self.enter(frame, path, self._names(path))
        return frame

    def enter(self, parent: FolderRules | None, folder: str, names: AbstractSet[str] | None) -> FolderRules:
        """The rules for a folder that its parent shows, read now. `names`: its entries; None when it cannot be read."""
        files = parent.files if parent else self._top
        include = parent.include if parent else self._include
        if include and parent and parent.wants(folder.rpartition("/")[2], is_folder=True):
            include = None
        if names is not None and not names.isdisjoint(_SPEAKING) and (own := self._own(folder, names, files.cost)):
            files = files.joined_by(own, folder)
        frame = FolderRules(folder, files, parent, include, dots=self._hidden)
        if names is not None:
            frame.closed = folder == self._bare or (".git" in names and self._is_elsewhere(folder))
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
                self._note(path, ("all of it: the files above it have too many wildcards",))
                break
            own[rank] = patterns
        return own

    def _read(self, path: str) -> Patterns | None:
        if self._lines > _MAX_LINES or self._bytes > _MAX_BYTES:
            self._note(path, ("all of it: the ignore files before it are too many",))
            return None
        try:
            data = self._door.head(path, MAX_BYTES + 1, follow=True)
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
        found = checkout(self._door, folder) if folder and self._repository else None
        return found is not None and found.repository == self._repository

    def _names(self, folder: str) -> AbstractSet[str] | None:
        try:
            fd = self._door.open_folder(folder)
        except LlmcError:
            return None
        try:
            return frozenset(os.listdir(fd))  # noqa: PTH208 - a descriptor, which no Path can be
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
