"""`impls`: implementations, subclasses and overrides of a definition, and where a function is registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.graph.implementations import implementations
from llmc.tool import ALL, BUDGET, Tool, ToolRequest
from llmc.tools.calls import MARKS
from llmc.tools.graph_output import NAME, Lines, limited, looked_up, notes_of, other_definitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.graph.edges import Graph
    from llmc.graph.entities import Edge, GraphNode


def run(request: ToolRequest) -> Envelope:
    lookup = looked_up(request, request.text("name"))
    shown, _ = limited(lookup)
    lines = Lines(request)
    found = [(one.graph, one.node, implementations(one.graph, one.node)) for one in shown]
    listed = {node for _, own, one in found for node in (own, *one.types, *one.members)}
    types = sum(len(one.types) for _, _, one in found)
    members = sum(len(one.members) for _, _, one in found)
    in_tests = sum(graph.in_test(edge.source) for graph, _, one in found for edge in one.registered)
    registered = sum(len(one.registered) + len(one.decorators) for _, _, one in found) - in_tests
    said = [plural(types, "subtype")] if types or not members else []
    said += [plural(members, "override")] if members else []
    said += [f"registered or passed on in {plural(registered, 'place')}"] if registered else []
    said += [f"passed on in tests {in_tests} times"] if in_tests else []
    groups = [
        group
        for graph, node, one in found
        for group in (
            *definitions(lines, graph, [*one.types, *one.members]),
            *places(lines, graph, [edge for edge in one.registered if not graph.in_test(edge.source)]),
            *decorated(lines, graph, node, one.decorators),
        )
    ]
    cut = "" if all(one.complete for _, _, one in found) else "not all files that hold the name were looked through"
    return Envelope(
        "impls",
        " · ".join(said),
        groups=tuple(group for group in groups if group.items),
        notes=notes_of(request, other_definitions(lookup, listed), cut),
        data={
            "definitions": [
                {
                    **lines.data(graph, node),
                    "types": [lines.data(graph, each) for each in one.types],
                    "members": [lines.data(graph, each) for each in one.members],
                    "registered": [
                        {
                            "path": graph.project.path(edge.site.doc),
                            "line": edge.site.line,
                            "within": edge.source.qualified,
                        }
                        for edge in one.registered
                    ],
                    "decorators": [{"line": line, "name": name} for line, name in one.decorators],
                }
                for graph, node, one in found
            ]
        },
    )


def definitions(lines: Lines, graph: Graph, nodes: list[GraphNode], title: str = "") -> Iterator[Group]:
    """One line for each file: `path:40 Disk.list, :90 Tape.list`."""
    by_file: dict[int, list[GraphNode]] = {}
    for node in sorted(nodes, key=graph.in_test):
        by_file.setdefault(node.doc, []).append(node)
    if by_file:
        yield Group(title, tuple(item_of(lines, graph, several) for several in by_file.values()))


def item_of(lines: Lines, graph: Graph, nodes: list[GraphNode]) -> Item:
    symbol = lines.symbol(graph, nodes[0])
    start, end = (symbol.start_line, symbol.end_line) if symbol else (1, 1)
    first, *others = nodes
    text = f"{lines.place(graph, first)} {first.qualified}"
    text += "".join(f", {lines.place(graph, node, first.doc)} {node.qualified}" for node in others)
    return Item((), text, graph.project.root.id, graph.project.path(first.doc), start, end)


def places(lines: Lines, graph: Graph, edges: list[Edge]) -> Iterator[Group]:
    by_file: dict[int, list[Edge]] = {}
    for edge in edges:
        by_file.setdefault(edge.site.doc, []).append(edge)
    for doc, several in by_file.items():
        path = graph.project.path(doc)
        items = [
            Item(
                (
                    Row(
                        f"passed as a value in {edge.source.qualified or 'the file'}{MARKS[edge.precision]}",
                        edge.site.line,
                    ),
                ),
                "",
                graph.project.root.id,
                path,
                edge.site.line,
                edge.site.line,
            )
            for edge in several
        ]
        yield Group(lines.path(graph, doc), tuple(items), len(items))


def decorated(lines: Lines, graph: Graph, node: GraphNode, decorators: list[tuple[int, str]]) -> Iterator[Group]:
    path = graph.project.path(node.doc)
    items = [Item((Row(name, line),), "", graph.project.root.id, path, line, line) for line, name in decorators]
    if items:
        yield Group(lines.path(graph, node.doc), tuple(items), len(items))


TOOL = Tool(
    name="impls",
    summary="Implementations of an interface, trait or abstract method, subclasses, overrides, registered handlers.",
    brief="Every resolved implementation, subclass and override, and where a handler is registered; ~20 tokens each.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(NAME, BUDGET, ALL),
    schema=("name",),
    examples=("impls Storage", "impls Storage.write"),
)
