"""One ignore file: its lines as rules, and what they say of the entries of a folder.

The last rule that matches decides, as in git. What the path of a folder rules out is left out once for the folder and
not asked again for each entry. How a glob is matched is left to `globs` and `table`, which files count and which of
them comes first to `ignore`.

An ignore file may be made to stall whoever reads it, so there are limits; what is over them is left out and said in
`Patterns.left_out`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from llmc.base.globbing.globs import Glob, GlobError, GlobShape, parse
from llmc.base.globbing.table import GlobTable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_BYTES", "Layer", "Patterns", "read_patterns"]

MAX_BYTES = 1 << 20
_MAX_LINES = 20_000
_MAX_LINE = 1024
_MAX_STARS = 16

# Hundreds of globs with many stars each make RE2 build new states for every name: 300 globs of 8 stars took 4 ms for
# one name of 250 bytes, 300 of 2 stars 3 µs. So a glob costs 1, and 10 more for each star past the second.
_MAX_COST = 2000

_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


@dataclass(frozen=True, slots=True)
class _Rule:
    glob: Glob
    hides: bool
    folders_only: bool

    @property
    def cost(self) -> int:
        return 1 + 10 * max(0, self.glob.stars - 2) if self.glob.regex else 0


class Layer:
    """The rules of a file as they bear on the entries of one folder; without one, those that look at names alone."""

    __slots__ = ("_folder", "_table", "_verdicts")

    def __init__(self, patterns: Patterns, folder: str | None = None) -> None:
        self._verdicts = patterns.verdicts
        self._table = patterns.table
        self._folder = folder

    def verdict(self, name: str, *, is_folder: bool) -> bool | None:
        """Whether the last rule that matches hides the entry or shows it; None if no rule matches."""
        table = self._table
        place = (table.folders if is_folder else table.files).known.get(name)
        if place is None:
            place = table.by_name(name, is_folder=is_folder)
        if self._folder is not None:
            place = max(place, table.by_path(self._folder, name, is_folder=is_folder))
        return self._verdicts[place]


class Patterns:
    """The rules of one ignore file, wherever it lies: files with the same bytes share one."""

    def __init__(self, rules: list[_Rule], lines: int, left_out: tuple[str, ...]) -> None:
        self.lines = lines
        self.left_out = left_out
        self.is_empty = not rules
        self.cost = sum(rule.cost for rule in rules)
        self.verdicts = (*(rule.hides for rule in rules), None)  # -1, the place of no rule, finds the None
        self.table = GlobTable()
        for place, rule in enumerate(rules):
            self.table.add(rule.glob, place, folders_only=rule.folders_only)
        self._named = self.table.folders.paths.keys() | self.table.wild_entries.keys()
        self._heads = frozenset(rule.glob.text for rule in rules if rule.glob.shape is GlobShape.WILD_PATH)
        self._places = sorted(self._named | self._heads)
        self._by_name = Layer(self) if self.table.looks_at_names else None

    def layer(self, folder: str) -> Layer | None:
        """The rules for the entries of `folder`, a path relative to where the file lies; None if none can match."""
        if folder in self._named or self._reaches(folder):
            return Layer(self, folder)
        return self._by_name

    def is_settled(self, folder: str) -> bool:
        """Whether `layer` is the same for this folder and everything below it."""
        below = f"{folder}/" if folder else ""
        following = bisect_left(self._places, below)
        is_named_below = following < len(self._places) and self._places[following].startswith(below)
        return not (folder in self._named or is_named_below or self._reaches(folder))

    def may_match_below(self, folder: str) -> bool:
        """Whether any rule can match at all, somewhere below this folder."""
        return self._by_name is not None or not self.is_settled(folder)

    def _reaches(self, folder: str) -> bool:
        """Whether a wildcard over whole paths can match an entry of this folder."""
        return bool(self._heads) and not self._heads.isdisjoint(_upwards(folder))


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


def read_patterns(data: bytes) -> Patterns:
    """The rules of a file of which `data` is the start: one byte more than MAX_BYTES says that it was longer."""
    left_out: Counter[str] = Counter()
    if len(data) > MAX_BYTES:
        data = data[: data.rfind(b"\n", 0, MAX_BYTES) + 1]
        left_out[f"what follows its first {MAX_BYTES:,} bytes"] += 1
    rules: list[_Rule] = []
    cost = 0
    lines = _lines(data)
    for line in lines[:_MAX_LINES]:
        rule, trouble = _rule(line)
        if rule is None:
            left_out[trouble] += 1
        elif cost + rule.cost > _MAX_COST:
            left_out["wildcards past what one file may cost"] += 1
        else:
            rules.append(rule)
            cost += rule.cost
    if len(lines) > _MAX_LINES:
        left_out[f"what follows its first {_MAX_LINES:,} lines"] += 1
    told = (f"{trouble} ({count:,} times)" if count > 1 else trouble for trouble, count in left_out.items() if trouble)
    return Patterns(rules, min(len(lines), _MAX_LINES), tuple(told))


def _lines(data: bytes) -> list[str]:
    """As ripgrep cuts them; only at bytes that are not UTF-8, where it stops reading, they are kept, as git does."""
    *lines, last = data.decode("utf-8", "surrogateescape").lstrip("\ufeff").split("\n", _MAX_LINES + 1)
    return [*(line.removesuffix("\r") for line in lines), last]


@lru_cache(4096)  # many ignore files of a root say the same
def _rule(line: str) -> tuple[_Rule | None, str]:
    """The rule in a line; if there is none, why one was left out, or nothing for a comment and an empty line."""
    if not line.endswith("\\ "):
        line = line.rstrip(_SPACE)
    if not line or line.startswith("#"):
        return None, ""
    if len(line) > _MAX_LINE:
        return None, f"lines longer than {_MAX_LINE:,} characters"
    shown = line.startswith("!")
    glob = line[1:] if line.startswith(("!", "\\!", "\\#")) else line
    rooted = glob.startswith("/")
    glob = glob[1:] if rooted else glob
    try:
        parsed = parse(_whole(glob, rooted=rooted))
    except GlobError as error:
        return None, f"globs with {error}"
    if parsed.stars > _MAX_STARS:
        return None, f"globs with more than {_MAX_STARS} stars"
    return _Rule(parsed, hides=not shown, folders_only=glob.endswith("/")), ""


def _whole(glob: str, *, rooted: bool) -> str:
    """The glob for a whole path: without a slash it matches at any depth, and a/** is what lies in a, not a itself."""
    if glob.endswith("/"):
        glob = glob[:-1].removesuffix("\\")
    if not rooted and "/" not in glob and glob != "**":
        glob = f"**/{glob}"
    return f"{glob}/*" if glob.endswith("/**") else glob
