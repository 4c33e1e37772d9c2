"""`search readByQuery`: an exact identifier is answered by its definition and its uses, and by nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.base.languages import role_of
from llmc.base.sections import section_of
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.grep.grep import GrepRequest, grep, matcher_for
from llmc.retrieval.grep_groups import group_files, ungrouped
from llmc.retrieval.signals import TYPES
from llmc.retrieval.skeleton import skeleton
from llmc.retrieval.unindexed import unindexed_definitions
from llmc.tools.grep_compress import listed_places, trimmed
from llmc.tools.grep_rows import cost
from llmc.tools.read_code import code_of, skeleton_rows
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.grep_groups import FileGroups
    from llmc.retrieval.view import View
    from llmc.tool import ToolRequest

__all__ = ["name_envelope"]

# A word of prose is not an identifier: it needs a hump, an underscore or a joint.
IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[\w$]+)*(?:\(\))?")
MARKED = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|\.|::|#|\(\)")
CALLABLE = frozenset({"function", "method", "constructor", "macro"})
MOST_USES = 400
WHOLE_LINES = 25  # of a longer definition the beginning of its skeleton is quoted
SHOWN_LINES = 14
MOST_DEFINITIONS = 8
FEW_DEFINITIONS = 3  # of more than these none is the one that is meant


def name_envelope(request: ToolRequest, query: str) -> Envelope | None:
    """None where the query is not the exact name of a function."""
    name = query.strip()
    if not IDENTIFIER.fullmatch(name) or not MARKED.search(name):
        return None
    wanted = name.removesuffix("()").replace("::", ".").replace("#", ".")
    views = request.views()
    found = [(view, path, symbol) for view in views for path, symbol in definitions(view, wanted)]
    if not found:
        return None
    found.sort(key=lambda one: (role_of(one[1]) != "code", one[2].start_line - one[2].end_line))
    last = wanted.rpartition(".")[2]
    uses = GrepRequest((last,), fixed=True, word=True, stop=MOST_USES, count_rest=True)
    result = grep(views, uses)
    matcher = matcher_for(uses)
    listed = [one for one in result.files if not one.counted]
    code = [one for one in listed if section_of(one.path) == "code"]
    # Of tests and docs only the number of lines is shown, so their symbols are not looked up.
    files = [
        *(
            part
            for view in views
            for part in group_files(view, [one for one in code if one.root == view.root.id], matcher)
        ),
        *(ungrouped(one, None) for one in listed if one not in code),
    ]
    groups = [*defined_groups(request, found), *use_groups(request, found, files)]
    places = f"{plural(result.matches, 'line')} in {plural(len(result.files), 'file')}"
    return Envelope(
        "search",
        f"{plural(len(found), 'definition')}, {places}",
        tuple(groups),
        notes=freshness_notes(result.pending, result.share, unsure=result.unsure, scanned=True),
        in_order=True,
    )


def definitions(view: View, wanted: str) -> list[tuple[str, Symbol]]:
    catalog = view.store.catalog
    places = catalog.places(view.root.id)
    last = wanted.rpartition(".")[2]
    exact = [
        (path, one.symbol)
        for one in catalog.symbols(name=wanted)
        if one.symbol.name == last and (path := places.get(one.doc)) is not None and view.is_stored(path)
    ]
    exact += unindexed_definitions(view, wanted)[0] if view.pending else ()
    exact = [one for one in exact if one[1].kind != "test"]
    if any(symbol.kind in TYPES for _, symbol in exact):
        return []  # for the name of a class, its members are shown
    return [(path, symbol) for path, symbol in exact if symbol.kind in CALLABLE]


def defined_groups(request: ToolRequest, found: Sequence[tuple[View, str, Symbol]]) -> list[Group]:
    """The first definition quoted, the others by their first line."""
    groups = []
    for at, (view, path, symbol) in enumerate(found[:MOST_DEFINITIONS]):
        text = request.workspace.text_of(view.root.id, path)
        lines = text.split("\n")[symbol.start_line - 1 : symbol.end_line] if text else []
        is_quoted = at == 0 and bool(lines) and len(found) <= FEW_DEFINITIONS
        rows = quoted(path, text or "", lines, symbol) if is_quoted else (first_line(symbol),)
        title = f"{symbol.qualified} {symbol.start_line}-{symbol.end_line}" if is_quoted else ""
        item = Item(rows, title, view.root.id, path, symbol.start_line, symbol.end_line)
        groups.append(Group(shown_path(request.workspace, view.root.id, path), (item,)))
    if len(found) > MOST_DEFINITIONS:
        groups.append(Group(f"… {len(found) - MOST_DEFINITIONS} more definitions", (Item(),)))
    return groups


def quoted(path: str, text: str, lines: list[str], symbol: Symbol) -> tuple[Row, ...]:
    if len(lines) <= WHOLE_LINES:
        return tuple(Row(line, number) for number, line in enumerate(lines, symbol.start_line))
    rows = skeleton_rows(skeleton(code_of(path, text).part(symbol.start_line, symbol.end_line), symbol.start_line))
    return (*rows[:SHOWN_LINES], Row("…")) if len(rows) > SHOWN_LINES else rows


def first_line(symbol: Symbol) -> Row:
    return Row(symbol.signature or symbol.name, symbol.start_line, end=symbol.end_line, longest=160, cited=True)


USES_TOKENS = 260
FEW_TESTS = 4  # test files that are named; more are counted
FEW_FILES = 5


def use_groups(request: ToolRequest, found: Sequence[tuple[View, str, Symbol]], files: list[FileGroups]) -> list[Group]:
    def name(root: str, path: str) -> str:
        return shown_path(request.workspace, root, path)

    own = {(view.root.id, path, symbol.start_line) for view, path, symbol in found}
    code = [file for file in files if section_of(file.path, file.role) == "code"]
    rest = [file for file in files if section_of(file.path, file.role) != "code"]
    seen = [Group("", (Item((Row("", line),), "", root, path),)) for root, path, line in own]
    used = listed_places(code, seen, name)
    if cost(used, USES_TOKENS) > USES_TOKENS:
        used = trimmed(used, USES_TOKENS, "`grep` lists them all")
    tests = sum(file.count for file in rest if section_of(file.path, file.role) == "tests")
    if tests:
        count = f"tests and docs: {sum(file.count for file in rest):,}"
        few = [Item((), f"{name(file.root, file.path)} {file.count}", file.root, file.path) for file in rest]
        is_few = len(rest) <= FEW_TESTS
        used.append(Group(count if is_few else f"{count} in {len(rest)} files", tuple(few) if is_few else (Item(),)))
    title = "used in" if len(code) <= FEW_FILES else f"used in, by name (`callers {found[0][2].name}` resolves them)"
    return [Group(title, (Item(),)), *used] if used else []
