"""Counts by folder: the largest folders are opened first, until the list is long enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.envelope import Group, Item, Row
from llmc.envelope.phrases import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["by_folder", "files_by_folder"]

FOLDER_ROWS = 24
SLACK = 4  # rows that opening one more folder may go beyond that
# Of so few folders each names its files with the most matches: nothing else distinguishes the parts of a flat folder.
FEW_ROWS = 8
TOP_FILES = 5
MOST_DIRECT = 3  # more files beside folders share a row


def by_folder(
    files: Sequence[tuple[str, int]], most: int = FOLDER_ROWS, *, title: str = "matches by folder"
) -> list[Group]:
    """(path, matches) by folder, the largest folders opened first, until the list is long enough."""
    rows = [Folder("", list(files))]
    while len(rows) < most:
        openable = [row for row in rows if row.is_openable]
        if not openable:
            break
        largest = max(openable, key=Folder.weight)
        parts = largest.opened()
        if len(rows) + len(parts) - 1 > most + SLACK and len(rows) > 1:
            break
        rows = [part for row in rows for part in (parts if row is largest else [row])]
    rows.sort(key=lambda row: (-row.weight(), row.name))
    named = TOP_FILES if len(rows) <= FEW_ROWS < most else 0
    items = tuple(Item((Row(row.shown(named)),), path=row.name) for row in rows)
    return [Group(title, items)]


def files_by_folder(paths: Sequence[str]) -> list[Group]:
    """How many files each folder has, with the names of a few."""
    return by_folder([(path, 0) for path in paths], title="by folder")


@dataclass(frozen=True, slots=True)
class Folder:
    """`name` is a folder with its slash, or a file; with a star, only the files directly in the folder."""

    name: str
    files: list[tuple[str, int]]

    @property
    def matches(self) -> int:
        return sum(count for _, count in self.files)

    def weight(self) -> int:
        return self.matches or len(self.files)

    @property
    def is_openable(self) -> bool:
        """Whether it has folders inside; its files one by one would say little."""
        return self.name[-1:] != "*" and any("/" in path[len(self.name) :] for path, _ in self.files)

    def opened(self) -> list[Folder]:
        """One level down; a folder that holds nothing but another one is skipped."""
        parts: dict[str, list[tuple[str, int]]] = {}
        for path, count in self.files:
            inner = path.removeprefix(self.name)
            step, slash, _ = inner.partition("/")
            parts.setdefault(f"{self.name}{step}{slash}", []).append((path, count))
        direct = [name for name in parts if not name.endswith("/")]
        if len(direct) > MOST_DIRECT:
            parts[f"{self.name}*"] = [file for name in direct for file in parts.pop(name)]
        folders = [Folder(name, files) for name, files in parts.items()]
        if len(folders) == 1 and folders[0].name.endswith("/") and folders[0].name != self.name:
            return folders[0].opened()
        return folders

    def shown(self, named: int) -> str:
        """`named` is how many of its files are listed, those with the most matches."""
        if len(self.files) == 1:
            return counted(*self.files[0])
        top = sorted(self.files, key=lambda file: -file[1])[:named]
        listed = ", ".join(counted(path.removeprefix(self.name.rstrip("*")), count) for path, count in top)
        more = ", …" if listed and len(self.files) > named else ""
        matches = f"{self.matches:,} in " if self.matches else ""
        summary = f"{self.name or './'} {matches}{plural(len(self.files), 'file')}"
        return f"{summary}: {listed}{more}" if listed else summary


def counted(path: str, matches: int) -> str:
    return f"{path} {matches:,}" if matches else path
