"""Counts by folder: the largest folders are opened first, until the list is long enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.envelope import Group, Item, Row
from llmc.envelope.phrases import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["by_folder"]

FOLDER_ROWS = 24
SLACK = 4  # rows that opening one more folder may go beyond that


def by_folder(files: Sequence[tuple[str, int]], most: int = FOLDER_ROWS) -> list[Group]:
    """Matches by folder, the largest folders opened first, until the list is long enough."""
    rows = [Folder("", list(files))]
    while len(rows) < most:
        openable = [row for row in rows if row.is_openable]
        if not openable:
            break
        largest = max(openable, key=lambda row: row.matches)
        parts = largest.opened()
        if len(rows) + len(parts) - 1 > most + SLACK and len(rows) > 1:
            break
        rows = [part for row in rows for part in (parts if row is largest else [row])]
    rows.sort(key=lambda row: -row.matches)
    items = tuple(Item((Row(row.shown()),), path=row.name) for row in rows)
    return [Group("matches by folder", items)]


@dataclass(frozen=True, slots=True)
class Folder:
    """`name` is a folder with its slash, or a file."""

    name: str
    files: list[tuple[str, int]]

    @property
    def matches(self) -> int:
        return sum(count for _, count in self.files)

    @property
    def is_openable(self) -> bool:
        """Whether it has folders inside; its files one by one would say little."""
        return len(self.files) > 1 and any("/" in path[len(self.name) :] for path, _ in self.files)

    def opened(self) -> list[Folder]:
        """One level down; a folder that holds nothing but another one is skipped."""
        parts: dict[str, list[tuple[str, int]]] = {}
        for path, count in self.files:
            inner = path.removeprefix(self.name)
            step, slash, _ = inner.partition("/")
            parts.setdefault(f"{self.name}{step}{slash}", []).append((path, count))
        folders = [Folder(name, files) for name, files in parts.items()]
        if len(folders) == 1 and folders[0].name.endswith("/") and folders[0].name != self.name:
            return folders[0].opened()
        return folders

    def shown(self) -> str:
        files = plural(len(self.files), "file")
        if len(self.files) == 1:
            return f"{self.files[0][0]} {self.matches:,}"
        return f"{self.name or './'} {self.matches:,} in {files}"
