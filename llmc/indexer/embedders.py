"""The embedders of a process: each is opened once, in its own thread, so that a slow endpoint delays nothing else.

Callers wait for a local model, and only briefly for an endpoint: until it answers, roots are indexed and searched
without vectors. An endpoint that cannot be reached is tried again later; `on_ready` is called when it can be used.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from llmc.base import logs
from llmc.base.concurrency import released
from llmc.indexer.tasks import try_embedder

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.embed import Embedder
    from llmc.settings import EmbedderSettings

__all__ = ["Embedders"]

log = logs.get("embedders")

# A local server answers within milliseconds, a remote one within a second.
WAIT_SECONDS: Final = 3.0
RETRY_SECONDS: Final = 60.0


@dataclass(eq=False, slots=True)
class Opening:
    tried: threading.Event = field(default_factory=threading.Event)  # set after the first attempt
    embedder: Embedder | None = None
    trouble: str = "the embedder is being opened"


class Embedders:
    """By their settings; safe from many threads."""

    def __init__(self, on_ready: Callable[[EmbedderSettings, Embedder], None]) -> None:
        self._on_ready = on_ready
        self._openings: dict[EmbedderSettings, Opening] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def get(self, settings: EmbedderSettings, seconds: float | None = None) -> tuple[Embedder | None, str]:
        """(the embedder, why there is none). `seconds` bounds the wait; a local model is waited for by default."""
        with self._lock:
            opening = self._openings.get(settings)
            if opening is None:
                opening = self._openings[settings] = Opening()
                threading.Thread(target=self._open, args=(settings, opening), name="llmc-embedder", daemon=True).start()
        if not opening.tried.is_set():
            with released():
                opening.tried.wait(seconds if seconds is not None else WAIT_SECONDS if is_remote(settings) else None)
        return opening.embedder, opening.trouble

    def close(self) -> None:
        self._closed.set()

    def _open(self, settings: EmbedderSettings, opening: Opening) -> None:
        while not self._closed.is_set():
            try:
                embedder, opening.trouble = try_embedder(settings)
            except BaseException as error:
                log.exception("embedder failed")
                embedder, opening.trouble = None, f"{type(error).__name__}: {error}"
            opening.embedder = embedder
            opening.tried.set()
            if embedder is not None:
                self._on_ready(settings, embedder)
            if embedder is not None or not is_remote(settings) or self._closed.wait(RETRY_SECONDS):
                return


def is_remote(settings: EmbedderSettings) -> bool:
    return settings.kind == "openai" or (settings.kind == "combined" and bool(settings.endpoint))
