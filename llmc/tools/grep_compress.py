"""Matches in fewer tokens, before any of them is left out: by folder, by symbol, by line number."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.envelope import Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.retrieval.line_kinds import DEFINITION, IMPORT
from llmc.tools.grep_rows import (
    LONGEST_LINE,
    all_groups,
    cost,
    file_group,
    listed_numbers,
    matched_numbers,
    used_lines,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.retrieval.grep_groups import FileGroups, SymbolMatches

__all__ = ["compressed", "definitions", "listed_places", "trimmed", "without"]

# Files of one folder that are worth one line together.
ALIKE_FILES = 4
QUOTED = 3  # matches of one symbol that are quoted where there is not room for all
MARK_TOKENS = 16


def compressed(files: list[FileGroups], names: Callable[[str, str], str]) -> tuple[tuple[Group, ...], list[Group]]:
    """(shown, folded): folders of files with few matches in one line each, of the others three matches a symbol."""
    shown: list[Group] = []
    folded: list[Group] = []
    alike = folders(files)
    for folder, members in alike.items():
        total = sum(file.count for file in members)
        prefix = f"{folder}/" if folder else ""
        places = "  ".join(
            f"{file.path.removeprefix(prefix)} {listed_numbers(matched_numbers(file))}" for file in members
        )
        rows = (*common_text(members), Row(places))
        title = f"{names(members[0].root, folder or '.')}/: {plural(len(members), 'file')}, {plural(total, 'match')}"
        shown.append(Group(title, (Item(rows, "", members[0].root, folder, level=1),)))
        folded += all_groups(members, names, context=False)
    taken = {id(file) for members in alike.values() for file in members}
    for file in files:
        if id(file) not in taken:
            short, rest = shortened(file_group(file, names, context=False))
            shown.append(short)
            folded += rest
    shown.sort(key=lambda group: min(item.level for item in group.items))
    return tuple(shown), folded


def folders(files: list[FileGroups]) -> dict[str, list[FileGroups]]:
    """folder → its files with at most two matches and no definition, where they are at least four; a folder one level
    up takes those that are alone in theirs (`tools/files/index.ts`, `tools/flows/index.ts`)."""
    few = [file for file in files if DEFINITION not in file.kinds() and used_lines(file) <= 2]  # noqa: PLR2004 - few
    found: dict[str, list[FileGroups]] = {}
    taken: set[int] = set()
    for levels in (1, 2):
        by_folder: defaultdict[tuple[str, str], list[FileGroups]] = defaultdict(list)
        for file in few:
            parts = file.path.split("/")
            if id(file) not in taken and len(parts) > levels:
                by_folder[file.root, "/".join(parts[:-levels])].append(file)
        for (_, folder), members in by_folder.items():
            if len(members) >= ALIKE_FILES and folder not in found:
                found[folder] = members
                taken.update(map(id, members))
    return found


def common_text(files: list[FileGroups]) -> tuple[Row, ...]:
    """The line that most of these files have in common."""
    texts = Counter(
        line.text.strip()[:LONGEST_LINE]
        for file in files
        for one in file.symbols
        for line in one.lines
        if line.matched and one.kinds[line.number] != IMPORT
    )
    if not texts:
        return (Row("imports alone"),)
    text, times = texts.most_common(1)[0]
    return (Row(f"{times} × {text}"),) if times * 2 > len(files) else ()


def shortened(group: Group) -> tuple[Group, list[Group]]:
    """Three rows of each item, definitions first, and the numbers of the others."""
    items: list[Item] = []
    rest: list[Item] = []
    for item in group.items:
        if len(item.rows) <= QUOTED + 1:
            items.append(item)
            continue
        order = sorted(item.rows, key=lambda row: (not row.end, row.text == "import"))
        kept = sorted(order[:QUOTED], key=lambda row: row.number or 0)
        others = [row for row in item.rows if row not in kept]
        numbers = listed_numbers([row.number for row in others if row.number is not None])
        items.append(replace(item, rows=(*kept, Row(f"… also {numbers}"))))
        rest.append(replace(item, rows=tuple(others)))
    return replace(group, items=tuple(items)), [replace(group, items=tuple(rest), count=None)] if rest else []


def listed_places(files: list[FileGroups], defined: Sequence[Group], names: Callable[[str, str], str]) -> list[Group]:
    """The symbols and lines of each file on one line, without their text: `server.ts handleRequest 138 193`. Files that
    only import are counted."""
    seen = {(item.root, item.path, row.number) for group in defined for item in group.items for row in item.rows}
    groups: defaultdict[str, list[Item]] = defaultdict(list)
    imports = 0
    for file in files:
        if not used_lines(file):
            imports += 1
            continue
        folder, _, name = file.path.rpartition("/")
        places = [place for one in file.symbols if (place := place_of(file, one, seen))]
        if places:
            row = Row(f"{name}: {', '.join(places)}")
            groups[names(file.root, folder)].append(Item((row,), "", file.root, file.path, level=1))
    listed = [place_group(folder, items) for folder, items in groups.items()]
    if imports:
        listed.append(Group(f"{plural(imports, 'file')} only import it", (Item(level=3),)))
    return listed


def place_group(folder: str, items: list[Item]) -> Group:
    prefix = f"{folder}/" if folder else ""
    if len(items) > 1:
        return Group(prefix or "./", tuple(items))
    return Group(f"{prefix}{items[0].rows[0].text}", (replace(items[0], rows=()),))


def place_of(file: FileGroups, one: SymbolMatches, seen: set[tuple[str, str, int | None]]) -> str:
    numbers = [at for at, kind in one.kinds.items() if kind != IMPORT and (file.root, file.path, at) not in seen]
    name = one.symbol.name if one.symbol else ""
    return f"{name} {listed_numbers(numbers)}".strip() if numbers else ""


def trimmed(groups: Sequence[Group], budget: int, advice: str = "narrow by path, or open the handle") -> list[Group]:
    """As many groups as fit, and a line that counts the others."""
    kept: list[Group] = []
    left = budget - MARK_TOKENS
    for group in groups:
        left -= cost([group])
        if left < 0:
            rest = plural(sum(len(one.items) for one in groups[len(kept) :]), "more file")
            return [*kept, Group(f"… {rest}: {advice}", (Item(level=1),))]
        kept.append(group)
    return kept


def definitions(files: list[FileGroups], names: Callable[[str, str], str], budget: int) -> list[Group]:
    """The matches that define something, as far as the budget goes."""
    found: list[Group] = []
    for file in files:
        group = file_group(file, names, context=False)
        defining = [replace(item, title="", rows=tuple(row for row in item.rows if row.end)) for item in group.items]
        items: list[Item] = []
        budget -= cost([replace(group, items=(), count=None)])
        for item in defining:
            budget -= cost([Group("", (item,))])
            if budget < 0:
                break
            if item.rows:
                items.append(item)
        if items:
            found.append(replace(group, items=tuple(items), count=None))
        if budget < 0:
            break
    return found


def without(groups: Sequence[Group], shown: Sequence[Group]) -> tuple[Group, ...]:
    """The groups without the rows that are shown elsewhere."""
    seen = {(item.root, item.path, row.number) for group in shown for item in group.items for row in item.rows}
    left: list[Group] = []
    for group in groups:
        items = [
            replace(item, rows=tuple(row for row in item.rows if (item.root, item.path, row.number) not in seen))
            for item in group.items
        ]
        if kept := tuple(item for item in items if item.rows):
            left.append(replace(group, items=kept))
    return tuple(left)
