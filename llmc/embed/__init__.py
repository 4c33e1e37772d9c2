"""embed: how does text become a vector?

This package defines the interface `Embedder` and `open_embedder`, which opens the implementation chosen in the
settings. The indexer embeds chunks and retrieval embeds queries. Every implementation guarantees one finite unit row
per text, for any text. An unusable embedder (a folder without a model, an endpoint that is down) raises `EmbedError`
when it is opened; search then continues without vectors, and the caller reports it.

    builtin                the bundled model: numpy, no download (`static`)
    hash                   sub-token hashing without training (`static`)
    sentence-transformers  any such model, by folder or hub name; needs `llmc-index[transformers]` (`transformer`)
    openai                 an OpenAI-compatible embeddings endpoint (`endpoint`)
    combined               builtin and one of the last two, concatenated in one vector (`vectors`)
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
    """Converts texts to unit vectors; thread-safe. If `name` or `dimension` changes, all documents are embedded
    again."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One finite unit row per text, for any text."""

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """The vector of a query; some models require a prefix for queries."""


def open_embedder(settings: EmbedderSettings) -> Embedder:
    """Open and check the embedder chosen in the settings; raises `EmbedError` if it is unusable."""
    opener = _OPENERS.get(settings.kind)
    if opener is None:
        raise EmbedError(f"unknown embedder {settings.kind!r}", hint=f"Available: {', '.join(KINDS)}.")
    embedder = opener(settings)
    if settings.dimension not in {0, embedder.dimension}:
        raise EmbedError(
            f"the embedder {embedder.name} cannot be used",
            reason=f"it has {embedder.dimension} dimensions, but embedder.dimension is {settings.dimension}",
            hint="Remove embedder.dimension, or choose another model.",
        )
    return embedder


# The imports are lazy: numpy takes 0.1 s and torch 7 s, which a thin client must not pay.
def _builtin(settings: EmbedderSettings) -> Embedder:
    from llmc.embed.static import StaticEmbedder  # noqa: PLC0415 - lazy, see above

    return StaticEmbedder.load(Path(settings.model) if settings.model else BUNDLED)


def _hash(_settings: EmbedderSettings) -> Embedder:
    from llmc.embed.static import HashEmbedder  # noqa: PLC0415 - lazy, see above

    return HashEmbedder()


def _transformer(settings: EmbedderSettings) -> Embedder:
    from llmc.embed.transformer import SentenceTransformerEmbedder  # noqa: PLC0415 - lazy, see above

    return SentenceTransformerEmbedder.load(settings)


def _endpoint(settings: EmbedderSettings) -> Embedder:
    from llmc.embed.endpoint import HttpEmbedder  # noqa: PLC0415 - lazy, see above

    return HttpEmbedder.connect(settings)


def _combined(settings: EmbedderSettings) -> Embedder:
    from llmc.embed.static import StaticEmbedder  # noqa: PLC0415 - lazy, see above
    from llmc.embed.vectors import CombinedEmbedder  # noqa: PLC0415 - lazy, see above

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
