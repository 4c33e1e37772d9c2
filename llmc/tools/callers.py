"""`callers`: what uses a definition, directly or through others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.base.errors import NotFoundError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.graph.implementations import registering_marks
from llmc.graph.trees import callers
from llmc.tool import BUDGET, Argument, Tool, ToolRequest
from llmc.tools.calls import MARKS, branch_data, every, legend, through
from llmc.tools.graph_output import (
    EVERY_TEST,
    GUESSES,
    NAMES,
    NO_TESTS,
    WORDS,
    Lines,
    TestUse,
    by_name_group,
    defined_item,
    limited,
    looked_up,
    names_in,
    notes_of,
    resolved_count,
    test_group,
    through_group,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.graph.edges import Graph
    from llmc.graph.lookup import LookupTarget
    from llmc.graph.trees import Tree, TreeEdge


def run(request: ToolRequest) -> Envelope:
    """Several names are answered one after the other, each with its own counts."""
    names = names_in(request.text("name"))
    if len(names) == 1:
        return callers_of(request, names[0])
    found: dict[str, Envelope] = {}
    missing: dict[str, NotFoundError] = {}
    for name in names:
        try:
            found[name] = callers_of(request, name)
        except NotFoundError as error:
            missing[name] = error
    if not found:
        raise next(iter(missing.values()))
    counts = [f"{name}: {one.found}" for name, one in found.items()]
    return Envelope(
        "callers",
        " · ".join([*counts, *(f"{name}: not found" for name in missing)]),
        groups=tuple(group for one in found.values() for group in one.groups),
        notes=tuple(dict.fromkeys(note for one in found.values() for note in one.notes)),
        data={"definitions": [definition for one in found.values() for definition in one.data["definitions"]]},
        in_order=True,
    )


def callers_of(request: ToolRequest, name: str) -> Envelope:
    lookup = looked_up(request, name)
    shown, more = limited(lookup)
    lines = Lines(request)
    trees = [
        (one.graph, callers(one.graph, one.node, request.number("depth", 1), guesses=request.flag("guesses")))
        for one in shown
    ]
    branches = [branch for _, tree in trees for branch in every(tree.branches)]
    in_tests = {id(branch) for graph, tree in trees for branch in every(tree.branches) if graph.in_test(branch.node)}
    code = [branch for branch in branches if id(branch) not in in_tests]
    unverified = [by_name_group(lines, graph, tree.node, tree.guessed) for graph, tree in trees]
    said = [resolved_count(len(code), "caller", unverified)]
    said += [f"{len(in_tests)} in tests"] if in_tests else []
    said += [] if code else registered(shown)
    layout = CallerLayout(lines, every_test=request.flag("all"), no_tests=request.flag("no_tests"))
    said += dict.fromkeys(note for _, note in unverified if note)  # definitions of one name share these uses
    said += [
        f"{len(edges)} through {base.qualified}" for _, tree in trees for base, edges in tree.through_bases.items()
    ]
    of_implementations = sum(len(edges) for _, tree in trees for edges in tree.of_implementations.values())
    said += [f"{of_implementations} of implementations"] if of_implementations else []
    cut = "" if all(tree.complete for _, tree in trees) else "not all files that hold the name were looked through"
    return Envelope(
        "callers",
        " · ".join(said),
        groups=tuple(
            group
            for (graph, tree), (guesses, _) in zip(trees, unverified, strict=True)
            for group in layout.groups(graph, tree, guesses)
        ),
        notes=notes_of(request, more, cut, legend(code)),
        data={"definitions": [data_of(lines, graph, tree) for graph, tree in trees]},
        in_order=True,
    )


def registered(shown: Sequence[LookupTarget]) -> list[str]:
    """The marks by which a framework may call definitions without callers."""
    marks = dict.fromkeys(mark for one in shown for _, mark in registering_marks(one.graph, one.node))
    return [f"a framework may call it: {', '.join(marks)}"] if marks else []


@dataclass(frozen=True)
class CallerLayout:
    """Callers by file, product code first. Those in tests are counted by file, all listed (`every_test`), or left out
    (`no_tests`)."""

    lines: Lines
    every_test: bool
    no_tests: bool = False

    def groups(self, graph: Graph, tree: Tree, guesses: list[Group]) -> Iterator[Group]:
        yield Group("", (defined_item(self.lines, graph, tree.node),))
        code = [branch for branch in tree.branches if not graph.in_test(branch.node)]
        tests = [branch for branch in tree.branches if graph.in_test(branch.node)]
        yield from self._by_file(graph, code, "")
        yield from through_group(self.lines, graph, tree.through_bases)
        yield from through_group(self.lines, graph, tree.of_implementations, "of the implementation")
        yield from guesses
        if self.no_tests:
            return
        if self.every_test:
            yield from self._by_file(graph, tests, " (tests)")
        else:
            uses = [
                TestUse(branch.site_doc, line, min(branch.kinds), branch.node.qualified)
                for branch in tests
                for line in branch.lines
            ]
            yield from test_group(self.lines, graph, uses)

    def _by_file(self, graph: Graph, branches: list[TreeEdge], mark: str) -> Iterator[Group]:
        by_file: dict[int, list[TreeEdge]] = {}
        for branch in branches:
            by_file.setdefault(branch.site_doc, []).append(branch)
        for doc, several in by_file.items():
            items = tuple(item for branch in several for item in self._items(graph, branch, 0, doc))
            yield Group(f"{self.lines.path(graph, doc)}{mark}", items, len(several))

    def _items(self, graph: Graph, branch: TreeEdge, level: int, within: int) -> Iterator[Item]:
        more = f" also {', '.join(str(line) for line in branch.lines[1:])}" if len(branch.lines) > 1 else ""
        kinds = (
            ""
            if branch.kinds & {"call", "event"}
            else ", ".join(WORDS.get(kind, kind) for kind in sorted(branch.kinds))
        )
        name = branch.node.qualified or "(top of the file)"
        place = "" if branch.site_doc == within else f" {self.lines.path(graph, branch.site_doc)}"
        text = (
            f"{'  ' * level}{name}{MARKS[branch.precision]}{' ' + kinds if kinds else ''}{through(branch)}{place}{more}"
        )
        told = [child for child in branch.children if self.every_test or not graph.in_test(child.node)]
        if left := len(branch.children) - len(told):
            text += f" · {plural(left, 'test')}"
        project = graph.project
        symbol = self.lines.symbol(graph, branch.node)
        start, end = (symbol.start_line, symbol.end_line) if symbol else (branch.lines[0], branch.lines[0])
        row = Row(text, branch.lines[0])
        yield Item((row,), "", project.root.id, project.path(branch.site_doc), start, end, level)
        for child in told:
            yield from self._items(graph, child, level + 1, branch.site_doc)


def data_of(lines: Lines, graph: Graph, tree: Tree) -> dict[str, Any]:
    return {
        **lines.data(graph, tree.node),
        "guesses": len(tree.guessed),
        "complete": tree.complete,
        "callers": [branch_data(lines, graph, branch) for branch in tree.branches],
        "through": [
            {
                **lines.data(graph, edge.source),
                "at": {"path": graph.project.path(edge.site.doc), "lines": [edge.site.line]},
                "base": base.qualified,
            }
            for base, edges in tree.through_bases.items()
            for edge in edges
        ],
        "of_implementations": [
            {
                **lines.data(graph, edge.source),
                "at": {"path": graph.project.path(edge.site.doc), "lines": [edge.site.line]},
                "implementation": member.qualified,
            }
            for member, edges in tree.of_implementations.items()
            for edge in edges
        ],
    }


TOOL = Tool(
    name="callers",
    summary="What calls a function or uses a type, resolved by imports and types rather than by name.",
    brief="Every caller of a function or user of a type, resolved; those by name apart; ~15 tokens each.",
    run=run,
    cacheable=True,
    cpu_bound=True,
    arguments=(
        NAMES,
        Argument("depth", "integer", "Levels of callers (default: 1)."),
        GUESSES,
        NO_TESTS,
        BUDGET,
        EVERY_TEST,
    ),
    schema=("name", "depth"),
    examples=("callers Parser.feed", "callers load save", "callers resolve_url --depth 3"),
)
