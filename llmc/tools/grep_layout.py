"""How the matches of a grep are laid out: under their symbols, code first, and as much as a budget takes.

Tests, docs and generated files are listed by file and line numbers where code matched too. What does not fit is
compressed before anything is left out: files of one folder with few matches share a line, and of many matches in one
symbol three are quoted; then only symbols and line numbers are listed; what is still too much is counted by folder.
Everything that is compressed stands in full behind the handle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.envelope import Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.retrieval.line_kinds import DEFINITION
from llmc.tools.folder_counts import by_folder
from llmc.tools.grep_compress import compressed, definitions, listed_places, trimmed, without
from llmc.tools.grep_rows import OTHERS, all_groups, cost, listed_numbers, matched_numbers, section_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.retrieval.grep_groups import FileGroups

__all__ = ["Layout", "lay_out"]

# Fewer lines of a later section cost less than a listing of them and a handle.
FEW_LINES = 3
# Times the budget: a list of places that is cut further than this is a sample, and counts by folder say more.
TOO_MUCH = 1.5
MOST_LISTED = 8  # files of a later section; more are counted by folder
SECTION_ROWS = 6


@dataclass(frozen=True, slots=True)
class Layout:
    groups: tuple[Group, ...]
    folded: tuple[Group, ...] = ()


def lay_out(files: list[FileGroups], names: Callable[[str, str], str], budget: int, *, context: bool) -> Layout:
    """`budget` is in tokens."""
    files = sorted(files, key=lambda file: (DEFINITION not in file.kinds(), file.path))
    files.sort(key=lambda file: ("code", "tests", "docs", OTHERS).index(section_of(file.role)))
    main = section_of(files[0].role)
    first = [file for file in files if section_of(file.role) == main]
    later = [file for file in files if section_of(file.role) != main]
    listed, folded = later_sections(later, names, context=context)
    left = budget - cost(listed)
    groups = all_groups(first, names, context=context)
    if context or cost(groups, left) <= left:
        return Layout((*groups, *listed), tuple(folded))
    groups, more = compressed(first, names)
    if cost(groups, left) <= left:
        return Layout((*groups, *listed), (*more, *folded))
    defined = definitions(first, names, left // 2)
    whole = without(all_groups(first, names, context=False), defined)
    places = listed_places(first, defined, names)
    if cost((*defined, *places), round(left * TOO_MUCH)) <= left * TOO_MUCH:
        return Layout((*defined, *trimmed(places, left - cost(defined)), *listed), (*whole, *folded))
    summary = by_folder([(names(file.root, file.path), file.count) for file in files])
    return Layout((*defined, *summary), (*whole, *all_groups(later, names, context=False)))


def later_sections(
    files: list[FileGroups], names: Callable[[str, str], str], *, context: bool
) -> tuple[list[Group], list[Group]]:
    """(what is shown, what is folded): a section is a list of its files with the numbers of their lines."""
    sections: dict[str, list[FileGroups]] = {}
    for file in files:
        sections.setdefault(section_of(file.role), []).append(file)
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
