"""Where is a message put together that the query quotes without saying so?

A message as a user sees it has values in it, and in the source it is a template: `No index for %s of type %s`. Its
words do not tell that line from any other that is about indexes. So runs of three words are looked up: chunks with the
words of several runs come from the keyword index, and in their files the lines are found that have most of the runs as
they are written. A question in a person's own words has hardly a run that is in the code; then nothing is found.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from llmc.base.languages import role_of
from llmc.base.words import query_words
from llmc.retrieval.freshness import read
from llmc.retrieval.query import EvidenceKind, QueryRoute

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

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
# Translations and snapshots repeat messages; users who paste one look for the code that produces it.
SOURCES: Final = frozenset({"code", "generated", "stub", "legacy", "vendored", "config", "data"})
MOST_PLACES_OF_A_RUN: Final = 20
# Between the words of a message; a value is in quotes, brackets or digits.
_STRETCH: Final = re.compile(r"[^\W\d_]+(?:['’][a-z]+)?(?:,? [^\W\d_]+(?:['’][a-z]+)?)*")


class MessagePlace(NamedTuple):
    doc: int
    line: int
    share: float  # of the runs that are there


class LikelyFiles(NamedTuple):
    runs: list[str]
    paths: dict[int, str]  # document → path, likeliest first
    holding: dict[str, frozenset[int]]


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
    runs, holding = likely.runs, likely.holding
    view.root_fs.expect(likely.paths.values())
    found = []
    for doc, path in likely.paths.items():
        possible = [run for run in runs if run not in holding or doc in holding[run]]
        if (place := _place(view, doc, path, possible, len(runs))) is not None:
            found.append(place)
    best = max((place.share for place in found), default=0.0)
    best_places = [place for place in found if place.share > best / 2]
    return sorted(best_places, key=lambda place: -place.share) if len(best_places) <= MOST_FILES else []


def _likely(view: View, query: Query, scope: Scope) -> LikelyFiles | None:
    """The files that contain many of the rare runs of a message; None if the query is not a message."""
    runs = _runs(query)
    if len(runs) < LEAST_RUNS:
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
    most = min(MOST_READ, MOST_CHECKS // len(runs))

    def rarity(doc: int) -> int:
        return sum(MOST_HOLDING // len(docs) for docs in holding.values() if doc in docs)

    ranked = sorted(scope.keep(near), key=lambda doc: (-near[doc], -rarity(doc), doc))
    paths = scope.places.named(ranked)
    sources = (doc for doc in ranked if role_of(paths[doc]) in SOURCES)
    return LikelyFiles(runs, {doc: paths[doc] for doc in islice(sources, most)}, holding)


@lru_cache(maxsize=4 * MOST_RUNS)
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


def _runs(query: Query) -> list[str]:
    """Three words each, as they are spelled, spread over the text."""
    if query.route not in {QueryRoute.WORDS, QueryRoute.TEXT}:
        return []
    found = _runs_of(tuple(one.text for one in query.evidence if one.kind is EvidenceKind.STRING))
    if len(found) < LEAST_RUNS and len(query.asked.split(maxsplit=MOST_WORDS)) <= MOST_WORDS:
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


def _place(view: View, doc: int, path: str, runs: list[str], total: int) -> MessagePlace | None:
    """The line of the file with most of the runs around it, out of `total`."""
    content = read(view, path)
    if content is None:
        return None
    least = max(LEAST_RUNS, LEAST_SHARE * total)
    offsets: dict[str, list[int]] = {}
    for left, run in zip(range(len(runs) - 1, -1, -1), runs, strict=True):
        if found := _offsets(content[0], run.encode()):
            offsets[run] = found
        if len(offsets) + left < least:
            return None
    lines: dict[int, set[str]] = {}
    line, before = 1, 0
    for at, run in sorted((at, run) for run, found in offsets.items() for at in found):
        line, before = line + content[0].count(b"\n", before, at), at
        lines.setdefault(line, set()).add(run)
    best, at = 0, 0
    for line in lines:
        near = {run for other in range(line, line + NEAR_LINES) for run in lines.get(other, ())}
        best, at = max((best, at), (len(near), -line))
    if best < least:
        return None
    return MessagePlace(doc, -at, best / total)


def _offsets(text: bytes, run: bytes) -> list[int]:
    found: list[int] = []
    at = text.find(run)
    while at >= 0 and len(found) < MOST_PLACES_OF_A_RUN:
        found.append(at)
        at = text.find(run, at + len(run))
    return found
