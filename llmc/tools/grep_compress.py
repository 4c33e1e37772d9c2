"""Matches in fewer tokens: listed by folder, similar files on one line, symbols and line numbers without text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from itertools import chain
from os.path import commonpath
from typing import TYPE_CHECKING

from llmc.base.model import CALLABLES
from llmc.envelope import Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.retrieval.line_kinds import COMMENT, DEFINITION, IMPORT, TEXT
from llmc.tools.grep_rows import (
    WHOLE_LINE,
    all_groups,
    cost,
    is_used,
    listed_numbers,
    matched_numbers,
    redactable_part,
    used_lines,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.grep.match_lines import MatchedLine
    from llmc.retrieval.grep_groups import FileGroups, SymbolMatches

    Names = Callable[[str, str], str]

__all__ = [
    "definitions",
    "is_definitions",
    "is_prose",
    "listed_lines",
    "listed_places",
    "merged_lines",
    "trimmed",
    "without",
]

# Files of one folder that are worth one line together.
ALIKE_FILES = 4
FEW_DEFINED = 0.05  # of all matches: among a hundred TODOs one constant is called so, too
QUOTED = 3  # matches of one symbol that are quoted where there is not room for all
LONG_LINE = 60  # characters of a line that is not repeated where it follows itself
AS_ABOVE = "as above"
LISTED_LINE = 160  # characters of a line where there is not room for all
MOST_IN_FOLDER = 12  # files below one heading, unless they lie in the same folder
MARK_TOKENS = 16


def is_prose(files: Iterable[FileGroups]) -> bool:
    """Whether most matches are comments or text and hardly any is a definition: then their symbols say little."""
    kinds = kind_counts(files)
    return kinds[DEFINITION] <= FEW_DEFINED * kinds.total() and 2 * (kinds[COMMENT] + kinds[TEXT]) > kinds.total()


def is_definitions(files: Iterable[FileGroups]) -> bool:
    """Whether most matches define something: their lines say more than the names alone."""
    kinds = kind_counts(files)
    return 2 * kinds[DEFINITION] > kinds.total()


def kind_counts(files: Iterable[FileGroups]) -> Counter[str]:
    return Counter(kind for file in files for one in file.symbols for kind in one.kinds.values())


def listed_lines(files: Sequence[FileGroups], names: Names, *, named: bool = True) -> list[Group]:
    """Every match on a line, by folder and file; `named`: with the symbol that it is in. A long line that follows
    itself is not repeated."""
    return list(by_folder_groups(files, names, partial(line_items, named=named, above=[""])))


def merged_lines(files: Sequence[FileGroups], names: Names, *, named: bool) -> tuple[list[Group], list[Group]]:
    """(shown, folded): similar files of a folder on one line, files that only import as a count, and of the others
    three matches a symbol."""
    alike = similar_files(files)
    taken = {id(file) for members in alike.values() for file in members}
    imports = [file for file in files if id(file) not in taken and not used_lines(file)]
    others = [file for file in files if id(file) not in taken and used_lines(file)]
    folded = [*all_groups([*chain(*alike.values()), *imports], names, context=False)]
    shown: list[Group] = []
    for group in listed_lines(others, names, named=named):
        short, rest = shortened(group)
        shown.append(short)
        folded += rest
    shown += [similar_group(folder, members, names) for (_, folder, _), members in alike.items()]
    return [*shown, *import_count(imports)], folded


def by_folder_groups(
    files: Sequence[FileGroups], names: Names, items_of: Callable[[FileGroups], Sequence[Item]]
) -> Iterator[Group]:
    """One group for each folder; the first item of each file is titled by the rest of its path. A folder with one file
    is a group with the whole path."""
    for members in folders_of(files):
        found = [(file, items) for file in members if (items := items_of(file))]
        if len(found) == 1:
            file, items = found[0]
            yield Group(names(file.root, file.path), tuple(items), file.count)
        elif found:
            folder = shared_folder([file for file, _ in found])
            start = len(folder) + 1 if folder else 0
            titled = ((replace(items[0], title=file.path[start:]), *items[1:]) for file, items in found)
            title = f"{names(found[0][0].root, folder)}/" if folder else "./"
            yield Group(title, tuple(item for items in titled for item in items))


def folders_of(files: Sequence[FileGroups]) -> list[list[FileGroups]]:
    """The files by folder: the topmost folders that hold few files, so that a heading is shared by as many as read
    well."""
    by_root: defaultdict[str, list[FileGroups]] = defaultdict(list)
    for file in files:
        by_root[file.root].append(file)
    return [part for members in by_root.values() for part in split_folder(members, 0)]


def split_folder(files: list[FileGroups], start: int) -> Iterator[list[FileGroups]]:
    """`start` is where the path inside the folder begins."""
    if len(files) == 1 or (len(files) <= MOST_IN_FOLDER and shared_folder(files)):
        yield files
        return
    parts: defaultdict[str, list[FileGroups]] = defaultdict(list)
    for file in files:
        step, slash, _ = file.path[start:].partition("/")
        parts[step + slash if slash else ""].append(file)
    for step, members in parts.items():
        if step:
            yield from split_folder(members, start + len(step))
        else:
            yield members


def shared_folder(files: list[FileGroups]) -> str:
    return commonpath([file.path.rpartition("/")[0] for file in files])


def line_items(
    file: FileGroups, *, named: bool, above: list[str] | None = None, only_definitions: bool = False
) -> list[Item]:
    """One for each symbol. What is in no symbol comes first: further down it would read as part of the symbol above
    it. `above` has the line that was listed last, and takes the last one of this file."""
    names = MemberNames(file.path) if named else None
    items = []
    for one in sorted(file.symbols, key=lambda each: each.symbol is not None):
        listed = [line for line in one.lines if line.matched and (line.number in one.ends or not only_definitions)]
        if listed:
            rows = tuple(line_rows(one, listed, names, used=is_used(file), above=[""] if above is None else above))
            items.append(Item(rows, "", file.root, file.path, min(one.kinds), max(one.kinds)))
    return items


def line_rows(
    one: SymbolMatches, lines: Iterable[MatchedLine], names: MemberNames | None, *, used: bool, above: list[str]
) -> Iterator[Row]:
    """`used`: the file does more than import it."""
    entry = ""
    for line in lines:
        name = names.before(one, line) if names else ""
        if entry != (entry := one.entries.get(line.number, "")) and entry:
            name = f"{name}{entry} · "
        text = "import" if used and one.kinds[line.number] == IMPORT else redactable_part(line).lstrip()
        end = one.ends.get(line.number, 0)
        whole, text = text, AS_ABOVE if len(text) >= LONG_LINE and text == above[0] and not end else text
        above[0] = whole
        text = f"{name}{text}"
        yield Row(text, line.number, longest=LISTED_LINE, end=end, cited=True, around=(line.around,))


class MemberNames:
    """What is written before each listed line of a file: the symbol around it, once. A member of the class that was
    named last, or that the file is called after, is written `.member`. The line that defines a member has its name, so
    only the class is written before it, or nothing but the dot if that is known."""

    def __init__(self, path: str) -> None:
        self._stem = path.rpartition("/")[2].partition(".")[0]
        self._class = self._stem
        self._symbol: Symbol | None = None

    def before(self, one: SymbolMatches, line: MatchedLine) -> str:
        """The name and the dot behind it; empty where a line above says it, or the line itself."""
        symbol, number = one.symbol, line.number
        if symbol is None or symbol == self._symbol or one.kinds[number] == IMPORT:
            return ""
        known = self._class
        self._symbol = symbol
        self._class = symbol.container or (self._stem if symbol.kind in CALLABLES else symbol.qualified)
        is_first = number == symbol.start_line and line.text.lstrip().startswith(symbol.name)
        defines = is_first or one.ends.get(number) == symbol.end_line
        if symbol.kind in {"test", "heading"} or not symbol.container:
            if defines or symbol.name == known:
                return ""
            name = symbol.name
        else:
            owner = "" if symbol.container == known else symbol.container
            name = owner if defines else f"{owner}.{symbol.name}"
        name = name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:]}"
        return f"{name} · ".lstrip()


LONGEST_NAME = 60


def similar_files(files: Sequence[FileGroups]) -> dict[tuple[str, str, str], list[FileGroups]]:
    """(root, folder, shape) → at least four files whose one or two matches differ in numbers and strings alone. A
    folder one level up takes those that are alone in theirs (`tools/files/index.ts`, `tools/flows/index.ts`)."""
    few = [file for file in files if DEFINITION not in file.kinds() and 0 < used_lines(file) <= 2]  # noqa: PLR2004 - few
    found: dict[tuple[str, str, str], list[FileGroups]] = {}
    taken: set[int] = set()
    for levels in (1, 2):
        by_line: defaultdict[tuple[str, str, str], list[FileGroups]] = defaultdict(list)
        for file in few:
            parts = file.path.split("/")
            if id(file) not in taken and len(parts) > levels:
                by_line[file.root, "/".join(parts[:-levels]), VALUES.sub("0", used_text(file))].append(file)
        for key, members in by_line.items():
            if len(members) >= ALIKE_FILES and key not in found:
                found[key] = members
                taken.update(map(id, members))
    return found


def used_text(file: FileGroups) -> str:
    """Its matched lines that are not imports."""
    texts = [
        line.text.strip()
        for one in file.symbols
        for line in one.lines
        if line.matched and one.kinds[line.number] != IMPORT
    ]
    return " ⏎ ".join(texts)[:WHOLE_LINE]


VALUES = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|`[^`]*`")


def similar_group(folder: str, members: list[FileGroups], names: Names) -> Group:
    prefix = f"{folder}/" if folder else ""
    places = "  ".join(f"{file.path.removeprefix(prefix)} {listed_numbers(matched_numbers(file))}" for file in members)
    rows = (Row(f"each like {used_text(members[0])}", longest=LISTED_LINE), Row(places))
    title = f"{names(members[0].root, folder or '.')}/: {plural(len(members), 'file')}"
    return Group(title, (Item(rows, "", members[0].root, folder, level=1),))


def import_count(files: Sequence[FileGroups]) -> list[Group]:
    return [Group(f"{plural(len(files), 'file')} only import it", (Item(level=3),))] if files else []


def shortened(group: Group) -> tuple[Group, list[Group]]:
    """Three rows of each item, definitions first, and the numbers of the others."""
    items: list[Item] = []
    rest: list[Item] = []
    for item in group.items:
        if len(item.rows) <= QUOTED + 1:
            items.append(item)
            continue
        order = sorted(item.rows, key=lambda row: not row.end)
        kept = sorted(order[:QUOTED], key=lambda row: row.number or 0)
        others = [row for row in item.rows if row not in kept]
        numbers = listed_numbers([row.number for row in others if row.number is not None])
        items.append(replace(item, rows=(*kept, Row(f"… also {numbers}"))))
        rest.append(replace(item, rows=tuple(others)))
    return replace(group, items=tuple(items)), [replace(group, items=tuple(rest), count=None)] if rest else []


def listed_places(files: Sequence[FileGroups], defined: Sequence[Group], names: Names) -> list[Group]:
    """The symbols and lines of each file on one line, without their text: `server.ts handleRequest 138 193`. Files that
    only import are counted."""
    seen = {(item.root, item.path, row.number) for group in defined for item in group.items for row in item.rows}

    def items_of(file: FileGroups) -> list[Item]:
        places = [place for one in file.symbols if (place := place_of(file, one, seen))]
        return [Item((Row(", ".join(places)),), "", file.root, file.path, level=1)] if places else []

    used = [file for file in files if used_lines(file)]
    groups = [on_one_line(group) for group in by_folder_groups(used, names, items_of)]
    return [*groups, *import_count([file for file in files if not used_lines(file)])]


def on_one_line(group: Group) -> Group:
    """The title of each item in front of its row."""
    if len(group.items) == 1:
        (item,) = group.items
        return Group(f"{group.title}: {item.rows[0].text}", (replace(item, rows=()),))
    items = (replace(item, title="", rows=(Row(f"{item.title}: {item.rows[0].text}"),)) for item in group.items)
    return replace(group, items=tuple(items))


def place_of(file: FileGroups, one: SymbolMatches, seen: set[tuple[str, str, int | None]]) -> str:
    numbers = [at for at, kind in one.kinds.items() if kind != IMPORT and (file.root, file.path, at) not in seen]
    name = one.symbol.name if one.symbol else ""
    return f"{name} {listed_numbers(numbers)}".strip() if numbers else ""


def trimmed(groups: Sequence[Group], budget: int, advice: str = "narrow by path, or open the handle") -> list[Group]:
    """As many items as fit, and a line that counts the files of the others and says how to get them."""
    kept: list[Group] = []
    rest: set[str] = set()
    left = budget - MARK_TOKENS
    for group in groups:
        left -= cost([replace(group, items=())])
        items: list[Item] = []
        for item in group.items:
            left -= cost([Group("", (item,))]) if left >= 0 else 0
            if left >= 0:
                items.append(item)
            else:
                rest.add(item.path)
        if items:
            kept.append(replace(group, items=tuple(items)))
    if not rest or not advice:
        return kept
    return [*kept, Group(f"… {plural(len(rest), 'more file')}: {advice}", (Item(level=1),))]


def definitions(files: Sequence[FileGroups], names: Names, budget: int) -> list[Group]:
    """The matches that define something, by folder and file, within the budget."""

    items_of = partial(line_items, named=True, only_definitions=True)
    groups = [replace(group, count=None) for group in by_folder_groups(files, names, items_of)]
    return trimmed(groups, budget, "")


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
