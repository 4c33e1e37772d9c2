"""What does a path say about its file, by itself and among the other paths of its root?

By itself (`naming`): its role, the parts of its name, whether it is internal to its package. Other answers need the
other paths: `pkg/v1/fields.py` is an old copy because `pkg/fields.py` exists, `static/app.js` is a build because
`static/app.min.js` exists, and a file named after the project says nothing in a project where every path contains
that word. Questions are asked about the few candidates of one search and answered by scanning the paths, which takes
a millisecond for 30,000 files.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from llmc.base import words
from llmc.base.cache_budget import register_cache
from llmc.base.languages import role_of

if TYPE_CHECKING:
    from llmc.store.catalog.document_paths import DocumentPaths

__all__ = ["CheckoutLayout", "PathFacts", "forget_layouts", "layout_of", "naming"]

_INNER = re.compile(r"(?:^|/)_?(?:internals?|detail|impl|private)/|(?:^|/)_[a-z]")
# Files whose own name says nothing; the name of their folder counts.
_NAMELESS = frozenset({"index", "mod", "__init__", "lib", "main", "init"})


class PathFacts(NamedTuple):
    name: str
    parts: tuple[str, ...]  # stems
    role: str
    inner: bool


@lru_cache(maxsize=4_096)
def naming(path: str) -> PathFacts:
    folder, _, file = path.rpartition("/")
    name = file.split(".")[0] or file
    if folder and name.lower() in _NAMELESS:
        name = folder.rpartition("/")[2]
    parts = tuple(words.body(name.replace("_", " ").replace("-", " ")).split())
    return PathFacts(name, parts, str(role_of(path)), _INNER.search(path) is not None)


_VERSION = re.compile(r"(?P<prefix>_|.*[._-])?v(?P<number>\d{1,3})(?:(?:alpha|beta|rc)\d*)?", re.IGNORECASE)
_MAY_BE_VERSION = re.compile(r"v\d[^/]*/", re.IGNORECASE)
# Number of files of a versioned folder that must also exist beside it for the folder to count as a copy.
LEAST_COPIES = 2
_WINDOWS = re.compile(r"(?:^|/)(?:win|win32|win64|windows|nt)/", re.IGNORECASE)
_UNIX = re.compile(r"(?:^|/)(?:unix|posix|linux|darwin|macos|bsd)/", re.IGNORECASE)
# Built from the same source as the minified file next to it.
_BUNDLED = re.compile(r"(?:\.(?:cjs|esm|umd|mjs|global|iife))*\.(?:c|m)?js$|\.css$")


@dataclass(slots=True)
class CheckoutLayout:
    places: DocumentPaths
    uses: dict[int, int] = field(default_factory=dict)  # document → how often its names are used, see `tested`
    _rarity: dict[str, float] = field(default_factory=dict)
    _superseded: dict[str, str] = field(default_factory=dict)
    _platforms: dict[str, str] = field(default_factory=dict)
    _minified: frozenset[str] | None = None

    @property
    def entries(self) -> int:
        return sum(map(len, (self.uses, self._rarity, self._superseded, self._platforms, self._minified or ())))

    def rarity(self, part: str) -> float:
        """1 for a word that one path has, near 0 for a word that every path has."""
        known = self._rarity.get(part)
        if known is None:
            total = max(len(self.places), 2)
            known = math.log(1 + total / (self.places.mentions(part) + 0.5)) / math.log(1 + total)
            self._rarity[part] = known = min(known, 1.0)
        return known

    def current_version(self, path: str) -> str:
        """The folder with the current version if this path is in an older version; empty otherwise."""
        if not _MAY_BE_VERSION.search(path):
            return ""
        folders = path.split("/")[:-1]
        for depth, folder in enumerate(folders):
            if match := _VERSION.fullmatch(folder):
                own = "/".join(folders[: depth + 1])
                if own not in self._superseded:
                    self._superseded[own] = self._newer(own, "/".join(folders[:depth]), match)
                if found := self._superseded[own]:
                    return found
        return ""

    def _newer(self, folder: str, parent: str, version: re.Match[str]) -> str:
        inside = f"{parent}/" if parent else ""
        siblings = self.places.below(inside)
        prefix = (version["prefix"] or "").lower()
        beside: set[str] = set()
        for path in siblings:
            first, _, rest = path[len(inside) :].partition("/")
            other = _VERSION.fullmatch(first) if rest else None
            if other and (other["prefix"] or "").lower() == prefix and int(other["number"]) > int(version["number"]):
                return f"{inside}{first}"
            if not other:
                beside.add(path[len(inside) :])
        copies = sum(path[len(folder) + 1 :] in beside for path in siblings if path.startswith(f"{folder}/"))
        return (parent or ".") if copies >= LEAST_COPIES else ""

    def other_platform(self, path: str) -> str:
        """For code that is only for Windows, the same file for other platforms; empty if there is none."""
        if not _WINDOWS.search(path):
            return ""
        name = path.rpartition("/")[2]
        if name not in self._platforms:
            named_so = self.places.holding(f"/{name}")[1]
            twins = (one for one in named_so if one.endswith(f"/{name}") and _UNIX.search(one))
            self._platforms[name] = next(twins, "")
        return self._platforms[name]

    def is_bundle(self, path: str) -> bool:
        """Whether there is a minified build of the same name beside it."""
        if not path.endswith(("js", "css")) or ".min." in path:
            return False
        stem = _BUNDLED.sub("", path)
        if stem == path:
            return False
        if self._minified is None:
            self._minified = frozenset(one.partition(".min.")[0] for one in self.places.holding(".min.")[1])
        return stem in self._minified


# Layouts are kept for the next search, as long as the catalog returns the same `places`. A shared server has a hundred
# roots.
MOST_KEPT = 256
ENTRY_BYTES = 150
_kept: OrderedDict[int, CheckoutLayout] = OrderedDict()
_keeping = Lock()


def layout_of(places: DocumentPaths) -> CheckoutLayout:
    with _keeping:
        known = _kept.get(id(places))
        if known is None or known.places is not places:
            known = _kept[id(places)] = CheckoutLayout(places)
        _kept.move_to_end(id(places))
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
        return known


def forget_layouts() -> None:
    with _keeping:
        _kept.clear()


def layout_memory() -> int:
    """The approximate size in bytes."""
    with _keeping:
        return ENTRY_BYTES * sum(one.entries for one in _kept.values())


register_cache("layouts", layout_memory, forget_layouts)
