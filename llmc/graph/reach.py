"""What reaches what? Tests that run a definition, a chain of calls between two definitions, and the impact of a
change.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.graph.edges import Edges
from llmc.graph.entities import Edge, Precision, Site
from llmc.graph.facts import CALLABLE_KINDS, TYPE_KINDS
from llmc.graph.implementations import calls_of_bases, implementations, implementing_members, overridden
from llmc.graph.incidental import is_plumbing
from llmc.graph.testing import is_test, is_test_case
from llmc.graph.trees import CALLS, body_of
from llmc.store.keywords.trigrams import trigrams
from llmc.store.protocols import Trigrams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.graph.edges import Graph
    from llmc.graph.entities import GraphNode, Implementing

__all__ = ["Chain", "Impact", "TestReach", "find_chain", "impact", "test_limits", "tests_of"]

MOST_NODES = 300
MOST_STEPS = 4_000
MOST_MOCK_FILES = 400
MOST_OVERRIDES = 40
MOST_OVERRIDDEN = 2  # bases whose other overrides are named
MOST_METHODS = 40  # of a type whose tests are looked for
_MOCKS = r"(?:patch|mock|spy|stub|fake|monkeypatch|setattr|when|verify|EXPECT_CALL|substitute|double)"


@dataclass(frozen=True)
class TestReach:
    """A test that runs a definition. `chain` are the definitions in between, from the test to the target."""

    test: GraphNode
    line: int
    chain: tuple[GraphNode, ...]


@dataclass
class Tests:
    tests: list[TestReach] = field(default_factory=list)
    by_name: list[TestReach] = field(default_factory=list)  # tests that call something of this name on a value
    mocks: list[tuple[int, int]] = field(default_factory=list)  # (document, line) where it is replaced
    between: dict[GraphNode, tuple[GraphNode, ...]] = field(default_factory=dict)  # the chain from each to the target
    followed: set[GraphNode] = field(default_factory=set)  # those of them whose callers were looked for
    unread: int = 0  # files that may use the definition and were not read


def test_limits(several: Sequence[Tests]) -> str:
    """What was left out for some definitions because a limit was reached; empty if nothing was."""
    unread = max((one.unread for one in several), default=0)
    followed, callers = sum(len(one.followed) for one in several), sum(len(one.between) for one in several)
    files = f"files that mention the name and were not read: {unread}" if unread else ""
    return "; ".join(filter(None, (files, f"followed {followed} of {callers} callers" if followed < callers else "")))


def tests_of(graph: Graph, node: GraphNode, depth: int, *, mocks: bool, documents: int) -> Tests:
    """Breadth first through callers, so each test has its shortest chain. For a type, tests of its methods are
    included. `mocks` reads test files to find replacements. At most `documents` documents are read for the uses of the
    definition itself, the nearest ones, and as many in total for the uses of its callers, which leaves out callers with
    very common names."""
    found = Tests(between={one: (one,) for one in _methods(graph, node)})
    level, left = [node], documents  # the definitions at one distance, and the documents that may still be read
    while level:
        following = list(found.between) if level == [node] else []
        for current in level:
            edges = graph.incoming(current, CALLS | {"type"} if current == node else CALLS, documents)
            users = edges.edges
            if current == node or not users:  # a definition without direct callers is called through a base
                bases = calls_of_bases(graph, current, documents)
                users = [*users, *(edge for several in bases.values() for edge in several)]
            if current == node:
                found.unread = edges.unread
                named = ((_case(graph, edge.source), edge.site.line) for edge in edges.guesses)
                found.by_name = [TestReach(case, line, ()) for case, line in named if case is not None]
            following += _add_users(graph, found, node, current, users, depth)
        level, left = _affordable(graph, following[: MOST_NODES - len(found.followed)], left)
        found.followed.update(level)
    seen = {one.test for one in found.tests}
    found.by_name = [one for one in found.by_name if one.test not in seen]
    found.mocks = _mocks(graph, node) if mocks else []
    return found


def _add_users(  # noqa: PLR0917 - the state of one step
    graph: Graph, found: Tests, node: GraphNode, current: GraphNode, users: list[Edge], depth: int
) -> list[GraphNode]:
    """Adds the tests among the users of a definition to `found`; returns its new callers."""
    chain = found.between.get(current, ())
    seen = {one.test for one in found.tests}
    callers = []
    for edge in users:
        facts = graph.project.facts(edge.source.doc)
        if facts is None:
            continue
        if is_test(facts, edge.source.qualified) and (case := _case(graph, edge.source)) is not None:
            if case not in seen:
                seen.add(case)
                found.tests.append(TestReach(case, edge.site.line, chain))
            continue
        is_new = edge.source != node and edge.source not in found.between
        if is_new and edge.source.qualified and len(chain) + 1 < depth:
            found.between[edge.source] = (edge.source, *chain)
            callers.append(edge.source)
    return callers


def _affordable(graph: Graph, nodes: list[GraphNode], documents: int) -> tuple[list[GraphNode], int]:
    """The definitions whose uses can be looked for by reading `documents` documents in total, and how many are left.
    Those with a rare name come first; the order of the result is that of `nodes`."""
    kept: set[GraphNode] = set()
    for node in sorted(nodes, key=lambda one: graph.mentions(one.name)):
        if (mentions := graph.mentions(node.name)) <= documents:
            documents -= mentions
            kept.add(node)
    return [node for node in nodes if node in kept], documents


def _methods(graph: Graph, node: GraphNode) -> list[GraphNode]:
    """The methods of a type in its file; none for other definitions."""
    facts = graph.project.facts(node.doc)
    if facts is None or facts.kind(node.qualified) not in TYPE_KINDS:
        return []
    methods = (one.qualified for one in facts.symbols if one.container == node.qualified and one.kind in CALLABLE_KINDS)
    return [facts.node(one) for one in dict.fromkeys(methods)][:MOST_METHODS]


def _case(graph: Graph, node: GraphNode) -> GraphNode | None:
    """The test case around a place; None for a helper that no runner runs by itself."""
    facts = graph.project.facts(node.doc)
    qualified = node.qualified
    while facts is not None and qualified:
        if is_test_case(facts, qualified):
            return facts.node(qualified)
        qualified = qualified.rpartition(".")[0]
    return None


def _mocks(graph: Graph, node: GraphNode) -> list[tuple[int, int]]:
    """Lines of tests that replace a definition: `patch("a.b.name")`, `jest.spyOn(x, "name")`."""
    project = graph.project
    wanted = trigrams(node.name)
    docs = project.places.keep(project.keywords.candidates(Trigrams(all=wanted))) if wanted else []
    line_of = re.compile(rf"{_MOCKS}\w*\s*\(.*\b{re.escape(node.name)}\b", re.IGNORECASE)
    found = []
    for doc in [one for one in docs if _in_tests(graph, one)][:MOST_MOCK_FILES]:
        lines = project.text(project.path(doc)).split("\n")
        found += [(doc, number) for number, line in enumerate(lines, 1) if node.name in line and line_of.search(line)]
    return found


def _in_tests(graph: Graph, doc: int) -> bool:
    facts = graph.project.facts(doc)
    return facts is not None and is_test(facts, "")


@dataclass(frozen=True)
class Chain:
    """`edges` lead from one definition to the other; empty if no chain was found. `unread` maps members that were not
    followed to the number of files that may implement them."""

    edges: tuple[Edge, ...]
    complete: bool
    unread: dict[GraphNode, int] = field(default_factory=dict)


def find_chain(graph: Graph, source: GraphNode, goals: set[GraphNode], *, guesses: bool = False) -> Chain:
    """The shortest chain of calls, breadth first."""
    before: dict[GraphNode, tuple[GraphNode, Edge] | None] = {source: None}  # the definition before it, and the call
    waiting = deque([source])
    unread: dict[GraphNode, int] = {}
    while waiting:
        current = waiting.popleft()
        step = before[current]
        runs_whole = step is None or step[1].through  # a class that is asked about, or receives events
        body = body_of(graph, current) or (current if runs_whole else None)
        edges = graph.outgoing(body, CALLS, guesses=guesses) if body else Edges()
        for edge in [*edges.edges, *edges.guesses] or _implementations(graph, current, unread):
            if edge.target in before:
                continue
            before[edge.target] = current, edge  # a call in its body may have another source, such as a constructor
            if edge.target in goals:
                return Chain(_back(before, edge.target), complete=True)
            if len(before) > MOST_STEPS:
                return Chain((), complete=False, unread=unread)
            waiting.append(edge.target)
    return Chain((), complete=not unread, unread=unread)


def _implementations(graph: Graph, node: GraphNode, unread: dict[GraphNode, int]) -> list[Edge]:
    """From a member without a body to its implementations; added to `unread` if there may be more."""
    facts = graph.project.facts(node.doc)
    symbol = facts.symbol(node.qualified) if facts else None
    site = Site(node.doc, symbol.start_line if symbol else 1, "call", node.qualified)
    found = implementing_members(graph, node)
    if found.unread:
        unread[node] = found.unread
    return [Edge(node, one, site, Precision.LIKELY, "implementation") for one in found.nodes]


def _back(before: dict[GraphNode, tuple[GraphNode, Edge] | None], goal: GraphNode) -> tuple[Edge, ...]:
    edges: list[Edge] = []
    step = before[goal]
    while step is not None:
        edges.insert(0, step[1])
        step = before[step[0]]
    return tuple(edges)


@dataclass
class Impact:
    """What must change if the signature of a definition changes. `through` are calls of the members that it overrides,
    `siblings` override the same members; `forwards` are members without a body that it passes its arguments to."""

    callers: list[Edge]
    guesses: list[Edge]  # uses that match by name alone
    overrides: list[GraphNode]
    overridden: list[GraphNode]
    through: dict[GraphNode, list[Edge]]
    siblings: dict[GraphNode, Implementing]
    forwards: dict[GraphNode, Implementing]
    imports: list[Edge]
    complete: bool


def impact(graph: Graph, node: GraphNode) -> Impact:
    """A call of an overridden member is a use of the override: both change together."""
    edges = graph.incoming(node)
    imported = graph.incoming(node, frozenset({"import"}))
    implemented = implementations(graph, node)
    through = [edge for one in implemented.members[:MOST_OVERRIDES] for edge in graph.incoming(one).edges]
    sites = {edge.site for edge in edges.edges}
    bases = overridden(graph, node)
    elsewhere = _calls_elsewhere(calls_of_bases(graph, node), sites)
    known = {edge.site for several in elsewhere.values() for edge in several}
    return Impact(
        callers=[*edges.edges, *(edge for edge in through if edge.site not in sites)],
        guesses=[edge for edge in edges.guesses if edge.site not in known],
        overrides=implemented.types or implemented.members,
        overridden=bases,
        through=elsewhere,
        siblings={base: _without(implementing_members(graph, base), node) for base in bases[:MOST_OVERRIDDEN]},
        forwards=_forwards(graph, node),
        imports=imported.edges,
        complete=edges.complete and implemented.complete,
    )


def _calls_elsewhere(through: dict[GraphNode, list[Edge]], sites: set[Site]) -> dict[GraphNode, list[Edge]]:
    """Without the sites that are known to call the definition itself."""
    left = {base: [edge for edge in edges if edge.site not in sites] for base, edges in through.items()}
    return {base: edges for base, edges in left.items() if edges}


def _without(found: Implementing, node: GraphNode) -> Implementing:
    return found._replace(nodes=tuple(one for one in found.nodes if one != node))


def _forwards(graph: Graph, node: GraphNode) -> dict[GraphNode, Implementing]:
    """Members of interfaces that a function calls by its own name, as `notify.NewIssue` calls each
    `Notifier.NewIssue`, or that are its only calls: an argument added to the function is added to them and to every
    implementation."""
    called = dict.fromkeys(
        edge.target
        for edge in graph.outgoing(node, frozenset({"call"})).edges
        if edge.target != node and not edge.through and not is_plumbing(graph.project, edge.target, node.doc)
    )
    named = [one for one in called if _folded(one.name) == _folded(node.name)] or list(called)
    found = {one: implementing_members(graph, one) for one in named} if len(named) == 1 else {}
    return {one: _without(known, node) for one, known in found.items() if known.nodes or known.unread}


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()
