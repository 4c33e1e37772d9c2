"""What the tools of the code graph have in common: their arguments, how a definition is written in one line, notes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.envelope.phrases import freshness_notes, plural
from llmc.graph.entities import Precision
from llmc.graph.lookup import find_targets
from llmc.graph.project import project_of
from llmc.tool import Argument
from llmc.workspace import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.base.model import Symbol
    from llmc.graph.edges import Graph
    from llmc.graph.entities import GraphNode
    from llmc.graph.lookup import Lookup, LookupTarget
    from llmc.tool import ToolRequest

__all__ = ["ALL", "BUDGET", "GUESSES", "NAME", "Lines", "limited", "looked_up", "notes_of", "precision_counts"]

NAME = Argument("name", "string", "A definition: name, Class.method or path:name.", required=True)
GUESSES = Argument("guesses", "boolean", "List edges that match by name alone, too; else they are counted.")
BUDGET = Argument("budget", "integer", "Tokens that the reply may take.")
ALL = Argument("all", "boolean", "Everything, without a budget.")
# Definitions of one name that are answered for at once; the others are named.
MOST_TARGETS = 5
LONGEST_HEAD = 80
_SPACED = re.compile(r"([(\[{]) | (?=[)\]}])|,(?= \))")


def looked_up(asked: ToolRequest, text: str) -> Lookup:
    views = asked.views()
    return find_targets([project_of(view.root, view.root_fs, view.store) for view in views], text)


def limited(lookup: Lookup) -> tuple[Sequence[LookupTarget], str]:
    """The definitions that are answered for, and a note on the others."""
    shown, rest = lookup.targets[:MOST_TARGETS], lookup.targets[MOST_TARGETS:]
    if not rest and lookup.complete:
        return shown, ""
    more = f"{len(rest)}{'' if lookup.complete else '+'}"
    places = ", ".join(f"{one.path}:{one.node.qualified}" for one in rest[:3])
    return shown, f"{more} more definitions: {places}{', …' if len(rest) > 3 else ''}; narrow with path:name"  # noqa: PLR2004


def notes_of(asked: ToolRequest, *said: str) -> tuple[str, ...]:
    views = asked.views()
    said = (*said, *dict.fromkeys(project_of(view.root, view.root_fs, view.store).scip_note for view in views))
    pending = sum(len(view.pending) for view in views)
    return (*(one for one in said if one), *freshness_notes(pending, min((view.share for view in views), default=1.0)))


def precision_counts(precisions: Iterable[Precision]) -> str:
    """`12 exact, 3 likely`; nothing where all are exact."""
    listed = list(precisions)
    counts = [(one, listed.count(one)) for one in Precision]
    if len(listed) == counts[0][1]:
        return ""
    return ", ".join(f"{count} {one.label}" for one, count in counts if count)


def guessed(count: int) -> str:
    return f"{plural(count, 'guess')} by name not listed" if count else ""


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
        """`path:line`; in the same file as what encloses it only `:line`."""
        symbol = self.symbol(graph, node)
        line = symbol.start_line if symbol else 1
        return f":{line}" if node.doc == within else f"{self.path(graph, node.doc)}:{line}"

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
