"""Where is a message put together that the query quotes without saying so?

A message as a user sees it has values in it, and in the source it is a template: `No index for %s of type %s`. Its
words do not tell that line from any other that is about indexes. So runs of three words are looked up: chunks with the
words of several runs come from the keyword index, and in their files the lines are found that have most of the runs as
they are written. A question in a person's own words has hardly a run that is in the code; then nothing is found. Short
messages have few runs and are found by `message_templates`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from llmc.base.languages import role_of
from llmc.base.words import query_words
from llmc.retrieval.freshness import read
from llmc.retrieval.message_templates import templates_of
from llmc.retrieval.query import EvidenceKind, QueryRoute

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from llmc.retrieval.message_templates import MessageTemplate
    from llmc.retrieval.query import Query
    from llmc.retrieval.scope import Scope
    from llmc.retrieval.view import View

__all__ = ["MessagePlace", "announce_messages", "message_places"]

RUN_WORDS: Final = 3
SHORTEST_RUN: Final = 12  # characters; `is not a` is everywhere
MOST_RUNS: Final = 16
MOST_WORDS: Final = 80
# Runs that more files or chunks than this have are not looked up; a message in many files identifies nothing.
MOST_HOLDING: Final = 500
MOST_CHUNKS: Final = 2_000
MOST_FILES: Final = 8
# Files to read, 40 µs each. Of 160 messages of kubernetes, all are found with 32 files, with 16 five are not.
MOST_READ: Final = 32
MOST_CHECKS: Final = 480  # a run in a file
# Of the runs, how many must be in one place.
LEAST_RUNS: Final = 2
LEAST_SHARE: Final = 0.4
NEAR_LINES: Final = 4
ROUNDING: Final = 1e-6
MOST_TEMPLATES: Final = 4
# Shorter ones in a report are often those of the language's runtime: `object has no attribute`.
LEAST_IN_REPORT: Final = 5
# Translations and snapshots repeat messages; users who paste one look for the code that produces it.
SOURCES: Final = frozenset({"code", "generated", "stub", "legacy", "vendored", "config", "data"})
MOST_PLACES_OF_A_RUN: Final = 20
# Between the words of a message; a value is in quotes, brackets or digits.
_STRETCH: Final = re.compile(r"[^\W\d_]+(?:['’][a-z]+)?(?:,? [^\W\d_]+(?:['’][a-z]+)?)*")


class MessagePlace(NamedTuple):
    doc: int
    line: int
    share: float  # how much of the message is there, by the rarity of its words
    is_whole: bool = False  # every word of the message that is not a value, in its order


class LikelyFiles(NamedTuple):
    """`templates` says for a document which templates one of its chunks has all words of; the other files may hold
    `runs`, each with its share of the message."""

    runs: dict[str, float]
    paths: dict[int, str]  # document → path, likeliest first
    holding: dict[str, frozenset[int]]
    templates: dict[int, list[MessageTemplate]]


def announce_messages(view: View, query: Query, scope: Scope) -> None:
    """Announces the files that `message_places` will read: if that takes requests, those of several views are fetched
    together."""
    likely = _likely(view, query, scope)
    if likely is not None:
        view.root_fs.expect(likely.paths.values())


def message_places(view: View, query: Query, scope: Scope) -> list[MessagePlace]:
    """The places that hold most of a message, best first."""
    likely = _likely(view, query, scope)
    if likely is None:
        return []
    view.root_fs.expect(likely.paths.values())
    whole = [place for doc in likely.templates if (place := _whole(view, doc, likely)) is not None]
    if 0 < len(whole) <= MOST_FILES:
        return whole
    found = []
    for doc, path in likely.paths.items():
        possible = [run for run in likely.runs if run not in likely.holding or doc in likely.holding[run]]
        if (place := _place(view, doc, path, possible, likely.runs)) is not None:
            found.append(place)
    best = max((place.share for place in found), default=0.0)
    best_places = [place for place in found if place.share > best / 2]
    return sorted(best_places, key=lambda place: -place.share) if len(best_places) <= MOST_FILES else []


def _likely(view: View, query: Query, scope: Scope) -> LikelyFiles | None:
    """The files that contain many of the rare runs of a message, or all words of its template; None if the query is not
    a message."""
    if query.route not in {QueryRoute.WORDS, QueryRoute.TEXT}:
        return None
    quoted = tuple(one.text for one in query.evidence if one.kind is EvidenceKind.STRING)
    is_short = len(query.asked.split(maxsplit=MOST_WORDS)) <= MOST_WORDS
    if not quoted and not is_short:
        return None
    rarity = _Rarity(view, quoted or (query.asked,))
    least_words = LEAST_IN_REPORT if query.route is QueryRoute.TEXT else 0
    templates = list(_templates(quoted[:MOST_TEMPLATES] if quoted else (query.asked,), rarity, least_words))
    runs = _weighted(_runs(query, quoted, is_short=is_short), rarity)
    if len(runs) < LEAST_RUNS and not templates:
        return None
    holding: dict[str, frozenset[int]] = {}  # run → documents that may contain it, unless there are many
    chunks_of: dict[str, list[tuple[int, int]]] = {}
    for run in runs:
        held = view.store.keywords.chunks_with(_terms(run), MOST_CHUNKS + 1)
        docs = frozenset([doc for doc, _ in held])
        if len(held) <= MOST_CHUNKS and len(docs) <= MOST_HOLDING:
            holding[run], chunks_of[run] = docs, held
    least = max(LEAST_RUNS, round(LEAST_SHARE * len(holding)))
    near = _together(_runs_by_chunk(chunks_of, _docs_with(least, holding.values())), least)
    most = min(MOST_READ, MOST_CHECKS // max(len(runs), 1))
    filled = _filled(view, templates)

    def rarity_of(doc: int) -> int:
        return sum(MOST_HOLDING // len(docs) for docs in holding.values() if doc in docs)

    kept = scope.keep({*near, *filled})
    ranked = sorted(kept, key=lambda doc: (doc not in filled, -near.get(doc, 0), -rarity_of(doc), doc))
    paths = scope.places.named(ranked)
    sources = islice((doc for doc in ranked if role_of(paths[doc]) in SOURCES), most)
    listed = {doc: paths[doc] for doc in sources}
    return LikelyFiles(runs, listed, holding, {doc: filled[doc] for doc in listed if doc in filled})


class _Rarity:
    """How rare the words of a message are in a root. A word that no chunk has is a value of the message."""

    def __init__(self, view: View, texts: Iterable[str]) -> None:
        words = {word for text in texts for stretch in _STRETCH.findall(text) for word in re.split(",? ", stretch)}
        by_word = {word: _terms(word) for word in words}
        terms = frozenset().union(*by_word.values())
        rows, held = view.store.keywords.frequencies(terms)
        self._weights = {term: math.log(1 + rows / (held[term] + 0.5)) if rows else 1.0 for term in terms}
        self._missing = frozenset(term for term in terms if rows and not held[term])
        self.unknown = frozenset(word for word, of_word in by_word.items() if of_word & self._missing)

    def of(self, run: str) -> float:
        return sum(self._weights.get(term, 0.0) for term in _terms(run))

    def is_known(self, run: str) -> bool:
        return _terms(run).isdisjoint(self._missing)


def _templates(texts: Iterable[str], rarity: _Rarity, least: int) -> Iterator[MessageTemplate]:
    """Plain words without a value between them are a question or keywords, and get none."""
    for text in texts:
        for template in templates_of(text, rarity.unknown):
            if least <= len(template.words) < len(text.split()):
                yield template


def _filled(view: View, templates: Iterable[MessageTemplate]) -> dict[int, list[MessageTemplate]]:
    """document → the templates whose words one of its chunks has."""
    found: dict[int, list[MessageTemplate]] = {}
    for template in templates:
        held = view.store.keywords.chunks_with(template.terms, MOST_CHUNKS + 1)
        for doc in {doc for doc, _ in held} if len(held) <= MOST_CHUNKS else ():
            found.setdefault(doc, []).append(template)
    return found


def _weighted(runs: Iterable[str], rarity: _Rarity) -> dict[str, float]:
    """The runs that the root may have, each with its share of the message by the rarity of its words."""
    weights = {run: rarity.of(run) for run in runs if rarity.is_known(run)}
    total = sum(weights.values()) or 1.0
    return {run: weight / total for run, weight in weights.items()}


@lru_cache(maxsize=16 * MOST_RUNS)
def _terms(run: str) -> frozenset[str]:
    return frozenset(word.term for word in query_words(run))


def _docs_with(least: int, holding: Collection[frozenset[int]]) -> frozenset[int]:
    """The documents that may contain so many runs. Most contain one; their chunks, thousands, need not be compared."""
    if len(holding) < least:
        return frozenset()
    return frozenset([doc for doc, runs in Counter(chain.from_iterable(holding)).items() if runs >= least])


def _runs_by_chunk(chunks_of: Mapping[str, list[tuple[int, int]]], docs: Collection[int]) -> dict[tuple[int, int], int]:
    """chunk of one of these documents → the runs whose words it contains, one bit each."""
    found: dict[tuple[int, int], int] = {}
    if docs:
        for at, held in enumerate(chunks_of.values()):
            for chunk in held:
                if chunk[0] in docs:
                    found[chunk] = found.get(chunk, 0) | 1 << at
    return found


def _together(chunks: Mapping[tuple[int, int], int], least: int) -> dict[int, int]:
    """document → the largest number of runs contained in one of its chunks or two adjacent ones, if it is at least the
    required number."""
    found: dict[int, int] = {}
    for (doc, ordinal), runs in chunks.items():
        count = (runs | chunks.get((doc, ordinal + 1), 0)).bit_count()
        if count >= least and count > found.get(doc, 0):
            found[doc] = count
    return found


def _runs(query: Query, quoted: tuple[str, ...], *, is_short: bool) -> list[str]:
    """Three words each, as they are spelled, spread over the text."""
    found = _runs_of(quoted)
    if len(found) < LEAST_RUNS and is_short:
        found = _runs_of((query.asked,))
    step = max(1, -(-len(found) // MOST_RUNS))
    return found[::step]


@lru_cache(maxsize=16)  # one root is searched after the other
def _runs_of(texts: tuple[str, ...]) -> list[str]:
    found: dict[str, None] = {}
    for text in texts:
        for stretch in _STRETCH.findall(text):
            words = stretch.split(" ")
            runs = [" ".join(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1)]
            # A short stretch between two values is least likely to match by chance as a whole.
            runs += [stretch] if RUN_WORDS < len(words) <= 2 * RUN_WORDS else []
            found.update(dict.fromkeys(run for run in runs if len(run) >= SHORTEST_RUN))
    return list(found)


def _whole(view: View, doc: int, likely: LikelyFiles) -> MessagePlace | None:
    content = read(view, likely.paths[doc])
    if content is None:
        return None
    for template in likely.templates[doc]:
        at = template.place(content[0])
        if at >= 0:
            return MessagePlace(doc, content[0].count(b"\n", 0, at) + 1, 1.0, is_whole=True)
    return None


def _place(view: View, doc: int, path: str, possible: list[str], runs: Mapping[str, float]) -> MessagePlace | None:
    """The line of the file with most of the message around it, out of the runs that the file may contain."""
    content = read(view, path)
    if content is None:
        return None
    offsets: dict[str, list[int]] = {}
    left = sum(runs[run] for run in possible)
    held = 0.0
    for run in possible:
        left -= runs[run]
        if found := _offsets(content[0], run.encode()):
            offsets[run] = found
            held += runs[run]
        if held + left < LEAST_SHARE - ROUNDING:
            return None
    lines: dict[int, set[str]] = {}
    line, before = 1, 0
    for at, run in sorted((at, run) for run, found in offsets.items() for at in found):
        line, before = line + content[0].count(b"\n", before, at), at
        lines.setdefault(line, set()).add(run)
    best, at, count = 0.0, 0, 0
    for line in lines:
        near = {run for other in range(line, line + NEAR_LINES) for run in lines.get(other, ())}
        best, at, count = max((best, at, count), (sum(runs[run] for run in near), -line, len(near)))
    if best < LEAST_SHARE - ROUNDING or count < LEAST_RUNS:
        return None
    return MessagePlace(doc, -at, min(best, 1.0))


def _offsets(text: bytes, run: bytes) -> list[int]:
    found: list[int] = []
    at = text.find(run)
    while at >= 0 and len(found) < MOST_PLACES_OF_A_RUN:
        found.append(at)
        at = text.find(run, at + len(run))
    return found
