"""The same question again: answered from memory, if asking anew would give the same answer.

An answer is kept with what it was made from: the generation and the pending paths of every root, and the stamp of each
file that was read for it. Any of them different, and it is made anew; so a hit never differs from asking again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

from llmc.base.coalesce import InFlightCache
from llmc.base.errors import LlmcError
from llmc.base.root_fs import settled
from llmc.retrieval.search import FileDependency, SearchRequest, search_with

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from llmc.retrieval.results import SearchResult
    from llmc.retrieval.view import View

__all__ = ["SearchCache"]

Answer = TypeVar("Answer")

# An answer holds the text of its places, some 20 KB.
MOST_ANSWERS = 256


class SearchCache:
    """For one process, from any thread."""

    def __init__(self, size: int = MOST_ANSWERS) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, tuple[Any, tuple[FileDependency, ...]]] = OrderedDict()
        self._lock = threading.Lock()
        self.lately: InFlightCache[Any] = InFlightCache(size)
        self.hits = 0
        self._here = threading.local()

    @property
    def hit(self) -> bool:
        """Whether the last answer of this thread was from memory."""
        return bool(getattr(self._here, "hit", False))

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()
        self.lately.forget()

    def search(self, views: Sequence[View], request: SearchRequest) -> SearchResult:
        return self.answer(views, request, lambda looked: search_with(views, request, looked))

    def answer(
        self,
        views: Sequence[View],
        asked: Hashable,
        make: Callable[[list[FileDependency]], Answer],
        holds: Callable[[Answer], bool] = lambda _answer: True,
    ) -> Answer:
        """What was made when the same was `asked` before, if it still `holds`; `make` names the files it looks at."""
        key = (tuple(map(_moment, views)), asked)
        with self._lock:
            kept = self._kept.get(key)
        self._here.hit = kept is not None and holds(kept[0]) and all(map(_unchanged, kept[1]))
        if kept and self._here.hit:
            self.hits += 1
            answer: Answer = kept[0]
            return answer
        looked: list[FileDependency] = []
        answer = make(looked)
        if not any(view.pending for view in views):  # else those were read too, whether they are in the answer or not
            self._keep(key, answer, looked)
        return answer

    def _keep(self, key: Hashable, answer: object, looked: Sequence[FileDependency]) -> None:
        with self._lock:
            self._kept[key] = (answer, tuple(looked))
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)


def _moment(view: View) -> Hashable:
    embedder = view.embedder.name if view.embedder else None
    generation = view.store.catalog.generation()
    return (view.root.id, str(view.store.folder), generation, embedder, view.pending, view.share)


def _unchanged(looked: FileDependency) -> bool:
    try:
        seen = looked.view.root_fs.stat(looked.path)
    except LlmcError:
        return False
    if looked.stamp is None or seen is None:
        return looked.stamp is None and seen is None
    return seen.stamp == looked.stamp and settled(looked.stamp)
