"""`tests`: which tests reach a definition, directly or through its callers, and which replace it."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.graph.reach import test_limits, tests_of
from llmc.tool import ALL, BUDGET, Argument, Tool, ToolRequest
from llmc.tools.graph_output import NAME, Lines, limited, looked_up, notes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.graph.edges import Graph
    from llmc.graph.entities import GraphNode
    from llmc.graph.reach import TestReach, Tests

DEPTH = 4
# Documents read for the uses of a definition, and again for those of its callers: 0.5 to 2 ms each. A method `Set` is
# mentioned in 10,000 files of a large repository.
MOST_DOCUMENTS = 2_000
MOST_BY_NAME = 4  # tests of one file that are named where only the name of a call fits


def run(request: ToolRequest) -> Envelope:
    shown, more = limited(looked_up(request, request.text("name")))
    lines = Lines(request)
    depth = request.number("depth", DEPTH)
    found = [(one.graph, tests_of(one.graph, one.node, depth, mocks=True, documents=MOST_DOCUMENTS)) for one in shown]
    direct = sum(not test.chain for _, one in found for test in one.tests)
    through = sum(bool(test.chain) for _, one in found for test in one.tests)
    named = sum(len(one.by_name) for _, one in found)
    mocks = sum(len(one.mocks) for _, one in found)
    said = [f"{plural(direct, 'test')} directly"]
    said += [f"{through} through callers"] if through else []
    said += [f"{named} by name alone"] if named else []
    said += [f"replaced by a mock in {plural(mocks, 'place')}"] if mocks else []
    return Envelope(
        "tests",
        ", ".join(said),
        groups=tuple(group for graph, one in found for group in groups(lines, graph, one)),
        notes=notes_of(request, more, test_limits([one for _, one in found])),
        data={
            "tests": [data_of(lines, graph, test) for graph, one in found for test in one.tests],
            "by_name": [data_of(lines, graph, test) for graph, one in found for test in one.by_name],
        },
    )


def groups(lines: Lines, graph: Graph, found: Tests) -> Iterator[Group]:
    """Tests by file and by the definitions between, nearest first and files with mocks last; then places with a mock,
    one line per file."""
    together: dict[tuple[int, tuple[GraphNode, ...], str], list[TestReach]] = {}
    replacing = {doc for doc, _ in found.mocks}
    for test in sorted(found.tests, key=lambda one: (len(one.chain), one.test.doc in replacing)):
        outermost = test.test.qualified.partition(".")[0]
        together.setdefault((test.test.doc, test.chain, outermost), []).append(test)
    for (doc, chain, _), several in merged(together):
        suite = suite_of([test.test.qualified for test in several]) if len(several) > 1 else ""
        items = tuple(item_of(lines, graph, test, suite) for test in several)
        via = f" via {' → '.join(node.name for node in chain)}" if chain else ""
        yield Group(f"{lines.path(graph, doc)} {suite}".rstrip(" .") + via, items, len(several))
    by_file: dict[int, list[str]] = {}
    for test in dict.fromkeys(found.by_name):
        by_file.setdefault(test.test.doc, []).append(f"{test.line} {test.test.qualified}")
    project = graph.project
    unverified = [
        Item((), f"{lines.path(graph, doc)} {listed(places)}", project.root.id, project.path(doc))
        for doc, places in by_file.items()
    ]
    if unverified:
        yield Group("by name, unverified", tuple(unverified))
    mocked: dict[int, list[int]] = {}
    for doc, line in found.mocks:
        mocked.setdefault(doc, []).append(line)
    replaced = [
        Item((), f"{lines.path(graph, doc)} {', '.join(map(str, numbers))}", graph.project.root.id)
        for doc, numbers in mocked.items()
    ]
    if replaced:
        yield Group("replaced by a mock", tuple(replaced))


def listed(places: list[str]) -> str:
    left = len(places) - MOST_BY_NAME
    return f"{', '.join(places[:MOST_BY_NAME])}{f' and {left} more' if left > 0 else ''}"


def merged(
    together: dict[tuple[int, tuple[GraphNode, ...], str], list[TestReach]],
) -> list[tuple[tuple[int, tuple[GraphNode, ...], str], list[TestReach]]]:
    """Suites with a single test share a group: a heading for each would cost more than the name of the suite."""
    groups: dict[tuple[int, tuple[GraphNode, ...], str], list[TestReach]] = {}
    for (doc, chain, suite), several in together.items():
        groups.setdefault((doc, chain, suite if len(several) > 1 else ""), []).extend(several)
    return list(groups.items())


def suite_of(names: list[str]) -> str:
    """The classes or suites that all of these tests are in: `TestUpload.`."""
    outers = [name.split(".")[:-1] for name in names]
    shared = takewhile(lambda several: len(set(several)) == 1, zip(*outers, strict=False))
    return "".join(f"{several[0]}." for several in shared)


def item_of(lines: Lines, graph: Graph, test: TestReach, suite: str) -> Item:
    symbol = lines.symbol(graph, test.test)
    start, end = (symbol.start_line, symbol.end_line) if symbol else (test.line, test.line)
    path = graph.project.path(test.test.doc)
    row = Row(test.test.qualified.removeprefix(suite), start)
    return Item((row,), "", graph.project.root.id, path, start, end, len(test.chain))


def data_of(lines: Lines, graph: Graph, test: TestReach) -> dict[str, Any]:
    return {**lines.data(graph, test.test), "at": test.line, "through": [node.qualified for node in test.chain]}


TOOL = Tool(
    name="tests",
    summary="Tests that reach a definition, directly or through callers; tests that only mock it are listed apart.",
    brief="Which tests run a function, directly or through callers, and which mock it; ~15 tokens each.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(NAME, Argument("depth", "integer", "Levels of callers (default: 4)."), BUDGET, ALL),
    schema=("name",),
    topics=frozenset({"code", "tests"}),
    examples=("tests Session.send",),
)
