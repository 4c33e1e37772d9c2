"""Which paths does a user mean: path arguments, `-g` globs and `-t` types, with ripgrep's rules for each."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING

from llmc.base.errors import QueryError
from llmc.base.globbing import read_patterns
from llmc.retrieval.grep.ripgrep import file_types

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.base.globbing import Patterns
    from llmc.base.globbing.patterns import Layer

__all__ = ["NOWHERE", "PathFilter"]

NOWHERE = ("\0",)  # matches no path


@dataclass(frozen=True)
class PathFilter:
    """`under`: folders or files relative to the root, "" is the whole root; `roots` has the root of each and may be
    omitted if they apply to all. All conditions must hold."""

    under: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    types_not: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()

    def of(self, root: str) -> PathFilter:
        """The conditions for the paths of one root."""
        if not self.roots:
            return self
        here = tuple(path for path, owner in zip(self.under, self.roots, strict=True) if owner == root)
        return replace(self, under=here or NOWHERE, roots=())

    @cached_property
    def accepts(self) -> Callable[[str], bool]:
        """Called for every path of a repository, so a single condition is returned as it is."""
        conditions = self._conditions
        return conditions[0] if len(conditions) == 1 else lambda path: all(each(path) for each in conditions)

    @property
    def is_open(self) -> bool:
        return not self._conditions

    @cached_property
    def _conditions(self) -> list[Callable[[str], bool]]:
        conditions: list[Callable[[str], bool]] = []
        if self.under and "" not in self.under:
            folders = tuple(f"{folder}/" for folder in self.under)
            exact = frozenset(self.under)
            conditions.append(lambda path: path in exact or path.startswith(folders))
        if self.globs:
            conditions.append(Overrides(self.globs).accepts)
        if self.types:
            wanted = Overrides(tuple(glob for name in self.types for glob in type_globs(name)))
            conditions.append(wanted.accepts)
        if self.types_not:
            unwanted = Overrides(tuple(glob for name in self.types_not for glob in type_globs(name)))
            conditions.append(lambda path: not unwanted.accepts(path))
        return conditions


@dataclass(frozen=True)
class Overrides:
    """ripgrep's `-g`: the last glob that matches decides; `!` excludes, and a folder excludes everything below it; a
    file that no glob matches passes only if none of them includes."""

    globs: tuple[str, ...]
    _folders: dict[str, tuple[bool, Layer | None]] = field(default_factory=dict, compare=False, repr=False)

    def accepts(self, path: str) -> bool:
        parent, _, name = path.rpartition("/")
        excluded, layer = self._folders.get(parent) or self._folder(parent)
        if excluded:
            return False
        verdict = layer.verdict(name, is_folder=False) if layer else None
        return not self._includes_any if verdict is None else verdict

    def _folder(self, folder: str) -> tuple[bool, Layer | None]:
        """Whether everything in it is excluded, and the globs that apply to its entries; most files share a folder."""
        known = self._folders.get(folder)
        if known is None:
            excluded = False
            if folder:
                parent, _, name = folder.rpartition("/")
                excluded, layer = self._folder(parent)
                excluded = excluded or (layer is not None and layer.verdict(name, is_folder=True) is False)
            known = self._folders[folder] = (excluded, self._patterns.layer(folder))
        return known

    @cached_property
    def _includes_any(self) -> bool:
        return any(not glob.startswith("!") for glob in self.globs)

    @cached_property
    def _patterns(self) -> Patterns:
        """Same syntax as an ignore file; there a plain glob hides files, here it includes them."""
        patterns = read_patterns(os.fsencode("\n".join(self.globs)))
        if patterns.left_out:
            raise QueryError(f"a glob cannot be read: {' '.join(self.globs)}", reason=", ".join(patterns.left_out))
        return patterns


def type_globs(name: str) -> tuple[str, ...]:
    known = file_types()
    if name not in known:
        near = get_close_matches(name, known, 3)
        hint = f"Did you mean {', '.join(near)}?" if near else "`rg --type-list` names them all."
        raise QueryError(f"there is no file type {name!r}", hint=hint)
    return known[name]
