"""How well do the words of each line match a question? Each line is read once; all features are sums over its lines.

BM25 within this one text, for the unit itself, for the names around it and for lines elsewhere that mention it;
whether its documentation contains the very words; and how much of the question a documented unit does not mention.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.base import words
from llmc.base.bm25 import bm25, query_terms
from llmc.retrieval.passages.segments import COMMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.retrieval.passages.units import TextUnit

__all__ = [
    "LexicalFeatures",
    "around",
    "bodies",
    "compared",
    "last_name",
    "mentions",
    "quoted",
    "read",
    "together",
    "unsaid",
]

HEAD, TOGETHER, MOST = 14, 3, 0.85  # lines looked at, lines together, share of the question that counts
MENTIONS: Final = 6  # places elsewhere that are looked at
SHORTEST_NAME: Final = 4  # shorter names (`get`, `run`) mean something else elsewhere
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class LexicalFeatures:
    """`asked` is term → weight. For each line, `hits` are the question terms in it and `sizes` is the number of all
    its terms."""

    asked: dict[str, float]
    hits: list[list[str]]
    sizes: list[int]


def read(lines: Sequence[str], question: str) -> LexicalFeatures:
    asked = wanted(question)
    terms = [words.body(line).split() for line in lines]
    return LexicalFeatures(asked, [[term for term in line if term in asked] for line in terms], list(map(len, terms)))


def wanted(question: str) -> dict[str, float]:
    """Term → weight: the words of the question; common words only if there are no others."""
    asked = words.query_words(question)
    return query_terms([word for word in asked if not word.stop] or asked)


def bodies(said: LexicalFeatures, units: Sequence[TextUnit]) -> list[float]:
    counts = [Counter(term for line in said.hits[unit.start : unit.end] for term in line) for unit in units]
    return bm25(counts, [sum(said.sizes[unit.start : unit.end]) for unit in units], said.asked)


def compared(texts: Sequence[str], asked: dict[str, float]) -> list[float]:
    """BM25 of texts that are not lines of one file: the excerpts of a search, the evidence of research."""
    terms = [words.body(text).split() for text in texts]
    counts = [Counter(filter(asked.__contains__, each)) for each in terms]
    return bm25(counts, list(map(len, terms)), asked)


def around(said: LexicalFeatures, units: Sequence[TextUnit]) -> list[float]:
    """Scores of the names of the enclosing definitions."""
    terms = [words.name(unit.name.rpartition(".")[0]).split() for unit in units]
    counts = [Counter(term for term in each if term in said.asked) for each in terms]
    return bm25(counts, list(map(len, terms)), said.asked)


def mentions(said: LexicalFeatures, lines: Sequence[str], units: Sequence[TextUnit]) -> list[float]:
    """Scores of the lines elsewhere that call or mention a unit, and of the comments above them; the unit's own name
    does not count there."""
    places = mentioned(lines, {last_name(unit) for unit in units if unit.defines})
    counts, sizes = [], []
    for unit in units:
        named = places.get(last_name(unit), ()) if unit.defines else ()
        elsewhere = [at for at in named if not unit.start <= at < unit.end][:MENTIONS]
        own = words.name(last_name(unit)).split()
        above = [at - 1 for at in elsewhere if at and lines[at - 1].lstrip().startswith(COMMENTS)]
        count = Counter(term for at in (*elsewhere, *above) for term in said.hits[at])
        count.subtract({term: len(elsewhere) for term in own if term in count})
        counts.append(+count)
        sizes.append(sum(said.sizes[at] for at in (*elsewhere, *above)) - len(elsewhere) * len(own))
    return bm25(counts, sizes, said.asked)


def mentioned(lines: Sequence[str], names: Iterable[str]) -> dict[str, list[int]]:
    """Name → the lines that contain it, from 0."""
    known = {name for name in names if len(name) >= SHORTEST_NAME}
    places: defaultdict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(lines):
        for name in known.intersection(_WORD.findall(line)):
            places[name].append(at)
    return places


def last_name(unit: TextUnit) -> str:
    return unit.name.rpartition(".")[2]


def quoted(said: LexicalFeatures, units: Sequence[TextUnit]) -> list[float]:
    """How much of the question occurs together at the beginning of a unit, as in its documentation."""
    return [
        max(0.0, most_together(said, range(unit.start, min(unit.end, unit.signature + HEAD))) - MOST) / (1 - MOST)
        if unit.defines
        else 0.0
        for unit in units
    ]


def most_together(said: LexicalFeatures, span: range) -> float:
    most = 0.0
    for at in span:
        if said.hits[at]:
            most = max(most, share_of(said, range(at, min(at + TOGETHER, span.stop))))
    return most


def share_of(said: LexicalFeatures, span: range) -> float:
    """The weighted share of the question in these lines."""
    found = set().union(*said.hits[span.start : span.stop])
    return sum(said.asked[term] for term in found) / (sum(said.asked.values()) or 1.0)


def together(said: LexicalFeatures, units: Sequence[TextUnit]) -> list[float]:
    """How much of the question occurs within three lines of a unit, with rare words counting most."""
    seen = Counter(term for line in said.hits for term in set(line))
    rarity = {term: weight * math.log(1 + len(said.hits) / (0.5 + seen[term])) for term, weight in said.asked.items()}
    whole = sum(rarity.values()) or 1.0
    return [
        max(
            (
                sum(map(rarity.__getitem__, set().union(*said.hits[at : min(at + TOGETHER, unit.end)])))
                for at in range(unit.start, unit.end)
                if said.hits[at]
            ),
            default=0.0,
        )
        / whole
        for unit in units
    ]


def unsaid(said: LexicalFeatures, units: Sequence[TextUnit]) -> list[float]:
    """How much of the question the documentation of a unit does not mention; 0 without documentation."""
    return [1.0 - share_of(said, range(*unit.doc)) if unit.doc[1] else 0.0 for unit in units]
