"""`callers`: what uses a definition, directly or through others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.graph.entities import Precision
from llmc.graph.implementations import overridden
from llmc.graph.trees import callers
from llmc.tool import Argument, Tool, ToolRequest
from llmc.tools.calls import MARKS, branch_data, every, title
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

WORDS = {"type": "as a type", "inherit": "as a base", "use": "as a value", "write": "assigned"}


def run(asked: ToolRequest) -> Envelope:
    lookup = looked_up(asked, asked.text("name"))
    shown, more = limited(lookup)
    lines = Lines(asked)
    trees = [
        (one.graph, callers(one.graph, one.node, asked.number("depth", 1), guesses=asked.flag("guesses")))
        for one in shown
    ]
    branches = [branch for _, tree in trees for branch in every(tree.branches)]
    counts = precision_counts(branch.precision for branch in branches)
    said = [plural(len(branches), "caller") + (f" ({counts})" if counts else "")]
    said += [note for note in (guessed(sum(tree.guesses for _, tree in trees)),) if note]
    bases = [
        f"overrides {lines.head(graph, base)}, whose callers may mean it"
        for graph, tree in trees
        for base in overridden(graph, tree.node)[:1]
    ]
    cut = "" if all(tree.complete for _, tree in trees) else "not all files that hold the name were looked through"
    return Envelope(
        "callers",
        " · ".join(said),
        groups=tuple(group for graph, tree in trees for group in groups(lines, graph, tree)),
        notes=notes_of(
            asked, more, cut, *bases[:2], "~ likely" if any(b.precision is Precision.LIKELY for b in branches) else ""
        ),
        data={"definitions": [data_of(lines, graph, tree) for graph, tree in trees]},
        in_order=True,
    )


def groups(lines: Lines, graph: Graph, tree: Tree) -> Iterator[Group]:
    """The definition, then its callers by file: product code before tests."""
    symbol = lines.symbol(graph, tree.node)
    project = graph.project
    line = symbol.start_line if symbol else 1
    end = symbol.end_line if symbol else 1
    item = Item((), f"defined {title(lines, graph, tree)}", project.root.id, project.path(tree.node.doc), line, end)
    yield Group("", (item,))
    by_file: dict[int, list[TreeEdge]] = {}
    for branch in sorted(tree.branches, key=lambda one: graph.in_test(one.node)):
        by_file.setdefault(branch.site_doc, []).append(branch)
    for doc, several in by_file.items():
        tests = " (tests)" if graph.in_test(several[0].node) else ""
        items = tuple(item for branch in several for item in items_of(lines, graph, branch, 0, doc))
        yield Group(f"{lines.path(graph, doc)}{tests}", items, len(several))


def items_of(lines: Lines, graph: Graph, branch: TreeEdge, level: int, within: int) -> Iterator[Item]:
    more = f" also {', '.join(str(line) for line in branch.lines[1:])}" if len(branch.lines) > 1 else ""
    words = "" if "call" in branch.kinds else " " + ", ".join(WORDS.get(kind, kind) for kind in sorted(branch.kinds))
    name = branch.node.qualified or "(top of the file)"
    place = "" if branch.site_doc == within else f" {lines.path(graph, branch.site_doc)}"
    text = f"{'  ' * level}{name}{MARKS[branch.precision]}{words}{place}{more}"
    project = graph.project
    symbol = lines.symbol(graph, branch.node)
    start, end = (symbol.start_line, symbol.end_line) if symbol else (branch.lines[0], branch.lines[0])
    yield Item((Row(text, branch.lines[0]),), "", project.root.id, project.path(branch.site_doc), start, end, level)
    for child in branch.children:
        yield from items_of(lines, graph, child, level + 1, within)


def data_of(lines: Lines, graph: Graph, tree: Tree) -> dict[str, Any]:
    return {
        **lines.data(graph, tree.node),
        "guesses": tree.guesses,
        "complete": tree.complete,
        "callers": [branch_data(lines, graph, branch) for branch in tree.branches],
    }


TOOL = Tool(
    name="callers",
    summary="What calls a function or uses a type, resolved by imports and types rather than by name.",
    brief="Who calls a function or uses a type, resolved, by file; ~15 tokens each.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        NAME,
        Argument("depth", "integer", "Levels of callers; 1 unless told."),
        GUESSES,
        BUDGET,
        ALL,
    ),
    schema=("name", "depth"),
    examples=("callers Parser.feed", "callers resolve_url --depth 3"),
)
