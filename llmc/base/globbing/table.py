"""Finds the last rule that matches an entry.

A rule is a glob and its position in the file; position -1 means no rule. Plain names and extensions need one dict
lookup. All wildcards together need one run of an RE2 set, whose time depends only on the length of the name. Results
are cached by name, since most names repeat.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import re2

from llmc.base.globbing.globs import GlobShape

if TYPE_CHECKING:
    from llmc.base.globbing.globs import Glob

__all__ = ["GlobTable", "Plain"]

_MAX_CACHED = 20_000  # names; the 31,000 files of a large repository have 12,000


class _Wildcards:
    def __init__(self) -> None:
        self._regexes: list[bytes] = []
        self._places: list[int] = []
        self._for_files: list[int] = []  # the same, but -1 where a rule is for folders only
        self._sets: list[tuple[int, re2.Set]] | None = None

    def __bool__(self) -> bool:
        return bool(self._places)

    def add(self, regex: bytes, place: int, *, folders_only: bool) -> None:
        self._regexes.append(regex)
        self._places.append(place)
        self._for_files.append(-1 if folders_only else place)

    def last(self, text: str, *, is_folder: bool) -> int:
        if self._sets is None:
            self._sets = _compiled(tuple(self._regexes))
        raw = os.fsencode(text)
        places = self._places if is_folder else self._for_files
        best = -1
        for start, matcher in self._sets:
            for hit in matcher.Match(raw) or ():
                best = max(best, places[start + hit])
        return best


@lru_cache(1024)  # packages of a large repository often differ only in their plain rules
def _compiled(regexes: tuple[bytes, ...]) -> list[tuple[int, re2.Set]]:
    """RE2 sets, halved until they fit into RE2's memory, each with the number of its first glob."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.dot_nl = options.never_capture = True
    options.log_errors = False
    whole = re2.Set.FullMatchSet(options)
    try:
        for regex in regexes:
            whole.Add(regex)
        whole.Compile()
    except re2.error:
        half = len(regexes) // 2
        second = [(half + start, part) for start, part in _compiled(regexes[half:])] if half else []
        return _compiled(regexes[:half]) + second if half else []
    return [(0, whole)]


@dataclass(slots=True)
class Plain:
    """The rules without wildcards for files or folders: for each key, the position of the last rule."""

    names: dict[str, int] = field(default_factory=dict)
    extensions: dict[str, int] = field(default_factory=dict)
    paths: dict[str, dict[str, int]] = field(default_factory=dict)  # by folder, then by name
    known: dict[str, int] = field(default_factory=dict)  # cached results of `GlobTable.by_name`

    def add(self, glob: Glob, place: int) -> None:
        if glob.shape is GlobShape.NAME:
            self.names[glob.text] = place
        elif glob.shape is GlobShape.EXTENSION:
            self.extensions[glob.text] = place
        elif glob.shape is GlobShape.PATH:
            folder, slash, name = glob.text.rpartition("/")
            if folder or not slash:  # no path begins with a slash
                self.paths.setdefault(folder, {})[name] = place


class GlobTable:
    def __init__(self) -> None:
        self.files, self.folders = Plain(), Plain()
        self.wild_names, self.wild_paths = _Wildcards(), _Wildcards()
        self.wild_entries: dict[str, _Wildcards] = {}  # by folder

    def add(self, glob: Glob, place: int, *, folders_only: bool) -> None:
        self.folders.add(glob, place)
        if not folders_only:
            self.files.add(glob, place)
        if glob.shape is GlobShape.WILD_NAME:
            self.wild_names.add(glob.regex, place, folders_only=folders_only)
        elif glob.shape is GlobShape.WILD_ENTRY:
            here = self.wild_entries.setdefault(glob.text, _Wildcards())
            here.add(glob.regex, place, folders_only=folders_only)
        elif glob.shape is GlobShape.WILD_PATH:
            self.wild_paths.add(glob.regex, place, folders_only=folders_only)

    @property
    def looks_at_names(self) -> bool:
        """Whether there are rules for names in any folder."""
        return bool(self.folders.names or self.folders.extensions or self.wild_names)

    def by_name(self, name: str, *, is_folder: bool) -> int:
        """The last matching rule for this name in any folder."""
        plain = self.folders if is_folder else self.files
        dot = name.rfind(".")
        extension = plain.extensions.get(name[dot:], -1) if dot >= 0 else -1
        wild = self.wild_names.last(name, is_folder=is_folder) if self.wild_names else -1
        if len(plain.known) >= _MAX_CACHED:
            plain.known.clear()
        place = plain.known[name] = max(plain.names.get(name, -1), extension, wild)
        return place

    def by_path(self, folder: str, name: str, *, is_folder: bool) -> int:
        """The last matching rule that also depends on the folder."""
        here = (self.folders if is_folder else self.files).paths.get(folder)
        entries = self.wild_entries.get(folder)
        path = f"{folder}/{name}" if folder else name
        return max(
            here.get(name, -1) if here else -1,
            entries.last(name, is_folder=is_folder) if entries else -1,
            self.wild_paths.last(path, is_folder=is_folder) if self.wild_paths else -1,
        )
