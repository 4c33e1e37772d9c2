"""Fetches vectors from shared indexes, so that a fresh clone of a published repository need not embed its files.

A slow embedder takes minutes for vectors that the servers in `[[remotes]]` send in seconds. They are requested by the
hash of a file's content and the name of the clone's repository. Contents that a server does not have, or sends in an
unusable form, are embedded locally; after a failure a server is not queried again in this run.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

import numpy as np
import orjson

from llmc.base.errors import ConfigError
from llmc.base.git_folder import origin_name
from llmc.base.outbound import ExchangeError, Exchanger

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from llmc.base.model import Vectors
    from llmc.embed import Embedder
    from llmc.settings import RemoteEntry, Settings

__all__ = ["RemoteVectors"]

# A server that has to fetch the vectors of 200 documents first takes a second.
SECONDS: Final = 30.0
MOST_BYTES: Final = 64 << 20
OK: Final = 200


class RemoteVectors:
    """`trouble` is the reason why a server is not queried any more."""

    def __init__(self, settings: Settings, folder: str, embedder: Embedder) -> None:
        self.repo = origin_name(folder) if settings.remotes else ""
        self.trouble = ""
        self._embedder = embedder
        self._remotes = list(settings.remotes) if self.repo else []

    def find(self, hashes: Collection[str]) -> dict[str, Vectors]:
        """content hash → a row for each chunk; contents that no server has are omitted."""
        found: dict[str, Vectors] = {}
        for entry in list(self._remotes):
            missing = sorted(set(hashes) - found.keys())
            if not missing:
                break
            try:
                found.update(self._ask(entry, missing))
            except ConfigError as error:  # the variable of its token is not set
                self._remotes.remove(entry)
                self.trouble = f"{entry.name} was not asked for vectors ({error.reason})"
            except (ExchangeError, ValueError, KeyError, TypeError) as error:
                self._remotes.remove(entry)
                kind = error.kind if isinstance(error, ExchangeError) else "an unreadable reply"
                self.trouble = f"{entry.name} sent no vectors ({kind})"
        return found

    def _ask(self, entry: RemoteEntry, hashes: list[str]) -> dict[str, Vectors]:
        token = entry.token.reveal()
        exchanger = Exchanger({"Authorization": f"Bearer {token}"} if token else {})
        body = orjson.dumps({"repo": self.repo, "embedder": self._embedder.name, "hashes": hashes})
        try:
            url = f"{entry.url.rstrip('/')}/vectors"
            answer = exchanger.exchange("POST", url, seconds=SECONDS, most=MOST_BYTES, content=body)
        finally:
            exchanger.close()
        if answer.status != OK:
            raise ValueError(f"HTTP {answer.status}")
        return self._read(orjson.loads(answer.body)["vectors"], frozenset(hashes))

    def _read(self, sent: Mapping[str, str], requested: frozenset[str]) -> dict[str, Vectors]:
        """Unit rows in half precision, as tables hold them."""
        found: dict[str, Vectors] = {}
        for name, data in sent.items():
            rows = np.frombuffer(base64.b64decode(data, validate=True), "<f2").astype(np.float32)
            rows = rows.reshape(-1, self._embedder.dimension)
            if name in requested and np.isfinite(rows).all():
                found[name] = rows
        return found
