"""From matching lines to symbols: each file's matches under the function, class or handler that they are in, each with
its kind, test code apart from the rest. `KindFilter` keeps only some of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llmc.base.languages import language_of, role_of
from llmc.base.model import CALLABLES
from llmc.retrieval.enclosing import symbols_of_files
from llmc.retrieval.grep.match_lines import MatchedLine, Undecided
from llmc.retrieval.line_kinds import COMMENT, DEFINITION, TEXT, USE, WRITE, is_test_symbol
from llmc.retrieval.writes import writes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.enclosing import FileSymbols
    from llmc.retrieval.grep.grep import FileMatches
    from llmc.retrieval.grep.match_lines import Matcher
    from llmc.retrieval.line_kinds import FileText
    from llmc.retrieval.view import View

__all__ = ["FileGroups", "KindFilter", "SymbolMatches", "group_files", "ungrouped"]


@dataclass(frozen=True, slots=True)
class SymbolMatches:
    """The matches inside one symbol, None for the top of a file. `lines` include context. `kinds` has the kind of each
    matching line by its number. `ends` has, for a line that defines a symbol, the last line of that symbol. `entries`
    has, for a line inside a long table (a constant), the key of the entry that it is in."""

    symbol: Symbol | None
    lines: tuple[MatchedLine, ...]
    kinds: dict[int, str]
    ends: dict[int, int]
    is_test: bool = False
    entries: Mapping[int, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.kinds)


@dataclass(frozen=True, slots=True)
class FileGroups:
    """One file, or its test code or the rest of it. `role` is that of the path, or `test`."""

    root: str
    path: str
    role: str
    symbols: tuple[SymbolMatches, ...]

    @property
    def count(self) -> int:
        return sum(one.count for one in self.symbols)

    def kinds(self) -> set[str]:
        return {kind for one in self.symbols for kind in one.kinds.values()}


def group_files(
    view: View, files: Sequence[FileMatches], matcher: Matcher | None, *, body: bool = False
) -> list[FileGroups]:
    """The files of this view, in the same order; a file with test code inside it twice. `body`: with the functions
    around the matches."""
    known = symbols_of_files(view, [file.path for file in files])
    return [part for file in files for part in group_file(file, known[file.path], matcher, body=body)]


def group_file(
    file: FileMatches, known: FileSymbols, matcher: Matcher | None, *, body: bool = False
) -> Iterator[FileGroups]:
    role = role_of(file.path)
    groups = [inside_symbol(one) for one in merged(symbol_groups(located(file.lines, matcher), known, matcher))]
    if known.text is not None:
        groups = [with_body(one, known.text) if body else with_entries(one, known.text) for one in groups]
    inside = [one for one in groups if one.is_test and role == "code"]
    rest = [one for one in groups if one not in inside]
    if rest:
        yield FileGroups(file.root, file.path, role, tuple(rest))
    if inside:
        yield FileGroups(file.root, file.path, "test", tuple(inside))


def inside_symbol(one: SymbolMatches) -> SymbolMatches:
    """Without context lines that belong to the next function; those above a definition say what it is for."""
    symbol = one.symbol
    if symbol is None or all(line.matched for line in one.lines):
        return one
    first = 1 if one.ends else symbol.start_line
    kept = tuple(line for line in one.lines if line.matched or first <= line.number <= symbol.end_line)
    return replace(one, lines=kept)


def with_entries(one: SymbolMatches, text: FileText) -> SymbolMatches:
    """With the keys of the entries of a long table: its name alone does not say which of them matches."""
    symbol = one.symbol
    if symbol is None or symbol.kind not in TABLES or symbol.end_line - symbol.start_line < LONG_TABLE:
        return one
    found = {number: key for number in one.kinds if (key := entry_key(text, number, symbol.start_line))}
    return replace(one, entries=found)


def entry_key(text: FileText, number: int, first: int) -> str:
    """The key of the innermost entry around a line, by indentation; empty for a line of the table itself."""
    depth = indent(text.line(number))
    for above in range(number - 1, max(first, number - MOST_ENTRY_LINES), -1):
        line = text.line(above)
        if line.strip() and indent(line) < depth:
            depth = indent(line)
            if found := ENTRY.match(line):
                return found[1]
    return ""


TABLES = frozenset({"constant", "variable", "field", "property"})
LONG_TABLE, MOST_ENTRY_LINES = 10, 60  # lines
ENTRY = re.compile(r"""\s*["']?([A-Za-z_$][\w.$:/-]{1,60}?)["']?\s*(?::|=>|=)(?=\s|$|[{[(])""")


def with_body(one: SymbolMatches, text: FileText) -> SymbolMatches:
    """With the whole function if it is short, else with the block around each match; without comments and closing
    brackets."""
    symbol = one.symbol
    matched = {line.number: line for line in one.lines if line.matched}
    if symbol is not None and symbol.kind in CALLABLES and symbol.end_line - symbol.start_line < SHORT_BODY:
        wanted = set(range(symbol.start_line, symbol.end_line + 1))
    else:
        last = symbol.end_line if symbol else text.line_count
        has_body = symbol is not None and symbol.kind in CALLABLES
        first = symbol.start_line if symbol else 1
        blocks = (block_around(text, number, first, last, upwards=has_body) for number in matched)
        wanted = {number for block in blocks for number in block}
    numbers = sorted(wanted | {*matched})
    lines = [matched.get(at) or MatchedLine(at, text.line(at), matched=False) for at in numbers]
    lines = [
        line
        for line in lines
        if line.matched or (not ONLY_CLOSING.fullmatch(line.text) and text.kind(line.number) != COMMENT)
    ]
    margin = min((len(line.text) - len(line.text.lstrip()) for line in lines), default=0)
    return replace(one, lines=tuple(replace(line, text=line.text[margin:]) for line in lines))


def block_around(text: FileText, number: int, first: int, last: int, *, upwards: bool) -> range:
    """The statement at a line with what is nested in it; `upwards`: of a plain statement the block that it is in. Lines
    far from it are left out."""
    depth = indent(text.line(number))
    start = number
    if upwards and indent_after(text, number, last) <= depth:
        while start > first and (not text.line(start).strip() or indent(text.line(start)) >= depth):
            start -= 1
        depth = indent(text.line(start))
    end = number
    while end < last and (not text.line(end + 1).strip() or indent(text.line(end + 1)) > depth):
        end += 1
    if end < last and CLOSING.match(text.line(end + 1)):
        end += 1
    return range(max(start, number - NEAR_LINES), min(end, number + NEAR_LINES) + 1)


def indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def indent_after(text: FileText, number: int, last: int) -> int:
    """The indentation of the next line that has something."""
    return next((indent(text.line(at)) for at in range(number + 1, last + 1) if text.line(at).strip()), 0)


SHORT_BODY = 30  # lines of a function that is shown whole
NEAR_LINES = 10  # of a block in a longer one, on each side of a match
CLOSING = re.compile(r"\s*[)\]}]")
ONLY_CLOSING = re.compile(r"[\s)\]};,]*")


def merged(groups: Iterable[SymbolMatches]) -> list[SymbolMatches]:
    """Each symbol once, where it matches first."""
    found: dict[tuple[Symbol | None, bool], SymbolMatches] = {}
    for one in groups:
        key = one.symbol, one.is_test
        if (first := found.get(key)) is not None:
            kinds, ends = {**first.kinds, **one.kinds}, {**first.ends, **one.ends}
            found[key] = replace(first, lines=(*first.lines, *one.lines), kinds=kinds, ends=ends)
        else:
            found[key] = one
    return list(found.values())


def located(lines: tuple[MatchedLine, ...], matcher: Matcher | None) -> tuple[MatchedLine, ...]:
    """The lines; those that are too long to be shown whole say where they match."""
    if matcher is None or all(len(line.text) <= LONG_LINE for line in lines):
        return lines
    return tuple(
        replace(line, around=matcher.first_match(line.text)) if line.matched and len(line.text) > LONG_LINE else line
        for line in lines
    )


LONG_LINE = 150  # some lists of matches show less of a line, none shows more than 400


def ungrouped(file: FileMatches, matcher: Matcher | None) -> FileGroups:
    """Its matches as they are: the symbols of thousands of files are not looked up."""
    lines = located(file.lines, matcher)
    kinds = dict.fromkeys((line.number for line in file.lines if line.matched), USE)
    return FileGroups(file.root, file.path, role_of(file.path), (SymbolMatches(None, lines, kinds, {}),))


def symbol_groups(lines: Sequence[MatchedLine], known: FileSymbols, matcher: Matcher | None) -> Iterator[SymbolMatches]:
    """Runs of lines in one symbol. A line that defines a symbol opens the group of that symbol."""
    owner: tuple[Symbol | None, bool] | None = None
    taken: list[MatchedLine] = []
    kinds: dict[int, str] = {}
    ends: dict[int, int] = {}
    for line in lines:
        if not line.matched:
            taken.append(line)
            continue
        kind, defined = kind_of(line, known, matcher)
        chain = known.around(line.number)
        if defined is not None and defined.end_line > defined.start_line:
            chain = [one for one in chain if one.start_line < defined.start_line or one.end_line > defined.end_line]
            chain.append(defined)
        here = (chain[-1] if chain else None), is_test_symbol(chain, known)
        if owner is not None and here != owner and kinds:
            before = [one for one in taken if one.number < line.number and not one.matched and one.number > max(kinds)]
            context = leading(before, line.number)
            yield SymbolMatches(owner[0], tuple(one for one in taken if one not in context), kinds, ends, owner[1])
            taken, kinds, ends = context, {}, {}
        owner = here
        taken.append(line)
        kinds[line.number] = kind
        if defined is not None:
            ends[line.number] = defined.end_line
    if owner is not None:
        yield SymbolMatches(owner[0], tuple(taken), kinds, ends, owner[1])


def leading(context: list[MatchedLine], number: int) -> list[MatchedLine]:
    """Of the context lines between two matches those directly above the second."""
    kept: list[MatchedLine] = []
    for line in reversed(context):
        if line.number != number - len(kept) - 1:
            break
        kept.insert(0, line)
    return kept if len(kept) < len(context) else kept[len(kept) // 2 :]


def kind_of(line: MatchedLine, known: FileSymbols, matcher: Matcher | None) -> tuple[str, Symbol | None]:
    """The kind of a line, and the symbol that it defines if the match touches its name or what precedes it."""
    spans = match_spans(line.text, matcher)
    for symbol in known.defined_at(line.number):
        at = line.text.find(symbol.name)
        if spans is None or (at >= 0 and any(start < at + len(symbol.name) for start, _ in spans)):
            return DEFINITION, symbol
    if known.text is None:
        return TEXT, None
    return known.text.kind(line.number, spans[0][0] if spans else None), None


def match_spans(text: str, matcher: Matcher | None) -> list[tuple[int, int]] | None:
    """Where a line matches, in characters; None when only ripgrep knows."""
    if matcher is None or not text.isascii():
        return None
    try:
        return matcher.spans(text.encode())
    except Undecided:
        return None


@dataclass(frozen=True, slots=True)
class KindFilter:
    """`kinds` empty: all. `tests` True: only test code; False: no test code; None: both."""

    kinds: frozenset[str] = frozenset()
    tests: bool | None = None

    def keep(self, view: View, files: list[FileMatches], matcher: Matcher | None) -> list[FileMatches]:
        named = [file for file in files if self.tests is not False or not is_for_tests(file.path)]
        kept: dict[str, set[int]] = {}
        for part in group_files(view, named, matcher):
            if self.tests is not None and (part.role == "test" or is_for_tests(part.path)) is not self.tests:
                continue
            numbers = {
                line.number for one in part.symbols for line in one.lines if self._keeps(part, one, line, matcher)
            }
            kept.setdefault(part.path, set()).update(numbers)
        return [limited(file, kept[file.path]) for file in named if kept.get(file.path)]

    def _keeps(self, file: FileGroups, one: SymbolMatches, line: MatchedLine, matcher: Matcher | None) -> bool:
        kind = one.kinds.get(line.number)
        if kind is None or not self.kinds or kind in self.kinds:
            return kind is not None
        if WRITE not in self.kinds or kind not in (USE, DEFINITION):
            return False
        return writes(line.text, match_spans(line.text, matcher), language_of(file.path))


def is_for_tests(path: str) -> bool:
    """Test code by its path, or fixtures of tests: `product/tests/fixtures/product.py`."""
    folder = path.partition("/fixtures/")[0]
    return role_of(path) == "test" or (folder != path and role_of(f"{folder}/fixture.py") == "test")


def limited(file: FileMatches, numbers: set[int]) -> FileMatches:
    """The file with these matching lines alone, and the context next to them."""
    rows = [
        row for line, row in zip(file.lines, file.rows.split(b"\n"), strict=True) if wanted(line, numbers, file.lines)
    ]
    return replace(file, count=len(numbers), rows=b"\n".join(rows))


def wanted(line: MatchedLine, numbers: set[int], lines: Iterable[MatchedLine]) -> bool:
    if line.matched:
        return line.number in numbers
    nearest = min((one.number for one in lines if one.matched), key=lambda number: abs(number - line.number))
    return nearest in numbers
