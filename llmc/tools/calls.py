"""`calls`: what a definition calls in this repository, as a tree in the order of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.graph.entities import Precision
from llmc.graph.trees import callees
from llmc.tool import Argument, Tool, ToolRequest
from llmc.tools.graph_output import (
    ALL,
    BUDGET,
    GUESSES,
    NAME,
    Lines,
    guessed,
    limited,
    looked_up,
    notes_of,
    precision_counts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.graph.edges import Graph
    from llmc.graph.trees import Tree, TreeEdge

DEPTH = 2
MARKS = {Precision.EXACT: "", Precision.LIKELY: " ~", Precision.BY_NAME: " ?"}


def run(asked: ToolRequest) -> Envelope:
    lookup = looked_up(asked, asked.text("name"))
    shown, more = limited(lookup)
    lines = Lines(asked)
    trees = [
        (one.graph, callees(one.graph, one.node, asked.number("depth", DEPTH), guesses=asked.flag("guesses")))
        for one in shown
    ]
    branches = [branch for _, tree in trees for branch in every(tree.branches)]
    counts = precision_counts(branch.precision for branch in branches)
    said = [plural(len(branches), "call") + (f" ({counts})" if counts else "")]
    said += [note for note in (guessed(sum(tree.guesses for _, tree in trees)),) if note]
    cut = "" if all(tree.complete for _, tree in trees) else "the tree was cut at a limit"
    return Envelope(
        "calls",
        " · ".join(said),
        groups=tuple(Group(title(lines, graph, tree), tuple(rows(lines, graph, tree))) for graph, tree in trees),
        notes=notes_of(asked, more, cut, "~ likely" if any(b.precision is Precision.LIKELY for b in branches) else ""),
        data={"definitions": [data_of(lines, graph, tree) for graph, tree in trees]},
        in_order=True,
    )


def every(branches: tuple[TreeEdge, ...]) -> Iterator[TreeEdge]:
    for branch in branches:
        yield branch
        yield from every(branch.children)


def title(lines: Lines, graph: Graph, tree: Tree) -> str:
    return f"{lines.place(graph, tree.node)} {lines.head(graph, tree.node)}"


def rows(lines: Lines, graph: Graph, tree: Tree) -> Iterator[Item]:
    for branch in tree.branches:
        yield from items(lines, graph, branch, 0, tree.node.doc)


def items(lines: Lines, graph: Graph, branch: TreeEdge, level: int, within: int) -> Iterator[Item]:
    """A line for the call, then those of what it calls, further in."""
    symbol = lines.symbol(graph, branch.node)
    head, place = lines.head(graph, branch.node), lines.place(graph, branch.node, within)
    text = f"{'  ' * level}{head}{MARKS[branch.precision]} {place}"
    if branch.by_value:
        text += " passed as a value"
    if branch.repeated:
        text += f" · also {', '.join(node.name for node in branch.repeated)}"
    start, end = (symbol.start_line, symbol.end_line) if symbol else (1, 1)
    project = graph.project
    row = Row(text, branch.lines[0])
    yield Item((row,), "", project.root.id, project.path(branch.node.doc), start, end, level)
    for child in branch.children:
        yield from items(lines, graph, child, level + 1, branch.node.doc)


def data_of(lines: Lines, graph: Graph, tree: Tree) -> dict[str, Any]:
    return {
        **lines.data(graph, tree.node),
        "guesses": tree.guesses,
        "complete": tree.complete,
        "calls": [branch_data(lines, graph, branch) for branch in tree.branches],
    }


def branch_data(lines: Lines, graph: Graph, branch: TreeEdge) -> dict[str, Any]:
    return {
        **lines.data(graph, branch.node),
        "at": {"path": graph.project.path(branch.site_doc), "lines": list(branch.lines)},
        "kinds": sorted(branch.kinds),
        "precision": branch.precision.label,
        "calls": [branch_data(lines, graph, child) for child in branch.children],
        "also": [node.qualified for node in branch.repeated],
    }


TOOL = Tool(
    name="calls",
    summary="What a function calls in this repository, some levels deep, in source order: the way to follow a flow.",
    brief="What a function calls here, 2 levels deep, with path:line; ~30 tokens a call.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        NAME,
        Argument("depth", "integer", "Levels of calls; 2 unless told."),
        GUESSES,
        BUDGET,
        ALL,
    ),
    schema=("name", "depth"),
    budget="read_budget",
    examples=("calls Server.handle", "calls src/app.py:main --depth 3"),
)
