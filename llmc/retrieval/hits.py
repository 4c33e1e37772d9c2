"""From a ranked file to what is shown of it: its best places, their text, and the lines in them that answer best."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc import words
from llmc.retrieval.results import FileHits, Hit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.model import ChunkPlace
    from llmc.retrieval.asked import Asked
    from llmc.retrieval.candidate import Candidate
    from llmc.retrieval.query import Query

__all__ = ["file_hits", "without_unwanted"]

# As many lines as a short reply may show of one place.
MOST_LINES = 5


def file_hits(candidate: Candidate, asked: Asked, most: int) -> FileHits:
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
        also=tuple(view.root.id for view in candidate.also),
    )


def _hit(candidate: Candidate, asked: Asked, ordinal: int, score: float) -> Hit:
    chunk = candidate.chunks[ordinal]
    lines = (candidate.text or ())[chunk.start_line - 1 : chunk.end_line]
    return Hit(
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        kind=chunk.kind,
        name=chunk.name,
        score=score,
        text="\n".join(lines),
        lines=_telling_lines(lines, chunk, asked),
        moved=candidate.moved,
    )


def _telling_lines(lines: Sequence[str], chunk: ChunkPlace, asked: Asked) -> tuple[int, ...]:
    """The lines that have most of the words, in order; the line of the definition counts as one that has them all."""
    name = chunk.name.rpartition(".")[2]
    sought = name if name and name.replace("_", "").lower() in asked.names else None
    scored = []
    lowered = [line.lower() for line in lines]
    text = "\n".join(lowered)
    terms = [term for term in asked.terms if term in text]
    for number, line in enumerate(lowered):
        met = sum([term in line for term in terms])
        if sought and sought in lines[number]:
            met, sought = met + len(terms), None
        if met:
            scored.append((-met, number + chunk.start_line))
    return tuple(sorted(number for _, number in sorted(scored)[:MOST_LINES]))


def without_unwanted(candidate: Candidate, query: Query) -> Candidate | None:
    """Only the places that have every quoted phrase and nothing that was to be left out; None when none has.

    The index has seen to it for what it found by keyword, but not for neighbours by vector, nor for phrases.
    """
    if not query.phrases and not query.without:
        return candidate
    found = tuple(one for one in candidate.found if _wanted(candidate, one[0], query))
    return replace(candidate, found=found) if found else None


def _wanted(candidate: Candidate, ordinal: int, query: Query) -> bool:
    chunk = candidate.chunks[ordinal]
    text = "\n".join((candidate.text or ())[chunk.start_line - 1 : chunk.end_line])
    plain, terms = _plain(text), frozenset(words.body(text).split())
    for unwanted in query.without:
        asked = words.query_words(unwanted)
        if asked[0].term in terms if len(asked) == 1 else _plain(unwanted) in plain:
            return False
    return all(_plain(phrase) in plain for phrase in query.phrases)


def _plain(phrase: str) -> str:
    """Without case, and runs of spaces as one."""
    return " ".join(phrase.lower().split())
