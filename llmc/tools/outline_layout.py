"""How an outline is laid out. One file: functions and classes with their members, routes and commands, then constants,
types and fields as names, tests apart. Where that is too much, fields and constants are only counted, then private
members are left out, then the rest is thinned evenly. A folder: the functions and classes of each file on one line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.model import CALLABLES
from llmc.envelope import Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.retrieval.line_kinds import is_test_symbol
from llmc.retrieval.passages.excerpt import BOILERPLATE
from llmc.retrieval.registrations import decorator_in, registrations
from llmc.tools.grep_rows import cost

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.enclosing import FileSymbols
    from llmc.retrieval.outline import FileOutline

__all__ = ["FileLayout", "file_layout", "folder_groups", "label", "longest_label"]

LONGEST_SIGNATURE = 120
LONGEST_TEST = 70
TYPES = frozenset({"class", "struct", "trait", "object", "record", "actor", "protocol", "impl", "mixin", "union"})
VALUES = frozenset({"field", "property", "constant", "variable"})
DECLARED = frozenset({"type", "interface", "enum"})
# Added to the levels of private members, and of members that every class has.
PRIVATE, LAST = 10, 20
_PRIVATE = re.compile(r"(?:private|protected)\b")
_EXPORTED = re.compile(r"export\b|pub\b|public\b|module\.exports")


@dataclass(frozen=True, slots=True)
class FileLayout:
    groups: tuple[Group, ...]
    folded: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """A symbol and the ones around it, the outermost first."""

    symbol: Symbol
    chain: tuple[Symbol, ...]
    is_test: bool = False

    @property
    def parent(self) -> Symbol | None:
        return self.chain[-1] if self.chain else None

    @property
    def is_local(self) -> bool:
        """Inside a function; handlers are shown wherever they are."""
        return any(one.kind in CALLABLES - {"test"} for one in self.chain) and self.symbol.kind != "handler"

    @property
    def is_member_value(self) -> bool:
        return self.symbol.kind in VALUES and self.parent is not None


def placed(symbols: Sequence[Symbol], known: FileSymbols) -> list[Placed]:
    stack: list[Symbol] = []
    found: list[Placed] = []
    for symbol in sorted(symbols, key=lambda one: (one.start_line, -one.end_line)):
        while stack and (stack[-1].end_line < symbol.end_line or stack[-1].end_line < symbol.start_line):
            stack.pop()
        chain = tuple(one for one in stack if one.end_line > one.start_line)
        found.append(Placed(symbol, chain, is_test_symbol((*chain, symbol), known)))
        stack.append(symbol)
    return found


def file_layout(file: FileOutline, known: FileSymbols, title: str, budget: int, text: str | None) -> FileLayout:
    """`budget` is in tokens; the part that does not fit is folded. `text` is that of the file, None if it no longer
    exists."""
    every = placed(file.symbols, known)
    tests = [one for one in every if one.is_test and file.role != "test"]
    rest = [one for one in every if one not in tests and not one.is_local]
    code = [one for one in rest if one.symbol.kind not in VALUES | DECLARED and not is_declared_module(one.symbol)]
    main = code or [one for one in rest if not one.is_member_value]
    parents = {one.parent for one in main}
    items = [symbol_item(file, one, known, is_parent=one.symbol in parents) for one in main]
    handlers = {one.symbol.start_line for one in main}
    if text is not None and file.role in {"code", "example"}:
        handlers.update(at for one in tests for at in range(one.symbol.start_line, one.symbol.end_line + 1))
        items += [
            Item((Row(each.text, each.line, cited=True),), "", file.root, file.path, each.line, each.line)
            for each in registrations(text, known.language)
            if each.line not in handlers
        ]
    items.sort(key=lambda item: item.start)
    others = [one for one in rest if one not in main]
    members = members_of(others)
    names, tested = name_groups(file, members), test_groups(file, tests)
    if cost([Group("", tuple(items)), *names, *tested]) <= budget:
        return FileLayout((*([Group(title, tuple(items))] if items else []), *names, *tested))
    counts = count_groups(file, members)
    shown, folded = thinned(items, budget - cost([*counts, *tested]))
    groups = [Group(title, tuple(shown))] if shown else []
    left_out = [Group(title, tuple(folded))] if folded else []
    return FileLayout((*groups, *counts, *tested), (*left_out, *names))


def is_declared_module(symbol: Symbol) -> bool:
    """`pub mod routing;`: its content is elsewhere."""
    return symbol.kind == "module" and symbol.start_line == symbol.end_line


def symbol_item(file: FileOutline, one: Placed, known: FileSymbols, *, is_parent: bool) -> Item:
    """`is_parent`: it has members that are shown. A class inside another one without them, such as `Meta` of a Django
    model, is a list of values."""
    symbol = one.symbol
    depth = sum(each.kind not in CALLABLES or each.kind == "test" for each in one.chain)
    text = label(symbol, known)
    row = Row(
        "  " * depth + text,
        symbol.start_line,
        longest=longest_label(symbol, text),
        end=symbol.end_line if symbol.end_line > symbol.start_line else 0,
        cited=True,
    )
    level = 2 * depth + (0 if depth or is_exported(symbol, known.language) else 1)
    if depth and (is_private(symbol) or (symbol.kind in TYPES and not is_parent)):
        level += PRIVATE
    level += LAST * (symbol.name in BOILERPLATE)
    return Item((row,), "", file.root, file.path, symbol.start_line, symbol.end_line, level)


def label(symbol: Symbol, known: FileSymbols) -> str:
    """Its signature, with the decorator that registers it as a route or a command."""
    if symbol.kind == "handler":
        return symbol.name
    if symbol.kind == "test":
        return symbol.name[:LONGEST_TEST]
    text = symbol.signature or f"{symbol.kind} {symbol.name}"
    if known.language == "rust" and symbol.container:  # an `impl` has no line of its own here
        text = text.replace(f"fn {symbol.name}", f"fn {symbol.container.rpartition('.')[2]}::{symbol.name}", 1)
    decorator = decorator_in(decorators(symbol, known))
    return f"{decorator} {text}" if decorator else text


def longest_label(symbol: Symbol, text: str) -> int:
    """A decorator takes nothing from the room of the signature."""
    return LONGEST_SIGNATURE + max(0, len(text) - len(symbol.signature))


def decorators(symbol: Symbol, known: FileSymbols) -> str:
    """The lines of a symbol above the one that names it."""
    last = known.naming_line(symbol) - 1
    return known.text.lines(symbol.start_line, last) if known.text and last >= symbol.start_line else ""


def is_exported(symbol: Symbol, language: str) -> bool:
    if language in {"python", "ruby", "php", "lua", "dart"}:
        return not symbol.name.startswith("_")
    if language == "go":
        return symbol.name[:1].isupper()
    if language in {"javascript", "typescript", "tsx", "jsx", "rust", "java", "csharp", "vue"}:
        return symbol.kind in {"handler", "test"} or bool(_EXPORTED.match(symbol.signature))
    return True


def is_private(symbol: Symbol) -> bool:
    """A private member, or a method with a name such as `__len__`, which explains itself."""
    return symbol.name.startswith(("_", "#")) or bool(_PRIVATE.match(symbol.signature))


def members_of(others: Sequence[Placed]) -> dict[str, list[str]]:
    """Names and lines of the constants and types of the file, and of the fields of each class. Members of interfaces
    and enums are left out: their declaration says as much."""
    members: defaultdict[str, list[str]] = defaultdict(list)
    for one in others:
        parent = one.parent
        if parent.kind not in TYPES if parent else one.symbol.container:
            continue
        kind = "types" if one.symbol.kind in DECLARED else "modules" if one.symbol.kind == "module" else "constants"
        members[f"{parent.name}{FIELDS}" if parent else kind].append(f"{one.symbol.name} {one.symbol.start_line}")
    return members


def name_groups(file: FileOutline, members: dict[str, list[str]]) -> list[Group]:
    return [names_group(file, f"{name}: {listed(names)}") for name, names in members.items()]


def count_groups(file: FileOutline, members: dict[str, list[str]]) -> list[Group]:
    """All on one line, if there is no room for the names."""
    counts = {name: len(names) for name, names in members.items()}
    fields = [f"{name.removesuffix(FIELDS)} {count}" for name, count in counts.items() if name.endswith(FIELDS)]
    others = [f"{name} {count}" for name, count in counts.items() if not name.endswith(FIELDS)]
    parts = [*others, *([f"fields: {listed(fields, MOST_COUNTS)}"] if fields else [])]
    return [names_group(file, ", ".join(parts))] if parts else []


def names_group(file: FileOutline, text: str) -> Group:
    return Group("", (Item((Row(text),), "", file.root, file.path, level=4),))


def test_groups(file: FileOutline, tests: Sequence[Placed]) -> list[Group]:
    if not tests:
        return []
    functions = [one.symbol for one in tests if one.symbol.kind in CALLABLES]
    names = [f"{symbol.name[:LONGEST_TEST]} {symbol.start_line}" for symbol in functions]
    row = Row(f"tests: {plural(len(names), 'function')}: {listed(names)}")
    return [Group("", (Item((row,), "", file.root, file.path, tests[0].symbol.start_line, level=5),))]


MOST_NAMES = 30
MOST_COUNTS = 12  # classes with the number of their fields
FIELDS = " fields"


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} … {len(names) - most} more"


def thinned(items: list[Item], budget: int) -> tuple[list[Item], list[Item]]:
    """(shown, folded): the most important ones first, evenly thinned if there are too many, with a mark in each wide
    gap."""
    costs = [cost([Group("", (item,))]) for item in items]
    if sum(costs) <= budget:
        return items, []
    chosen: set[int] = set()
    left = budget - MARKS
    for level in sorted({item.level for item in items}):
        members = [at for at, item in enumerate(items) if item.level == level]
        total = sum(costs[at] for at in members)
        if total > left:
            take = max(0, len(members) * left // max(total, 1))
            chosen.update(members[at * len(members) // take] for at in range(take))
            break
        chosen.update(members)
        left -= total
    shown: list[Item] = []
    gap = 0
    for at, item in enumerate(items):
        if at in chosen:
            shown += [mark(f"… {gap} more")] if gap >= WIDE_GAP else []
            shown.append(item)
            gap = 0
        else:
            gap += 1
    missing = len(items) - len(chosen)
    where = "below" if gap == missing else "between these"
    return [*shown, mark(f"… {missing} more {where}")], [item for at, item in enumerate(items) if at not in chosen]


MARKS = 40  # tokens for the marks
WIDE_GAP = 12  # a list with more marks than names would say less


def mark(text: str) -> Item:
    return Item((Row(text),))


# ---- folders ----


def folder_groups(files: Sequence[FileOutline], names: Callable[[str, str], str], budget: int) -> list[Group]:
    """One line a file; shorter ones, then one line a folder, where that is too much."""
    tests = [file for file in files if file.role == "test"]
    code = [file for file in files if file.role != "test"]
    tail = test_count(tests)
    left = budget - cost(tail)
    for most, numbered in ((8, True), (4, False)):
        groups = file_lines(code, names, most, numbered=numbered)
        if cost(groups, left) <= left:
            return [*groups, *tail]
    return [*folder_lines(code, names), *tail]


def test_count(files: Sequence[FileOutline]) -> list[Group]:
    if not files:
        return []
    total = sum(len(file.symbols) + file.hidden for file in files)
    title = f"tests: {plural(len(files), 'file')}, {plural(total, 'symbol')}"
    return [Group(title, (Item(root=files[0].root, path=files[0].path, level=5),))]


def file_lines(
    files: Sequence[FileOutline], names: Callable[[str, str], str], most: int, *, numbered: bool
) -> list[Group]:
    folders: dict[tuple[str, str], list[FileOutline]] = {}
    for file in files:
        folders.setdefault((file.root, file.path.rpartition("/")[0]), []).append(file)
    groups = []
    for (root, folder), members in folders.items():
        items = folder_items(members, most, numbered=numbered)
        if items:
            groups.append(Group(f"{names(root, folder)}/" if folder else "./", tuple(items)))
    return groups


SAME_FILES = 5


def folder_items(files: Sequence[FileOutline], most: int, *, numbered: bool) -> list[Item]:
    """Files that define the same names (migrations, plugins) share a line."""
    alike: dict[tuple[str, ...], list[FileOutline]] = {}
    for file in files:
        alike.setdefault(tuple(telling(file, numbered=False)), []).append(file)
    items: list[Item] = []
    for defined, members in alike.items():
        if len(members) >= SAME_FILES and defined:
            first, last = members[0].path.rpartition("/")[2], members[-1].path.rpartition("/")[2]
            row = Row(f"{len(members)} files {first} … {last}: {listed(defined, most)}")
            items.append(Item((row,), "", members[0].root, members[0].path, level=1))
            continue
        for file in members:
            found = telling(file, numbered=numbered)
            if found:
                row = Row(f"{file.path.rpartition('/')[2]}: {listed(found, most)}")
                items.append(Item((row,), "", file.root, file.path))
    return items


def telling(file: FileOutline, *, numbered: bool) -> list[str]:
    """Names that a file offers: functions and classes, exported ones first; types only if there is nothing else, and
    no keys of data files."""
    if all(symbol.kind in {"key", "section"} for symbol in file.symbols):
        return []
    top = [symbol for symbol in file.symbols if symbol.kind not in VALUES | DECLARED | {"module"}]
    top = top or [symbol for symbol in file.symbols if symbol.kind in DECLARED] or list(file.symbols)
    top = sorted(top, key=lambda symbol: not is_exported(symbol, file.language))
    return [f"{symbol.name} {symbol.start_line}" if numbered else symbol.name for symbol in top]


def folder_lines(files: Sequence[FileOutline], names: Callable[[str, str], str]) -> list[Group]:
    folders: dict[tuple[str, str], list[FileOutline]] = {}
    for file in files:
        folders.setdefault((file.root, file.path.rpartition("/")[0]), []).append(file)
    groups = []
    for (root, folder), members in folders.items():
        found = list(dict.fromkeys(name for file in members for name in telling(file, numbered=False)))
        title = f"{names(root, folder)}/: {plural(len(members), 'file')}: {listed(found, 5)}"
        groups.append(Group(title, (Item(root=root, path=folder),)))
    return groups
