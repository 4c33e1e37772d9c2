"""An OpenAI-compatible embeddings endpoint (LM Studio, Ollama, llama.cpp, a company's gateway).

This module handles batches, a limited number of retries, one deadline for all attempts (`embedder.timeout_ms`), and
validation of the reply (size, count, dimension, finite numbers). `outbound` sends the request, so file contents and the
key go only to the configured host. The key is sent in a header and never appears in a message or log. A query waits for
a shorter time than a batch of the indexer, and after a failure queries skip vectors for a while (see `trouble`).
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from llmc.base.errors import EmbedError
from llmc.base.outbound import ExchangeError, Exchanger, ExchangeSizeError
from llmc.embed.vectors import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx
    import numpy.typing as npt

    from llmc.settings import EmbedderSettings

__all__ = ["HttpEmbedder"]

MAX_TEXT = 8_192  # characters, about 2,000 tokens: servers refuse a whole batch if one text is too long
MAX_REPLY = 64 << 20  # bytes; 64 rows of 4,096 numbers are about 6 MB of JSON
PAUSES = (0.25, 1.0)  # seconds between attempts; there is one attempt more than pauses
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
OK = 200
# A user waits for a query: if the endpoint takes longer, keywords alone answer it.
QUERY_SECONDS = 10.0
# After a failed query, keywords alone answer queries for this long.
REST_SECONDS = 30.0


class HttpEmbedder:
    """`trouble` is the reason why queries currently get no vectors; empty if they do."""

    def __init__(self, exchanger: Exchanger, settings: EmbedderSettings) -> None:
        self._exchanger = exchanger
        self._seconds = settings.timeout_ms / 1000
        self._resting_until = 0.0
        self.trouble = ""
        self._url = _embeddings_url(settings.endpoint)
        self._model = settings.model
        self._batch = settings.batch
        self._prefix = settings.query_prefix
        self.name = f"http:{settings.model} {self._prefix!r}" if self._prefix else f"http:{settings.model}"
        self.dimension = 0
        self.dimension = int(self._rows(["dimension"]).shape[1])

    @classmethod
    def connect(cls, settings: EmbedderSettings, transport: httpx.BaseTransport | None = None) -> HttpEmbedder:
        """Call the endpoint once, so that problems are reported at start."""
        if not settings.model:
            raise EmbedError("embedder.model is not set", hint="Set it to the endpoint's name of the model.")
        key = settings.api_key.reveal()
        exchanger = Exchanger({"Authorization": f"Bearer {key}"} if key else {}, transport)
        try:
            return cls(exchanger, settings)
        except BaseException:
            exchanger.close()
            raise

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        batches = [self._rows(texts[start : start + self._batch]) for start in range(0, len(texts), self._batch)]
        return unit_rows(np.vstack(batches))

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        if time.monotonic() < self._resting_until:
            raise self._error(self.trouble)
        try:
            rows = self._rows([self._prefix + text], min(self._seconds, QUERY_SECONDS))
        except EmbedError as error:
            self.trouble, self._resting_until = error.reason, time.monotonic() + REST_SECONDS
            raise
        self.trouble = ""
        row: npt.NDArray[np.float32] = unit_rows(rows)[0]
        return row

    def close(self) -> None:
        self._exchanger.close()

    def _rows(self, texts: Sequence[str], seconds: float | None = None) -> npt.NDArray[np.float32]:
        # Servers refuse an empty input; a full stop is the closest substitute.
        inputs = [text[:MAX_TEXT].encode("utf-8", "replace").decode() or "." for text in texts]
        body = self._request({"model": self._model, "input": inputs}, seconds or self._seconds)
        try:
            rows = _parse(body, len(inputs))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._error(f"the reply is not a list of embeddings ({type(error).__name__})") from error
        if self.dimension and rows.shape[1] != self.dimension:
            raise self._error(f"the reply has {rows.shape[1]} dimensions, earlier replies had {self.dimension}")
        return rows

    def _request(self, payload: dict[str, Any], seconds: float) -> bytes:
        """`seconds` limits all attempts together."""
        deadline = time.monotonic() + seconds
        content, reason = json.dumps(payload).encode(), ""
        for pause in (0.0, *PAUSES):
            time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                status, body = self._exchanger.exchange(
                    "POST", self._url, content=content, seconds=left, most=MAX_REPLY
                )
            except ExchangeSizeError as error:
                raise self._error(str(error)) from None
            except ExchangeError as error:
                reason = str(error)
                continue
            if status == OK:
                return body
            reason = f"status {status}"
            if status not in BUSY:
                break
        raise self._error(reason or f"timed out after {seconds:g} s")

    def _error(self, reason: str) -> EmbedError:
        return EmbedError(
            "the embeddings endpoint cannot be used",
            reason=reason,
            hint="Check embedder.endpoint, embedder.model and the key. Search continues without vectors.",
            url=self._url,
        )


def _embeddings_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise EmbedError(
            "embedder.endpoint is not an HTTP address", hint="Use an address such as http://127.0.0.1:1234/v1."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EmbedError(
            "embedder.endpoint must not contain credentials or a query", hint="Use embedder.api_key for the key."
        )
    base = url.rstrip("/")
    return base if base.endswith("/embeddings") else f"{base}/embeddings"


def _parse(body: bytes, count: int) -> npt.NDArray[np.float32]:
    entries = sorted(json.loads(body)["data"], key=lambda entry: int(entry["index"]))
    if [entry["index"] for entry in entries] != list(range(count)):
        raise ValueError("some texts have no embedding")
    rows = np.array([entry["embedding"] for entry in entries], dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] == 0 or not np.isfinite(rows).all():  # noqa: PLR2004 - rows and columns
        raise ValueError("rows must have equal length and finite numbers")
    return rows
