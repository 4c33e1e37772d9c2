"""Rows and groups of matches: a file with its symbols, a symbol with its lines, and their cost."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from llmc.base.sections import ORDER, section_of
from llmc.envelope import Group, Item, Row
from llmc.envelope.fit import shorten_group
from llmc.envelope.render import group_lines
from llmc.envelope.tokens import count_line
from llmc.retrieval.line_kinds import COMMENT, DEFINITION, IMPORT, USE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.grep.match_lines import MatchedLine
    from llmc.retrieval.grep_groups import FileGroups, SymbolMatches

__all__ = [
    "WHOLE_LINE",
    "all_groups",
    "cost",
    "file_group",
    "is_used",
    "listed_numbers",
    "matched_numbers",
    "owner_of",
    "redactable_part",
    "section_counts",
    "shown_name",
    "symbol_lists",
    "used_lines",
]

LONGEST_LINE = 400
# What begins in the part of a line that is shown must be whole when it is redacted; a key of 16,384 bits is.
WHOLE_LINE = LONGEST_LINE + 16_384
LONGEST_TITLE = 80
MOST_NUMBERS = 12


def section_counts(files: Iterable[tuple[str, str, int]]) -> str:
    """`26 code, 5 tests, 2 docs` of (path, role, matches); empty where all is code."""
    counts: Counter[str] = Counter()
    for path, role, count in files:
        counts[section_of(path, role)] += count
    if list(counts) in ([], ["code"]):
        return ""
    return ", ".join(f"{counts[name]:,} {name}" for name in ORDER if counts[name])


def cost(groups: Iterable[Group], most: int | None = None) -> int:
    """Tokens, or more than `most`."""
    spent = 0
    for group in groups:
        for line in group_lines(shorten_group(group)):
            spent += count_line(line)
            if most is not None and spent > most:
                return spent
    return spent


def all_groups(files: Sequence[FileGroups], names: Callable[[str, str], str], *, context: bool) -> tuple[Group, ...]:
    """Every match, one group a file."""
    return tuple(file_group(file, names, context=context) for file in files)


def file_group(file: FileGroups, names: Callable[[str, str], str], *, context: bool) -> Group:
    """What is in no symbol comes first: further down it would read as part of the symbol above it."""
    symbols = sorted(file.symbols, key=lambda one: one.symbol is not None)
    items = [symbol_item(file, one, context=context) for one in symbols]
    return Group(names(file.root, file.path), tuple(items), file.count)


def symbol_lists(files: Iterable[FileGroups], names: Callable[[str, str], str]) -> list[Group]:
    """The symbols around the matches, each with the number of its matches, one group a file: code first."""
    ordered = sorted(files, key=lambda file: (ORDER.index(section_of(file.path, file.role)), file.path))
    return [symbol_list(file, names) for file in ordered]


def symbol_list(file: FileGroups, names: Callable[[str, str], str]) -> Group:
    """A file without symbols takes one line."""
    title = names(file.root, file.path)
    if any(one.symbol for one in file.symbols):
        return Group(title, tuple(counted_item(file, one) for one in listed_symbols(file)), file.count)
    numbers = matched_numbers(file)
    item = Item((), "", file.root, file.path, numbers[0], numbers[-1], OUTSIDE)
    return Group(f"{title} ×{file.count}" if file.count > 1 else title, (item,))


def listed_symbols(file: FileGroups) -> list[SymbolMatches]:
    """In order of their lines; what is in no symbol comes last."""
    return sorted(file.symbols, key=lambda one: one.symbol.start_line if one.symbol else sys.maxsize)


def counted_item(file: FileGroups, one: SymbolMatches) -> Item:
    symbol, count = one.symbol, len(one.kinds)
    if symbol is None:
        row = Row(f"outside symbols ×{count}")
        return Item((row,), "", file.root, file.path, min(one.kinds), max(one.kinds), OUTSIDE)
    end = symbol.end_line if symbol.end_line > symbol.start_line else 0
    text = f"{shown_name(symbol)} ×{count}" if count > 1 else shown_name(symbol)
    row = Row(text, symbol.start_line, longest=LONGEST_LINE, end=end, cited=True)
    return Item((row,), "", file.root, file.path, symbol.start_line, symbol.end_line, level_of(one))


OUTSIDE = 4  # the level of matches in no symbol


def symbol_item(file: FileGroups, one: SymbolMatches, *, context: bool) -> Item:
    brief = {number for number, kind in one.kinds.items() if kind == IMPORT} if is_used(file) else set()
    rows = tuple(row_of(line, one, context=context, brief=line.number in brief) for line in one.lines)
    matched = [line.number for line in one.lines if line.matched]
    return Item(rows, title_of(one, matched[0]), file.root, file.path, matched[0], matched[-1], level_of(one))


def is_used(file: FileGroups) -> bool:
    """Whether the file says more than that it imports."""
    return bool({DEFINITION, USE} & file.kinds())


def used_lines(file: FileGroups) -> int:
    return sum(kind != IMPORT for one in file.symbols for kind in one.kinds.values())


def row_of(line: MatchedLine, one: SymbolMatches, *, context: bool, brief: bool) -> Row:
    """`brief`: only that it is an import."""
    text = redactable_part(line)
    end = one.ends.get(line.number, 0)
    if brief and not context:
        return Row("import", line.number, cited=True)
    if not context:
        owner = owner_of(one, end)
        text = f"{owner} · {text.lstrip()}" if owner else text.lstrip()
    return Row(
        text,
        line.number,
        context=not line.matched,
        longest=LONGEST_LINE,
        end=end,
        cited=line.matched,
        around=(line.around,) if line.around else (),
    )


def redactable_part(line: MatchedLine) -> str:
    """As much of a very long line on both sides of the match as a secret can be long."""
    at = line.text.find(line.around) if line.around else 0
    return line.text[max(0, at - WHOLE_LINE) : at + WHOLE_LINE].rstrip()


def owner_of(one: SymbolMatches, end: int) -> str:
    """The class of a method that a match defines: the line itself does not name it."""
    symbol = one.symbol
    if symbol is None or symbol.end_line != end or symbol.kind in {"test", "heading"}:
        return ""
    return symbol.container[-LONGEST_TITLE:]


def title_of(one: SymbolMatches, first: int) -> str:
    """A match that defines the symbol names it already."""
    symbol = one.symbol
    if symbol is None or one.ends.get(first) == symbol.end_line:
        return ""
    name = shown_name(symbol)
    name = name if len(name) <= LONGEST_TITLE else f"…{name[-LONGEST_TITLE:]}"
    return f"{name} {symbol.start_line}-{symbol.end_line}"


def shown_name(symbol: Symbol) -> str:
    """With its class; the title of a test or a section speaks for itself."""
    return symbol.name if symbol.kind in {"test", "heading"} else symbol.qualified


def level_of(one: SymbolMatches) -> int:
    kinds = set(one.kinds.values())
    if DEFINITION in kinds:
        return 0
    return 1 if USE in kinds else 2 if COMMENT in kinds else 3


def matched_numbers(file: FileGroups) -> list[int]:
    return sorted(number for one in file.symbols for number in one.kinds)


def listed_numbers(numbers: Sequence[int]) -> str:
    shown = " ".join(map(str, numbers[:MOST_NUMBERS]))
    return shown if len(numbers) <= MOST_NUMBERS else f"{shown} … {len(numbers)} in all"
