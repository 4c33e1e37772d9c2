"""From search hits to places that can be cited: which definition in a chunk is meant, and at which line it begins.

A chunk may hold several small definitions, and a search says only that the chunk is right. Each definition in it is
weighed by the words of the question that its name and its lines have; the best of a file stands for it. The line that
is cited is the one that names the definition, read from the file as it is now, never a number out of the index alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.answers.research.result import ResultPlace
from llmc.base import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.answers.research.toolbox import RoleToolbox
    from llmc.base.model import Symbol
    from llmc.retrieval.results import FileHits, Hit

__all__ = ["ScoredUnit", "cited_line", "place_of", "terms_of", "weighed"]

# What the words of a name are worth beside those of the lines: a name is what its writer thought it is about.
NAME_WEIGHT = 1.5
CONTAINER_WEIGHT = 0.7
# A line of prose in front of a definition (decorators, comments) may put its name so far down.
NAME_WITHIN = 30


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """A place with what it is worth, and the file that it stands in."""

    place: ResultPlace
    score: float
    file: FileHits


class EvidenceText:
    """The lines of a file, and which terms of the question each has: looked up once, however many definitions ask."""

    def __init__(self, lines: Sequence[str], terms: frozenset[str]) -> None:
        self.lines = lines
        self.terms = terms
        self._said: dict[int, frozenset[str]] = {}

    def share(self, start: int, end: int, within: Sequence[Symbol]) -> float:
        """How many of the terms these lines have, without what is defined inside."""
        inner = {number for one in within for number in range(one.start_line, one.end_line + 1)}
        said: set[str] = set()
        for number in range(start, min(end, len(self.lines)) + 1):
            if number not in inner:
                said |= self._at(number)
        return len(said) / len(self.terms) if self.terms else 0.0

    def _at(self, number: int) -> frozenset[str]:
        if number not in self._said:
            self._said[number] = self.terms.intersection(words.body(self.lines[number - 1]).split())
        return self._said[number]


def terms_of(text: str) -> frozenset[str]:
    """The telling index terms of a question."""
    return frozenset(term for word in words.query_words(text) if not word.stop for term in word.parts or (word.term,))


def weighed(file: FileHits, terms: frozenset[str], toolbox: RoleToolbox) -> list[ScoredUnit]:
    """The places of a file, best first; each definition once."""
    area = toolbox.area_of(file.root)
    doc = toolbox.doc_of(area, file.path)
    symbols = [] if doc is None or file.hits[0].moved else toolbox.symbols_of(area, doc)
    text = EvidenceText(toolbox.lines(area, file.path) or [], terms)
    found: dict[int, ScoredUnit] = {}
    for hit in file.hits:
        for place, score in candidates(file, hit, symbols, text):
            known = found.get(place.line)
            if known is None or known.score < score:
                found[place.line] = ScoredUnit(place, score, file)
    return sorted(found.values(), key=lambda one: (-one.score, one.place.line))


def candidates(
    file: FileHits, hit: Hit, symbols: Sequence[Symbol], text: EvidenceText
) -> Iterator[tuple[ResultPlace, float]]:
    """The definitions that begin in the chunk, or the one around it; else the line that answers best."""
    inside = [one for one in symbols if hit.start_line <= one.start_line <= hit.end_line and one.kind != "heading"]
    around = [one for one in symbols if one.start_line < hit.start_line and one.end_line >= hit.start_line]
    for symbol in [*inside, *around[-1:]]:
        start, end = max(symbol.start_line, hit.start_line), min(symbol.end_line, hit.end_line)
        within = [other for other in inside if other is not symbol and encloses(symbol, other)]
        met = text.share(start, end, within)
        named = named_so(text.terms, symbol.name)
        named += CONTAINER_WEIGHT * max(0.0, matched(text.terms, [symbol.qualified]) - named)
        score = hit.score * (0.4 + met + NAME_WEIGHT * named)
        yield place_of(file.root, file.path, symbol, text.lines), score
    if not inside and not around:
        line = hit.lines[0] if hit.lines else hit.start_line
        yield ResultPlace(file.root, file.path, line, hit.end_line, hit.name, hit.kind), hit.score


def encloses(outer: Symbol, inner: Symbol) -> bool:
    return outer.start_line <= inner.start_line and inner.end_line <= outer.end_line


def matched(terms: frozenset[str], texts: Iterable[str]) -> float:
    """The share of the terms that the texts have."""
    if not terms:
        return 0.0
    said = {term for text in texts for term in words.body(text).split()}
    return len(terms & said) / len(terms)


def named_so(terms: frozenset[str], name: str) -> float:
    """The share of the terms that a name has; less for a name that says other things besides."""
    said = set(words.body(name).split()) - {words.stem(name.replace("_", "").lower())}
    said = said or set(words.body(name).split())
    met = len(terms & said)
    return met / len(terms) * (met / len(said)) ** 0.5 if met else 0.0


def place_of(root: str, path: str, symbol: Symbol, lines: Sequence[str]) -> ResultPlace:
    return ResultPlace(root, path, cited_line(symbol, lines), symbol.end_line, symbol.qualified, symbol.kind)


def cited_line(symbol: Symbol, lines: Sequence[str]) -> int:
    """Where its name stands: decorators and comments come before."""
    last = min(symbol.end_line, symbol.start_line + NAME_WITHIN, len(lines))
    for number in range(symbol.start_line, last + 1):
        if symbol.name in lines[number - 1]:
            return number
    return symbol.start_line
