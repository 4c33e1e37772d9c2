"""The result of a search: places, why they rank where they do, and how far the result can be trusted.

Plain values, the same for every surface. Cutting them to a budget and rendering them is up to the envelope.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.base.model import Symbol

__all__ = ["FileHits", "Hit", "Passage", "SearchResult", "Share"]


class Share(NamedTuple):
    """The effect of one signal. The score starts from `keywords`, `vectors` and `pending`; all others are factors."""

    signal: str
    effect: float
    because: str = ""


@dataclass(frozen=True)
class Hit:
    """A run of lines as it is on disk now; `tell` finds those in it that answer best, when called."""

    start_line: int
    end_line: int
    kind: str
    name: str
    score: float
    text: str
    moved: bool = False  # the file changed since it was indexed, and these lines were found again in it
    tell: Callable[[], tuple[int, ...]] = field(default=tuple, compare=False, repr=False)
    locate: Callable[[], tuple[int, int] | None] = field(default=lambda: None, compare=False, repr=False)

    @cached_property
    def extent(self) -> tuple[int, int]:
        """First and last line of the symbol that `name` names, which may be more or less than these lines."""
        return self.locate() or (self.start_line, self.end_line)

    @cached_property
    def lines(self) -> tuple[int, ...]:
        """The numbers of the lines, in order."""
        return self.tell()


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines that answer the query, by number; `name` is the definition they belong to, from `start_line` to
    `end_line`."""

    name: str
    start_line: int
    end_line: int
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class FileHits:
    """A file and its places, best first. `more` further places in it ranked too and are not listed. `passages` are the
    lines to quote, if requested."""

    root: str
    path: str
    language: str
    role: str
    score: float
    hits: tuple[Hit, ...]
    more: int = 0
    shares: tuple[Share, ...] = ()
    passages: tuple[Passage, ...] = ()
    related: tuple[Symbol, ...] = ()  # further definitions, named after keywords of the query
    also: tuple[str, ...] = ()  # further roots, work trees of the same repository, with the same text there

    @property
    def score_as_code(self) -> float:
        """Its score without the penalty for the role of tests, documents and the like."""
        return self.score / next((share.effect for share in self.shares if share.signal == "role"), 1.0)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`candidates` files were ranked; the best are here. `pending` and `share` say what may be missing."""

    query: str
    route: str
    files: tuple[FileHits, ...]
    candidates: int = 0
    pending: int = 0
    share: float = 1.0
    vectors: bool = False  # whether vectors were used
    without_vectors: str = ""  # why they were not; such a result is not cached
    headline: str = ""  # for pasted text, the line that it was ranked by
    evidence: tuple[str, ...] = ()  # paths, stack frames, names and messages that the query quotes from code
    missing: tuple[str, ...] = ()  # names in the query that occur in no file
