"""`path`: a chain of calls from one definition to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.graph.reach import find_chain
from llmc.tool import ALL, BUDGET, Argument, Tool, ToolRequest
from llmc.tools.calls import MARKS
from llmc.tools.graph_output import GUESSES, Lines, looked_up, notes_of, other_definitions

if TYPE_CHECKING:
    from llmc.graph.edges import Graph
    from llmc.graph.entities import Edge
    from llmc.graph.lookup import LookupTarget

# Definitions of the first name from which a chain is looked for.
MOST_SOURCES = 5
MOST_UNREAD = 4  # members whose implementations were not followed that are named


def run(request: ToolRequest) -> Envelope:
    sources, goals = looked_up(request, request.text("source")), looked_up(request, request.text("target"))
    lines = Lines(request)
    complete = True
    unread: dict[str, int] = {}
    for source in sources.targets[:MOST_SOURCES]:
        project = source.graph.project
        wanted = {one.node for one in goals.targets if one.graph.project is project}
        chain = find_chain(source.graph, source.node, wanted, guesses=request.flag("guesses"))
        complete = complete and chain.complete
        unread |= {node.qualified: files for node, files in chain.unread.items()}
        if chain.edges:
            return found(request, lines, source, chain.edges, other_definitions(goals, [chain.edges[-1].target]))
    why = "" if complete else ", and not all calls were followed"
    hint = "" if request.flag("guesses") else "--guesses also follows calls that match by name alone"
    return Envelope(
        "path",
        f"no chain of calls was found{why}",
        notes=notes_of(request, not_followed(unread), hint),
        data={"path": [], "files_not_read": unread},
    )


def not_followed(unread: dict[str, int]) -> str:
    """The members that many files may implement, in the order in which they were reached."""
    if not unread:
        return ""
    names = [f"{name} (in {plural(files, 'file')})" for name, files in list(unread.items())[:MOST_UNREAD]]
    more = f" and {len(unread) - MOST_UNREAD} more" if len(unread) > MOST_UNREAD else ""
    return f"not all implementations were followed of {', '.join(names)}{more}: impls lists them"


def found(request: ToolRequest, lines: Lines, first: LookupTarget, edges: tuple[Edge, ...], others: str) -> Envelope:
    """`others` names the definitions of the goal that this chain does not lead to."""
    graph = first.graph
    items = tuple(item_of(lines, graph, edge) for edge in edges)
    return Envelope(
        "path",
        plural(len(edges), "call"),
        groups=(Group(f"{lines.place(graph, first.node)} {lines.head(graph, first.node)}", items),),
        notes=notes_of(request, others),
        data={
            "path": [
                {
                    "from": lines.data(graph, edge.source),
                    "to": lines.data(graph, edge.target),
                    "at": {"path": graph.project.path(edge.site.doc), "line": edge.site.line},
                    "precision": edge.precision.label,
                    "through": edge.through,
                }
                for edge in edges
            ]
        },
        in_order=True,
    )


def item_of(lines: Lines, graph: Graph, edge: Edge) -> Item:
    symbol = lines.symbol(graph, edge.target)
    start, end = (symbol.start_line, symbol.end_line) if symbol else (1, 1)
    value = " passed as a value" if edge.site.kind == "use" else f" through {edge.through}" if edge.through else ""
    is_inside = edge.target.doc == edge.source.doc
    place = lines.place(graph, edge.target, edge.source.doc if is_inside else 0)
    text = f"→ {edge.target.qualified}{MARKS[edge.precision]} {place}{value}"
    path = graph.project.path(edge.target.doc)
    return Item((Row(text, edge.site.line),), "", graph.project.root.id, path, start, end)


TOOL = Tool(
    name="path",
    summary="The shortest chain of calls from one definition to another.",
    brief="How does A reach B? The shortest chain, also through interfaces, queues and events; ~25 tokens a call.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        Argument("source", "string", "Where the chain begins: name, Class.method or path:name.", required=True),
        Argument("target", "string", "Where it ends.", required=True),
        GUESSES,
        BUDGET,
        ALL,
    ),
    schema=("source", "target"),
    examples=("path main Session.send",),
)
