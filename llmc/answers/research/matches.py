"""Values that a `RoleToolbox` returns, and the distance between two paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.languages import role_of
from llmc.graph.project import project_of

if TYPE_CHECKING:
    from llmc.base.model import Reference, Symbol
    from llmc.graph.edges import Graph
    from llmc.graph.entities import GraphNode
    from llmc.graph.project import Project
    from llmc.retrieval.globs import PathFilter
    from llmc.retrieval.view import View

__all__ = ["Area", "DefinitionMatch", "GraphTarget", "TextMatch", "UseMatch", "category_of", "nearness"]


@dataclass(frozen=True, slots=True)
class Area:
    """A view and the paths in it that are searched. Reads through `view` are metered; `source` is the same root for the
    graph and grep, which answer from the index and bound themselves."""

    view: View
    paths: PathFilter
    source: View

    @property
    def project(self) -> Project:
        return project_of(self.source.root, self.source.root_fs, self.source.store)


@dataclass(frozen=True, slots=True)
class DefinitionMatch:
    area: Area
    doc: int
    path: str
    symbol: Symbol

    @property
    def role(self) -> str:
        return str(role_of(self.path))


@dataclass(frozen=True, slots=True)
class UseMatch:
    area: Area
    doc: int
    path: str
    reference: Reference


@dataclass(frozen=True, slots=True)
class GraphTarget:
    """A definition as the graph knows it."""

    area: Area
    graph: Graph
    node: GraphNode

    @property
    def path(self) -> str:
        return self.graph.project.path(self.node.doc)

    @property
    def symbol(self) -> Symbol | None:
        facts = self.graph.project.facts(self.node.doc)
        return facts.symbol(self.node.qualified) if facts else None


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A line that matches a pattern."""

    area: Area
    path: str
    line: int
    text: str


# Rank of path roles when a name is defined in several places; code comes first.
NOISE = {
    "code": 0, "stub": 2, "example": 2, "test": 2, "fixture": 2, "legacy": 1, "generated": 3, "snapshot": 3,
    "amalgamated": 3, "vendored": 4,
}  # fmt: skip


def nearness(path: str, near: str) -> tuple[int, int]:
    """Sort key: code first, then by the number of leading folders shared with `near`."""
    shared = 0
    for mine, other in zip(path.split("/"), near.split("/"), strict=False):
        if mine != other:
            break
        shared += 1
    return NOISE.get(str(role_of(path)), 1), -shared


CATEGORIES = {
    "code": "implementation",
    "config": "configuration",
    "data": "data",
    "test": "tests",
    "fixture": "tests",
    "snapshot": "tests",
    "translation": "data",
    "amalgamated": "generated code",
    "doc": "documentation",
    "example": "examples",
    "generated": "generated code",
    "vendored": "vendored code",
    "legacy": "older code",
    "stub": "type stubs",
}


def category_of(path: str) -> str:
    """What a place is good for, by the role of its file: implementation, tests, documentation, …"""
    return CATEGORIES.get(str(role_of(path)), "implementation")
