"""Trees of calls: what a definition calls, and what calls it, some levels deep.

Callees are in source order. A definition is expanded once; further calls of it are listed by name only. Reached limits
are reported, and the end of a function is never cut off.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llmc.graph.entities import Entity, EntityKind, GraphNode, Precision
from llmc.graph.facts import CALLABLE_KINDS, TYPE_KINDS, VALUE_KINDS
from llmc.graph.implementations import calls_of_bases, calls_of_implementations, implementing_members
from llmc.graph.incidental import is_incidental, is_plumbing, plumbing_name
from llmc.graph.library_names import LIBRARY_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from llmc.graph.edges import Edges, Graph
    from llmc.graph.entities import Edge, Implementing

__all__ = ["Tree", "TreeEdge", "callees", "callers"]

CALLS = frozenset({"call", "use"})
HOLDER_KINDS = TYPE_KINDS | VALUE_KINDS  # not functions themselves, but what a call of them runs is known
MOST_BRANCHES = 2_000
MOST_IMPLEMENTATIONS = 4  # that are followed; more are counted
IMPLEMENTS = "implementation"
# Members of tasks: Celery, Dramatiq, Huey, RQ, Ray, taskiq, Active Job, Sidekiq.
DEFERS = frozenset(
    ["delay", "apply_async", "s", "si", "signature", "apply", "send_with_options", "remote", "kiq", "perform_async"]
)
DEEPEST = 10


@dataclass(frozen=True)
class TreeEdge:
    """One edge of a tree. `lines` are where the source uses it; `by_value` if it is passed on instead of called;
    `through` names the events that connect the two if nothing else does."""

    node: GraphNode
    lines: tuple[int, ...]
    kinds: frozenset[str]
    precision: Precision
    site_doc: int
    children: tuple[TreeEdge, ...] = ()
    through: tuple[str, ...] = ()
    implemented: int = 0  # definitions that a call of this one may run; a few are its children
    unread: int = 0  # files that may have more of them, too many to look at
    repeated: tuple[GraphNode, ...] = ()  # children that are listed elsewhere in the tree

    @property
    def by_value(self) -> bool:
        return self.kinds == {"use"}


@dataclass
class Tree:
    node: GraphNode
    branches: tuple[TreeEdge, ...] = ()
    guesses: int = 0  # calls by name that are not in the tree
    unlisted: Counter[str] = field(default_factory=Counter)  # the names that they call, which this repository defines
    plumbing: Counter[str] = field(
        default_factory=Counter
    )  # of callees: what is left out, with the number of its calls
    guessed: list[Edge] = field(default_factory=list)  # of callers: uses by name that are not in the tree
    through_bases: dict[GraphNode, list[Edge]] = field(default_factory=dict)  # of callers: calls of what it overrides
    of_implementations: dict[GraphNode, list[Edge]] = field(
        default_factory=dict
    )  # of callers: calls of what implements it
    complete: bool = True
    left: int = field(default=MOST_BRANCHES, repr=False)
    everything: bool = False  # with plumbing
    skipped: Callable[[str, str], bool] | None = field(default=None, repr=False)
    left_out: int = 0  # calls of what is skipped


def callees(
    graph: Graph,
    node: GraphNode,
    depth: int,
    *,
    guesses: bool = False,
    everything: bool = False,
    skipped: Callable[[str, str], bool] | None = None,
) -> Tree:
    """`everything` includes logging, error wrapping, database sessions and similar plumbing, which is otherwise only
    counted by name. `skipped` decides by path and qualified name what is omitted together with its calls."""
    tree = Tree(node, everything=everything, skipped=skipped)
    top = _level(graph, tree, {node: body_of(graph, node) or node}, guesses=guesses)[node]
    shown = {node, *(branch.node for branch in top)}
    tree.branches = _grown(graph, tree, top, min(depth, DEEPEST) - 1, shown, guesses=guesses)
    return tree


def _grown(
    graph: Graph, tree: Tree, branches: list[TreeEdge], depth: int, shown: set[GraphNode], *, guesses: bool
) -> tuple[TreeEdge, ...]:
    """Grown level by level, so a direct call is never listed only further down."""
    if depth <= 0 or not branches:
        return tuple(branches)
    bodies = {branch.node: branch.node if branch.through else body_of(graph, branch.node) for branch in branches}
    inner = _level(graph, tree, bodies, guesses=guesses)
    fresh: dict[GraphNode, list[TreeEdge]] = {}
    repeated: dict[GraphNode, list[GraphNode]] = {}
    implemented: dict[GraphNode, Implementing] = {}
    for branch in branches:
        called = inner.get(branch.node, [])
        if not called and branch.node in inner:
            found = implemented[branch.node] = implementing_members(graph, branch.node)
            called = _implementations(graph, branch.node, found) if len(found.nodes) <= MOST_IMPLEMENTATIONS else []
        fresh[branch.node] = [one for one in called if one.node not in shown]
        repeated[branch.node] = [one.node for one in called if one.node in shown and one.node != branch.node]
        shown |= {one.node for one in fresh[branch.node]}
    flat = [one for several in fresh.values() for one in several]
    grown = iter(_grown(graph, tree, flat, depth - 1, shown, guesses=guesses))
    children = {node: tuple(next(grown) for _ in several) for node, several in fresh.items()}
    return tuple(
        replace(
            branch,
            children=children[branch.node],
            repeated=tuple(dict.fromkeys(repeated[branch.node])),
            implemented=len(implemented[branch.node].nodes) if branch.node in implemented else 0,
            unread=implemented[branch.node].unread if branch.node in implemented else 0,
        )
        for branch in branches
    )


def _level(
    graph: Graph, tree: Tree, bodies: Mapping[GraphNode, GraphNode | None], *, guesses: bool
) -> dict[GraphNode, list[TreeEdge]]:
    """The calls of each definition. `bodies` maps a definition to the functions that run when it is called: for an
    event receiver, all of them."""
    found: dict[GraphNode, list[TreeEdge]] = {}
    for node, body in bodies.items():
        is_cut = tree.left <= 0
        tree.complete = tree.complete and not is_cut
        edges = None if is_cut or body is None else graph.outgoing(body, CALLS, guesses=guesses)
        found[node] = _branches(graph, tree, edges) if edges else []
        tree.left -= len(found[node])
    return found


def _implementations(graph: Graph, node: GraphNode, found: Implementing) -> list[TreeEdge]:
    facts = graph.project.facts(node.doc)
    symbol = facts.symbol(node.qualified) if facts else None
    lines = (symbol.start_line if symbol else 1,)
    return [
        TreeEdge(one, lines, frozenset({"call"}), Precision.LIKELY, node.doc, through=(IMPLEMENTS,))
        for one in found.nodes
    ]


def body_of(graph: Graph, node: GraphNode) -> GraphNode | None:
    """The function that runs on a call: for a type its constructor, perhaps an inherited one; None if it has none
    here. Methods of the type do not run."""
    facts = graph.project.facts(node.doc)
    if facts is None or facts.kind(node.qualified) not in TYPE_KINDS:
        return node
    named = graph.resolver.dialect(facts).constructors
    for name in (*named, node.name):
        if facts.defines(f"{node.qualified}.{name}"):
            return GraphNode(node.doc, f"{node.qualified}.{name}")
    inherited = (graph.resolver.member(Entity(EntityKind.SUPER, node), name).nodes() for name in named)
    return next((nodes[0] for nodes in inherited if nodes), None)


def _branches(graph: Graph, tree: Tree, edges: Edges) -> list[TreeEdge]:
    certain = [edge for edge in edges.edges if _is_called(graph, edge)]
    sites = {edge.site for edge in certain}
    guessed = [edge for edge in edges.guesses if edge.site not in sites]
    unlisted = {site: name for site, name in edges.unlisted.items() if site not in sites}
    tree.guesses += len(unlisted)
    called = (name for site, name in unlisted.items() if site.kind == "call")
    tree.unlisted.update(name for name in called if not _is_common(name))
    together: dict[GraphNode, list[Edge]] = {}
    for edge in sorted([*certain, *guessed], key=lambda one: one.site.line):
        together.setdefault(edge.target, []).append(edge)
    return [_branch(graph, several, target, target) for target, several in _steps(graph, tree, together)]


def _steps(graph: Graph, tree: Tree, together: dict[GraphNode, list[Edge]]) -> Iterator[tuple[GraphNode, list[Edge]]]:
    """Without plumbing and skipped definitions, which are counted."""
    project = graph.project
    for target, several in together.items():
        if tree.skipped is not None and tree.skipped(project.path(target.doc), target.qualified):
            tree.left_out += len(several)
            continue
        is_step = any(edge.through for edge in several) or target == tree.node
        if tree.everything or is_step or not is_plumbing(project, target, several[0].site.doc):
            yield target, several
        else:
            tree.plumbing[plumbing_name(project.facts(target.doc), target)] += len(several)


def _is_common(name: str) -> bool:
    """Whether an unresolved call of this name is not worth listing: a library defines it, or it is plumbing."""
    return name in LIBRARY_NAMES or is_incidental(GraphNode(0, name)) or is_incidental(GraphNode(0, f"_.{name}"))


def _branch(graph: Graph, edges: list[Edge], node: GraphNode, target: GraphNode) -> TreeEdge:
    """All edges between the same two definitions. Reading a property calls it, and so does `task.delay()`."""
    # Only a property requires unpacking its document; calls do not.
    facts = graph.project.facts(target.doc) if any(edge.site.kind == "use" for edge in edges) else None
    is_property = facts is not None and facts.is_property(target.qualified)
    kinds: set[str] = set()
    through: dict[str, None] = {}
    for edge in edges:
        deferred = deferring(graph, edge) if edge.site.kind == "use" and not is_property else ""
        kinds.add("call" if deferred or (is_property and edge.site.kind == "use") else edge.site.kind)
        through[edge.through or deferred] = None
    return TreeEdge(
        node,
        tuple(dict.fromkeys(edge.site.line for edge in edges)),
        frozenset(kinds),
        min(edge.precision for edge in edges),
        edges[0].site.doc,
        through=() if "" in through else tuple(through),
    )


def deferring(graph: Graph, edge: Edge) -> str:
    """For `.delay()`, where a task is called through one of its members to be run later or elsewhere."""
    uses = graph.project.references(edge.site.doc).get(edge.site.container, ())
    for one in uses:
        is_here = one.kind == "call" and edge.site.line <= one.line <= edge.site.line + 1
        if is_here and one.name in DEFERS and one.receiver.rpartition(".")[2] == edge.target.name:
            return f".{one.name}()"
    return ""


def _is_called(graph: Graph, edge: Edge) -> bool:
    """Calls of functions, types and variables that hold a function, and functions passed as values."""
    facts = graph.project.facts(edge.target.doc)
    kind = facts.kind(edge.target.qualified) if facts else ""
    if edge.through:
        return bool(kind)
    return kind in CALLABLE_KINDS or (kind in HOLDER_KINDS and edge.site.kind == "call")


def callers(graph: Graph, node: GraphNode, depth: int, *, guesses: bool = False) -> Tree:
    """The uses of a definition, and their uses, and so on; all kinds of use except imports."""
    tree = Tree(node)
    tree.branches = _users(graph, tree, node, min(depth, DEEPEST), {node}, guesses=guesses)
    known = {(branch.site_doc, line) for branch in tree.branches for line in branch.lines}
    for others, found in (
        (calls_of_bases(graph, node), tree.through_bases),
        (calls_of_implementations(graph, node), tree.of_implementations),
    ):
        for other, edges in others.items():
            fresh = [edge for edge in edges if (edge.site.doc, edge.site.line) not in known]
            known |= {(edge.site.doc, edge.site.line) for edge in fresh}
            if fresh:
                found[other] = fresh
    tree.guessed = [edge for edge in tree.guessed if (edge.site.doc, edge.site.line) not in known]
    return tree


def _users(
    graph: Graph, tree: Tree, node: GraphNode, depth: int, shown: set[GraphNode], *, guesses: bool
) -> tuple[TreeEdge, ...]:
    edges = graph.incoming(node)
    tree.complete = tree.complete and edges.complete
    listed = edges.edges
    if guesses:
        listed = [*listed, *edges.guesses]
    elif node == tree.node:
        tree.guessed = edges.guesses
    together: dict[GraphNode, list[Edge]] = {}
    for edge in listed:
        together.setdefault(edge.source, []).append(edge)
    branches = [_branch(graph, several, source, node) for source, several in together.items()]
    tree.left -= len(branches)
    if depth <= 1:
        return tuple(branches)
    grown = []
    for branch in branches:
        if branch.node in shown or not branch.node.qualified or tree.left <= 0:
            tree.complete = tree.complete and tree.left > 0
            grown.append(branch)
            continue
        shown.add(branch.node)
        grown.append(replace(branch, children=_users(graph, tree, branch.node, depth - 1, shown, guesses=guesses)))
    return tuple(grown)
