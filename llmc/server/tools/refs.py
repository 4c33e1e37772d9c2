"""`refs`: where a name is defined and who uses it."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.retrieval.refs import RefsRequest, Sureness, refs
from llmc.server.tools.base import Argument, Asked, Tool
from llmc.server.tools.words import freshness_notes, plural, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.retrieval.refs import Place, RefsResult
    from llmc.workspace import Workspace


def run(asked: Asked) -> Envelope:
    workspace = asked.workspace
    kinds = frozenset(asked.texts("kind"))
    request = RefsRequest(asked.text("name"), kinds, workspace.path_filter(asked.texts("path")))
    result = refs(workspace.views(), request)
    return Envelope(
        "refs",
        found_words(result),
        groups=tuple(groups_of(result, workspace)),
        notes=freshness_notes(result.pending, result.share),
        data={
            "name": result.name,
            "sureness": result.sureness,
            "definitions": [asdict(place) for place in result.definitions],
            "references": [asdict(place) for place in result.references],
            "callees": list(result.callees),
            "elsewhere": result.elsewhere,
        },
    )


def found_words(result: RefsResult) -> str:
    words = [plural(len(result.definitions), "definition"), plural(len(result.references), "use")]
    if result.callers:
        words.append(plural(len(result.callers), "call"))
    if result.implementations:
        words.append(plural(len(result.implementations), "subclass"))
    said = [", ".join(words)]
    if result.sureness != Sureness.ONE:
        said.append(result.sureness)
    if result.elsewhere:
        said.append(f"{plural(result.elsewhere, 'line')} more {'holds' if result.elsewhere == 1 else 'hold'} the word")
    if result.callees:
        said.append(f"calls {', '.join(result.callees[:20])}")
    return " · ".join(said)


def groups_of(result: RefsResult, workspace: Workspace) -> Iterator[Group]:
    for (root, path), places in by_file(result.definitions):
        yield Group(
            f"{shown_path(workspace, root, path)} defines", tuple(item_of(place, place.kind) for place in places)
        )
    for (root, path), places in by_file(result.references):
        listed = list(places)
        items = tuple(item_of(place, "" if place.kind in {"use", "call"} else place.kind) for place in listed)
        yield Group(shown_path(workspace, root, path), items, len(listed))


def by_file(places: tuple[Place, ...]) -> Iterator[tuple[tuple[str, str], Iterator[Place]]]:
    return groupby(places, key=lambda place: (place.root, place.path))


def item_of(place: Place, kind: str) -> Item:
    words = [place.text.strip()]
    if place.within and not kind:
        words.append(f"· in {place.within}")
    if kind in {"import", "inherit", "type"}:
        words.append(f"· {kind}")
    return Item((Row(" ".join(words), place.line),), "", place.root, place.path, place.line, place.end_line)


TOOL = Tool(
    name="refs",
    summary="Where a name is defined, and every use, call and subclass of it.",
    run=run,
    steady=True,
    arguments=(
        Argument("name", "string", "A name, perhaps qualified: parse_header, Parser.feed.", required=True),
        Argument("kind", "strings", "Only these: call, import, inherit, type, use."),
        Argument("path", "strings", "Only below this file or folder."),
        Argument("fields", "strings", "A table of only these: path, line, kind, within; * is all."),
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "Every use, without a budget."),
    ),
    examples=("refs Parser.feed", "refs resolve_url --kind call"),
)
