"""Validates roots, determines the store of each root, and resolves overlaps.

`make_root` checks a folder and determines its family: the work trees of one git repository share a store. This
information is read from `.git` inside the folder through `RootFs`. Nothing outside is read and git is not run, so a
hostile `.git` can only claim a family; and within a family, a document is shared only with roots that have the same
content at the same path. The indexer handles the files of a root.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, NoReturn

from llmc.base import paths
from llmc.base.errors import NotFoundError, OutsideError, RootError
from llmc.base.model import Root
from llmc.base.root_fs import FileKind, ReadError, RootFs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Checkout", "Cover", "checkout", "cover", "disambiguate", "make_root"]

_POINTER = re.compile(rb"gitdir: ([^\0\r\n]{1,%d})[\r\n]*\Z" % paths.LONGEST_PATH)
_POINTER_BYTES = 2 * paths.LONGEST_PATH
_WITHOUT_FILES = frozenset({"/", "/proc", "/sys", "/dev"})  # of the user; a folder below /dev/shm may have some


@dataclass(frozen=True, slots=True)
class Checkout:
    """The content of a folder's `.git`: the path of the repository, and whether the folder is a linked work tree."""

    repository: str
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Cover:
    """The remaining roots, and a note for each root that was dropped."""

    roots: tuple[Root, ...]
    notes: tuple[str, ...]


def make_root(path: str | os.PathLike[str], name: str = "") -> Root:
    """The root at `path`; RootError if the folder cannot be used."""
    path = os.fspath(path)
    if not path or not paths.possible(path):
        _reject(path, "it is not a valid folder name", "Give the path of a folder.")
    real = os.path.realpath(os.path.expanduser(path))  # noqa: PTH111 - Path raises for names that are too long
    if real in _WITHOUT_FILES or real.startswith(("/proc/", "/sys/")):
        _reject(real, "it is a system folder without project files", "Give the path of a project folder.")
    try:
        with RootFs(real) as root_fs:
            worktree = checkout(root_fs)
    except (RootError, ReadError) as error:
        _reject(real, *_why(real, error.reason))
    return Root(real, name or _plain(os.path.basename(real)), _family(worktree.repository if worktree else real))  # noqa: PTH119


def checkout(root_fs: RootFs, folder: str = "") -> Checkout | None:
    """The checkout in this folder of the root; None without a `.git`, or with one that git would reject."""
    path = f"{folder}/.git" if folder else ".git"
    here = f"{root_fs.path}/{folder}" if folder else root_fs.path
    try:
        status = root_fs.stat(path)
        if status is None or status.kind is FileKind.FOLDER:
            return Checkout(f"{here}/.git") if status else None
        pointer = _POINTER.match(root_fs.head(path, _POINTER_BYTES))
    except (NotFoundError, OutsideError, ReadError):
        return None
    if pointer is None:
        return None
    target = os.path.normpath(os.path.join(here, os.fsdecode(pointer[1])))  # noqa: PTH118 - `..` is resolved lexically
    above, _, name = target.rpartition("/")
    repository = above.removesuffix("/worktrees")
    return Checkout(repository, linked=True) if name and repository != above else Checkout(target)


def disambiguate(roots: Sequence[Root]) -> list[Root]:
    """The roots with unique names: two named `app` become `app@work` and `app@home`, after their parent folders."""
    named: list[Root] = []
    counts = Counter(root.name for root in roots)
    for root in roots:
        taken = {other.name for other in named}
        names = (name for name in _names(root) if name not in taken and (counts[root.name] == 1 or name != root.name))
        named.append(replace(root, name=next(names)))
    return named


def cover(roots: Iterable[Root], hides: Callable[[Root, str], bool] | None = None) -> Cover:
    """Drop each root that lies inside another root, so that no file is returned twice.

    `hides(outer, folder)` returns whether the outer root ignores the folder, which then remains a root of its own. By
    default only ignore files are considered, not settings.
    """
    hides = hides or _hidden_by_files
    remaining: list[Root] = []
    notes: list[str] = []
    for root in sorted(set(roots), key=lambda root: (len(root.path), root.path, root.name)):
        outer = next((other for other in remaining if _holds(other, root, hides)), None)
        if outer is None:
            remaining.append(root)
        elif outer.path != root.path:
            notes.append(
                f"{paths.shown(root.path)} is inside the root {paths.shown(outer.path)} and is indexed as part of it"
            )
    return Cover(tuple(remaining), tuple(notes))


def _holds(outer: Root, root: Root, hides: Callable[[Root, str], bool]) -> bool:
    folder = paths.inside(root.path, outer.path)
    return folder is not None and (folder == "" or not hides(outer, folder))


def _hidden_by_files(outer: Root, folder: str) -> bool:
    from llmc.base.ignore import Rules  # noqa: PLC0415 - it imports this module

    with RootFs(outer.path) as root_fs:
        return Rules(root_fs).ignored(folder, is_folder=True)


def _names(root: Root) -> Iterable[str]:
    yield root.name
    above = [part for part in root.path.split("/")[:-1] if part][::-1]
    for depth in range(1, len(above) + 1):
        yield f"{root.name}@{_plain('.'.join(reversed(above[:depth])))}"
    number = 2
    while True:
        yield f"{root.name}-{number}"
        number += 1


def _plain(name: str) -> str:
    """A name that is easy to read and type: letters, digits and a few punctuation marks."""
    return re.sub(r"[^\w.+-]", "_", name) or "root"


def _family(repository: str) -> str:
    return blake2b(os.fsencode(repository), digest_size=8).hexdigest()


def _why(path: str, reason: str) -> tuple[str, str]:
    if not os.path.lexists(path):
        return "it does not exist", "Check the spelling, or create the folder."
    if not os.path.isdir(path):  # noqa: PTH112 - Path raises for names that are too long
        return "it is not a folder", "Give the folder that contains it."
    return reason.lower(), "Give your user permission to read it and to enter its parent folders."


def _reject(path: str, reason: str, hint: str) -> NoReturn:
    raise RootError(f"{paths.shown(path)} cannot be a root", reason=reason, hint=hint, path=paths.shown(path)) from None
