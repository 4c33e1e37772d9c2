"""What the tools of the code graph have in common: their arguments, how a definition is written in one line, notes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from llmc.base.sections import section_of
from llmc.envelope import Group, Item
from llmc.envelope.phrases import freshness_notes, plural
from llmc.graph.lookup import find_targets
from llmc.graph.project import project_of
from llmc.tool import Argument
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from llmc.base.model import Symbol
    from llmc.graph.edges import Graph
    from llmc.graph.entities import Edge, GraphNode
    from llmc.graph.lookup import Lookup, LookupTarget
    from llmc.tool import ToolRequest

__all__ = [
    "EVERY_TEST",
    "GUESSES",
    "NAME",
    "NAMES",
    "NO_TESTS",
    "WORDS",
    "Lines",
    "TestUse",
    "by_name_group",
    "defined_item",
    "limited",
    "looked_up",
    "names_in",
    "notes_of",
    "other_definitions",
    "resolved_count",
    "test_group",
    "through_group",
]

NAME = Argument("name", "string", "A definition: name, Class.method or path:name.", required=True)
NAMES = Argument("name", "string", "Definitions: name, Class.method or path:name; several with spaces.", required=True)
GUESSES = Argument("guesses", "boolean", "List all edges that match by name alone, too.")
NO_TESTS = Argument("no_tests", "boolean", "Count tests without listing them.")
EVERY_TEST = Argument("all", "boolean", "Everything, without a budget; also every use in tests.")
WORDS = {"type": "as a type", "inherit": "as a base", "use": "as a value", "write": "assigned"}
# Definitions of one name that are answered for at once; the others are named.
MOST_TARGETS = 5
MOST_OTHERS = 3
# Uses that match by name alone are listed up to this many: a reader can check these, and a count alone does not help.
# Of more, those in files that speak of the owner are listed, and the others are counted by folder.
MOST_UNVERIFIED = 20
MOST_UNRESOLVED = 6  # names of unresolved calls that are listed
MOST_FILES_READ = 200  # for uses by name
_GENERIC = re.compile(r"^(?:Abstract|Base|I(?=[A-Z]))|(?:Interface|Base|Impl|Trait|Protocol)$")
MOST_FOLDERS = 5  # of uses by name that are counted
MOST_THROUGH = 40  # calls through one base
FEW_TESTS = 4  # uses in tests that are named; more are counted
LONGEST_HEAD = 80
_PLAIN_NAME = re.compile(r"[\w$./:#~>-]+(?:\(\))?")
_SPACED = re.compile(r"([(\[{]) | (?=[)\]}])|,(?= \))")


def looked_up(request: ToolRequest, text: str) -> Lookup:
    views = request.views()
    return find_targets([project_of(view.root, view.root_fs, view.store) for view in views], text)


def names_in(text: str) -> list[str]:
    """The definitions that one argument names. The name of a handler may have spaces (`router.post('/x', auth)`)."""
    names = list(dict.fromkeys(text.split()))
    return names if names and all(_PLAIN_NAME.fullmatch(name) for name in names) else [text]


def limited(lookup: Lookup) -> tuple[Sequence[LookupTarget], str]:
    """The definitions that are answered for, and a note on the others: those of tests and migrations if there are any
    elsewhere."""
    code = [one for one in lookup.targets if not one.graph.in_test(one.node) and section_of(one.path) != "migrations"]
    shown = (code or list(lookup.targets))[:MOST_TARGETS]
    return shown, other_definitions(lookup, [one.node for one in shown])


def other_definitions(lookup: Lookup, shown: Collection[GraphNode]) -> str:
    """A note on the definitions of a name that a reply does not show."""
    rest = [one for one in lookup.targets if one.node not in shown]
    if not rest and lookup.complete:
        return ""
    more = f"{len(rest)}{'' if lookup.complete else '+'}"
    places = ", ".join(f"{one.path}:{one.node.qualified}" for one in rest[:MOST_OTHERS])
    word = "definition" if more == "1" else "definitions"
    return f"{more} more {word}: {places}{', …' if len(rest) > MOST_OTHERS else ''}; narrow with path:name"


def notes_of(request: ToolRequest, *said: str) -> tuple[str, ...]:
    views = request.views()
    said = (*said, *dict.fromkeys(project_of(view.root, view.root_fs, view.store).scip_note for view in views))
    pending = sum(len(view.pending) for view in views)
    return (*(one for one in said if one), *freshness_notes(pending, min((view.share for view in views), default=1.0)))


def guessed(count: int, names: Counter[str] | None = None) -> str:
    """How many uses are known by name alone, and the names that are written most."""
    most = ", ".join(name for name, _ in names.most_common(MOST_UNRESOLVED)) if names else ""
    more = ", …" if names and len(names) > MOST_UNRESOLVED else ""
    return f"{count} unresolved by name{f': {most}{more}' if most else ''}" if count else ""


class TestUse(NamedTuple):
    doc: int
    line: int
    kind: str
    within: str  # the qualified name of the test, or of the definition it calls


def test_group(lines: Lines, graph: Graph, uses: Sequence[TestUse]) -> Iterator[Group]:
    """One line for each test file: how often it uses the definition, by kind; a few uses by name."""
    by_file: dict[int, list[TestUse]] = {}
    for use in uses:
        by_file.setdefault(use.doc, []).append(use)
    items = []
    for doc, several in by_file.items():
        kinds = Counter(WORDS.get(use.kind, "") for use in several)
        counts = ", ".join(f"{count} {word}".rstrip() for word, count in sorted(kinds.items()))
        names = ", ".join(f"{use.line} {use.within}".rstrip() for use in several)
        shown = names if len(uses) <= FEW_TESTS else f"· {counts}"
        items.append(Item((), f"{lines.path(graph, doc)} {shown}", graph.project.root.id, graph.project.path(doc)))
    if items:
        yield Group("tests", tuple(items))


def defined_item(lines: Lines, graph: Graph, node: GraphNode) -> Item:
    """Where the definition is that a reply is about."""
    symbol = lines.symbol(graph, node)
    start, end = (symbol.start_line, symbol.end_line) if symbol else (1, 1)
    text = f"defined {lines.place(graph, node)} {lines.head(graph, node)}"
    return Item((), text, graph.project.root.id, graph.project.path(node.doc), start, end)


def by_name_group(lines: Lines, graph: Graph, node: GraphNode, edges: Sequence[Edge]) -> tuple[list[Group], str]:
    """Uses of `node` in product code that match by name alone, one line for each file, and a note on those left out."""
    code = [edge for edge in edges if not graph.in_test(edge.source)]
    if not code:
        return [], f"{len(edges)} more by name in tests" if edges else ""
    in_tests = len(edges) - len(code)
    note = f"{len(code)} by name, unverified" + (f" ({in_tests} more in tests)" if in_tests else "")
    if len(code) <= MOST_UNVERIFIED:
        return [Group("by name, unverified", tuple(file_items(lines, graph, code)))], note
    near = near_owner(graph, node, code)[:MOST_UNVERIFIED]
    left = [edge for edge in code if edge not in near]
    counts = Counter(lines.path(graph, edge.site.doc).rpartition("/")[0] for edge in left)
    most = ", ".join(f"{folder or '.'} {count}" for folder, count in counts.most_common(MOST_FOLDERS))
    more = f", {len(counts) - MOST_FOLDERS} more folders" if len(counts) > MOST_FOLDERS else ""
    row = Item((), f"{most}{more}; --guesses lists them", graph.project.root.id)
    if not near:
        return [Group(f"{len(left)} by name, unverified", (row,))], note
    listed = Group("by name, unverified, in files that name its owner", tuple(file_items(lines, graph, near)))
    return [listed, Group(f"{len(left)} more by name, unverified", (row,))], note


def near_owner(graph: Graph, node: GraphNode, edges: Sequence[Edge]) -> list[Edge]:
    """Edges in files that mention the owner of a member, or a related name: `TrackingModeService` indicates
    `TrackingModeInterface`."""
    owner = _GENERIC.sub("", node.qualified.rpartition(".")[0].rpartition(".")[2])
    docs = {edge.site.doc for edge in edges}
    if not owner or len(docs) > MOST_FILES_READ:
        return []
    near = {doc for doc in docs if owner in graph.project.text(graph.project.path(doc))}
    return [edge for edge in edges if edge.site.doc in near]


def resolved_count(edges: int, word: str, groups: Sequence[tuple[list[Group], str]]) -> str:
    """The number of edges. Zero is not reported if uses match by name, since one of them may be a real one."""
    return plural(edges, word) if edges or not any(group for group, _ in groups) else f"no {word} resolved"


def through_group(
    lines: Lines, graph: Graph, through: Mapping[GraphNode, Sequence[Edge]], word: str = "~ through"
) -> list[Group]:
    """Calls of what a definition overrides or implements, one line per file: they may run it or another
    implementation. With another `word`, calls of its implementations."""
    groups = []
    for base, edges in through.items():
        code = [edge for edge in edges if not graph.in_test(edge.source)]
        items = file_items(lines, graph, code[:MOST_THROUGH])
        if left := len(code) - MOST_THROUGH:
            items += [Item((), f"{left} more: callers {base.qualified}")] if left > 0 else []
        tests = len(edges) - len(code)
        items += [Item((), f"{tests} in tests")] if tests else []
        groups.append(Group(f"{word} {base.qualified} {lines.place(graph, base)}", tuple(items)))
    return groups


def file_items(lines: Lines, graph: Graph, edges: Sequence[Edge]) -> list[Item]:
    """`path 12 f, 30 Class.g`."""
    by_file: dict[int, list[str]] = {}
    for edge in edges:
        by_file.setdefault(edge.site.doc, []).append(f"{edge.site.line} {edge.source.qualified}".rstrip())
    project = graph.project
    return [
        Item((), f"{lines.path(graph, doc)} {', '.join(dict.fromkeys(places))}", project.root.id, project.path(doc))
        for doc, places in by_file.items()
    ]


@dataclass(frozen=True)
class Lines:
    """Definitions in one line each, as `path:line Class.method(arguments)`."""

    asked: ToolRequest

    def symbol(self, graph: Graph, node: GraphNode) -> Symbol | None:
        facts = graph.project.facts(node.doc)
        return facts.symbol(node.qualified) if facts else None

    def path(self, graph: Graph, doc: int) -> str:
        return shown_path(self.asked.workspace, graph.project.root.id, graph.project.path(doc))

    def place(self, graph: Graph, node: GraphNode, within: int = 0) -> str:
        """`path:line`; relative to the file of the caller, `within`, where it is the same (`:line`) or lies beside or
        below it (`./lib/parse.ts:line`)."""
        symbol = self.symbol(graph, node)
        line = symbol.start_line if symbol else 1
        path = self.path(graph, node.doc)
        if node.doc == within:
            return f":{line}"
        folder = self.path(graph, within).rpartition("/")[0] + "/" if within else "/"
        return f"{'./' + path.removeprefix(folder) if path.startswith(folder) else path}:{line}"

    def head(self, graph: Graph, node: GraphNode) -> str:
        """The qualified name and, of a function, its arguments and result."""
        symbol = self.symbol(graph, node)
        if symbol is None:
            return node.qualified or "(top of the file)"
        _, found, rest = symbol.signature.partition(symbol.name)
        rest = _SPACED.sub(r"\1", rest).replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(")
        if not found or rest[:1] not in ("(", "<", "["):
            return f"{node.qualified} ({symbol.kind})"
        return f"{node.qualified}{rest if len(rest) <= LONGEST_HEAD else rest[:LONGEST_HEAD] + '…'}"

    def data(self, graph: Graph, node: GraphNode) -> dict[str, Any]:
        symbol = self.symbol(graph, node)
        return {
            "root": graph.project.root.id,
            "path": graph.project.path(node.doc),
            "line": symbol.start_line if symbol else 1,
            "end_line": symbol.end_line if symbol else 1,
            "name": node.qualified,
            "kind": symbol.kind if symbol else "module",
        }
