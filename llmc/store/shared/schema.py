"""The tables of a shared index: columns, indexes and format version.

| table        | a row is                    | indexes                                             |
|--------------|-----------------------------|-----------------------------------------------------|
| documents    | one content at one path     | doc, repo                                           |
| trigrams     | a part of a document's text | its trigrams, each once (full text), doc, repo      |
| chunks       | a run of lines              | words of body, name and path (full text), doc, repo |
| vectors      | the same, embedded          | vector (IVF), doc, repo                             |
| symbols      | a name that a document defines | name, doc, repo                                  |
| manifests    | a repository at a ref       | none: one small row for each publication            |

Content tables exist once for each shard (`chunks_0003`): a repository is in one shard, and a shard takes new
repositories until it is full, since bringing its full-text indexes up to date takes time in proportion to all of it.
Rows of content carry `repo`, so that permissions are a clause of every query, and `doc`, which is derived from
repository, path, content and the versions in `Description`: whoever publishes the same file writes the same number,
and nothing is written twice. `written` is the time of writing: rows that no manifest lists are removed a day later.
Manifests are only appended; the newest one of a repository and ref is current. The files of a publication and its word
statistics are objects beside the tables (`publications/NONCE.files`, `.terms`), so that the list of publications stays
small.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from llmc.base import words
from llmc.base.errors import ConfigError, CorruptStoreError, NewerFormatError

if TYPE_CHECKING:
    import pyarrow as pa

    from llmc.store.shared.storage import Storage

__all__ = [
    "CONTENT_TABLES",
    "MANIFESTS",
    "SHARD_CHUNKS",
    "Description",
    "document_number",
    "index_configs",
    "schema_of",
]

FORMAT: Final = 2
DESCRIPTION: Final = "llmc.json"
CONTENT_TABLES: Final = ("documents", "trigrams", "chunks", "vectors", "symbols")
MANIFESTS: Final = "manifests"
# Updating the indexes of this many chunks takes some 12 s of CPU.
SHARD_CHUNKS: Final = 250_000


@dataclass(frozen=True, slots=True)
class Description:
    """What every publisher and reader of the index must agree on; stored as `llmc.json` beside the tables."""

    embedder: str
    dimension: int
    redactor: str
    format: int = FORMAT
    analysis: int = words.ANALYSIS

    @classmethod
    def read(cls, storage: Storage) -> Description | None:
        """None if there is no index yet."""
        data = storage.read(DESCRIPTION)
        if data is None:
            return None
        try:
            fields = json.loads(data)
            version = (fields["format"], fields["analysis"])
            found = cls(fields["embedder"], fields["dimension"], fields["redactor"], *version)
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptStoreError(
                "the shared index cannot be used", reason=f"its {DESCRIPTION} is damaged", hint="Restore it."
            ) from error
        if version > (FORMAT, words.ANALYSIS):
            raise NewerFormatError(
                "the shared index was written by a newer llmc",
                reason=f"format {version[0]}.{version[1]}, this version reads {FORMAT}.{words.ANALYSIS}",
                hint="Update llmc.",
            )
        if version < (FORMAT, words.ANALYSIS):
            raise CorruptStoreError(
                "the shared index must be published again",
                reason=f"it was written by an older llmc (format {version[0]}.{version[1]}, this version uses "
                f"{FORMAT}.{words.ANALYSIS})",
                hint="Publish to another prefix, then switch the servers to it.",
            )
        return found

    def create(self, storage: Storage) -> None:
        """Write the description as the last step of creating an index; before, no process reads or publishes."""
        storage.create(DESCRIPTION, json.dumps(asdict(self), indent=1).encode())

    def require(self, wanted: Description) -> None:
        """ConfigError if a publisher uses another embedder. Another redactor is allowed: it is part of the document
        numbers, so the documents that it changes are written again."""
        if (self.embedder, self.dimension) != (wanted.embedder, wanted.dimension):
            raise ConfigError(
                "the shared index uses another embedder",
                reason=f"it has vectors of {self.embedder} ({self.dimension} dimensions), not of {wanted.embedder}",
                hint="Configure the same embedder, or publish to another prefix.",
            )


def document_number(repo: str, path: str, blob: str, redactor: str) -> int:
    """The number of a content (`blob`, its git object name) at a path; never 0."""
    identity = "\0".join((repo, path, blob, redactor, str(FORMAT), str(words.ANALYSIS)))
    digest = blake2b(identity.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 1) or 1


def schema_of(table: str, description: Description) -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 - comes with lancedb

    identity = [("repo", pa.string()), ("doc", pa.int64()), ("written", pa.float64())]
    chunk = [*identity, ("ordinal", pa.int32())]
    columns: dict[str, list[tuple[str, pa.DataType]]] = {
        "documents": [
            *identity,
            ("content_hash", pa.string()),
            ("size", pa.int64()),
            ("redactions", pa.int32()),
            ("nul", pa.bool_()),
            ("facts", pa.binary()),  # `documents.DocumentFacts` in one column, since each column takes a request
            ("refs", pa.binary()),
            ("content", pa.large_binary()),
        ],
        "trigrams": [*identity, ("cut", pa.bool_()), ("grams", pa.large_string())],
        "chunks": [
            *chunk,
            ("language", pa.string()),
            ("body", pa.string()),
            ("name", pa.string()),
            ("path", pa.string()),
        ],
        "vectors": [*chunk, ("vector", pa.list_(pa.float16(), description.dimension))],
        "symbols": [*identity, ("name", pa.string())],
        "manifests": [
            ("repo", pa.string()),
            ("ref", pa.string()),
            ("sequence", pa.int64()),
            ("nonce", pa.string()),
            ("head", pa.string()),
        ],
    }
    return pa.schema(columns[table])


def index_configs(table: str) -> dict[str, Any]:
    """column → index, for the indexes of a new table. `maintenance` adds the index of vectors when there are enough."""
    from lancedb.index import FTS, Bitmap, BTree  # noqa: PLC0415 - after `engine.load`

    plain: dict[str, Any] = {
        "lower_case": False,
        "stem": False,
        "remove_stop_words": False,
        "ascii_folding": False,
        "with_position": False,
        "max_token_length": None,
    }
    terms = FTS(base_tokenizer="whitespace", **plain)
    full_text = {"trigrams": {"grams": terms}, "chunks": dict.fromkeys(("body", "name", "path"), terms)}
    names = {"symbols": {"name": BTree()}}
    if table == MANIFESTS:
        return {}
    return {**full_text.get(table, {}), **names.get(table, {}), "doc": BTree(), "repo": Bitmap()}
