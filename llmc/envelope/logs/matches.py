"""Compacts the output of rg and grep: each folder and path once, a repeated line once, code before tests and docs.

    web/components/
     Sidebar.tsx:12 const { theme } = useTheme()
     header/AppHeader.tsx
    5 import { useTheme } from '@/hooks/useTheme'
    31 const { theme, toggle } = useTheme()
    tests, docs and generated files, text omitted:
     web/tests/ theme.spec.ts:4,19 header.spec.ts:7

Text is omitted only in longer lists that also have matches in code, and only for tests, docs, generated files and
import lines, whose places stay. With a `width`, lines of a list of more than a few matches are cut around the match.
Leading blanks are omitted; with context lines, only the indentation that all lines of a file share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from llmc.base.languages import role_of
from llmc.envelope.envelope import Group, Item, Row
from llmc.envelope.logs.folders import by_folder
from llmc.envelope.logs.git import Compact
from llmc.envelope.logs.search_pattern import cut_around, pattern_of
from llmc.envelope.phrases import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["read_matches"]

# Flags for other output formats: JSON, NUL bytes, columns, statistics, colours, headings.
_OTHER_FORMS: Final = frozenset({
    "--json", "--null", "-0", "--null-data", "-Z", "--stats", "--heading", "--pretty", "-p", "--passthru", "-b", "-V",
    "--byte-offset", "--color=always", "--colour=always", "--debug", "--trace", "--type-list", "--help", "--version",
})  # fmt: skip
_BY_TIME: Final = re.compile(r"--sortr?[ =](?:modified|accessed|created)\b")
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
WHOLE: Final = 4  # up to this many matches, lines are not cut
FEW: Final = 8  # up to this many matches, nothing is omitted
OTHERS: Final = "tests, docs and generated files"
REPEATED: Final = 3  # an equal line in this many places is shown once


class _Match(NamedTuple):
    path: str
    number: int | None
    text: str
    context: bool = False


def read_matches(
    command: Sequence[str], lines: Sequence[str], read_paths: Callable[[Sequence[str]], Compact | None], width: int = 0
) -> Compact | None:
    """Compact matches; None for another format. `read_paths` reads the output of -l and --files. Lines are cut to about
    `width` characters; 0 means whole lines."""
    flags = command[1:]
    short = "".join(flag[1:] for flag in flags if re.fullmatch(r"-[A-Za-z]+", flag))
    if any(flag in _OTHER_FORMS or flag.startswith("--vimgrep") for flag in flags) or _BY_TIME.search(" ".join(flags)):
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
        return Compact(found, _with_context(parsed))
    code, *others = _by_kind(parsed)
    shown = _cut(code, pattern_of(command) if width and len(code) > WHOLE else None, width)
    cut = any(before.text.strip() != after.text for before, after in zip(code, shown, strict=True))
    omitted = tuple(_places(kind, other) for kind, other in others if other)
    return Compact(found, (*_repeated(shown), *_by_folder(shown), *omitted), cut=cut)


def _parser(lines: Sequence[str]) -> Callable[[str], _Match | None]:
    """A function that parses a line, for the format of these lines."""
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
    if len(imports) < REPEATED or len(imports) * 2 > len(code):  # too few, or imports were searched for
        imports = []
    if len(others) < REPEATED:
        others = []
    omitted = {id(match) for match in (*imports, *others)}
    shown = [match for match in matches if id(match) not in omitted]
    return shown, ("imports", imports), (OTHERS, others)


def _places(kind: str, matches: Iterable[_Match]) -> Group:
    return Group(f"{kind}, text omitted:", tuple(Item((Row(row),), level=1) for row in _place_rows(matches)))


def _cut(matches: Iterable[_Match], pattern: Any, width: int) -> list[_Match]:
    """The matches without outer blanks, and lines of more than `width` characters cut if there is a pattern."""
    if pattern is None:
        return [match._replace(text=_clip(match.text.strip())) for match in matches]
    return [match._replace(text=_clip(cut_around(match.text, pattern, width))) for match in matches]


def _place_rows(matches: Iterable[_Match]) -> Iterator[str]:
    """`folder/ a.py:4,19 b.py:7`, a row for each folder."""
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    for match in matches:
        numbers[match.path].append(str(match.number or ""))
    for folder, names in by_folder(numbers):
        files = [f"{name}:{','.join(numbers[folder + name])}".rstrip(":,") for name in names]
        yield f"{folder}{' ' * (len(files) > 1 and bool(folder))}{' '.join(files)}"


def _repeated(matches: list[_Match]) -> Iterator[Group]:
    """Lines that occur in several files, once each; they are removed from `matches`."""
    places: defaultdict[str, list[_Match]] = defaultdict(list)
    for match in matches:
        places[match.text].append(match)
    often = {text: found for text, found in places.items() if text and len({one.path for one in found}) >= REPEATED}
    matches[:] = [match for match in matches if match.text not in often]
    for text, found in often.items():
        yield Group("", (Item((Row(text), *(Row(f" {row}") for row in _place_rows(found)))),))


def _by_folder(matches: Iterable[_Match]) -> Iterator[Group]:
    files: defaultdict[str, list[_Match]] = defaultdict(list)
    for match in matches:
        files[match.path].append(match)
    for folder, names in by_folder(files):
        if len(names) == 1:
            rows = _rows(files[folder + names[0]])
            yield Group(folder + names[0], tuple(Item((row,)) for row in rows), len(rows))
            continue
        yield Group(folder, tuple(item for name in names for item in _file_items(name, files[folder + name])))


def _file_items(name: str, found: Sequence[_Match]) -> Iterator[Item]:
    """The matches of a file below its folder; a single one is on the line of its name."""
    first, *rest = _rows(found)
    if rest:
        yield Item((first,), title=name)
        yield from (Item((row,)) for row in rest)
    else:
        numbers = ",".join(str(match.number) for match in found if match.number)
        yield Item((Row(f"{name}{':' * bool(numbers)}{numbers} {found[0].text}"),))


def _rows(found: Iterable[_Match]) -> list[Row]:
    """A row for each match of a file; equal lines share one, with all their numbers."""
    lines: defaultdict[str, list[_Match]] = defaultdict(list)
    for match in found:
        lines[match.text].append(match)
    return [
        _row(same[0]) if len(same) == 1 else Row(f"{','.join(str(match.number or '') for match in same)} {text}")
        for text, same in lines.items()
    ]


def _with_context(parsed: list[_Match]) -> tuple[Group, ...]:
    """Matches with context lines, by file. Files other than code are listed without context."""
    kinds = _by_kind([match for match in parsed if not match.context])
    omitted = {match.path for kind, matches in kinds[1:] if kind == OTHERS for match in matches}
    blocks = _blocks([match for match in parsed if match.path not in omitted])
    others = [match for match in parsed if match.path in omitted and not match.context]
    return (*blocks, *((_places(OTHERS, others),) if others else ()))


def _blocks(matches: Sequence[_Match]) -> Iterator[Group]:
    files: defaultdict[str, list[_Match]] = defaultdict(list)
    for match in matches:
        files[match.path].append(match)
    for path, found in files.items():
        blanks = min((len(match.text) - len(match.text.lstrip()) for match in found if match.text.strip()), default=0)
        rows = (_row(match._replace(text=_clip(match.text[blanks:]))) for match in found)
        yield Group(path, (Item(tuple(rows)),))


def _row(match: _Match) -> Row:
    return Row(match.text, match.number, context=match.context, cited=not match.context)


def _clip(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… {len(text) - LONGEST:,} more characters"
