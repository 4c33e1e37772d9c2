"""One budget for what a process keeps to answer faster, and a list of all of it.

`limit_caches` sets the budget (`daemon.cache_mb`); each kind of cache may take its share of it. A cache registers its
size and how to empty it, so that `llmc status` reports all of them and an idle daemon empties them. Functions with
`lru_cache` need no registration: `cached_functions` finds them, and their decorators limit the number of results.
"""

from __future__ import annotations

import sys
from functools import _lru_cache_wrapper
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["cache_share", "cache_sizes", "cached_functions", "empty_caches", "limit_caches", "register_cache"]

MIB: Final = 1 << 20
DEFAULT_MB: Final = 128
# The index of 200,000 vectors takes 52 MB, and a query that has to load it again takes ten times as long. Facts of a
# graph are read again in a millisecond: with a quarter of the memory, graph calls take 13 % more CPU.
SHARES: Final = {"vectors": 0.7, "graph": 0.2, "replies": 0.1}
# The average size of a result and its key, over the functions of a daemon after 600 calls.
RESULT_BYTES: Final = 250
# Functions with a smaller cache keep objects that are expensive to create, such as the client of a provider.
MANY_RESULTS: Final = 256


class RegisteredCache(NamedTuple):
    size: Callable[[], int]
    empty: Callable[[], None]


_caches: dict[str, RegisteredCache] = {}
_budget = DEFAULT_MB * MIB


def limit_caches(megabytes: int) -> None:
    """Set the budget. Call this before anything is cached, because LanceDB creates its caches only once."""
    global _budget  # noqa: PLW0603 - one for each process
    _budget = megabytes * MIB


def cache_share(kind: Literal["vectors", "graph", "replies"]) -> int:
    """The bytes that a kind of cache may take."""
    return int(SHARES[kind] * _budget)


def register_cache(name: str, size: Callable[[], int], empty: Callable[[], None]) -> None:
    """`size` returns the approximate number of bytes. A later cache of the same name replaces the earlier one."""
    _caches[name] = RegisteredCache(size, empty)


def cache_sizes() -> dict[str, int]:
    """name → approximate number of bytes."""
    results = sum(one.cache_info().currsize for one in cached_functions())
    return {name: cache.size() for name, cache in _caches.items()} | {"functions": RESULT_BYTES * results}


def empty_caches() -> None:
    for cache in _caches.values():
        cache.empty()
    for function in cached_functions():
        if (function.cache_info().maxsize or 0) >= MANY_RESULTS:
            function.cache_clear()


def cached_functions() -> Iterator[_lru_cache_wrapper[Any]]:
    """The functions with `lru_cache` in all loaded modules of llmc."""
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "llmc"]
    for module in modules:
        for name, value in list(vars(module).items()):
            if isinstance(value, _lru_cache_wrapper) and value.__module__ == module.__name__:
                yield value
            elif isinstance(value, type) and value.__module__ == module.__name__ and name == value.__name__:
                yield from (one for one in vars(value).values() if isinstance(one, _lru_cache_wrapper))
