"""`read`: a file, some lines of it, a symbol, or what an earlier reply left out.

What is named exactly (lines, a symbol) is shown in full up to the cap. Of a long file there is an outline, of a very
long function its skeleton; several targets are read together, and those of one file that overlap are merged.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from llmc.base.errors import LlmcError, NotFoundError, NotIndexedYetError, QueryError
from llmc.base.languages import has_statements, language_of, role_of
from llmc.base.model import CALLABLES
from llmc.base.references import is_module, module_splits
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import freshness_notes, plural
from llmc.retrieval.enclosing import symbols_of
from llmc.retrieval.line_kinds import COMMENT, IMPORT, FileText
from llmc.retrieval.outline import OutlineRequest, outline
from llmc.retrieval.skeleton import Fold, skeleton
from llmc.retrieval.statements import is_left_out, statements
from llmc.retrieval.targets import (
    BinaryFile,
    Target,
    find_symbol,
    named_target,
    overloads_with_body,
    parse_target,
    read_target,
)
from llmc.retrieval.unindexed import unindexed_definitions
from llmc.tool import BUDGET, FOCUS, Argument, Tool, ToolRequest
from llmc.tools.code_text import code_of
from llmc.tools.handle_pages import read_item, read_page
from llmc.tools.nearest import completed, with_nearest
from llmc.tools.outline_layout import file_layout
from llmc.tools.remotes import local_target, read_remote
from llmc.tools.scope import written_together
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.base.model import Symbol
    from llmc.indexer.root_index import RootIndex
    from llmc.retrieval.outline import FileOutline
    from llmc.retrieval.statements import Statement
    from llmc.retrieval.view import View

# A file up to this many lines is shown whole, as far as the budget goes; of a longer one the outline says more.
WHOLE_LINES = 250
# The share of the budget that an outline gets. Among several targets it is there for orientation, and must not take the
# room of the others.
MAP_SHARE, MAP_SHARE_OF_SEVERAL = 0.75, 0.3
HEAD_LINES = 12
# Of a function that is asked for by name and longer than this, the statements are shown unless all of it is asked for;
# with too many of them, its skeleton. Of several functions, which are read to follow a flow, shorter ones are long.
LONG_FUNCTION, LONG_OF_SEVERAL = 80, 40
# About 1,000 tokens; half of that for each of several.
MOST_STATEMENTS, STATEMENTS_OF_SEVERAL = 90, 45
FEW_STATEMENTS = 0.55  # of them: so many are shown whole and not as a skeleton
SKELETON = "skeleton of"
# What is shorter has no body: a declaration, or a name that is handed on.
BODY_LINES = 3
MOST_PLACES = 5
# Overloads that have together at most so many lines are shown together: they usually call each other.
SHORT_OVERLOADS = 60
MOST_OVERLOADS = 6  # places of others in the first line
MOST_TARGETS = 20
SKELETONS = f"skeletons of functions over {LONG_OF_SEVERAL} lines, --all shows them"
CODE_ALONE = "without comments and logging"
CODE_HINT = "--code is shorter: every statement, no comments"
# Of the characters, without `statements` joining anything: of 309 ranges, as many as are a fifth shorter as statements.
WORTH_A_HINT = 0.16
FEW_IMPORTS = 3
STEPS = "steps"  # behind the handle of a delegate's reply: what it did


def run(asked: ToolRequest) -> Envelope:
    targets = [part for text in asked.texts("target") for part in separate(asked, text)]
    if len(targets) > MOST_TARGETS:
        raise QueryError(f"{len(targets)} targets are too many at once", hint=f"Read at most {MOST_TARGETS}.")
    if len(targets) == 1:
        return read_one(asked, targets[0])
    return together(*merged(targets, [read_or_say(asked, target) for target in targets]))


def separate(asked: ToolRequest, text: str) -> list[str]:
    """Several targets in one string, unless a file is called so."""
    parts = written_together(text)
    path = parse_target(text).path
    if len(parts) > 1 and path != parse_target(parts[0]).path:
        with suppress(NotFoundError):
            asked.workspace.locate(path)
            return [text]
    return parts


def read_or_say(asked: ToolRequest, target: str) -> Envelope | LlmcError:
    """Of several targets a wrong one takes nothing from the others."""
    try:
        return read_one(asked, target, alone=False)
    except LlmcError as error:
        return with_nearest(asked.workspace, error)


def merged(targets: Sequence[str], results: list[Envelope | LlmcError]) -> tuple[list[str], list[Envelope | LlmcError]]:
    """Ranges of one file that overlap or touch are one target."""
    names: list[str] = []
    kept: list[Envelope | LlmcError] = []
    for name, result in zip(targets, results, strict=True):
        for at, other in enumerate(kept):
            if isinstance(result, Envelope) and isinstance(other, Envelope) and overlap(result, other):
                kept[at] = joined(other, result)
                break
        else:
            names.append(name)
            kept.append(result)
    return names, kept


def overlap(one: Envelope, other: Envelope) -> bool:
    spans = [(each.data["root"], each.data["path"]) for each in (one, other) if "start_line" in each.data]
    if len(spans) < 2 or spans[0] != spans[1] or not (is_range(one) and is_range(other)):  # noqa: PLR2004 - both
        return False
    first, second = sorted((each.data["start_line"], each.data["end_line"]) for each in (one, other))
    return bool(second[0] <= first[1] + 1)


def is_range(one: Envelope) -> bool:
    """Whether it is nothing but lines that follow each other."""
    if len(list(one.items())) > 1:  # overloads
        return False
    rows = [row for item in one.items() for row in item.rows]
    return len(one.groups) == 1 and not one.folded and all(row.number is not None for row in rows)


def joined(one: Envelope, other: Envelope) -> Envelope:
    rows = {row.number or 0: row for each in (one, other) for item in each.items() for row in item.rows}
    start, end = min(rows), max(rows)
    item = next(one.items())
    whole = replace(item, rows=tuple(rows[at] for at in sorted(rows)), start=start, end=end)
    text = "\n".join(row.text for row in whole.rows)
    data = {**one.data, "start_line": start, "end_line": end, "text": text}
    title = one.found.partition(" · ")[0].rpartition(":")[0] or one.found.partition(" · ")[0]
    total = plural(one.data["lines"], "line")
    found = f"{title}:{start}-{end} of {total}" if start > 1 or end < one.data["lines"] else f"{title} · {total}"
    return replace(one, found=found, groups=(Group("", (whole,)),), data=data)


def together(targets: Sequence[str], results: list[Envelope | LlmcError]) -> Envelope:
    read = [one for one in results if isinstance(one, Envelope)]
    if not read:
        raise next(one for one in results if isinstance(one, LlmcError))
    groups: list[Group] = []
    for target, one in zip(targets, results, strict=True):
        if isinstance(one, Envelope):
            groups += titled(one)
        else:
            words = f"{one.message}. {one.hint}" if one.hint else one.message
            groups.append(Group(target, (Item((Row(words),)),)))
    share = "" if len(read) == len(targets) else f"{len(read)} of "
    return Envelope(
        "read",
        f"{share}{plural(len(targets), 'target')}",
        tuple(groups),
        tuple(dict.fromkeys(SKELETONS if note.startswith(SKELETON) else note for one in read for note in one.notes)),
        data={"targets": [one.data if isinstance(one, Envelope) else {"error": one.as_dict()} for one in results]},
        unit="line" if all(one.unit for one in read) else "",
        folded=tuple(group for one in read for group in one.folded),
        explicit=all(one.explicit or one.folded for one in read),  # an outline has its own limit
    )


def titled(one: Envelope) -> tuple[Group, ...]:
    """Alone, its first line names a file; with others the group must."""
    first, *others = one.groups or (Group("", ()),)
    return replace(first, title=first.title or one.found), *others


def read_one(asked: ToolRequest, text: str, *, alone: bool = True) -> Envelope:
    name, _, number = text.partition(":")
    number = "" if number == STEPS else number
    if (not number or number.isdecimal()) and asked.is_handle(name):
        if not number:
            return read_page(asked, name)
        return read_item(asked, name, int(number[:9]), partial(read_span, asked))
    try:
        whole = completed(asked.workspace, local_target(asked.workspace, text))
        (root_index, path, target), *others = located(asked, parse_target(whole))
    except NotFoundError:
        if (remote := read_remote(asked, text)) is None:
            raise
        return remote
    seen = root_index.root_fs.stat(path) if path else None
    if seen is None or str(seen.kind) == "folder":
        raise QueryError(f"{target.path} is a folder", hint="`outline` or `tree` show what is in it.")
    told = read_lines(asked, root_index, path, target, alone=alone)
    return replace(told, found=f"{told.found} · also {places_of(asked, others, 2)}") if others else told


Found = tuple["RootIndex", str, Target]


def located(asked: ToolRequest, target: Target) -> list[Found]:
    """A path; or a name that is none, such as `Parser.feed`: where it is defined, if one place is the obvious one. The
    other places follow."""
    try:
        return [(*asked.workspace.locate(target.path), target)]
    except NotFoundError:
        name = ".".join(filter(None, (target.path, target.symbol)))
        found = [(index, path, part_of(one, target)) for index, path, one in defined(asked, name)]
        if not found:
            raise
    found.sort(key=lambda one: (role_of(one[1]) != "code", -one[2].length))
    meant = obvious(found, name)
    if meant is None:
        reason = f"{plural(len(found), 'definition')} have this name"
        raise NotFoundError(f"{name} is ambiguous", reason=reason, hint=f"Read one: {places_of(asked, found)}.")
    return [meant, *(one for one in found if not is_within(one, meant))]


def is_within(one: Found, meant: Found) -> bool:
    """Such as the constructor of a class that is shown."""
    return one[:2] == meant[:2] and meant[2].start <= one[2].start <= one[2].end <= meant[2].end


def part_of(symbol: Target, target: Target) -> Target:
    """Lines of a symbol: numbers of the file where they lie in it, else counted from its first line."""
    if not target.start:
        return symbol
    inside = symbol.start <= target.start <= symbol.end
    first = target.start if inside else min(symbol.start + target.start - 1, symbol.end)
    last = (target.end or symbol.length + 1) + first - target.start
    return replace(symbol, start=first, end=min(last, symbol.end), named=False, kind="", overloads=())


def obvious(found: list[Found], name: str) -> Found | None:
    """The only one; else the only one in code that is no test, stub or copy; else of those the only one with a body, or
    with a body and no more to its name (`getSchema`, not `Service.getSchema`)."""
    if len(found) == 1:
        return found[0]
    code = [one for one in found if role_of(one[1]) == "code"]
    bodies = [one for one in code if one[2].length >= BODY_LINES]
    whole = [one for one in bodies if one[2].qualified == name]
    return next((only[0] for only in (code, bodies, whole) if len(only) == 1), None)


def places_of(asked: ToolRequest, found: list[Found], most: int = MOST_PLACES) -> str:
    shown = [f"{shown_path(asked.workspace, root_index.root.id, path)}:{one.start}" for root_index, path, one in found]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def defined(asked: ToolRequest, name: str) -> list[Found]:
    """One for each file and qualified name: overloads are one target."""
    if not is_encodable(name):  # a file name that is not UTF-8, which the catalog cannot be asked for
        return []
    wanted = name.replace("::", ".").removesuffix("()")
    found: dict[tuple[str, str, str], list[Symbol]] = {}
    last = wanted.rpartition(".")[2]
    complete = True
    for view in asked.workspace.views():
        places = view.store.catalog.places(view.root.id)
        known = [
            (path, one.symbol)
            for one in view.store.catalog.symbols(name=wanted)
            if (path := places.get(one.doc)) is not None and path not in view.pending
        ] or in_module(view, places, wanted)
        unindexed, scanned = unindexed_definitions(view, wanted) if view.pending else ([], True)
        complete = complete and scanned and not view.unsure
        known += unindexed
        spelled = [one for one in known if one[1].name == last] or known  # `Session` is not `session`
        for path, symbol in spelled:
            found.setdefault((view.root.id, path, symbol.qualified), []).append(symbol)
    if not found and not complete:
        raise NotIndexedYetError(
            f"{name} was not found so far", reason="the index is still being built", hint="Ask again in a moment."
        )
    return [
        (asked.workspace.root_index(root), path, named_target(path, symbols))
        for (root, path, _), symbols in found.items()
    ]


def in_module(view: View, places: Mapping[int, str], name: str) -> list[tuple[str, Symbol]]:
    """`module.name`, where the module is a file."""
    for module, rest in module_splits(name.split(".")):
        found = [
            (path, one.symbol)
            for one in view.store.catalog.symbols(name=rest)
            if (path := places.get(one.doc)) is not None
            and path not in view.pending
            and one.symbol.qualified == rest
            and is_module(path, module)
        ]
        if found:
            return found
    return []


def is_encodable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_span(asked: ToolRequest, root_index: RootIndex, path: str, start: int, end: int) -> Envelope:
    return read_lines(asked, root_index, path, Target(path, start, end))


def read_lines(asked: ToolRequest, root_index: RootIndex, path: str, target: Target, *, alone: bool = True) -> Envelope:
    """A range, a symbol or a whole file; of a long file its map."""
    lines = read_target(root_index.root_fs, path)
    if isinstance(lines, BinaryFile):
        return binary_envelope(asked, root_index, path, lines)
    views = [view for view in asked.workspace.views() if view.root.id == root_index.root.id]
    notes = freshness_notes(sum(path in view.pending for view in views), 1.0)
    if target.symbol:
        target = find_symbol(views[0], path, target)
    overloads = overloads_with_body(target, lines)
    if are_shown_together(asked, target, overloads):
        return read_overloads(asked, root_index, path, target, overloads)
    if target.start > len(lines):
        raise NotFoundError(f"{path} has {plural(len(lines), 'line')}", hint="Ask for lines within it.", path=path)
    start, end = max(1, target.start), min(target.end or len(lines), len(lines))
    rows = tuple(Row(line, number) for number, line in enumerate(lines[start - 1 : end], start))
    whole = Item(rows, "", root_index.root.id, path, start, end)
    most = 0 if asked.flag("all") else MOST_STATEMENTS if alone else STATEMENTS_OF_SEVERAL
    shown = as_asked(asked, target, rows, lines, path, LONG_FUNCTION if alone else LONG_OF_SEVERAL, most)
    if shown is not None:
        rows, notes = shown[0], (*notes, *shown[1])
        whole = replace(whole, rows=rows)
    place = {"root": root_index.root.id, "path": path, "start_line": start, "end_line": end, "lines": len(lines)}
    data = {**place, "text": "\n".join(lines[start - 1 : end])}
    title = shown_path(asked.workspace, root_index.root.id, path)
    span = lines_words(target, start, end, len(lines))
    found = f"{title}{span}{inside_of(views[0], path, target)}{also_words(overloads)}"
    is_shared_range = bool(target.start) and not alone  # what is named exactly is shown in full
    wanted = asked.flag("all") or asked.flag("code") or asked.text(FOCUS.name)
    long = len(rows) > WHOLE_LINES and not is_shared_range and not wanted
    if long and alone and not target.start:
        from llmc.tools.read_log import log_envelope  # noqa: PLC0415 - the readers of logs, which few need

        told = log_envelope(asked, root_index, path, title, lines)
        if told is not None:
            return told
    if shown is None:
        return shape(found, views[0], whole, notes, data, most, "\n".join(lines) + "\n")
    if long and (target.named or not target.start):
        return mapped(asked, found, views[0], whole, notes, data, MAP_SHARE if alone else MAP_SHARE_OF_SEVERAL)
    explicit = bool(target.start) or not alone  # a short file beside ranges must not cut them
    return Envelope("read", found, (Group("", (whole,)),), notes, data=data, unit="line", explicit=explicit)


def lines_words(target: Target, start: int, end: int, total: int) -> str:
    if not target.start:
        return f" · {plural(total, 'line')}"
    return f":{f'{start}-{end}' if end > start else start} of {plural(total, 'line')}"


def are_shown_together(asked: ToolRequest, target: Target, overloads: Sequence[tuple[int, int]]) -> bool:
    total = sum(end - start + 1 for start, end in (*overloads, (target.start, target.end)))
    return bool(overloads) and (asked.flag("all") or total <= SHORT_OVERLOADS) and not asked.flag("skeleton")


def read_overloads(
    asked: ToolRequest, root_index: RootIndex, path: str, target: Target, overloads: Sequence[tuple[int, int]]
) -> Envelope:
    """All of them, in the order of the file. `data` is that of the longest, with the others in `overloads`."""
    spans = sorted([(target.start, target.end), *overloads])
    told = {
        (start, end): read_lines(asked, root_index, path, replace(target, start=start, end=end, overloads=()))
        for start, end in spans
    }
    meant = told[target.start, target.end]
    title = shown_path(asked.workspace, root_index.root.id, path)
    shown = ", ".join(f"{start}-{end}" if end > start else str(start) for start, end in spans)
    others = [{name: told[span].data[name] for name in ("start_line", "end_line", "text")} for span in overloads]
    return replace(
        meant,
        found=f"{title}:{shown} of {plural(meant.data['lines'], 'line')} · {len(spans)} overloads",
        groups=(Group("", tuple(item for one in told.values() for item in one.items())),),
        notes=tuple(dict.fromkeys(note for one in told.values() for note in one.notes)),
        data={**meant.data, "overloads": others},
        in_order=True,
    )


def also_words(overloads: Sequence[tuple[int, int]]) -> str:
    if not overloads:
        return ""
    shown = ", ".join(f":{start}-{end}" if end > start else f":{start}" for start, end in overloads[:MOST_OVERLOADS])
    more = len(overloads) - MOST_OVERLOADS
    return f" · also {plural(len(overloads), 'overload')}: {shown}{f' and {more} more' if more > 0 else ''}"


def inside_of(view: View, path: str, target: Target) -> str:
    """Of lines that begin inside a function, its name."""
    if target.named or target.start <= 1:
        return ""
    around = [one for one in symbols_of(view, path).around(target.start) if one.kind in CALLABLES]
    if not around or around[-1].start_line >= target.start:
        return ""
    word = "in" if (target.end or target.start) <= around[-1].end_line else "from inside"
    return f" {word} {around[-1].qualified}"


def as_asked(  # noqa: PLR0917 - what is known of these lines
    asked: ToolRequest, target: Target, rows: tuple[Row, ...], lines: Sequence[str], path: str, long: int, most: int
) -> tuple[tuple[Row, ...], tuple[str, ...]] | None:
    """The lines, or with `--code` and of a long function their statements, and what the first line says about that.
    None if a skeleton is wanted, or a long function has more than `most` statements."""
    if asked.text(FOCUS.name):
        return (code_rows(rows, lines, path), (CODE_ALONE,)) if asked.flag("code") else (rows, ())
    if asked.flag("skeleton"):
        return None
    is_long = target.kind in CALLABLES and len(rows) > long and not (asked.flag("all") or asked.flag("code"))
    code = code_rows(rows, lines, path) if asked.flag("code") or is_long else rows
    if is_long and len(code) > FEW_STATEMENTS * most:
        return None
    if len(code) < len(rows):
        return code, (CODE_ALONE if asked.flag("code") else f"{CODE_ALONE}, --all shows them",)
    may_hint = LONG_OF_SEVERAL <= len(rows) <= WHOLE_LINES and not asked.flag("all")
    is_hinted = may_hint and is_shorter_as_code(rows, FileText("\n".join(lines) + "\n", language_of(path)))
    return rows, (CODE_HINT,) if is_hinted else ()


def is_shorter_as_code(rows: tuple[Row, ...], text: FileText) -> bool:
    """An estimate: the lines that `statements` leaves out, without what it joins."""
    spare = (row for row in rows if is_left_out(row.text) or text.kind(row.number or 0) == COMMENT)
    return sum(len(row.text.strip()) for row in spare) > WORTH_A_HINT * sum(len(row.text.strip()) for row in rows)


def code_rows(rows: tuple[Row, ...], lines: Sequence[str], path: str) -> tuple[Row, ...]:
    """Every statement in one line, without comments, docstrings, log calls and longer lists of imports; a number shows
    where each begins. Of a file that is no program code only comments and blank lines go."""
    language = language_of(path)
    text = "\n".join(lines) + "\n"
    file = FileText(text, language)
    kinds = {row.number or 0: file.kind(row.number or 0) for row in rows}
    if not has_statements(language):
        return tuple(row for row in rows if kinds[row.number or 0] != COMMENT and row.text.strip())
    if not rows:
        return ()
    imports = frozenset(number for number, kind in kinds.items() if kind == IMPORT)
    is_long = FEW_IMPORTS < len(imports) < len(rows) - FEW_IMPORTS
    code = code_of(path, text).without(imports) if is_long else code_of(path, text)
    first, last = rows[0].number or 1, rows[-1].number or 1
    return skeleton_rows(statements(code.part(first, last), first))


def binary_envelope(asked: ToolRequest, root_index: RootIndex, path: str, file: BinaryFile) -> Envelope:
    root = root_index.root.id
    found = f"{shown_path(asked.workspace, root, path)} · {file} · not text"
    return Envelope("read", found, (Group("", (Item((), "", root, path),)),), data={"path": path, **asdict(file)})


def shape(  # noqa: PLR0917 - what is known of these lines
    found: str, view: View, whole: Item, notes: tuple[str, ...], data: dict[str, object], most: int, text: str
) -> Envelope:
    """The skeleton of these lines, its deepest levels folded if it has more than `most` statements; all of them behind
    the handle."""
    starts = {symbol.start_line for symbol in symbols_of(view, whole.path).symbols}
    code = code_of(whole.path, text).part(whole.start, whole.end)
    rows = skeleton_rows(skeleton(code, whole.start, starts, most))
    # What follows the last statement are closing brackets.
    last = next((row.number for row in reversed(rows) if row.number is not None), whole.end)
    group = Group("", (replace(whole, rows=rows, end=last),))
    noted = (f"{SKELETON} {plural(len(whole.rows), 'line')}, --all shows them", *notes)
    return Envelope(
        "read", found, (group,), noted, data=data, unit="line", folded=(Group("", (whole,)),), explicit=True
    )


def skeleton_rows(parts: Sequence[Statement | Fold]) -> tuple[Row, ...]:
    return tuple(
        Row(f"… {int(part)} lines{': ' if part.names else ''}{', '.join(part.names)}")
        if isinstance(part, Fold)
        else Row(" " * part.level + part.text, part.number)
        for part in parts
    )


def mapped(  # noqa: PLR0917 - as `shape`, with the share of the call's budget
    asked: ToolRequest, found: str, view: View, whole: Item, notes: tuple[str, ...], data: dict[str, Any], share: float
) -> Envelope:
    """Of a long file or class its first lines and its outline; the rest is behind the handle. A file without symbols is
    shown from its beginning."""
    from llmc.retrieval.globs import PathFilter  # noqa: PLC0415 - only here

    size = head_size(whole)
    last = whole.start + size - 1
    inside = range(last + 1, whole.end + 1)
    files = outline([view], OutlineRequest(PathFilter(under=(whole.path,)))).files
    budget = round(share * asked.number("budget", asked.workspace.settings.envelope.read_budget))
    text = str(data["text"]) if whole.start == 1 else None
    symbols = tuple(
        item
        for file in files
        for group in file_layout(inner(file, inside), symbols_of(view, whole.path), "", budget, text).groups
        for item in group.items
    )
    if not symbols:
        return Envelope("read", found, (Group("", (whole,)),), notes, data=data, unit="line")
    head = replace(whole, rows=whole.rows[:size], end=last)
    rest = replace(whole, rows=whole.rows[size:], start=last + 1)
    groups = (Group("", (head,)), Group("outline", symbols))
    folded = (Group("", (rest,)),)
    return Envelope("read", found, groups, notes, data=data, unit="line", in_order=True, folded=folded)


def inner(file: FileOutline, lines: range) -> FileOutline:
    return replace(file, symbols=tuple(one for one in file.symbols if one.start_line in lines))


def head_size(whole: Item) -> int:
    """Up to the first import: a list of imports tells less than the outline that follows."""
    for at, row in enumerate(whole.rows[:HEAD_LINES]):
        if IMPORTS.match(row.text):
            return max(at, 1)
    return min(HEAD_LINES, len(whole.rows))


IMPORTS = re.compile(r"(?:import|from|use|using|#include|require|const .*require)\b")


TOOL = Tool(
    name="read",
    summary="A file, path:10-40, path::symbol, the rest of a reply (its handle), or item 3 of it (handle:3).",
    run=run,
    cpu_bound=True,
    arguments=(
        Argument(
            "target",
            "strings",
            "path, path:10-40, path::symbol, Class.method, handle or handle:3; several are read together.",
            required=True,
            text="path",
        ),
        Argument("skeleton", "boolean", "Signatures, control flow and calls; the rest is folded."),
        Argument(
            "code",
            "boolean",
            "Every statement, without comments, logging and closing brackets: fewer tokens.",
        ),
        Argument("fresh", "boolean", "Include lines that this session already received."),
        Argument("fields", "strings", "Of a JSON file with a list of objects: a table of only these; * is all."),
        BUDGET,
        Argument("all", "boolean", "All of it, without a budget."),
    ),
    budget="read_budget",
    profiles=frozenset({"lean", "full"}),
    brief="path, path:10-40, Class.method, handle:3; several by spaces.",
    schema=("target", "code", "context_focus_question"),
    topics=frozenset({"code", "docs", "tests"}),
    examples=("read src/main.py:10-40", "read src/parser.py::Parser.feed", "read h4k2:3"),
)
