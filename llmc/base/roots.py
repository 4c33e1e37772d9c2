"""Roots: which folder is one, which store it belongs to, and how several stand to each other.

`make_root` checks a folder and finds its family: the work trees of one git repository share a store. What git has to
say is read from `.git` inside the folder, as text and through the door. Nothing outside is looked at and no git is run,
so that a hostile `.git` can do no more than claim a family; and there a document is only ever shared with those who
hold the same content at the same path. What lies in a root is left to the indexer.
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
_WITHOUT_FILES = frozenset(
    {"/", "/proc", "/sys", "/dev"}
)  # of one's own, that is; a folder below /dev/shm may have some


@dataclass(frozen=True, slots=True)
class Checkout:
    """What `.git` says of a folder: where the repository lies, by its text, and whether this is a further work tree."""

    repository: str
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Cover:
    """The roots that stay, and a sentence for each one that does not."""

    roots: tuple[Root, ...]
    notes: tuple[str, ...]


def make_root(path: str | os.PathLike[str], name: str = "") -> Root:
    """The root at `path`, or RootError with the reason and what to do."""
    path = os.fspath(path)
    if not path or not paths.possible(path):
        _reject(path, "no folder can have this name", "Name a folder.")
    real = os.path.realpath(os.path.expanduser(path))  # noqa: PTH111 - text, since a Path refuses what is too long
    if real in _WITHOUT_FILES or real.startswith(("/proc/", "/sys/")):
        _reject(real, "the system keeps it, and not files of a project", "Name a project folder.")
    try:
        with RootFs(real) as root_fs:
            found = checkout(root_fs)
    except (RootError, ReadError) as error:
        _reject(real, *_why(real, error.reason))
    return Root(real, name or _plain(os.path.basename(real)), _family(found.repository if found else real))  # noqa: PTH119


def checkout(root_fs: RootFs, folder: str = "") -> Checkout | None:
    """What `.git` in this folder of the root says; None without one, or with one that git would not take."""
    path = f"{folder}/.git" if folder else ".git"
    here = f"{root_fs.path}/{folder}" if folder else root_fs.path
    try:
        seen = root_fs.stat(path)
        if seen is None or seen.kind is FileKind.FOLDER:
            return Checkout(f"{here}/.git") if seen else None
        pointer = _POINTER.match(root_fs.head(path, _POINTER_BYTES))
    except (NotFoundError, OutsideError, ReadError):
        return None
    if pointer is None:
        return None
    target = os.path.normpath(os.path.join(here, os.fsdecode(pointer[1])))  # noqa: PTH118 - `..` goes by its text
    above, _, name = target.rpartition("/")
    repository = above.removesuffix("/worktrees")
    return Checkout(repository, linked=True) if name and repository != above else Checkout(target)


def disambiguate(roots: Sequence[Root]) -> list[Root]:
    """The roots with names that differ: two called `app` become `app@work` and `app@home`, after the folders above."""
    named: list[Root] = []
    counts = Counter(root.name for root in roots)
    for root in roots:
        taken = {other.name for other in named}
        names = (name for name in _names(root) if name not in taken and (counts[root.name] == 1 or name != root.name))
        named.append(replace(root, name=next(names)))
    return named


def cover(roots: Iterable[Root], hides: Callable[[Root, str], bool] | None = None) -> Cover:
    """Leave out each root whose files another root has already, so that none is answered twice.

    `hides(outer, folder)` says whether the outer root passes over the folder: then that stays a root by itself. Without
    it the ignore files decide alone, and no settings.
    """
    hides = hides or _hidden_by_files
    kept: list[Root] = []
    notes: list[str] = []
    for root in sorted(set(roots), key=lambda root: (len(root.path), root.path, root.name)):
        outer = next((other for other in kept if _holds(other, root, hides)), None)
        if outer is None:
            kept.append(root)
        elif outer.path != root.path:
            notes.append(f"{paths.shown(root.path)} lies in the root {paths.shown(outer.path)} and is part of it")
    return Cover(tuple(kept), tuple(notes))


def _holds(outer: Root, root: Root, hides: Callable[[Root, str], bool]) -> bool:
    folder = paths.inside(root.path, outer.path)
    return folder is not None and (folder == "" or not hides(outer, folder))


def _hidden_by_files(outer: Root, folder: str) -> bool:
    from llmc.base.ignore import Rules  # noqa: PLC0415 - which asks this module what a checkout is

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
    """A name to show and to type: letters, digits and a few marks."""
    return re.sub(r"[^\w.+-]", "_", name) or "root"


def _family(repository: str) -> str:
    return blake2b(os.fsencode(repository), digest_size=8).hexdigest()


def _why(path: str, reason: str) -> tuple[str, str]:
    if not os.path.lexists(path):
        return "it does not exist", "Check the spelling, or make the folder."
    if not os.path.isdir(path):  # noqa: PTH112 - a Path raises when the name is too long
        return "it is not a folder", "Name the folder that holds it."
    return reason.lower(), "Give your user the right to read it, and to pass the folders above it."


def _reject(path: str, reason: str, hint: str) -> NoReturn:
    raise RootError(f"{paths.shown(path)} cannot be a root", reason=reason, hint=hint, path=paths.shown(path)) from None
