"""Chooses the folders below which paths are listed, so that the list has as few characters as possible.

Files of `a/b/` and `a/c/` are listed below `a/` if that is shorter than naming both folders. A reader joins a folder
and one relative path, never more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["by_folder"]

LINE: Final = 4  # a line break costs about as many tokens as four characters of a path
DEEPEST: Final = 64  # levels; what is below is treated as one name


@dataclass(slots=True)
class _Folder:
    path: str
    names: list[str] = field(default_factory=list)
    folders: dict[str, _Folder] = field(default_factory=dict)

    def relative(self, prefix: str = "") -> Iterator[str]:
        yield from (prefix + name for name in self.names)
        for name, folder in self.folders.items():
            yield from folder.relative(f"{prefix}{name}/")


def by_folder(paths: Iterable[str]) -> list[tuple[str, list[str]]]:
    """(folder with its slash or "", paths relative to it)."""
    top = _Folder("")
    for path in dict.fromkeys(paths):
        *parents, name = path.split("/", DEEPEST)
        folder = top
        for parent in parents:
            folder = folder.folders.setdefault(parent, _Folder(f"{folder.path}{parent}/"))
        folder.names.append(name)
    return _shortest(top)[1]


def _shortest(folder: _Folder) -> tuple[int, list[tuple[str, list[str]]]]:
    """The number of characters and the groups of everything below a folder."""
    parts = [_shortest(each) for each in folder.folders.values()]
    split = sum(characters for characters, _ in parts)
    groups = [group for _, found in parts for group in found]
    if folder.names:
        split += _characters(folder.path, folder.names)
        groups.insert(0, (folder.path, folder.names))
    if not parts or not folder.path:
        return split, groups
    together = list(folder.relative())
    joined = _characters(folder.path, together)
    return (joined, [(folder.path, together)]) if joined <= split else (split, groups)


def _characters(folder: str, names: list[str]) -> int:
    """The folder has a line of its own unless it holds a single file."""
    return LINE + len(folder) + sum(LINE + len(name) for name in names) - LINE * (len(names) == 1 or not folder)
