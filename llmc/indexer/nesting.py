"""Nested roots: which of them are kept, and which folders the outer root excludes.

A root inside another one is dropped, so that no file is found twice. It is kept if the outer root hides it (because of
ignore files, `include` or `exclude`), or if it has its own rules; the outer root then excludes its folder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.base import paths
from llmc.base.ignore import Rules
from llmc.base.root_fs import RootFs
from llmc.base.roots import cover, disambiguate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.base.model import Root
    from llmc.settings import Settings

__all__ = ["nested"]

MARKS, ESCAPED = re.compile(r"([\\*?\[\]!#])"), r"\\\1"


def nested(roots: Sequence[Root], own: Mapping[str, Settings]) -> tuple[list[tuple[Root, Settings]], tuple[str, ...]]:
    """(the remaining roots with their settings, a note for each dropped root). `own` is keyed by `Root.id`."""

    def is_separate(outer: Root, folder: str) -> bool:
        inner = own.get(f"{outer.path}/{folder}")
        differs = inner is not None and inner.index != own[outer.id].index
        return differs or hidden(outer, own[outer.id], folder)

    covered = cover(disambiguate(roots), is_separate)
    return [(root, without(root, own[root.id], covered.roots)) for root in covered.roots], covered.notes


def hidden(root: Root, settings: Settings, folder: str) -> bool:
    index = settings.index
    with RootFs(root.path) as root_fs:
        rules = Rules(root_fs, include=index.include, exclude=index.exclude, hidden=index.hidden)
        return rules.ignored(folder, is_folder=True)


def without(root: Root, settings: Settings, kept: Sequence[Root]) -> Settings:
    """The settings of a root, with the folders of the roots inside it excluded."""
    folders = [folder for other in kept if other is not root and (folder := paths.inside(other.path, root.path))]
    shown = [f"/{MARKS.sub(ESCAPED, folder)}/" for folder in sorted(folders) if not hidden(root, settings, folder)]
    if not shown:
        return settings
    index = settings.index.model_copy(update={"exclude": (*settings.index.exclude, *shown)})
    return settings.model_copy(update={"index": index})
