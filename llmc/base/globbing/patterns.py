"""Parses one ignore file into rules, and applies them to the entries of a folder.

The last matching rule decides, as in git. Rules that cannot match in a folder are removed once per folder and not
checked for each entry. Plain names and extensions need one dict lookup, all wildcards together one run of an RE2 set,
whose time depends only on the length of the name. Results are cached by name, since most names repeat. `globs` parses
globs; `ignore` decides which files apply and their precedence.

A malicious ignore file could take very long to evaluate, so there are limits; `Patterns.left_out` lists the rules that
exceed them.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import re2

from llmc.base.globbing.globs import Glob, GlobError, GlobShape, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_BYTES", "Layer", "Patterns", "read_patterns"]

_MAX_CACHED = 20_000  # names; the 31,000 files of a large repository have 12,000
MAX_BYTES = 1 << 20
_MAX_LINES = 20_000
_MAX_LINE = 1024
_MAX_STARS = 16

# Hundreds of globs with many stars each make RE2 build new states for every name: 300 globs of 8 stars took 4 ms for
# one name of 250 bytes, 300 of 2 stars 3 µs. So a glob costs 1, and 10 more for each star past the second.
_MAX_COST = 2000

_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


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


@dataclass(frozen=True, slots=True)
class _Rule:
    glob: Glob
    hides: bool
    folders_only: bool

    @property
    def cost(self) -> int:
        return 1 + 10 * max(0, self.glob.stars - 2) if self.glob.regex else 0


class Layer:
    """The rules of a file for the entries of one folder; without a folder, the rules that depend only on names."""

    __slots__ = ("_folder", "_table", "_verdicts")

    def __init__(self, patterns: Patterns, folder: str | None = None) -> None:
        self._verdicts = patterns.verdicts
        self._table = patterns.table
        self._folder = folder

    def verdict(self, name: str, *, is_folder: bool) -> bool | None:
        """True if the last matching rule hides the entry, False if it shows it, None if no rule matches."""
        table = self._table
        place = (table.folders if is_folder else table.files).known.get(name)
        if place is None:
            place = table.by_name(name, is_folder=is_folder)
        if self._folder is not None:
            place = max(place, table.by_path(self._folder, name, is_folder=is_folder))
        return self._verdicts[place]


class Patterns:
    """The rules of one ignore file, independent of its folder: files with the same bytes share one instance."""

    def __init__(self, rules: list[_Rule], lines: int, left_out: tuple[str, ...]) -> None:
        self.lines = lines
        self.left_out = left_out
        self.is_empty = not rules
        self.cost = sum(rule.cost for rule in rules)
        self.verdicts = (*(rule.hides for rule in rules), None)  # index -1 (no rule) is None
        self.table = GlobTable()
        for place, rule in enumerate(rules):
            self.table.add(rule.glob, place, folders_only=rule.folders_only)
        self._named = self.table.folders.paths.keys() | self.table.wild_entries.keys()
        self._heads = frozenset(rule.glob.text for rule in rules if rule.glob.shape is GlobShape.WILD_PATH)
        self._places = sorted(self._named | self._heads)
        self._by_name = Layer(self) if self.table.looks_at_names else None

    def layer(self, folder: str) -> Layer | None:
        """The rules for the entries of `folder`, relative to the file's own folder; None if none can match."""
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
        """Whether any rule can match somewhere below this folder."""
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
    """The rules of a file. `data` is its start; more than MAX_BYTES bytes mean that the file is longer."""
    left_out: Counter[str] = Counter()
    if len(data) > MAX_BYTES:
        data = data[: data.rfind(b"\n", 0, MAX_BYTES) + 1]
        left_out[f"everything after the first {MAX_BYTES:,} bytes"] += 1
    rules: list[_Rule] = []
    cost = 0
    lines = _lines(data)
    for line in lines[:_MAX_LINES]:
        rule, problem = _rule(line)
        if rule is None:
            left_out[problem] += 1
        elif cost + rule.cost > _MAX_COST:
            left_out["wildcards beyond the cost limit of a file"] += 1
        else:
            rules.append(rule)
            cost += rule.cost
    if len(lines) > _MAX_LINES:
        left_out[f"everything after the first {_MAX_LINES:,} lines"] += 1
    notes = (f"{problem} ({count:,} times)" if count > 1 else problem for problem, count in left_out.items() if problem)
    return Patterns(rules, min(len(lines), _MAX_LINES), tuple(notes))


def _lines(data: bytes) -> list[str]:
    """Split like ripgrep, except that lines with invalid UTF-8, at which ripgrep stops reading, are kept as in git."""
    *lines, last = data.decode("utf-8", "surrogateescape").lstrip("\ufeff").split("\n", _MAX_LINES + 1)
    return [*(line.removesuffix("\r") for line in lines), last]


@lru_cache(4096)  # the ignore files of a root often have the same lines
def _rule(line: str) -> tuple[_Rule | None, str]:
    """The rule in a line, or the reason why it was left out; both are empty for comments and blank lines."""
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
    """The glob for a whole path: without a slash it matches at any depth, and a/** matches the contents of a, not a."""
    if glob.endswith("/"):
        glob = glob[:-1].removesuffix("\\")
    if not rooted and "/" not in glob and glob != "**":
        glob = f"**/{glob}"
    return f"{glob}/*" if glob.endswith("/**") else glob
