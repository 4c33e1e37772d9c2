"""Turns search hits into citable places: which definition of a chunk is relevant, and the line of its name.

A chunk may contain several small definitions, and search ranks the chunk as a whole. Each definition in it is scored
by the words of the question that occur in its name and its lines. The cited line is the one that contains the name of
the definition in the current file; line numbers from the index are not used alone.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING

from llmc.answers.research.question import to_base_form
from llmc.answers.research.result import ResultPlace
from llmc.base import words
from llmc.retrieval.passages.lexical import compared, wanted
from llmc.retrieval.passages.segments import COMMENTS
from llmc.retrieval.passages.unit_scores import scaled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.answers.research.toolbox import RoleToolbox
    from llmc.base.model import Symbol
    from llmc.retrieval.results import FileHits, Hit

__all__ = [
    "TYPES",
    "ScoredUnit",
    "cited_line",
    "loose_name",
    "loose_terms",
    "loose_words",
    "place_of",
    "rank_units",
    "score_places",
    "terms_of",
]

# Weight of words in the name relative to words in the lines: a name summarizes what the definition is about.
NAME_WEIGHT = 1.5
CONTAINER_WEIGHT = 0.7
# Words that are abbreviated in names and spelled out in questions, as stems.
SHORT = {
    "argu": "arg", "directory": "dir", "configur": "config", "maximum": "max", "minimum": "min", "environ": "env",
    "number": "num", "message": "msg", "parameter": "param", "param": "param", "database": "db", "option": "opt",
}  # fmt: skip
# Decorators and comments may move the name this many lines below the start of a definition.
NAME_WITHIN = 30


# Weights of the score within the file, of the words in the text and in the name compared with all candidates, and of
# definitions that seldom answer (types, three-line definitions). Fitted on 72 questions without a name; see decision
# 135.
IN_FILE, BODY, NAME, TYPE, TINY = 3.5, 3.0, 1.0, -0.8, -1.4
# Weight of a further place in a file that ranks as high as the place before it: two files say more than two places in
# one.
REPEATED = -0.3
TINY_LINES = 3
LONGEST_COMMENT, LONGEST_TEXT = 6, 150
TYPES = frozenset(
    {"class", "struct", "interface", "enum", "trait", "protocol", "module", "object", "type", "record", "impl"}
)


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """A place with its score and its file; `text` is the definition, without what is defined inside it."""

    place: ResultPlace
    score: float
    file: FileHits
    text: str = ""


class EvidenceText:
    """The lines of a file and the question terms in each line, computed once for all definitions."""

    def __init__(self, lines: Sequence[str], terms: frozenset[str]) -> None:
        self.lines = lines
        self.terms = terms
        self._terms_by_line: dict[int, frozenset[str]] = {}

    def share(self, start: int, end: int, within: Sequence[Symbol]) -> float:
        """The share of the terms that occur in these lines, excluding nested definitions."""
        inner = {number for one in within for number in range(one.start_line, one.end_line + 1)}
        present: set[str] = set()
        for number in range(start, min(end, len(self.lines)) + 1):
            if number not in inner:
                present |= self._terms_at(number)
        return len(present) / len(self.terms) if self.terms else 0.0

    def own(self, symbol: Symbol, nested: Sequence[Symbol]) -> str:
        """The text of a definition with the comment above it, without nested definitions."""
        inner = {number for one in nested for number in range(one.start_line, one.end_line + 1)}
        last = min(symbol.end_line, len(self.lines))
        kept = [self.lines[number - 1] for number in range(symbol.start_line, last + 1) if number not in inner]
        above = self.lines[max(0, symbol.start_line - 1 - LONGEST_COMMENT) : symbol.start_line - 1]
        comment = takewhile(lambda line: line.lstrip().startswith(COMMENTS), reversed(above))
        return "\n".join([*comment, *kept[:LONGEST_TEXT]])

    def _terms_at(self, number: int) -> frozenset[str]:
        if number not in self._terms_by_line:
            self._terms_by_line[number] = self.terms.intersection(words.body(self.lines[number - 1]).split())
        return self._terms_by_line[number]


def terms_of(text: str) -> frozenset[str]:
    """The index terms of a question, without stop words."""
    return frozenset(term for word in words.query_words(text) if not word.stop for term in word.parts or (word.term,))


@lru_cache(maxsize=16_384)
def loose(term: str) -> str:
    """A stem shared by word forms that the index keeps apart: `name`, `named` and `naming`; `arg` and `argument`."""
    term = SHORT.get(term, term)
    return re.sub(r"(?<=\w{3})(?:ing|ed|ies|es|e|y|i|s)$", "", term)


def loose_terms(text: str) -> frozenset[str]:
    """The terms of a question, reduced as by `loose_words`."""
    return frozenset(map(loose, terms_of(text)))


def loose_words(text: str) -> set[str]:
    return set(map(loose, words.body(text).split()))


def loose_name(name: str) -> set[str]:
    """The words of a name, without the name as one word."""
    whole = loose(words.stem(re.sub(r"[^A-Za-z0-9]", "", name).lower()))
    found = loose_words(name)
    return found - {whole} or found


def score_places(file: FileHits, terms: frozenset[str], toolbox: RoleToolbox) -> list[ScoredUnit]:
    """The places of a file, best first, each definition once."""
    area = toolbox.area_of(file.root)
    doc = toolbox.doc_of(area, file.path)
    symbols = [] if doc is None or file.hits[0].moved else toolbox.symbols_of(area, doc)
    text = EvidenceText(toolbox.lines(area, file.path) or [], terms)
    found: dict[int, ScoredUnit] = {}
    for hit in file.hits:
        for place, score, body in candidates(file, hit, symbols, text):
            known = found.get(place.line)
            if known is None or known.score < score:
                found[place.line] = ScoredUnit(place, score, file, body)
    return sorted(found.values(), key=lambda one: (-one.score, one.place.line))


def rank_units(by_file: Iterable[Sequence[ScoredUnit]], question: str) -> list[ScoredUnit]:
    """The places of several files, best first, by the words that distinguish them from each other: a word that most
    candidates have says little about any of them, even if it is rare elsewhere."""
    units = [one for found in by_file for one in found]
    asked = wanted(to_base_form(question))
    bodies, names = (
        scaled(compared([one.text for one in units], asked)),
        scaled(compared([one.place.name.rpartition(".")[2] for one in units], asked)),
    )
    best: dict[str, float] = {}
    for one in units:
        best[one.file.path] = max(one.score, best.get(one.file.path, 0.0))
    in_file = scaled([one.file.score * one.score / (best[one.file.path] or 1.0) for one in units])
    scores = [
        IN_FILE * near + BODY * body + NAME * name + kind_weight(one.place)
        for one, near, body, name in zip(units, in_file, bodies, names, strict=True)
    ]
    ordered = sorted(zip(scores, range(len(units)), strict=True), key=lambda one: (-one[0], one[1]))
    seen: Counter[tuple[str, str]] = Counter()
    spread = []
    for score, at in ordered:
        file = (units[at].file.root, units[at].file.path)
        spread.append((score + REPEATED * seen[file], at))
        seen[file] += 1
    return [replace(units[at], score=score) for score, at in sorted(spread, key=lambda one: (-one[0], one[1]))]


def kind_weight(place: ResultPlace) -> float:
    return (TYPE if place.kind in TYPES else 0.0) + (TINY if place.end - place.line < TINY_LINES else 0.0)


def candidates(
    file: FileHits, hit: Hit, symbols: Sequence[Symbol], text: EvidenceText
) -> Iterator[tuple[ResultPlace, float, str]]:
    """The definitions that start in the chunk and the one enclosing it; without any, the best line of the hit."""
    inside = [one for one in symbols if hit.start_line <= one.start_line <= hit.end_line and one.kind != "heading"]
    around = [one for one in symbols if one.start_line < hit.start_line and one.end_line >= hit.start_line]
    for symbol in [*inside, *around[-1:]]:
        start, end = max(symbol.start_line, hit.start_line), min(symbol.end_line, hit.end_line)
        within = [other for other in inside if other is not symbol and encloses(symbol, other)]
        share = text.share(start, end, within)
        name_score = name_share(text.terms, symbol.name)
        name_score += CONTAINER_WEIGHT * max(0.0, term_share(text.terms, [symbol.qualified]) - name_score)
        score = hit.score * (0.4 + share + NAME_WEIGHT * name_score)
        nested = [one for one in symbols if one is not symbol and encloses(symbol, one)] if symbol.kind in TYPES else []
        yield place_of(file.root, file.path, symbol, text.lines), score, text.own(symbol, nested)
    if not inside and not around:
        line = hit.lines[0] if hit.lines else hit.start_line
        yield ResultPlace(file.root, file.path, line, hit.end_line, hit.name, hit.kind), hit.score, ""


def encloses(outer: Symbol, inner: Symbol) -> bool:
    return outer.start_line <= inner.start_line and inner.end_line <= outer.end_line


def term_share(terms: frozenset[str], texts: Iterable[str]) -> float:
    """The share of the terms that occur in the texts."""
    if not terms:
        return 0.0
    present = {term for text in texts for term in words.body(text).split()}
    return len(terms & present) / len(terms)


def name_share(terms: frozenset[str], name: str) -> float:
    """The share of the terms that occur in a name, reduced for names with other words."""
    present = set(words.body(name).split()) - {words.stem(name.replace("_", "").lower())}
    present = present or set(words.body(name).split())
    share = len(terms & present)
    return share / len(terms) * (share / len(present)) ** 0.5 if share else 0.0


def place_of(root: str, path: str, symbol: Symbol, lines: Sequence[str]) -> ResultPlace:
    return ResultPlace(root, path, cited_line(symbol, lines), symbol.end_line, symbol.qualified, symbol.kind)


def cited_line(symbol: Symbol, lines: Sequence[str]) -> int:
    """The line that contains the name; decorators and comments may precede it."""
    last = min(symbol.end_line, symbol.start_line + NAME_WITHIN, len(lines))
    for number in range(symbol.start_line, last + 1):
        if symbol.name in lines[number - 1]:
            return number
    return symbol.start_line
