"""The result of parsing a file, from which chunks are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from llmc.base.model import Reference, ResolutionLink, Symbol

__all__ = ["EMPTY", "Mark", "Outline"]


class Mark(NamedTuple):
    """A definition and `lead`, the first line of the comments directly above it."""

    symbol: Symbol
    lead: int


@dataclass(frozen=True, slots=True)
class Outline:
    """`marks` are ordered by first line, outer ones before inner ones."""

    marks: tuple[Mark, ...] = ()
    references: tuple[Reference, ...] = ()
    links: tuple[ResolutionLink, ...] = ()


EMPTY = Outline()
