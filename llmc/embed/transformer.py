"""Embeds with any sentence-transformers model, from a folder or from a model hub.

Only this module imports torch. The import takes about 7 s and 400 MB, so it runs in the indexing process. A folder is
opened without network access, and none of its code is executed.
"""

from __future__ import annotations

import hashlib
import importlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from llmc.base.errors import EmbedError
from llmc.embed.vectors import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from llmc.settings import EmbedderSettings

__all__ = ["SentenceTransformerEmbedder"]

MAX_TEXT = 16_384  # characters; the models use 256 to 512 tokens, but tokenize the whole text first


class SentenceTransformerEmbedder:
    def __init__(self, name: str, model: Any, *, prefix: str = "", batch: int = 32) -> None:
        self.name = f"{name} {prefix!r}" if prefix else name
        self._model = model
        self._prefix = prefix
        self._batch = batch
        # Rust tokenizers raise "Already borrowed" when two threads pad or truncate at once.
        self._lock = threading.Lock()
        self.dimension = int(self._encode(["dimension"], query=False).shape[1])

    @classmethod
    def load(cls, settings: EmbedderSettings) -> SentenceTransformerEmbedder:
        model = settings.model
        if not model:
            raise EmbedError("embedder.model is not set", hint="Set it to a folder or to the name of a model.")
        try:
            # By name, so that type checking does not need torch.
            package = importlib.import_module("sentence_transformers")
        except ImportError as error:
            raise EmbedError(
                "sentence-transformers is not installed",
                reason=str(error),
                hint="pip install 'llmc-index[transformers]'",
            ) from error
        _hide_progress_bars()
        try:
            local = Path(model).is_dir()
            opened = package.SentenceTransformer(model, device="cpu", local_files_only=local)
            return cls(_name(model), opened, prefix=settings.query_prefix, batch=settings.batch)
        except Exception as error:
            raise EmbedError(
                f"the model {model} cannot be used",
                reason=f"{type(error).__name__}: {error}",
                hint="embedder.model must be a sentence-transformers folder or the name of a reachable hub model.",
            ) from error

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return unit_rows(self._encode(texts, query=False))

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        row: npt.NDArray[np.float32] = unit_rows(self._encode([self._prefix + text], query=True))[0]
        return row

    def _encode(self, texts: Sequence[str], *, query: bool) -> npt.NDArray[np.float32]:
        inputs = [_encodable(text[:MAX_TEXT]) for text in texts]
        encode = self._model.encode_query if query else self._model.encode_document
        with self._lock:
            rows = encode(inputs, batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(rows, dtype=np.float32)


def _hide_progress_bars() -> None:
    """Loading and downloading draw bars on stderr, in the middle of llmc's own progress or a client's log."""
    importlib.import_module("transformers.utils.logging").disable_progress_bar()
    importlib.import_module("huggingface_hub.utils").disable_progress_bars()


def _encodable(text: str) -> str:
    """Replace lone surrogates (from names that are not UTF-8), since the Rust tokenizers reject them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _name(model: str) -> str:
    """A folder's name includes a hash of its contents, so that another model in the same folder causes new
    embeddings."""
    folder = Path(model)
    if not folder.is_dir():
        return f"st:{model}"
    digest = hashlib.blake2b(digest_size=4)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(folder)}:{path.stat().st_size};".encode("utf-8", "surrogateescape"))
    return f"st:{folder.resolve().name}@{digest.hexdigest()}"
