"""What a toolbox gives back: where it looked, what it found there, and what counts as near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.languages import role_of

if TYPE_CHECKING:
    from llmc.base.model import Reference, Symbol
    from llmc.retrieval.globs import PathFilter
    from llmc.retrieval.view import View

__all__ = ["Area", "FoundDefinition", "FoundUse", "nearness"]


@dataclass(frozen=True, slots=True)
class Area:
    """A view, and what of it the question is about."""

    view: View
    paths: PathFilter


@dataclass(frozen=True, slots=True)
class FoundDefinition:
    area: Area
    doc: int
    path: str
    symbol: Symbol

    @property
    def role(self) -> str:
        return str(role_of(self.path))


@dataclass(frozen=True, slots=True)
class FoundUse:
    area: Area
    doc: int
    path: str
    reference: Reference


# What stands behind code when several places could be meant.
NOISE = {
    "code": 0, "stub": 2, "example": 2, "test": 2, "fixture": 2, "legacy": 1, "generated": 3, "snapshot": 3,
    "amalgamated": 3, "vendored": 4,
}  # fmt: skip


def nearness(path: str, near: str) -> tuple[int, int]:
    """Code before the rest; then by how much of the folder is shared."""
    shared = 0
    for mine, other in zip(path.split("/"), near.split("/"), strict=False):
        if mine != other:
            break
        shared += 1
    return NOISE.get(str(role_of(path)), 1), -shared
