"""From chunks to files: one score for a chunk out of all lists that found it, one for a file out of its chunks.

Each list is scaled to 0..1 by itself, then added. Rank fusion ignores how far apart two hits are; on our judged sets
that cost .02 to .03 of NDCG@10.

Several good places in one file say that the file is about the question, but a long file must get nothing for being
long: the second chunk counts for a third, the third for a fifth, and so on. (Against the best chunk alone: +.03 of
NDCG@10. Falling more slowly helps short repositories and lets the giants of long ones win.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from llmc.retrieval.candidate import Candidate, Fused
from llmc.retrieval.layout import layout_of, naming
from llmc.retrieval.query import QueryRoute
from llmc.retrieval.results import Share
from llmc.retrieval.tested import compound_names, count_uses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmc.base.model import ChunkPlace, Symbol
    from llmc.retrieval.candidate import Place
    from llmc.retrieval.pointers import Pointer
    from llmc.retrieval.query_features import QueryFeatures
    from llmc.retrieval.recall import Recalled
    from llmc.retrieval.scope import Scope
    from llmc.retrieval.tested import DocumentNames
    from llmc.retrieval.view import View
    from llmc.store.protocols import CatalogReader

__all__ = ["fuse", "fuse_views", "grouped", "look_up", "normalised", "once", "started"]

Key = TypeVar("Key")

# Past some dozens a chunk adds less than a thousandth.
WEIGHTS = tuple(1 / rank**1.5 for rank in range(1, 65))
ALONE = Share("chunks", 1.0, "1 in this file")


# The weight of the rest of a pasted text relative to its headline, and of evidence relative to the best keyword hit.
BODY_WEIGHT = 0.8
EVIDENCE_WEIGHT = {QueryRoute.TEXT: 1.0, QueryRoute.WORDS: 0.5, QueryRoute.SYMBOL: 0.0, QueryRoute.PATH: 0.0}


def fuse_views(recalled: Sequence[Recalled], weight: float, route: QueryRoute) -> dict[Place, Fused]:
    """Fuses all views in one pool, so that the best hits of all roots are measured on the same scale."""
    keyword = normalised(_pooled(one.keyword for one in recalled), floor=0.0)
    body = normalised(_pooled(one.body for one in recalled), floor=0.0)
    if body:
        keyword = add_weighted(keyword, body, BODY_WEIGHT)
    found = fuse(keyword, normalised(_pooled(one.vector for one in recalled)), weight)
    worth = EVIDENCE_WEIGHT[route]
    for i, one in enumerate(recalled):
        for (doc, at), pointer in one.pointers.items():
            if worth:
                found[i, doc, at] = _pointed(found.get((i, doc, at), NOTHING), pointer, worth)
    return found


NOTHING = Fused(0.0, 0.0, 0.0)


def fuse(keyword: Mapping[Key, float], vector: Mapping[Key, float], weight: float) -> dict[Key, Fused]:
    """Every key of either list. `weight` is the value of the best vector hit; the best keyword hit has 1."""
    if not vector:
        return {key: Fused(score, score, 0.0) for key, score in keyword.items()}
    found = {}
    for key in dict.fromkeys((*keyword, *vector)):
        by_keyword, by_vector = keyword.get(key, 0.0), weight * vector.get(key, 0.0)
        found[key] = Fused(by_keyword + by_vector, by_keyword, by_vector)
    return found


def add_weighted(first: Mapping[Key, float], second: Mapping[Key, float], weight: float) -> dict[Key, float]:
    """The sum of two lists, the second multiplied by `weight`."""
    found = dict(first)
    for key, score in second.items():
        found[key] = found.get(key, 0.0) + weight * score
    return found


def normalised(scores: Mapping[Key, float], floor: float | None = None) -> dict[Key, float]:
    """Scaled so that the best becomes 1 and `floor` (by default the smallest value) becomes 0."""
    if not scores:
        return {}
    top = max(scores.values())
    least = min(scores.values()) if floor is None else floor
    width = top - least
    return {key: (score - least) / width if width > 0 else 1.0 for key, score in scores.items()}


def _pooled(lists: Iterable[dict[tuple[int, int], float]]) -> dict[Place, float]:
    return {(i, doc, at): score for i, one in enumerate(lists) for (doc, at), score in one.items()}


def _pointed(chunk: Fused, pointer: Pointer, worth: float) -> Fused:
    gained = worth * pointer.strength
    return chunk._replace(score=chunk.score + gained, evidence=gained, because=pointer.because)


def grouped(views: Sequence[View], scopes: Sequence[Scope], fused: dict[Place, Fused]) -> Iterator[Candidate]:
    files: dict[tuple[int, int], list[tuple[int, Fused]]] = {}
    for (view, doc, ordinal), score in fused.items():
        files.setdefault((view, doc), []).append((ordinal, score))
    layouts = [layout_of(scope.places) for scope in scopes]
    paths = [scope.places.named([doc for of, doc in files if of == at]) for at, scope in enumerate(scopes)]
    for (at, doc), found in files.items():
        if len(found) > 1:
            found.sort(key=lambda chunk: (-chunk[1].score, chunk[0]))
        path = paths[at][doc]
        if views[at].is_stored(path):  # a pending file is read from disk instead
            shares = started(found)
            start = found[0][1].score * shares[-1].effect
            role = naming(path).role
            yield Candidate(views[at], doc, path, tuple(found), role, score=start, shares=shares, layout=layouts[at])


def once(files: Iterable[Candidate]) -> list[Candidate]:
    """Work trees of one repository share their documents: each document is listed once for all of them."""
    kept: dict[tuple[object, int], Candidate] = {}
    for file in files:
        first = kept.setdefault((file.view.store.folder, file.doc), file)
        if first is not file:
            kept[file.view.store.folder, file.doc] = first._replace(also=(*first.also, file.view))
    return list(kept.values())


def started(found: list[tuple[int, Fused]]) -> tuple[Share, ...]:
    """The initial shares of a file's score from its chunks; the last share is for several chunks together."""
    best, together = found[0][1], ALONE
    if len(found) > 1 and best.score:
        total = sum([score.score * weight for (_, score), weight in zip(found, WEIGHTS, strict=False)])
        together = Share("chunks", total / best.score, f"{len(found)} in this file")
    pointed = max([score for _, score in found if score.because], key=lambda score: score.evidence, default=None)
    evidence = (Share("evidence", pointed.evidence, pointed.because),) if pointed else ()
    return (Share("keywords", best.keyword), Share("vectors", best.vector), *evidence, together)


def look_up(
    files: Iterable[Candidate], views: Sequence[View], scopes: Sequence[Scope], asked: QueryFeatures
) -> Iterator[Candidate]:
    """The chunks, language and definitions of each file, from the catalog; files that a filter excludes are dropped."""
    listed = list(files)
    for file in listed:
        if file.doc:
            file.view.store.expect((file.doc,))
    by_view: dict[int, list[Candidate]] = {}
    for file in listed:
        by_view.setdefault(id(file.view), []).append(file)
    found = [
        _view_files(view, scope, by_view[id(view)], asked)
        for view, scope in zip(views, scopes, strict=True)
        if id(view) in by_view  # of a hundred repositories few have anything
    ]
    for view, scope, own, chunks, names in found:
        docs = {file.doc for file in own if file.doc}
        indexed = view.store.catalog.indexed(view.root.id, docs)
        defined = _definitions(view.store.catalog, docs, asked)
        uses = layout_of(scope.places).uses
        count_uses(view.store, names, uses)
        for file in own:
            own_chunks: Sequence[ChunkPlace] = chunks.get(file.doc, file.chunks)
            language, stamp = indexed.get(file.doc, ("", None))
            kept = tuple([one for one in file.found if scope.accepts_chunk(own_chunks, one[0], file.role)])
            if kept and scope.accepts_language(language):
                defines = tuple(defined.get(file.doc, ()))
                yield file._replace(
                    chunks=own_chunks,
                    language=language,
                    stamp=stamp,
                    defines=defines,
                    found=kept,
                    uses=uses.get(file.doc, 0),
                )


class ViewFiles(NamedTuple):
    view: View
    scope: Scope
    files: list[Candidate]
    chunks: Mapping[int, Sequence[ChunkPlace]]
    names: DocumentNames


def _view_files(view: View, scope: Scope, own: list[Candidate], asked: QueryFeatures) -> ViewFiles:
    """The files of one view, and the names to look up in the catalog, so that it can be told those of all views before
    the first query."""
    chunks = view.store.catalog.chunks_of({file.doc for file in own if file.doc})
    code = {file.doc: chunks[file.doc] for file in own if file.role == "code" and file.doc in chunks}
    names = compound_names(code, layout_of(scope.places).uses)
    view.store.expect(names={*asked.symbols, *asked.described, *(name for of_doc in names.values() for name in of_doc)})
    return ViewFiles(view, scope, own, chunks, names)


def _definitions(catalog: CatalogReader, docs: set[int], asked: QueryFeatures) -> dict[int, list[Symbol]]:
    found: dict[int, list[Symbol]] = {}
    known = catalog.defining_each(asked.described) if asked.described else {}
    for name in (*asked.symbols, *(name for name, of_name in known.items() if not docs.isdisjoint(of_name))):
        for definition in catalog.symbols(name=name, docs=docs):
            found.setdefault(definition.doc, []).append(definition.symbol)
    return found
