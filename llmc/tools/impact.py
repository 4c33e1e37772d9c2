"""`impact`: the code that must change when the signature of a definition changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.graph.reach import impact
from llmc.tool import BUDGET, Tool, ToolRequest
from llmc.tools.calls import MARKS
from llmc.tools.graph_output import (
    EVERY_TEST,
    NAME,
    NO_TESTS,
    WORDS,
    Lines,
    TestUse,
    by_name_group,
    defined_item,
    limited,
    looked_up,
    notes_of,
    resolved_count,
    test_group,
    through_group,
)
from llmc.tools.impls import definitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmc.graph.edges import Graph
    from llmc.graph.entities import Edge, GraphNode, Implementing
    from llmc.graph.reach import Impact


def run(request: ToolRequest) -> Envelope:
    shown, more = limited(looked_up(request, request.text("name")))
    lines = Lines(request)
    found = [(one.graph, one.node, impact(one.graph, one.node)) for one in shown]
    sites = sum(len(one.callers) for _, _, one in found)
    tests = sum(graph.in_test(edge.source) for graph, _, one in found for edge in one.callers)
    overrides = sum(len(one.overrides) for _, _, one in found)
    unverified = [by_name_group(lines, graph, node, one.guesses) for graph, node, one in found]
    in_code = f"{resolved_count(sites - tests, 'use', unverified)} in code"
    may_be_tested = any("in tests" in note for _, note in unverified)
    said = [in_code, f"{tests} in tests"] if tests or not may_be_tested else [in_code]
    said += [plural(overrides, "override")] if overrides else []
    said += dict.fromkeys(note for _, note in unverified if note)  # definitions of one name share these uses
    said += [f"overrides {base.qualified}" for _, _, one in found for base in one.overridden[:1]]
    said += [f"{len(edges)} through {base.qualified}" for _, _, one in found for base, edges in one.through.items()]
    said += [
        f"forwards to {member.qualified}, {how_many(known)}"
        for _, _, one in found
        for member, known in one.forwards.items()
    ]
    cut = "" if all(one.complete for _, _, one in found) else "not all files that hold the name were looked through"
    return Envelope(
        "impact",
        " · ".join(said),
        groups=tuple(
            group
            for (graph, node, one), (guesses, _) in zip(found, unverified, strict=True)
            for group in (
                Group("", (defined_item(lines, graph, node),)),
                *groups(lines, graph, one, guesses),
                *([] if request.flag("no_tests") else in_tests(lines, graph, one, every_test=request.flag("all"))),
            )
        ),
        notes=notes_of(request, more, cut),
        data={
            "definitions": [
                {
                    **lines.data(graph, node),
                    "uses": [
                        {
                            "path": graph.project.path(edge.site.doc),
                            "line": edge.site.line,
                            "within": edge.source.qualified,
                            "kind": edge.site.kind,
                            "precision": edge.precision.label,
                            "test": graph.in_test(edge.source),
                        }
                        for edge in one.callers
                    ],
                    "overrides": [lines.data(graph, each) for each in one.overrides],
                    "overridden": [lines.data(graph, each) for each in one.overridden],
                    "siblings": known_data(lines, graph, one.siblings),
                    "forwards": known_data(lines, graph, one.forwards),
                    "imports": [f"{graph.project.path(edge.site.doc)}:{edge.site.line}" for edge in one.imports],
                    "guesses": len(one.guesses),
                }
                for graph, node, one in found
            ]
        },
    )


def how_many(known: Implementing) -> str:
    if known.unread and not known.nodes:
        return f"{plural(known.unread, 'file')} may implement it: impls"
    return f"{len(known.nodes)}+ implementations" if known.unread else plural(len(known.nodes), "implementation")


def known_data(lines: Lines, graph: Graph, known: Mapping[GraphNode, Implementing]) -> list[dict[str, Any]]:
    return [
        {
            **lines.data(graph, member),
            "implementations": [lines.data(graph, each) for each in one.nodes],
            "files_not_read": one.unread,
        }
        for member, one in known.items()
    ]


def groups(lines: Lines, graph: Graph, found: Impact, guesses: list[Group]) -> Iterator[Group]:
    """Uses in code, also through overridden members, definitions with the same signature, files that only import it."""
    code = [edge for edge in found.callers if not graph.in_test(edge.source)]
    yield from uses(lines, graph, code, "")
    yield from through_group(lines, graph, found.through)
    yield from guesses
    yield from definitions(lines, graph, found.overrides, "overrides")
    for base, known in found.siblings.items():
        title = f"overrides {base.qualified} {lines.place(graph, base)}"
        yield from known_group(lines, graph, known, title, "as do")
    for member, known in found.forwards.items():
        title = f"forwards to {member.qualified} {lines.place(graph, member)}"
        yield from known_group(lines, graph, known, title, how_many(known))
    used = {edge.site.doc for edge in found.callers}
    unused = [edge for edge in found.imports if edge.site.doc not in used and not graph.in_test(edge.source)]
    if unused:
        places = dict.fromkeys(f"{lines.path(graph, edge.site.doc)}:{edge.site.line}" for edge in unused)
        yield Group("imported, not used by name", tuple(Item((), place) for place in places))


def in_tests(lines: Lines, graph: Graph, found: Impact, *, every_test: bool) -> Iterator[Group]:
    """Uses in tests, by file."""
    tests = [edge for edge in found.callers if graph.in_test(edge.source)]
    if every_test:
        yield from uses(lines, graph, tests, " (tests)")
    else:
        counted = [TestUse(edge.site.doc, edge.site.line, edge.site.kind, edge.source.qualified) for edge in tests]
        yield from test_group(lines, graph, counted)


def known_group(lines: Lines, graph: Graph, known: Implementing, title: str, word: str) -> Iterator[Group]:
    if known.nodes:
        yield from definitions(lines, graph, list(known.nodes), f"{title}, {word}")
    else:
        yield Group("", (Item((), f"{title}, {how_many(known)}" if known.unread else title, graph.project.root.id),))


def uses(lines: Lines, graph: Graph, edges: list[Edge], title: str) -> Iterator[Group]:
    by_file: dict[int, list[Edge]] = {}
    for edge in edges:
        by_file.setdefault(edge.site.doc, []).append(edge)
    for doc, several in by_file.items():
        alike: dict[tuple[str, str, str], list[Edge]] = {}
        for edge in sorted(several, key=lambda one: one.site.line):
            alike.setdefault((edge.source.qualified, edge.site.kind, edge.through), []).append(edge)
        items = tuple(item_of(graph, same) for same in alike.values())
        yield Group(f"{lines.path(graph, doc)}{title}", items, len(several))


def item_of(graph: Graph, edges: list[Edge]) -> Item:
    """Uses of one kind in one definition: `40 Courier.deliver also 52, 60`."""
    edge, *others = edges
    word = WORDS.get(edge.site.kind, "")
    text = f"{edge.source.qualified or '(top of the file)'}{MARKS[edge.precision]}{' ' + word if word else ''}"
    text += f" through {edge.through}" if edge.through else ""
    if also := dict.fromkeys(str(one.site.line) for one in others if one.site.line != edge.site.line):
        text += f" also {', '.join(also)}"
    path, line = graph.project.path(edge.site.doc), edge.site.line
    return Item((Row(text, line),), "", graph.project.root.id, path, line, edges[-1].site.line)


TOOL = Tool(
    name="impact",
    summary="What must change if a definition's signature does: every use, override and import, tests apart.",
    brief="What breaks with a signature: uses, also through interfaces, implementations, test counts; ~15 tokens each.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(NAME, NO_TESTS, BUDGET, EVERY_TEST),
    schema=("name",),
    topics=frozenset({"code", "tests"}),
    examples=("impact Session.send",),
)
