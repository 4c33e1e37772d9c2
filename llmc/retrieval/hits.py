"""Turns a ranked file into the places to show: its best places, their text, and the lines in them that answer best."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from llmc.base import words
from llmc.retrieval.passages.lazy_lines import passage
from llmc.retrieval.results import FileHits, Hit
from llmc.retrieval.verbatim import is_assembled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.model import ChunkPlace
    from llmc.retrieval.candidate import Candidate
    from llmc.retrieval.query import Query
    from llmc.retrieval.query_features import QueryFeatures
    from llmc.retrieval.results import Passage

__all__ = ["file_hits", "without_unwanted"]

# Maximum lines of one place in a short reply.
MOST_LINES = 5


def file_hits(candidate: Candidate, asked: QueryFeatures, most: int, quoted: tuple[Passage, ...] = ()) -> FileHits:
    hits = tuple(_hit(candidate, asked, ordinal, score.score) for ordinal, score in candidate.found[:most])
    return FileHits(
        root=candidate.view.root.id,
        path=candidate.path,
        language=candidate.language,
        role=candidate.role,
        score=candidate.score,
        hits=hits,
        more=len(candidate.found) - len(hits),
        shares=candidate.shares,
        passages=quoted,
        also=tuple(view.root.id for view in candidate.also),
    )


def _hit(candidate: Candidate, asked: QueryFeatures, ordinal: int, score: float) -> Hit:
    chunk = _described(candidate, asked, candidate.chunks[ordinal])
    text = passage(candidate.text or (), chunk)
    return Hit(
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        kind=chunk.kind,
        name=chunk.name,
        score=score,
        text=text,
        moved=candidate.moved,
        tell=partial(_telling_lines, text, chunk, asked),
        locate=partial(_extent, candidate, chunk),
    )


def _described(candidate: Candidate, asked: QueryFeatures, chunk: ChunkPlace) -> ChunkPlace:
    """The part of a chunk that defines what a short query describes: a chunk of several functions has the name of
    another."""
    if not asked.described or candidate.moved:
        return chunk
    for one in candidate.defines:
        if chunk.start_line <= one.start_line <= one.end_line <= chunk.end_line:
            return chunk._replace(start_line=one.start_line, end_line=one.end_line, name=one.qualified, kind=one.kind)
    return chunk


def _extent(candidate: Candidate, chunk: ChunkPlace) -> tuple[int, int] | None:
    """The lines of the symbol that a chunk is named after; a chunk may begin above it or end inside it."""
    if not chunk.name or not candidate.doc or candidate.moved:
        return None
    known = candidate.view.store.catalog.symbols_around(candidate.doc, chunk.start_line, chunk.end_line)
    spans = [(one.start_line, one.end_line) for one in known if one.qualified == chunk.name]
    return min(spans, key=lambda span: span[0] - span[1], default=None)


def _telling_lines(text: str, chunk: ChunkPlace, asked: QueryFeatures) -> tuple[int, ...]:
    """The lines with most of the words, in order; the line of the definition counts as having all of them."""
    lowered = text.lower()
    met = Counter(line for term in asked.terms for line in _lines_with(term, lowered))
    name = chunk.name.rpartition(".")[2]
    if name and name.replace("_", "").lower() in asked.names and name in text:
        met[text.count("\n", 0, text.index(name))] += sum(term in lowered for term in asked.terms)
    best = sorted((-count, line) for line, count in met.items() if count)[:MOST_LINES]
    return tuple(sorted(chunk.start_line + line for _, line in best))


def _lines_with(term: str, text: str) -> Iterator[int]:
    """Line indexes from 0. Most lines have no term at all, and are not checked one by one."""
    line, seen, at = 0, 0, text.find(term)
    while at >= 0:
        line, seen = line + text.count("\n", seen, at), at
        yield line
        end = text.find("\n", at)
        at = text.find(term, end) if end >= 0 else -1


def without_unwanted(candidate: Candidate, query: Query) -> Candidate | None:
    """Only the places with every quoted phrase and without excluded words; None if there are none.

    The index has checked this for places found by keyword, but not for neighbours by vector, nor for phrases.
    """
    if not query.phrases and not query.without:
        return candidate
    found = tuple(one for one in candidate.found if _wanted(candidate, one[0], query))
    return candidate._replace(found=found) if found else None


def _wanted(candidate: Candidate, ordinal: int, query: Query) -> bool:
    chunk = candidate.chunks[ordinal]
    text = passage(candidate.text or (), chunk)
    plain, terms = _plain(text), frozenset(words.body(text).split())
    for unwanted in query.without:
        asked = words.query_words(unwanted)
        if asked[0].term in terms if len(asked) == 1 else _plain(unwanted) in plain:
            return False
    return all(_plain(phrase) in plain or is_assembled(phrase, text) for phrase in query.phrases)


def _plain(phrase: str) -> str:
    """Lower case, with runs of spaces as one."""
    return " ".join(phrase.lower().split())
