"""The values inside a search: a place, its score, and a file with its places on the way through the ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.base.model import ChunkPlace, Stamp, Symbol
    from llmc.retrieval.layout import CheckoutLayout
    from llmc.retrieval.results import Share
    from llmc.retrieval.tested import Tested
    from llmc.retrieval.view import View

__all__ = ["Candidate", "Fused", "Place"]


# A chunk of a document as one view sees it: (position among the views asked, document, ordinal). Plain, since a search
# makes hundreds.
Place = tuple[int, int, int]


class Fused(NamedTuple):
    """What each list gave to a chunk, and the sum; `because` says what evidence pointed at it."""

    score: float
    keyword: float
    vector: float
    evidence: float = 0.0
    because: str = ""


class Candidate(NamedTuple):
    """A file with the chunks of it that were found, best first. What later stages learn is added by `_replace`
    (a tuple is made in a third of the time of a frozen dataclass, and a search makes hundreds).

    `doc` is 0 for a file that is read from disk because the store may not have it yet; `chunks` are then made up.
    """

    view: View
    doc: int
    path: str
    found: tuple[tuple[int, Fused], ...]  # (ordinal, score), best first
    role: str = ""
    language: str = ""
    stamp: Stamp | None = None  # of the file when it was indexed
    score: float = 0.0
    shares: tuple[Share, ...] = ()
    chunks: Sequence[ChunkPlace] = ()
    defines: tuple[Symbol, ...] = ()  # of the names that the query writes as names
    uses: int = 0  # other chunks that hold a name that it defines
    tested: Tested | None = None  # what matching tests say of it; None if there are none
    text: Sequence[str] | None = None  # its lines as they are on disk, once read
    moved: bool = False
    layout: CheckoutLayout | None = None  # of its root; None for a file that is not in the index yet
    also: tuple[View, ...] = ()  # other work trees that hold this very document

    @property
    def order(self) -> tuple[float, str, str]:
        """Best first; deterministic."""
        return (-self.score, self.path, self.view.root.path)
