"""What does a path say of its file? Its role, its own name in parts, and whether it is internal to its package."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from llmc.base import words
from llmc.base.languages import role_of

__all__ = ["PathFacts", "naming"]

_INNER = re.compile(r"(?:^|/)_?(?:internals?|detail|impl|private)/|(?:^|/)_[a-z]")
# Files whose own name says nothing: their folder's does.
_NAMELESS = frozenset({"index", "mod", "__init__", "lib", "main", "init"})


class PathFacts(NamedTuple):
    name: str
    parts: tuple[str, ...]  # stems
    role: str
    inner: bool


@lru_cache(maxsize=8192)
def naming(path: str) -> PathFacts:
    folder, _, file = path.rpartition("/")
    name = file.split(".")[0] or file
    if folder and name.lower() in _NAMELESS:
        name = folder.rpartition("/")[2]
    parts = tuple(words.body(name.replace("_", " ").replace("-", " ")).split())
    return PathFacts(name, parts, str(role_of(path)), _INNER.search(path) is not None)
