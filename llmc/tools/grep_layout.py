"""How the matches of a grep are laid out: with their symbols, code first, and as much as a budget takes.

A few matches are listed under their symbol with its line range; more of them have one line each, with its name.
Tests, docs, migrations and generated files are listed by file and line numbers where code matched too; in a list of
comments or text, such as all TODOs, their lines are shown if there is room. What does not fit is compressed step by
step before anything is left out: similar files share a line and of many matches in one symbol three are quoted, then
only symbols and line numbers are listed; what is still too much is counted by folder. Text that is left out is behind
the handle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.sections import ORDER, section_of
from llmc.envelope import Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.retrieval.line_kinds import DEFINITION
from llmc.tools.folder_counts import by_folder
from llmc.tools.grep_compress import (
    definitions,
    is_definitions,
    is_prose,
    listed_lines,
    listed_places,
    merged_lines,
    trimmed,
    without,
)
from llmc.tools.grep_rows import all_groups, cost, listed_numbers, matched_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.retrieval.grep_groups import FileGroups

__all__ = ["Layout", "lay_out"]

# Fewer lines of a later section cost less than a listing of them and a handle.
FEW_LINES = 3
# Times the budget: a list that is cut further than this is a sample, and counts by folder say more.
TOO_MUCH = 1.5
TOO_MUCH_QUOTED = 3.0
# More matches than these are usually looked through, and few of their functions read: their ranges cost a tenth.
FEW_MATCHES = 8
MOST_LISTED = 8  # files of a later section; more are counted by folder
SECTION_ROWS = 6


@dataclass(frozen=True, slots=True)
class Layout:
    groups: tuple[Group, ...]
    folded: tuple[Group, ...] = ()


def lay_out(
    files: list[FileGroups], names: Callable[[str, str], str], budget: int, *, context: bool, everything: bool = False
) -> Layout:
    """`budget` is in tokens. `everything`: it was chosen for this call, so that tests and docs are shown as well if
    they fit."""
    files = sorted(files, key=lambda file: (DEFINITION not in file.kinds(), file.path))
    files.sort(key=lambda file: ORDER.index(section_of(file.path, file.role)))
    section = section_of(files[0].path, files[0].role)
    first = [file for file in files if section_of(file.path, file.role) == section]
    later = files[len(first) :]
    prose = is_prose(files)
    if context:
        listed, folded = later_sections(later, names, context=True)
        return Layout((*all_groups(first, names, context=True), *listed), tuple(folded))
    if prose or everything:
        groups = lines_of(files, names, named=not prose)
        if cost(groups, budget) <= budget:
            return Layout(tuple(groups))
    listed, folded = later_sections(later, names, context=False)
    left = budget - cost(listed)
    groups = lines_of(first, names, named=not prose)
    if cost(groups, left) <= left:
        return Layout((*groups, *listed), tuple(folded))
    merged, more = merged_lines(first, names, named=not prose)
    if cost(merged, left) <= left:
        return Layout((*merged, *listed), (*more, *folded))
    quoted = prose or is_definitions(files)
    defined = [] if quoted else definitions(first, names, left // 2)
    places = groups if quoted else listed_places(first, defined, names)
    most = left * (TOO_MUCH_QUOTED if quoted else TOO_MUCH)
    whole = all_groups(first, names, context=False)
    if cost((*defined, *places), round(most)) <= most:
        shown = (*defined, *trimmed(places, left - cost(defined)))
        return Layout((*shown, *listed), (*without(whole, shown), *folded))
    defined = defined or definitions(first, names, left // 2)
    summary = by_folder([(names(file.root, file.path), file.count) for file in files])
    return Layout((*defined, *summary), (*without(whole, defined), *all_groups(later, names, context=False)))


def lines_of(files: list[FileGroups], names: Callable[[str, str], str], *, named: bool) -> list[Group]:
    few = sum(file.count for file in files) <= FEW_MATCHES
    return list(all_groups(files, names, context=False)) if few else listed_lines(files, names, named=named)


def later_sections(
    files: list[FileGroups], names: Callable[[str, str], str], *, context: bool
) -> tuple[list[Group], list[Group]]:
    """(shown part, folded part): a section is a list of its files with the numbers of their lines."""
    sections: dict[str, list[FileGroups]] = {}
    for file in files:
        sections.setdefault(section_of(file.path, file.role), []).append(file)
    shown: list[Group] = []
    folded: list[Group] = []
    for section, members in sections.items():
        whole = all_groups(members, names, context=context)
        total = sum(file.count for file in members)
        if total <= FEW_LINES and section != "tests":
            shown += whole
            continue
        folded += whole
        count = f"{total:,} match{'' if total == 1 else 'es'} in {plural(len(members), 'file')}"
        shown.append(Group(f"{section}: {count}", listed_items(members, names)))
    return shown, folded


def listed_items(files: list[FileGroups], names: Callable[[str, str], str]) -> tuple[Item, ...]:
    if len(files) <= MOST_LISTED:
        return tuple(numbers_item(file, names) for file in files)
    (group,) = by_folder([(names(file.root, file.path), file.count) for file in files], SECTION_ROWS)
    return group.items


def numbers_item(file: FileGroups, names: Callable[[str, str], str]) -> Item:
    numbers = matched_numbers(file)
    return Item(
        (Row(f"{names(file.root, file.path)} {listed_numbers(numbers)}"),), "", file.root, file.path, numbers[0]
    )
