"""Imports LanceDB, off the path of a query.

`import lancedb` takes a second of CPU and 70 MB (lancedb 0.40, mostly its generated REST client), so a daemon calls
`preload` at start and answers from keywords until `is_loaded`. Callers that need the module at once use `load`. A
failed import is remembered: it would fail again, as slowly.

Tables are used through LanceDB's asynchronous interface, which `run` bridges with one change of threads. Its
synchronous interface changes threads six times for a query, and each change waits for the interpreter lock: 1.2 ms of
CPU more, and many milliseconds while another thread is computing.
"""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from llmc.base import logs
from llmc.base.cache_budget import cache_share
from llmc.base.errors import VectorsUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

__all__ = ["cache_bytes", "connect", "failure", "is_loaded", "load", "preload", "release", "run"]

Result = TypeVar("Result")

log = logs.get("vectors")

# The share of LanceDB's cache that is used for metadata; the rest is for indexes.
METADATA_SHARE = 0.1

_lock = threading.Lock()
_module: Any = None
_session: Any = None
_failure = ""


def load() -> Any:
    """The lancedb module. The first call takes the time of the import; VectorsUnavailableError if it fails."""
    global _module, _session, _failure  # noqa: PLW0603 - one import for each process
    with _lock:
        if _module is None and not _failure:
            try:
                os.environ.setdefault("LANCEDB_LOG", "error")  # else it writes about empty partitions to stderr
                with warnings.catch_warnings(), deferred_validators():
                    warnings.simplefilter("ignore")  # of its dependencies
                    module = import_module("lancedb")
                _session = new_session(module)
                _module = module
            except Exception as error:  # noqa: BLE001 - a broken installation raises anything
                _failure = f"{type(error).__name__}: {error}"
                log.warning("cannot import lancedb", error=_failure)
    if _module is None:
        raise VectorsUnavailableError(
            "vectors are not available",
            reason=f"cannot import lancedb ({_failure})",
            hint="Reinstall llmc; until then search uses keywords only.",
        )
    return _module


def new_session(module: Any) -> Any:
    share = cache_share("vectors")
    metadata = int(METADATA_SHARE * share)
    return module.Session(index_cache_size_bytes=share - metadata, metadata_cache_size_bytes=metadata)


def release() -> None:
    """Empty LanceDB's caches. It has no call for that, so tables get another session; those that are still open keep
    the former one."""
    global _session  # noqa: PLW0603 - as in `load`
    with _lock:
        if _module is not None:
            _session = new_session(_module)


@contextmanager
def deferred_validators() -> Iterator[None]:
    """Defer the validators of pydantic models that are defined in this block until their first use. The models of the
    REST client, which llmc does not use, take half of the import: 2.0 s of CPU become 1.1 s. If another version of
    pydantic keeps its defaults elsewhere, this has no effect."""
    try:
        from pydantic._internal._config import config_defaults  # noqa: PLC0415 - as above
    except ImportError:
        yield
        return
    before = config_defaults.get("defer_build", False)
    config_defaults["defer_build"] = True
    try:
        yield
    finally:
        config_defaults["defer_build"] = before


def connect(database: Path) -> Any:
    """An `AsyncConnection`, for use in `run`."""
    module = load()
    return run(module.connect_async(str(database), session=_session))


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine of LanceDB in the loop's thread and wait for its result."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop_of(os.getpid())).result()


@cache
def _loop_of(_process: int) -> asyncio.AbstractEventLoop:
    """One loop per process: a forked process does not have its parent's threads."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="llmc-lancedb", daemon=True).start()
    return loop


def preload(then: Callable[[], None] = lambda: None) -> threading.Thread:
    """Import in a background thread, and call `then` there afterwards."""

    def run() -> None:
        try:
            load()
        except VectorsUnavailableError:
            return  # `failure` says why
        then()

    thread = threading.Thread(target=run, name="llmc-vectors", daemon=True)
    thread.start()
    return thread


def is_loaded() -> bool:
    return _module is not None


def failure() -> str:
    """Why the import failed; empty if it did not, or was not tried."""
    return _failure


def cache_bytes() -> int:
    """The memory of LanceDB's caches, for all tables together."""
    return int(_session.size_bytes) if _session is not None else 0
