"""How right is the code graph? Its edges beside those of a type checker.

    python -m bench.graph DIR --mirror DIR [--json FILE]
    python -m bench.graph --tree DIR --scip FILE [--under src] [--show 20] [--json FILE]

The truth is a SCIP index of the same tree (scip-python, scip-typescript). DIR has `repos.json` (`name`, `repo`,
`commit`, `under`) and `NAME.scip` for each; the trees are written from the git directories below `--mirror`. A caller
is a reference that is not an import, attributed to the innermost function or type around it; an edge is (caller, used
definition), counted once, and a use of itself is not counted (indexers note some at the definition). Only definitions
of the tree that the index names count, and only functions, methods and types; a constructor counts as its type. What
the type checker leaves out (a value without a type) counts against precision all the same, so the figures are a lower
bound. Implementations are compared with the relations that the index has.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.checkouts import write_trees
from bench.trees import cache
from llmc.graph.edges import Graph
from llmc.graph.entities import Edge, GraphNode
from llmc.graph.facts import CALLABLE_KINDS, TYPE_KINDS
from llmc.graph.implementations import implementations
from llmc.graph.project import project_of
from llmc.graph.scip import DEFINITION, IMPORT, read_scip
from llmc.settings import Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmc.graph.facts import Facts
    from llmc.graph.project import Project
    from llmc.graph.scip import ScipDocument

COUNTED = CALLABLE_KINDS | TYPE_KINDS
Pair = tuple[GraphNode, GraphNode]


@dataclass
class Score:
    """Sets of (source, target) pairs, and where each was seen."""

    truth: dict[Pair, str] = field(default_factory=dict)
    exact: dict[Pair, str] = field(default_factory=dict)
    likely: dict[Pair, str] = field(default_factory=dict)
    guessed: dict[Pair, str] = field(default_factory=dict)

    def figures(self) -> dict[str, float]:
        told = self.exact.keys() | self.likely.keys()
        right = told & self.truth.keys()
        right_exact = self.exact.keys() & self.truth.keys()
        everything = told | self.guessed.keys()
        return {
            "truth": len(self.truth),
            "told": len(told),
            "precision exact": share(len(right_exact), len(self.exact)),
            "precision": share(len(right), len(told)),
            "recall": share(len(right), len(self.truth)),
            "recall by name": share(len(everything & self.truth.keys()), len(self.truth)),
        }


def implemented(graph: Graph, truth: Truth, under: str) -> dict[str, Any]:
    """Precision and recall of `impls` over every definition that the index lists as implemented.

    Only our edges whose other end is in the index count.
    """
    wanted = closed(set(truth.implementations))
    bases = {base for _, base in wanted}
    told = set()
    for base in bases:
        found = implementations(graph, base)
        nodes = [one for one in (*found.types, *found.members) if one in truth.defined]
        told |= {(one, base) for one in nodes if graph.project.path(one.doc).startswith(under)}
    right = told & wanted
    return {
        "implementations": len(wanted),
        "implementations precision": share(len(right), len(told)),
        "implementations recall": share(len(right), len(wanted)),
        "implementations wrong": [f"{one.qualified} of {base.qualified}" for one, base in sorted(told - wanted)[:20]],
        "implementations missed": [f"{one.qualified} of {base.qualified}" for one, base in sorted(wanted - told)[:20]],
    }


def closed(pairs: set[Pair]) -> set[Pair]:
    """With the bases of bases: some indexers list only direct ones."""
    above: dict[GraphNode, set[GraphNode]] = defaultdict(set)
    for one, base in pairs:
        above[one].add(base)
    found = set(pairs)
    waiting = list(pairs)
    while waiting:
        one, base = waiting.pop()
        for further in above[base]:
            if (one, further) not in found and one != further:
                found.add((one, further))
                waiting.append((one, further))
    return found


def share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


class Attribution:
    """The innermost function or type around a line of a document."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        spans = [one for one in facts.symbols if one.kind in COUNTED]
        self._spans = sorted(spans, key=lambda one: (one.start_line, -one.end_line))
        self._starts = [one.start_line for one in self._spans]

    def at(self, line: int) -> GraphNode:
        for at in range(bisect_right(self._starts, line) - 1, -1, -1):
            if self._spans[at].end_line >= line:
                return self.facts.node(self._spans[at].qualified)
        return self.facts.node("")


@dataclass
class Truth:
    """The contents of the index: `defined` are the definitions that it lists."""

    defined: set[GraphNode] = field(default_factory=set)
    edges: dict[Pair, str] = field(default_factory=dict)
    implementations: dict[Pair, str] = field(default_factory=dict)


def truth_of(project: Project, documents: Iterable[ScipDocument], tree: Path, under: str) -> Truth:
    indexed = [one for one in documents if project.first([one.path]) is not None]
    defined: dict[str, GraphNode] = {}
    for document in indexed:
        defined |= definitions_of(project, document, tree)
    truth = Truth(set(defined.values()))
    for document in indexed:
        if document.path.startswith(under):
            add_edges(project, document, defined, truth)
    return truth


def definitions_of(project: Project, document: ScipDocument, tree: Path) -> dict[str, GraphNode]:
    """symbol → our definition at the same place."""
    facts = project.facts_at(document.path)
    lines = (tree / document.path).read_text("utf-8", "replace").split("\n")
    found: dict[str, GraphNode] = {}
    for one in document.occurrences:
        if one.roles & DEFINITION and facts is not None and not one.symbol.startswith("local "):
            name = lines[one.line][one.start : one.end] if one.line < len(lines) else ""
            if (node := node_at(facts, name, one.line + 1)) is not None:
                found.setdefault(one.symbol, made(project, node))
    return found


def add_edges(project: Project, document: ScipDocument, defined: dict[str, GraphNode], truth: Truth) -> None:
    facts = project.facts_at(document.path)
    if facts is None:
        return
    attribution, imports = Attribution(facts), import_lines(project, facts)
    for one in document.occurrences:
        target = defined.get(one.symbol)
        if target is None or one.roles & (DEFINITION | IMPORT) or one.line + 1 in imports:
            continue
        source = attribution.at(one.line + 1)
        if source != target:
            truth.edges.setdefault((source, target), f"{document.path}:{one.line + 1}")
    for relation in document.relations:
        if relation.is_implementation and relation.symbol in defined and relation.other in defined:
            truth.implementations[defined[relation.symbol], defined[relation.other]] = document.path


def made(project: Project, node: GraphNode) -> GraphNode:
    """A constructor counts as its type: indexers differ in which of the two a call refers to."""
    owner = node.qualified.rpartition(".")[0]
    is_constructor = (
        node.name in {"constructor", "__init__"} and kind_of(project, GraphNode(node.doc, owner)) in TYPE_KINDS
    )
    return GraphNode(node.doc, owner) if is_constructor else node


def node_at(facts: Facts, name: str, line: int) -> GraphNode | None:
    found = [
        one
        for one in facts.symbols
        if one.name == name and one.kind in COUNTED and one.start_line <= line <= one.end_line
    ]
    return facts.node(max(found, key=lambda one: one.start_line).qualified) if found else None


def import_lines(project: Project, facts: Facts) -> set[int]:
    return {one.line for one in project.catalog.references(facts.doc) if one.kind == "import"}


def told_by(graph: Graph, project: Project, score: Score, under: str) -> None:
    for doc in project.places:
        facts = project.facts(doc)
        if facts is None or not facts.path.startswith(under) or not facts.symbols:
            continue
        attribution = Attribution(facts)
        found = graph.of_document(doc)
        for edge in (*found.edges, *found.guesses):
            if kind_of(project, edge.target) in COUNTED:
                pair = (attribution.at(edge.site.line), made(project, edge.target))
                if pair[0] != pair[1]:
                    kept(score, edge).setdefault(pair, f"{facts.path}:{edge.site.line}")


def kept(score: Score, edge: Edge) -> dict[Pair, str]:
    return (score.exact, score.likely, score.guessed)[edge.precision]


def kind_of(project: Project, node: GraphNode) -> str:
    facts = project.facts(node.doc)
    return facts.kind(node.qualified) if facts else ""


def compare(tree: Path, scip: Path, under: str = "") -> tuple[Score, Project, dict[str, Any]]:
    documents = list(read_scip(scip.read_bytes()))
    covered = {one.path for one in documents}
    with tempfile.TemporaryDirectory() as home, Workspace.open(str(tree), home=home, settings=Settings()) as workspace:
        workspace.index()
        (view,) = workspace.views()
        project = project_of(view.root, view.root_fs, view.store)
        score = Score()
        truth = truth_of(project, documents, tree, under)
        score.truth = truth.edges
        graph = Graph(project)
        told_by(graph, project, score, under)
        for told in (score.exact, score.likely, score.guessed):
            for pair in [one for one in told if one[1] not in truth.defined or project.path(one[0].doc) not in covered]:
                del told[pair]
        return score, project, implemented(graph, truth, under)


def compare_all(folder: Path, mirror: Path) -> dict[str, dict[str, Any]]:
    """By repository; one that cannot be compared is listed with the reason. Trees are kept for the next run."""
    found: dict[str, dict[str, Any]] = {}
    for repo, tree in write_trees(folder, mirror, cache() / "checkouts"):
        name, scip = repo["name"], folder / f"{repo['name']}.scip"
        print(name, file=sys.stderr, flush=True)
        if not scip.is_file():
            found[name] = {"problem": f"no {scip.name}; {how_to_index()}"}
            continue
        score, _, overrides = compare(tree, scip, repo.get("under", ""))
        examples = ("implementations wrong", "implementations missed")
        found[name] = {**score.figures(), **{key: value for key, value in overrides.items() if key not in examples}}
    return found


def how_to_index() -> str:
    missing = [program for program in ("npm", "npx") if shutil.which(program) is None]
    told = "in the tree, `npx @sourcegraph/scip-python index` or `npx @sourcegraph/scip-typescript index` makes one"
    return f"{told}, which needs {missing[0]}: it is not installed here" if missing else told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="repos.json and the SCIP indexes of its repositories")
    parser.add_argument("--mirror", type=Path, help="git directories, owner+name/repo")
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--scip", type=Path)
    parser.add_argument("--under", default="")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    figures: dict[str, Any]
    if given.folder and given.mirror:
        figures = compare_all(given.folder, given.mirror)
        for name, row in figures.items():
            print(f"{name:12} {row.get('problem') or '  '.join(f'{key} {value}' for key, value in row.items())}")
    elif given.tree and given.scip:
        score, project, overrides = compare(given.tree, given.scip, given.under)
        figures = {**score.figures(), **overrides}
        print(json.dumps(figures))
        show(score, project, given.show)
    else:
        parser.error("give a folder and --mirror, or --tree and --scip")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def show(score: Score, project: Project, most: int) -> None:
    told = score.exact | score.likely
    for title, some in (
        ("not in the truth", {pair: place for pair, place in told.items() if pair not in score.truth}),
        ("not told", {pair: place for pair, place in score.truth.items() if pair not in told}),
        ("not even guessed", {p: w for p, w in score.truth.items() if p not in told and p not in score.guessed}),
    ):
        print(f"--- {title}: {len(some)}")
        for (source, target), place in sorted(some.items(), key=lambda one: hash(one[1]))[:most]:
            mark = "exact" if (source, target) in score.exact else "likely" if (source, target) in score.likely else ""
            print(f"{place} {source.qualified} → {project.path(target.doc)} {target.qualified} {mark}")


if __name__ == "__main__":
    main()
