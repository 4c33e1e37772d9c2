"""Is a result still current? Every place that is shown is read from disk first, and files that the store may not have
yet are searched.

A file whose stamp or content has not changed since indexing keeps its line numbers. In a changed file the lines are
found again by name or by the words of the query, or the place is dropped. A deleted file is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError
from llmc.base.model import ChunkPlace
from llmc.base.text import Binary, content_hash, decode, is_plain, split_lines
from llmc.retrieval.candidate import Candidate, Fused
from llmc.retrieval.layout import naming
from llmc.retrieval.passages.lazy_lines import PlainLines
from llmc.retrieval.results import Share
from llmc.retrieval.unindexed import unindexed_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.base.model import Stamp
    from llmc.retrieval.query_features import QueryFeatures
    from llmc.retrieval.scope import Scope
    from llmc.retrieval.view import View

__all__ = ["pending_candidates", "read", "settle"]

# Files of up to 2 MB are indexed by default; one that grew beyond this is not read for a search.
LARGEST_READ = 8 << 20
# Pending files are read one by one, 0.1 ms each; if there are more, those with the most words of the query are read.
MOST_PENDING = 64
# About a chunk. A pending file has not been parsed.
WINDOW = 40
LEAST_COVERAGE = 0.5


def read(view: View, path: str) -> tuple[bytes, Stamp] | None:
    """None if the file no longer exists."""
    try:
        return view.root_fs.read(path, LARGEST_READ)
    except LlmcError:
        return None


def settle(candidate: Candidate, data: bytes, stamp: Stamp, asked: QueryFeatures) -> Candidate | None:
    """The candidate with its current lines; None if the place no longer exists."""
    if candidate.stamp == stamp and is_plain(data):  # in a long file only the places are checked
        return candidate._replace(text=PlainLines(data))
    text = decode(data)
    if isinstance(text, Binary):
        return None
    lines = split_lines(text.text)
    known = candidate.doc == 0 or candidate.stamp == stamp
    if known or content_hash(data) == candidate.view.store.catalog.content_hash(candidate.doc):
        return candidate._replace(text=lines)
    return _found_again(candidate, lines, asked)


def _found_again(candidate: Candidate, lines: list[str], asked: QueryFeatures) -> Candidate | None:
    chunks = list(candidate.chunks)
    found = []
    for ordinal, score in candidate.found:
        start = _start(chunks[ordinal], lines, asked)
        if start is not None:
            length = chunks[ordinal].end_line - chunks[ordinal].start_line
            chunks[ordinal] = chunks[ordinal]._replace(start_line=start, end_line=min(start + length, len(lines)))
            found.append((ordinal, score))
    if not found:
        return None
    return candidate._replace(text=lines, chunks=tuple(chunks), found=tuple(found), moved=True)


def _start(chunk: ChunkPlace, lines: Sequence[str], asked: QueryFeatures) -> int | None:
    """The current first line of the chunk: the nearest line with its name, or the window with most of the query."""
    name = chunk.name.rpartition(".")[2]
    named = [number for number, line in enumerate(lines, 1) if name in line] if name else []
    if named:
        return min(named, key=lambda number: abs(number - chunk.start_line))
    best = _best_window(lines, asked, chunk.end_line - chunk.start_line + 1)
    return best[1] if best else None


def _best_window(lines: Sequence[str], asked: QueryFeatures, size: int) -> tuple[float, int] | None:
    """(share of the words, first line) of the window that contains most of them; None if none contains any."""
    best = (0.0, 0)
    step = max(1, size // 2)
    for start in range(0, max(1, len(lines) - step), step):
        text = "\n".join(lines[start : start + size]).lower()
        share = sum(term in text for term in asked.terms) / len(asked.terms)
        if share > best[0]:
            best = (share, start + 1)
    return best if best[0] else None


def pending_candidates(view: View, asked: QueryFeatures, scope: Scope, best: float) -> Iterator[Candidate]:
    """Files that changed and may not be indexed yet, if they match the query now. There are no statistics for them:
    all words of the query in one window score as high as the `best` chunk can."""
    words = dict.fromkeys((*asked.symbols, *asked.terms)) if view.pending else {}
    for path in unindexed_files(view, tuple(words), scope.accepts_path).paths[:MOST_PENDING]:
        content = read(view, path)
        text = decode(content[0]) if content else Binary("not there")
        lines = [] if isinstance(text, Binary) else split_lines(text.text)
        window = _best_window(lines, asked, WINDOW) if lines else None
        if window and window[0] >= LEAST_COVERAGE:
            end = min(window[1] + WINDOW - 1, len(lines))
            score = best * window[0] ** 2
            yield Candidate(
                view=view,
                doc=0,
                path=path,
                found=((0, Fused(score, score, 0.0)),),
                role=naming(path).role,
                score=score,
                shares=(Share("pending", score, "read from disk"),),
                chunks=(ChunkPlace(0, 0, window[1], end, "text", ""),),
                text=lines,
            )
