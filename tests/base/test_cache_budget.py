"""Every cache of a process is limited, and an idle daemon empties it."""

from __future__ import annotations

import inspect
import pkgutil
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import llmc
from llmc.base import cache_budget
from llmc.base.cache_budget import cache_share, cache_sizes, cached_functions, empty_caches, register_cache
from llmc.envelope.reply import Reply
from llmc.envelope.tokens import count
from llmc.retrieval.dependency_cache import DependencyCache
from llmc.tools.reply_cache import CachedReply, reply_bytes

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

    import pytest

# Functions without a limit whose arguments come from llmc's own tables.
CLOSED = {
    "llmc.store.vectors.engine._loop_of",  # one per process
    "llmc.answers.research.roles.role",
    "llmc.base.openat._how",
    "llmc.envelope.redact.table.words",
    "llmc.indexer.syntax.grammar.language",
    "llmc.indexer.syntax.grammar.query",
    "llmc.indexer.syntax.lexical._query",
    "llmc.retrieval.registrations._calls",
    "llmc.settings.fields.settings_of",
}
LARGEST_LIMIT = 20_000


def all_cached_functions() -> list[_lru_cache_wrapper[Any]]:
    for module in pkgutil.walk_packages(llmc.__path__, "llmc."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    return list(cached_functions())


def test_every_function_that_keeps_results_has_a_limit() -> None:
    unlimited = {
        f"{one.__module__}.{one.__qualname__}"
        for one in all_cached_functions()
        if one.cache_info().maxsize is None and inspect.signature(one.__wrapped__).parameters
    }
    assert unlimited == CLOSED


def test_no_function_keeps_more_results_than_its_memory_is_worth() -> None:
    limits = {f"{one.__module__}.{one.__qualname__}": one.cache_info().maxsize or 0 for one in all_cached_functions()}
    assert max(limits.values()) <= LARGEST_LIMIT, limits


def test_replies_stay_within_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_budget, "_budget", 1 << 20)
    cache = DependencyCache(size_of=reply_bytes)
    settings: Any = None
    for number in range(200):
        value = CachedReply(Reply(f"{number} " * 2_000, {"lines": ["some text"] * 50}), settings)
        cache.get((), number, partial(lambda value, _read: value, value))
        assert cache.memory <= cache_share("replies")

    assert 0 < len(cache) < 200
    newest, was_kept = cache.get((), 199, lambda _read: CachedReply(Reply("made again"), settings))
    assert was_kept
    assert newest.reply.text.startswith("199")
    too_large = CachedReply(Reply("x" * (2 << 20)), settings)
    cache.get((), "large", lambda _read: too_large)
    assert cache.memory <= cache_share("replies")


def test_an_emptied_cache_is_reported_as_empty() -> None:
    kept = [b"x" * 100]
    register_cache("test", lambda: sum(map(len, kept)), kept.clear)
    try:
        count("some words that have not been counted before")
        assert cache_sizes()["test"] == 100
        assert cache_sizes()["functions"] > 0

        empty_caches()
        assert cache_sizes()["test"] == 0
        assert count.__module__ == "llmc.envelope.tokens"
        assert not any(one.cache_info().currsize for one in cached_functions() if one.cache_info().maxsize == 16_384)
    finally:
        cache_budget._caches.pop("test")
