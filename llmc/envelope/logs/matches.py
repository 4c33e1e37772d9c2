"""Compacts what rg and grep print: each folder and path once, a repeated line once, code before tests and docs.

    web/components/
     Sidebar.tsx:12 const { theme } = useTheme()
     AppHeader.tsx
    5 import { useTheme } from '@/hooks/useTheme'
    31 const { theme, toggle } = useTheme()
    tests, docs and generated files, text omitted:
     web/tests/ theme.spec.ts:4,19 header.spec.ts:7

Text is omitted only from a longer list that has matches in code too, and only of tests, docs, generated files and
import lines; their places stay. Leading blanks are omitted unless lines around the matches were requested.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from llmc.base.languages import role_of
from llmc.envelope.envelope import Group, Item, Row
from llmc.envelope.logs.git import Compact
from llmc.envelope.phrases import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["read_matches"]

# Output of another form: JSON, NUL bytes, columns, statistics, colours, groups under a heading.
_OTHER_FORMS: Final = frozenset({
    "--json", "--null", "-0", "--null-data", "-Z", "--stats", "--heading", "--pretty", "-p", "--passthru", "-b", "-V",
    "--byte-offset", "--color=always", "--colour=always", "--debug", "--trace", "--type-list", "--help", "--version",
})  # fmt: skip
_LISTS: Final = frozenset({
    "--files", "--files-with-matches", "--files-without-match", "--count", "--count-matches", "-L",
})  # fmt: skip
_NUMBERED: Final = re.compile(r"(?:(?P<path>[^:\0]{1,400}):)?(?P<number>\d{1,9}):(?P<text>.*)", re.DOTALL)
_CONTEXT: Final = re.compile(r"(?:(?P<path>.{1,400}?)-)?(?P<number>\d{1,9})-(?P<text>.*)", re.DOTALL)
_UNNUMBERED: Final = re.compile(r"(?P<path>[^:\0\s]*[./][^:\0\s]*):(?P<text>.*)", re.DOTALL)
_IMPORT: Final = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|export\s+(?:\{.*\}|\*).*\bfrom\b|(?:const|let|var)\b.*=\s*require\(|use\s+[\w:]+"
    r"|#include\b|using\s+[\w.]+;|\} from ['\"])"
)
SEPARATOR: Final = "--"
LONGEST: Final = 400  # characters of a line; more is a minified file or data
FEW: Final = 8  # matches of which nothing is omitted
REPEATED: Final = 3  # places from which on an equal line is shown once


class _Match(NamedTuple):
    path: str
    number: int | None
    text: str
    context: bool = False


def read_matches(
    flags: Sequence[str], lines: Sequence[str], read_paths: Callable[[Sequence[str]], Compact | None]
) -> Compact | None:
    """None if the lines are of another form. `read_paths` reads the output of -l and --files."""
    short = "".join(flag[1:] for flag in flags if re.fullmatch(r"-[A-Za-z]+", flag))
    if any(flag in _OTHER_FORMS or flag.startswith("--vimgrep") for flag in flags):
        return None
    if "l" in short or "c" in short or any(flag in _LISTS for flag in flags):
        return read_paths(lines)
    parsed = [match for match in map(_parser(lines), lines) if match is not None]
    if len(parsed) + lines.count(SEPARATOR) < len(lines):
        return None
    matches = [match for match in parsed if not match.context]
    files = {match.path for match in matches}
    found = plural(len(matches), "match") + (f" in {plural(len(files), 'file')}" if len(files) > 1 else "")
    if len(matches) < len(parsed):  # lines around the matches stay with them
        return Compact(found, tuple(_blocks(parsed)))
    code, *others = _by_kind([match._replace(text=match.text.strip()) for match in parsed])
    groups = (*_repeated(code), *_by_folder(code), *(_places(kind, other) for kind, other in others if other))
    return Compact(found, groups)


def _parser(lines: Sequence[str]) -> Callable[[str], _Match | None]:
    """A function from a line to its parts, for the form that these lines have."""
    numbered = [match for line in lines if (match := _NUMBERED.fullmatch(line))]
    paths = {match["path"] for match in numbered if match["path"]}
    bare = bool(numbered) and not paths

    def parse(line: str) -> _Match | None:
        match = _NUMBERED.fullmatch(line) if numbered else _UNNUMBERED.fullmatch(line)
        if match and not numbered:
            return _Match(_shown(match["path"]), None, match["text"])
        if match and (bare or match["path"]):
            return _Match(_shown(match["path"] or ""), int(match["number"]), match["text"])
        around = _CONTEXT.fullmatch(line) if numbered else None
        if around and (around["path"] in paths or (bare and around["path"] is None)):
            return _Match(_shown(around["path"] or ""), int(around["number"]), around["text"], context=True)
        return None

    return parse


def _shown(path: str) -> str:
    return path.removeprefix("./") or path


def _by_kind(matches: list[_Match]) -> tuple[list[_Match], *tuple[tuple[str, list[_Match]], ...]]:
    """The matches to show, then those whose text is omitted."""
    others = [match for match in matches if role_of(match.path) != "code"]
    code = [match for match in matches if role_of(match.path) == "code"]
    imports = [match for match in code if _IMPORT.match(match.text)]
    if len(matches) <= FEW or not code:
        return (matches,)
    if len(imports) < REPEATED or len(imports) * 2 > len(code):  # too few, or what was searched for
        imports = []
    if len(others) < REPEATED:
        others = []
    omitted = {id(match) for match in (*imports, *others)}
    shown = [match for match in matches if id(match) not in omitted]
    return shown, ("imports", imports), ("tests, docs and generated files", others)


def _places(kind: str, matches: Iterable[_Match]) -> Group:
    return Group(f"{kind}, text omitted:", tuple(Item((Row(row),), level=1) for row in _place_rows(matches)))


def _place_rows(matches: Iterable[_Match]) -> Iterator[str]:
    """`folder/ a.py:4,19 b.py:7`, a row for each folder."""
    folders: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for match in matches:
        folder, slash, name = match.path.rpartition("/")
        folders[folder + slash][name].append(str(match.number or ""))
    for folder, names in folders.items():
        files = [f"{name}:{','.join(numbers)}".rstrip(":,") for name, numbers in names.items()]
        yield f"{folder}{' ' * (len(files) > 1 and bool(folder))}{' '.join(files)}"


def _repeated(matches: list[_Match]) -> Iterator[Group]:
    """Lines that occur in several places, once each; they are removed from `matches`."""
    places: defaultdict[str, list[_Match]] = defaultdict(list)
    for match in matches:
        places[match.text].append(match)
    often = {text: found for text, found in places.items() if text and len({one.path for one in found}) >= REPEATED}
    matches[:] = [match for match in matches if match.text not in often]
    for text, found in often.items():
        yield Group("", (Item((Row(_clip(text)), *(Row(f" {row}") for row in _place_rows(found)))),))


def _by_folder(matches: Iterable[_Match]) -> Iterator[Group]:
    folders: defaultdict[str, defaultdict[str, list[_Match]]] = defaultdict(lambda: defaultdict(list))
    for match in matches:
        folder, slash, name = match.path.rpartition("/")
        folders[folder + slash][name].append(match)
    for folder, files in folders.items():
        if len(files) == 1:
            ((name, found),) = files.items()
            yield Group(folder + name, tuple(Item((_row(match),)) for match in found), len(found))
            continue
        items = (item for name, found in files.items() for item in _file_items(name, found))
        yield Group(folder, tuple(items))


def _file_items(name: str, found: Sequence[_Match]) -> Iterator[Item]:
    """The matches of a file below its folder; a single one is on the line of its name."""
    if len(found) == 1:
        number = f":{found[0].number}" if found[0].number else ""
        yield Item((Row(f"{name}{number} {_clip(found[0].text)}"),))
        return
    yield Item((_row(found[0]),), title=name)
    yield from (Item((_row(match),)) for match in found[1:])


def _blocks(matches: Sequence[_Match]) -> Iterator[Group]:
    files: defaultdict[str, list[_Match]] = defaultdict(list)
    for match in matches:
        files[match.path].append(match)
    for path, found in files.items():
        yield Group(path, (Item(tuple(_row(match) for match in found)),))


def _row(match: _Match) -> Row:
    return Row(_clip(match.text), match.number, context=match.context, cited=not match.context)


def _clip(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… {len(text) - LONGEST:,} more characters"
