"""embed: how does text become a vector?

The seam (`Embedder`) and `open_embedder`, which opens the implementation that the settings name. The indexer embeds
chunks, retrieval embeds queries; both go through here and neither imports the other. Every implementation keeps one
promise: one finite unit row for each text, whatever the text. What cannot keep it (a folder that is no model, an
endpoint that is down) raises `EmbedError` when opened; search then goes on without vectors, and the caller says so.

    builtin                the bundled model of our own: numpy, no download (`static`)
    hash                   plain sub-token hashing, nothing learned; its name says so (`hashing`)
    sentence-transformers  any such model, by folder or hub name; needs `llmc[transformers]` (`transformer`)
    openai                 an OpenAI-compatible embeddings endpoint (`endpoint`)
    combined               builtin and one of the last two side by side in one vector: the quality tier (`combined`)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from llmc.base.errors import EmbedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from llmc.settings import EmbedderSettings

__all__ = ["BUNDLED", "KINDS", "Embedder", "open_embedder"]

BUNDLED = Path(__file__).parent / "model"


class Embedder(Protocol):
    """Texts to unit vectors, from any thread. `name` and `dimension` are part of the format: another, embed anew."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One finite unit row for each text, whatever the text."""

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """The same for one text that is a question; some models want a prefix in front of those."""


def open_embedder(settings: EmbedderSettings) -> Embedder:
    """The embedder that the settings name, checked and ready; `EmbedError` says what is wrong with it."""
    opener = _OPENERS.get(settings.kind)
    if opener is None:
        raise EmbedError(f"no embedder is called {settings.kind!r}", hint=f"use one of {', '.join(KINDS)}")
    embedder = opener(settings)
    if settings.dimension not in {0, embedder.dimension}:
        raise EmbedError(
            f"the embedder {embedder.name} cannot be used",
            reason=f"it gives {embedder.dimension} dimensions and {settings.dimension} are configured",
            hint="leave out embedder.dimension, or name the right model",
        )
    return embedder


# The imports are lazy: numpy costs 0.1 s, torch 7 s, and a thin client pays for neither.
def _builtin(settings: EmbedderSettings) -> Embedder:
    from llmc.embed.static import StaticEmbedder  # noqa: PLC0415 - lazy, see above

    return StaticEmbedder.load(Path(settings.model) if settings.model else BUNDLED)


def _hash(_settings: EmbedderSettings) -> Embedder:
    from llmc.embed.hashing import HashEmbedder  # noqa: PLC0415 - lazy, see above

    return HashEmbedder()


def _transformer(settings: EmbedderSettings) -> Embedder:
    from llmc.embed.transformer import SentenceTransformerEmbedder  # noqa: PLC0415 - lazy, see above

    return SentenceTransformerEmbedder.load(settings)


def _endpoint(settings: EmbedderSettings) -> Embedder:
    from llmc.embed.endpoint import HttpEmbedder  # noqa: PLC0415 - lazy, see above

    return HttpEmbedder.connect(settings)


def _combined(settings: EmbedderSettings) -> Embedder:
    from llmc.embed.combined import CombinedEmbedder  # noqa: PLC0415 - lazy, see above
    from llmc.embed.static import StaticEmbedder  # noqa: PLC0415 - lazy, see above

    second = _endpoint(settings) if settings.endpoint else _transformer(settings)
    return CombinedEmbedder([(StaticEmbedder.load(BUNDLED), 1.0), (second, 1.0)])


_OPENERS: dict[str, Callable[[EmbedderSettings], Embedder]] = {
    "builtin": _builtin,
    "hash": _hash,
    "sentence-transformers": _transformer,
    "openai": _endpoint,
    "combined": _combined,
}
KINDS = tuple(_OPENERS)
