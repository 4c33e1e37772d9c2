"""Which places answer this? The pipeline of `search`, read top to bottom.

Parse and route the query; recall chunks by keyword, vector and evidence; fuse; group by file; rank by signals, the
expensive ones for the best files only; check every place against the disk. The details live in the modules that it
calls. It never formats and never writes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from llmc.retrieval.evidence import distinct
from llmc.retrieval.freshness import pending_candidates, read, settle
from llmc.retrieval.globs import PathFilter
from llmc.retrieval.group import fuse_views, grouped, look_up, once
from llmc.retrieval.hits import file_hits, without_unwanted
from llmc.retrieval.message_places import announce_messages
from llmc.retrieval.passages.excerpt import FEWER_PLACES, PLACES, passages
from llmc.retrieval.query import EvidenceKind, QueryRoute, parse
from llmc.retrieval.query_features import QueryFeatures
from llmc.retrieval.recall import recall_views
from llmc.retrieval.related import related_definitions
from llmc.retrieval.results import SearchResult
from llmc.retrieval.scope import asked_roots, check_paths, scope_of
from llmc.retrieval.signals import PATH_STAGE, READ_STAGE, TABLE_STAGE, Signal, apply
from llmc.retrieval.tested import with_tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.base.model import Stamp
    from llmc.retrieval.candidate import Candidate
    from llmc.retrieval.query import Evidence, Query
    from llmc.retrieval.recall import Recalled
    from llmc.retrieval.results import FileHits
    from llmc.retrieval.scope import Scope
    from llmc.retrieval.view import View

__all__ = ["FileDependency", "SearchRequest", "search", "search_with"]

# Weight of the best vector hit relative to the best keyword hit. On 600 judged questions 0.6 to 0.8 rank the same.
VECTOR_WEIGHT = {QueryRoute.WORDS: 0.8, QueryRoute.TEXT: 0.8, QueryRoute.SYMBOL: 0.1, QueryRoute.PATH: 0.0}
# Number of files looked up in the catalog; how many more than shown are read, since some may no longer exist.
SHORTLIST = 20
SPARE = 3
# Candidates whose files are announced together; some are skipped.
FETCHED = 16
# A quoted phrase may be missing in file after file; this many are read for it.
MOST_READ = 200
# Where the second file scores less than half of the first, the first is right 95 times of 100 (golden suite, 180
# questions); from seven tenths on it is right half the time and the second every third time, so it is quoted too.
NEAR, QUOTED = 0.65, 3
LONGEST_ECHO = 500
# A single file gets the room that the names of others would have taken.
ALONE = 1.5


@dataclass(frozen=True)
class SearchRequest:
    """`within` keeps to (root, path) of an earlier result; `off` switches signals off by name, and `vectors`. `room` is
    how many characters may be quoted of the best file, 0 for none; files nearly as good get half of it. `syntax` reads
    operators in the query whatever it looks like."""

    query: str
    paths: PathFilter = field(default_factory=PathFilter)
    within: frozenset[tuple[str, str]] | None = None
    limit: int = 10
    per_file: int = 3
    off: frozenset[str] = frozenset()
    room: int = 0
    syntax: bool = False


@dataclass(frozen=True, slots=True)
class FileDependency:
    """A file that was read for an answer, with its stamp at that time; None if it did not exist."""

    view: View
    path: str
    stamp: Stamp | None


def search(views: Sequence[View], request: SearchRequest) -> SearchResult:
    return search_with(views, request, [])


def search_with(views: Sequence[View], request: SearchRequest, looked: list[FileDependency]) -> SearchResult:
    """`looked` collects the files that the answer depends on. Where nothing has a quoted phrase, the best match
    without it is the answer, and the result says so."""
    query = parse(request.query, syntax=request.syntax)
    result = _search(views, query, request, looked)
    if result.files or not query.phrases:
        return result
    relaxed = _search(views, replace(query, phrases=()), request, looked)
    return replace(relaxed, missing=(*(f'"{phrase}"' for phrase in query.phrases), *relaxed.missing))


def _search(views: Sequence[View], query: Query, request: SearchRequest, looked: list[FileDependency]) -> SearchResult:
    views = asked_roots(views, query)
    asked = QueryFeatures.of(query)
    asked = replace(asked, weights=rarity(views, asked.terms))
    scopes = [scope_of(view, query, request.paths.of(view.root.id), _paths_within(view, request)) for view in views]
    if not any(view.pending for view in views):
        check_paths(scopes, query)
    weight = 0.0 if "vectors" in request.off else VECTOR_WEIGHT[query.route]
    evidence = "evidence" not in request.off
    if evidence and len(views) > 1:
        for view, scope in zip(views, scopes, strict=True):
            if view.root_fs.is_virtual:
                announce_messages(view, query, scope)
    recalled = recall_views(views, query, scopes, vectors=weight > 0, evidence=evidence)
    fused = fuse_views(recalled, weight, query.route)

    def ranked(signals: tuple[Signal, ...], files: Iterable[Candidate]) -> list[Candidate]:
        on = [signal for signal in signals if signal.name not in request.off]
        return sorted([apply(on, asked, file) for file in files], key=lambda file: file.order)

    found = grouped(views, scopes, fused)
    stored = once(found) if len(views) > 1 else found
    files = ranked(PATH_STAGE, [*stored, *_from_disk(views, scopes, asked, 1 + weight)])
    sifted = query.phrases or query.without or any(scope.sifts_late for scope in scopes)
    shortlist = files if sifted else files[: SHORTLIST + request.limit]
    looked_up = look_up(shortlist, views, scopes, asked)
    if query.route is not QueryRoute.SYMBOL:  # a name has one right place
        looked_up = with_tests(looked_up, files, views)
    known = ranked(TABLE_STAGE, looked_up)
    present = islice(_present(known[: max(MOST_READ, request.limit)], asked, query, looked), request.limit + SPARE)
    final = ranked(READ_STAGE, present)[: request.limit]
    return SearchResult(
        query=request.query if len(request.query) <= LONGEST_ECHO else f"{query.text[:LONGEST_ECHO]}…",
        route=query.route,
        files=tuple(_hits(final, asked, request)),
        candidates=len(files),
        pending=sum(len(view.pending) for view in views),
        share=min((view.share for view in views), default=1.0),
        vectors=any(one.vector for one in recalled),
        without_vectors=next((one.trouble for one in recalled if one.trouble), ""),
        headline=query.text if query.route is QueryRoute.TEXT else "",
        evidence=tuple(f"{one.kind} {_located(one)}" for one in distinct(query.evidence)),
        missing=tuple(_missing(views, asked, recalled)),
    )


def _located(one: Evidence) -> str:
    return f"{one.text}:{one.line}" if one.line else one.text


def _missing(views: Sequence[View], asked: QueryFeatures, recalled: Sequence[Recalled]) -> Iterator[str]:
    """Names and quoted files in the query that exist in no root: names that no chunk contains, and files that no path
    matches."""
    query = asked.query
    if any(view.pending or view.share < 1 for view in views):
        return
    if query.route in {QueryRoute.SYMBOL, QueryRoute.WORDS}:
        terms = {word.term: word.text for word in query.words if word.text in asked.symbols}
        held = [view.store.keywords.frequencies(list(terms))[1] for view in views]
        yield from (text for term, text in terms.items() if not any(one[term] for one in held))
    files = {one.text for one in query.evidence if one.kind in {EvidenceKind.PATH, EvidenceKind.FRAME}}
    if files and not any(pointer.is_file for one in recalled for pointer in one.pointers.values()):
        yield next(iter(files)) if len(files) == 1 else f"the {len(files)} files that the text quotes"


def rarity(views: Sequence[View], terms: Sequence[str]) -> dict[str, float]:
    """How distinctive each term is, over all searched roots."""
    counted = [view.store.keywords.frequencies(terms) for view in views]
    rows = sum(total for total, _ in counted)
    return {term: math.log(1 + rows / (sum(held[term] for _, held in counted) + 0.5)) for term in terms}


def _hits(final: Sequence[Candidate], asked: QueryFeatures, request: SearchRequest) -> list[FileHits]:
    most = request.room if len(final) > 1 else round(ALONE * request.room)
    found: list[FileHits] = []
    for rank, file in enumerate(final):
        near = rank < QUOTED and file.score >= NEAR * final[0].score
        room, places = (most, PLACES) if rank == 0 else (most // 2, FEWER_PLACES)
        quoted = passages(file, asked, room, places) if room and near else ()
        found.append(file_hits(file, asked, request.per_file, quoted))
    shown = [{one.name for one in file.passages} or {file.hits[0].name} for file in found]
    related = related_definitions(final, asked, shown) if request.room else {}
    return [replace(file, related=related.get(rank, ())) for rank, file in enumerate(found)]


def _paths_within(view: View, request: SearchRequest) -> frozenset[str] | None:
    if request.within is None:
        return None
    return frozenset(path for root, path in request.within if root == view.root.id)


def _from_disk(
    views: Sequence[View], scopes: Sequence[Scope], asked: QueryFeatures, best: float
) -> Iterator[Candidate]:
    for view, scope in zip(views, scopes, strict=True):
        yield from pending_candidates(view, asked, scope, best)


def _present(
    ranked: Sequence[Candidate], asked: QueryFeatures, query: Query, looked: list[FileDependency]
) -> Iterator[Candidate]:
    """The files in their current state, best first, without those that no longer exist or do not contain the phrase
    after all."""
    for at, candidate in enumerate(ranked):
        if at % FETCHED == 0:
            for soon in ranked[at : at + FETCHED]:
                soon.view.root_fs.expect((soon.path,))
        content = read(candidate.view, candidate.path)
        looked.append(FileDependency(candidate.view, candidate.path, content[1] if content else None))
        file = settle(candidate, *content, asked) if content else None
        file = without_unwanted(file, query) if file else None
        if file is not None:
            yield file
