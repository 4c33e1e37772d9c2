"""`calls`: the calls of a definition in this repository, as a tree in source order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.graph.entities import Precision
from llmc.graph.facts import TYPE_KINDS
from llmc.graph.library_names import LIBRARY_NAMES
from llmc.graph.trees import IMPLEMENTS, body_of, callees
from llmc.tool import BUDGET, Argument, Tool, ToolRequest
from llmc.tools.graph_output import (
    GUESSES,
    NAME,
    Lines,
    guessed,
    limited,
    looked_up,
    notes_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmc.graph.edges import Graph
    from llmc.graph.entities import GraphNode
    from llmc.graph.trees import Tree, TreeEdge

DEPTH = 2
# A function this short that calls nothing here is not a step of a flow.
MINOR_LINES = 4
MOST_NAMES = 8
SIGNATURES = Argument("signatures", "boolean", "Arguments and results of what is called, too.")
SKIP = Argument("skip", "strings", "Leave out calls of these names or paths: get*, models/.")
MARKS = {Precision.EXACT: "", Precision.LIKELY: " ~", Precision.BY_NAME: " ?"}


def run(request: ToolRequest) -> Envelope:
    lookup = looked_up(request, request.text("name"))
    shown, more = limited(lookup)
    lines = Lines(request)
    depth, everything = request.number("depth", DEPTH), request.flag("all")
    skipped = skipping(request.texts("skip"))
    trees = [
        (
            one.graph,
            callees(
                one.graph, one.node, depth, guesses=request.flag("guesses"), everything=everything, skipped=skipped
            ),
        )
        for one in shown
    ]
    branches = [branch for _, tree in trees for branch in every(tree.branches)]
    said = [plural(len(branches), "call")]
    names = sum((tree.unlisted for _, tree in trees), Counter[str]())
    said += [note for note in (guessed(names.total(), names),) if note]
    left_out = sum(tree.left_out for _, tree in trees)
    said += [f"{left_out} skipped"] if left_out else []
    empty = [(graph, tree) for graph, tree in trees if not tree.branches] if branches else []
    trees = [(graph, tree) for graph, tree in trees if tree.branches or not branches]
    silent = f"without calls: {', '.join(place_of(lines, graph, tree) for graph, tree in empty)}" if empty else ""
    cut = "" if all(tree.complete for _, tree in trees) else "the tree was cut at a limit"
    layout = CallLayout(lines, signatures=request.flag("signatures"), everything=everything)
    return Envelope(
        "calls",
        " · ".join(said),
        groups=tuple(Group(title(lines, graph, tree), tuple(layout.rows(graph, tree))) for graph, tree in trees),
        notes=notes_of(request, silent, more, cut, legend(branches)),
        data={"definitions": [data_of(lines, graph, tree) for graph, tree in (*trees, *empty)]},
        in_order=True,
    )


def skipping(patterns: Sequence[str]) -> Callable[[str, str], bool] | None:
    """Whether a definition fits one of the patterns: of its path where they have a slash, else of its name or a part of
    its qualified name; `*` is any text."""
    if not patterns:
        return None
    paths = [f"{one.strip('/')}/*" for one in patterns if "/" in one] + [one for one in patterns if "/" in one]
    names = [one for one in patterns if "/" not in one]

    def is_skipped(path: str, qualified: str) -> bool:
        parts = (qualified, *qualified.split("."))
        return any(fnmatchcase(path, one) for one in paths) or any(
            fnmatchcase(part, one) for one in names for part in parts
        )

    return is_skipped


def every(branches: tuple[TreeEdge, ...]) -> Iterator[TreeEdge]:
    for branch in branches:
        yield branch
        yield from every(branch.children)


def place_of(lines: Lines, graph: Graph, tree: Tree) -> str:
    return f"{lines.place(graph, tree.node)} {tree.node.qualified}"


def title(lines: Lines, graph: Graph, tree: Tree) -> str:
    return f"{lines.place(graph, tree.node)} {lines.head(graph, tree.node)}"


def legend(branches: Iterable[TreeEdge]) -> str:
    """What the marks mean, where some are used."""
    used = {branch.precision for branch in branches}
    words = {Precision.LIKELY: "~ likely", Precision.BY_NAME: "? by name"}
    return ", ".join(words[one] for one in sorted(used & words.keys()))


def through(branch: TreeEdge) -> str:
    """The event, signal or channel between the two ends; for a member without a body, its implementations."""
    if branch.through == (IMPLEMENTS,):
        return ""
    return f" through {', '.join(branch.through)}" if branch.through else ""


def implemented(branch: TreeEdge) -> str:
    """How many definitions a call may run; `impls` lists those that are not followed."""
    if branch.unread and not branch.implemented:
        return f"{plural(branch.unread, 'file')} may implement it: impls"
    if not branch.implemented:
        return ""
    counted = (
        f"{branch.implemented}+ implementations" if branch.unread else plural(branch.implemented, "implementation")
    )
    return counted if branch.children else f"{counted}: impls"


@dataclass(frozen=True)
class CallLayout:
    """Calls in one line each: line, name, place. `signatures` adds arguments and results; `everything` has a line for
    each call, however minor."""

    lines: Lines
    signatures: bool
    everything: bool

    def rows(self, graph: Graph, tree: Tree) -> Iterator[Item]:
        for branch in tree.branches:
            yield from self._items(graph, branch, 0, tree.node.doc)
        if tree.plumbing:
            names = [f"{name} ×{count}" if count > 1 else name for name, count in tree.plumbing.most_common()]
            project = graph.project
            yield Item((), f"plumbing: {_listed(names)}", project.root.id, project.path(tree.node.doc))

    def _items(self, graph: Graph, branch: TreeEdge, level: int, within: int) -> Iterator[Item]:
        """A line for the call, followed by its own calls, indented."""
        symbol = self.lines.symbol(graph, branch.node)
        head = self.lines.head(graph, branch.node) if self.signatures else branch.node.qualified
        text = f"{'  ' * level}{head}{MARKS[branch.precision]} {self.lines.place(graph, branch.node, within)}"
        if branch.by_value:
            text += " passed as a value"
        text += through(branch)
        if told_of := implemented(branch):
            text += f" · {told_of}"
        told = [child for child in branch.children if not self._is_minor(graph, child)]
        minor = [
            child.node.qualified for child in branch.children if child not in told and _does_something(graph, child)
        ]
        if also := list(dict.fromkeys([*minor, *_named_again(branch.repeated)])):
            text += f" · also {_listed(also)}"
        start, end = (symbol.start_line, symbol.end_line) if symbol else (1, 1)
        project = graph.project
        row = Row(text, branch.lines[0])
        yield Item((row,), "", project.root.id, project.path(branch.node.doc), start, end, level)
        for child in told:
            yield from self._items(graph, child, level + 1, branch.node.doc)

    def _is_minor(self, graph: Graph, branch: TreeEdge) -> bool:
        """Objects that are created, accessors, conversions, two levels down: their names are enough."""
        if branch.through or self.everything or self.signatures:
            return False
        symbol = self.lines.symbol(graph, branch.node)
        if symbol is None or branch.children or branch.repeated:
            return False
        if symbol.kind in TYPE_KINDS:
            return True
        if symbol.end_line - symbol.start_line >= MINOR_LINES or branch.precision is Precision.BY_NAME:
            return False
        project = graph.project
        uses = project.references(branch.node.doc).get(branch.node.qualified, ())
        return not any(use.kind == "call" and project.defining(use.name) for use in uses)


def _does_something(graph: Graph, branch: TreeEdge) -> bool:
    """Not an object of a type without a constructor: a record, a conversion."""
    facts = graph.project.facts(branch.node.doc)
    is_type = facts is not None and facts.kind(branch.node.qualified) in TYPE_KINDS
    return not is_type or body_of(graph, branch.node) is not None


def _named_again(nodes: Iterable[GraphNode]) -> Iterator[str]:
    """What is listed elsewhere: its name, with its owner where the name alone says nothing (`Disk.new`)."""
    for node in nodes:
        is_bare = node.name in LIBRARY_NAMES
        yield ".".join(node.qualified.split(".")[-2:]) if is_bare else node.name


def _listed(names: Sequence[str]) -> str:
    left = len(names) - MOST_NAMES
    return f"{', '.join(names[:MOST_NAMES])}{f' and {left} more' if left > 0 else ''}"


def data_of(lines: Lines, graph: Graph, tree: Tree) -> dict[str, Any]:
    return {
        **lines.data(graph, tree.node),
        "guesses": tree.guesses,
        "complete": tree.complete,
        "plumbing": dict(tree.plumbing),
        "calls": [branch_data(lines, graph, branch) for branch in tree.branches],
    }


def branch_data(lines: Lines, graph: Graph, branch: TreeEdge) -> dict[str, Any]:
    return {
        **lines.data(graph, branch.node),
        "at": {"path": graph.project.path(branch.site_doc), "lines": list(branch.lines)},
        "kinds": sorted(branch.kinds),
        "precision": branch.precision.label,
        "through": list(branch.through),
        "calls": [branch_data(lines, graph, child) for child in branch.children],
        "implementations": branch.implemented,
        "files_not_read": branch.unread,
        "also": [node.qualified for node in branch.repeated],
    }


TOOL = Tool(
    name="calls",
    summary="What a function calls in this repository, some levels deep, in source order: the way to follow a flow.",
    brief="Follow a flow: what a function calls, 2 levels deep, with path:line; names what it omits; ~20 tokens each.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        NAME,
        Argument("depth", "integer", "Levels of calls (default: 2)."),
        SKIP,
        SIGNATURES,
        GUESSES,
        BUDGET,
        Argument("all", "boolean", "Everything, without a budget; also logging, errors and other plumbing."),
    ),
    schema=("name", "depth"),
    budget="read_budget",
    examples=("calls Server.handle", "calls src/app.py:main --depth 3 --skip 'models/' --skip 'get*'"),
)
