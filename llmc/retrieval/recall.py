"""Which chunks may answer? The candidates of one view from the keyword index and the vectors.

Stores know documents of other work trees and of the past; only what the catalog names for this root, and what the
scope lets through, leaves this module.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from llmc.base.errors import CorruptVectorsError, EmbedError
from llmc.retrieval.clauses import body_query, keyword_query, path_query
from llmc.retrieval.pointers import Pointer, point
from llmc.retrieval.query import Query, QueryRoute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llmc.base.model import Vectors
    from llmc.embed import Embedder
    from llmc.retrieval.scope import Scope
    from llmc.retrieval.view import View
    from llmc.store.protocols import ChunkHit, KeywordQuery

    Scores = dict[tuple[int, int], float]

__all__ = ["Recalled", "recall_views"]

Found = TypeVar("Found")

# Measured: 200 to 1,000 chunks by keyword and 100 to 400 by vector rank the same, and every hundred costs.
KEYWORD_HITS = 200
VECTOR_HITS = 100
# Less similar chunks are irrelevant: 99 % of the right places of 420 judged queries are nearer, half of all chunks are
# not.
LEAST_COSINE = 0.2
# Documents of other work trees may fill the list; places further down are not worth the time.
DEEPEST_LIST = 32 * KEYWORD_HITS


@dataclass(frozen=True, slots=True)
class Recalled:
    """(doc, ordinal) → score, as each store gave it. `body` is what the rest of a pasted text finds; `trouble` says why
    vectors could not take part."""

    keyword: Scores
    vector: Scores
    body: Scores
    pointers: dict[tuple[int, int], Pointer]
    trouble: str = ""


# Both stores leave Python while they look, so that they can do it at the same time, and beside the look for evidence.
_BESIDE = ThreadPoolExecutor(6, "llmc-recall")


class AskedOnce:
    """The query as the stores see it, made once for all views."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._words: dict[frozenset[str], KeywordQuery] = {}
        self._made: dict[str, Vectors | None] = {}

    def words(self, languages: frozenset[str]) -> KeywordQuery:
        if languages not in self._words:
            self._words[languages] = keyword_query(self.query, languages)
        return self._words[languages]

    def vector(self, embedder: Embedder) -> Vectors | None:
        """None if it cannot be embedded; `vector_notes` reports that. With an endpoint this is a request."""
        if embedder.name not in self._made:
            try:
                self._made[embedder.name] = embedder.embed_query(self.query.text)
            except EmbedError:
                self._made[embedder.name] = None
        return self._made[embedder.name]


def recall_views(
    views: Sequence[View], query: Query, scopes: Sequence[Scope], *, vectors: bool, evidence: bool = True
) -> list[Recalled]:
    once = AskedOnce(query)
    found = []
    for at, (view, scope) in enumerate(zip(views, scopes, strict=True)):
        # The first published view queries the storage for all of them.
        submit = _BESIDE.submit if at == 0 or not view.root_fs.is_virtual else _at_once
        found.append(_recall(view, once, scope, submit, vectors=vectors, evidence=evidence))
    return found


def _at_once(act: Callable[..., Found], *args: Any) -> Future[Found]:
    done: Future[Found] = Future()
    done.set_result(act(*args))
    return done


def _recall(view: View, once: AskedOnce, scope: Scope, submit: Any, *, vectors: bool, evidence: bool) -> Recalled:
    query = once.query
    keyword = submit(_by_words, view, once, scope)
    body = submit(_by_body, view, query, scope) if query.body else None
    asked, trouble = _embedded(view, once) if vectors else (None, "")
    near = submit(_nearest, view, asked, scope) if asked is not None else None
    pointers = point(view, query, scope) if evidence else {}
    vector, trouble = near.result() if near else ({}, trouble)
    return Recalled(keyword.result(), vector, body.result() if body else {}, pointers, trouble)


def _by_body(view: View, query: Query, scope: Scope) -> Scores:
    return _by_keyword(view, body_query(query, view.store.keywords.frequencies, scope.languages), scope)


def _by_words(view: View, once: AskedOnce, scope: Scope) -> Scores:
    found = _by_keyword(view, path_query(once.query), scope) if once.query.route is QueryRoute.PATH else {}
    return found or _by_keyword(view, once.words(scope.languages), scope)


def _by_keyword(view: View, asked: KeywordQuery, scope: Scope) -> Scores:
    """In a narrow scope the store filters; in a whole root the documents of other work trees are skipped here."""
    keywords = view.store.keywords
    if scope.docs is not None:
        return _scores(keywords.search(asked, KEYWORD_HITS, within=scope.docs))
    limit = KEYWORD_HITS
    while True:
        hits = keywords.search(asked, limit)
        kept = _kept(hits, scope)
        if len(kept) >= KEYWORD_HITS // 2 or len(hits) < limit or limit >= DEEPEST_LIST:
            return _scores(kept[:KEYWORD_HITS])
        limit *= 4


def _embedded(view: View, once: AskedOnce) -> tuple[Vectors | None, str]:
    """(the query as a vector, why there is none). Runs in the call's own thread: an endpoint may be slow."""
    if view.embedder is None or view.embedder.name != view.store.embedding.name:
        return None, ""  # none, or another embedder's vectors are still being made
    state = view.store.vector_state(wait=view.wait_for_vectors)
    if not state.answered_by:
        return None, state.reason
    return once.vector(view.embedder), ""


def _nearest(view: View, asked: Vectors, scope: Scope) -> tuple[Scores, str]:
    """(scores, why there are none)."""
    try:
        return _by_vector(view, asked, scope), ""
    except CorruptVectorsError as error:
        view.store.vectors.damage = error.reason or error.message
        return {}, view.store.vectors.damage


def _by_vector(view: View, asked: Vectors, scope: Scope) -> Scores:
    narrow = bool(scope.languages or scope.not_languages)
    hits = view.store.vectors.search(asked, VECTOR_HITS * (4 if narrow else 1), within=scope.docs)
    kept = _kept([hit for hit in hits if hit.score >= LEAST_COSINE], scope)
    if narrow:
        spoken = view.store.catalog.languages({hit.doc for hit in kept})
        kept = [hit for hit in kept if scope.accepts_language(spoken.get(hit.doc, ""))]
    return _scores(kept[:VECTOR_HITS])


def _kept(hits: list[ChunkHit], scope: Scope) -> list[ChunkHit]:
    docs = frozenset(scope.keep({hit.doc for hit in hits}))
    return [hit for hit in hits if hit.doc in docs]


def _scores(hits: Iterable[ChunkHit]) -> Scores:
    return {(hit.doc, hit.ordinal): hit.score for hit in hits}
