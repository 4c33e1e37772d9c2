"""The rest of a matched definition that continues on the next lines: the value of a constant or field."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.base.text import split_lines
from llmc.retrieval.grep.match_lines import MatchedLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.retrieval.grep_groups import FileGroups, SymbolMatches

__all__ = ["with_rests"]

VALUES = frozenset({"constant", "field", "property", "variable"})
MOST_LINES = 5
LONGEST_LINE = 120
MOST_DEFINITIONS = 10  # with more of them the reply is a list, and their values are not of interest


def with_rests(files: Sequence[FileGroups], text_of: Callable[[str, str], str | None]) -> list[FileGroups]:
    """The files with the next lines of each such definition, as context. A table of settings has the name and the
    default there, and readers needed a second call for them."""
    found = sum(len(list(unfinished(one))) for file in files for one in file.symbols)
    return [with_rest(file, text_of) for file in files] if 0 < found <= MOST_DEFINITIONS else list(files)


def with_rest(file: FileGroups, text_of: Callable[[str, str], str | None]) -> FileGroups:
    if not any(any(unfinished(one)) for one in file.symbols):
        return file
    lines = split_lines(text_of(file.root, file.path) or "")
    return replace(file, symbols=tuple(continued(one, lines) for one in file.symbols))


def unfinished(one: SymbolMatches) -> Iterator[tuple[MatchedLine, int]]:
    """(line, last line of the definition)"""
    if one.symbol is None or one.symbol.kind not in VALUES:
        return
    for line in one.lines:
        end = one.ends.get(line.number, 0)
        if end == one.symbol.end_line and line.number < end <= line.number + MOST_LINES:
            yield line, end


def continued(one: SymbolMatches, text: Sequence[str]) -> SymbolMatches:
    lines = {line.number: line for line in one.lines}
    for line, end in unfinished(one):
        rest = text[line.number : end]
        is_current = text[line.number - 1 : line.number] == [line.text.rstrip("\r\n")]  # and not written a moment ago
        if is_current and all(len(each.strip()) <= LONGEST_LINE for each in rest):
            for number, each in enumerate(rest, line.number + 1):
                lines.setdefault(number, MatchedLine(number, each, matched=False))
    return replace(one, lines=tuple(lines[number] for number in sorted(lines)))
