"""The embedders that need only numpy: the bundled static model, and sub-token hashing without training.

The vector of a string is the normalized sum of its tokens' rows, each multiplied by its scale. The static model's rows
are a memory-mapped table of int8; its folder is also a valid sentence-transformers model (`modules.json`,
`tokenizer.json`), of which `StaticEmbedder` reads only `model.safetensors`, `vocabulary.txt` and `llmc.json`.
"""

from __future__ import annotations

import json
import mmap
import re
import unicodedata
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from llmc.base.errors import EmbedError
from llmc.embed.vectors import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

__all__ = [
    "BUCKETS",
    "HashEmbedder",
    "StaticEmbedder",
    "Tokenizer",
    "bucket",
    "fold",
    "paired_letters",
    "single_letters",
    "split",
]

BUCKETS: Final = 2048  # rows shared by everything that is not ASCII
MAX_TEXT: Final = 65_536  # characters; a chunk has about 1,500, and the rest of a very long line adds no information
MAX_PIECE: Final = 100  # letters; longer runs are base64 or digests, and the Rust tokenizer has the same limit
CACHED_WORDS: Final = 50_000  # about 10 MB; misses cost 5 us each
CACHED_LENGTH: Final = 64

WORD = re.compile(r"\w+")
FOREIGN = re.compile(r"[^\x00-\x7f]+")
# For ASCII text, replacing other characters by spaces and splitting is twice as fast as the pattern.
ASCII_WORDS = "".join(c if c.isalnum() or c == "_" else " " for c in map(chr, range(128)))
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def paired_letters() -> str:
    """Lower-case Greek, Cyrillic, Hebrew and Arabic letters, which are tokenized in pairs."""
    return "".join(c for c in map(chr, range(0x370, 0x700)) if c.isalpha() and fold(c).lower() == c)


def single_letters() -> str:
    """The letters and digits outside ASCII that are single tokens, mainly CJK and Hangul."""
    blocks = chain(range(0x80, 0x370), range(0x700, 0x3100), range(0x4E00, 0xA000), range(0xAC00, 0xD7A4))
    return "".join(c for c in map(chr, blocks) if c.isalnum() and fold(c).lower() == c)


def fold(text: str) -> str:
    """Normalize compatibility forms and remove marks: é becomes e, full-width letters become ASCII."""
    return FOREIGN.sub(lambda match: _fold_run(match[0]), text)


@lru_cache(maxsize=16_384)
def _fold_run(run: str) -> str:
    """Only runs outside ASCII are folded, and cached: folding whole texts took a third of the embedding time."""
    apart = unicodedata.normalize("NFKD", run)
    return unicodedata.normalize("NFC", "".join(c for c in apart if not unicodedata.category(c).startswith("M")))


def bucket(piece: str) -> int:
    """The shared row of a piece outside ASCII (multiplicative hash: the same on every machine)."""
    value = 0
    for letter in piece:
        value = (value * 0x01000193 ^ ord(letter)) * 2_654_435_761 & 0xFFFFFFFF
    return value >> 21


_PAIRED = re.compile(r"[a-z]+|[0-9]+|[" + re.escape(paired_letters()) + r"]+|[^\W_]")


def split(word: str) -> list[str]:
    """The lower-case parts of a folded word, split at case changes, underscores and digits."""
    apart = HUMP.sub(" ", word)
    return _PAIRED.findall(apart.lower() if apart.isascii() else "".join(c.lower() for c in apart))


def _words(text: str) -> list[str]:
    return text.translate(ASCII_WORDS).split() if text.isascii() else WORD.findall(fold(text))


class Tokenizer:
    """Maps text to ids. Id 0 is the unknown piece, followed by the vocabulary in order and the buckets."""

    def __init__(self, words: Sequence[str], buckets: int = BUCKETS) -> None:
        self._ids = {word: number for number, word in enumerate(words, 1)}
        self._longest = max(map(len, words), default=1)
        self._first_bucket = len(words) + 1
        self.size = self._first_bucket + buckets
        self._cache = _Cache(self)

    def ids(self, text: str) -> list[int]:
        return list(chain.from_iterable(map(self._cache.__getitem__, _words(text[:MAX_TEXT]))))

    def of_word(self, word: str) -> tuple[int, ...]:
        return tuple(chain.from_iterable(self._of_part(part) for part in split(word)))

    def _of_part(self, part: str) -> list[int]:
        if len(part) > MAX_PIECE:
            return [0]
        return self._greedy(part) if part.isascii() else self._buckets(part)

    def _greedy(self, part: str) -> list[int]:
        found, start = [], 0
        while start < len(part):
            for end in range(min(len(part), start + self._longest), start, -1):
                if (number := self._ids.get(part[start:end])) is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return [0]
        return found

    def _buckets(self, part: str) -> list[int]:
        return [self._first_bucket + bucket(part[at : at + 2]) for at in range(0, len(part), 2)]


class _Cache(dict[str, tuple[int, ...]]):
    """Word → ids. Threads may race, but they compute the same value, and dict operations are atomic."""

    def __init__(self, tokens: Tokenizer) -> None:
        super().__init__()
        self._tokens = tokens

    def __missing__(self, word: str) -> tuple[int, ...]:
        ids = self._tokens.of_word(word)
        if len(word) <= CACHED_LENGTH:
            if len(self) >= CACHED_WORDS:
                self.clear()
            self[word] = ids
        return ids


@dataclass(frozen=True, slots=True)
class StaticEmbedder:
    name: str
    tokens: Tokenizer
    rows: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]

    @classmethod
    def load(cls, folder: Path) -> StaticEmbedder:
        """Open a model folder in about 15 ms; the table is read on demand."""
        try:
            card = json.loads((folder / "llmc.json").read_bytes())
            words = (folder / "vocabulary.txt").read_text("ascii").split("\n")
            tensors = _tensors(folder / "model.safetensors")
            return cls._checked(card, words, tensors)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EmbedError(
                "the embedding model cannot be used",
                reason=_reason(error),
                hint="Reinstall llmc, or set embedder.kind to another embedder.",
                path=str(folder),
            ) from error

    @classmethod
    def _checked(cls, card: dict[str, Any], words: list[str], tensors: dict[str, npt.NDArray[Any]]) -> StaticEmbedder:
        tokens = Tokenizer(words)
        rows, scales = tensors["embeddings"], tensors["weights"][: tokens.size]
        if rows.dtype != np.int8 or rows.shape != (tokens.size, card["dimension"]):
            raise ValueError(f"the table is {rows.dtype} {rows.shape}, not int8 {(tokens.size, card['dimension'])}")
        if scales.dtype != np.float32 or scales.shape != (tokens.size,) or not np.isfinite(scales).all():
            raise ValueError("the scales do not match the table")
        return cls(str(card["name"]), tokens, rows, scales)

    @property
    def dimension(self) -> int:
        return int(self.rows.shape[1])

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        sums = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            ids = np.array(self.tokens.ids(text), dtype=np.intp)
            np.dot(self.scales[ids], self.rows[ids].astype(np.float32), out=sums[number])
        return unit_rows(sums)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        row: npt.NDArray[np.float32] = self.embed([text])[0]
        return row


_TYPES = {"I8": np.int8, "F32": np.float32, "I32": np.int32}


def _tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """A safetensors file, memory-mapped: eight bytes of length, a JSON header, then the data."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return {name: _tensor(data, 8 + length, entry) for name, entry in header.items() if name != "__metadata__"}


def _tensor(data: mmap.mmap, base: int, entry: dict[str, Any]) -> npt.NDArray[Any]:
    start, end = entry["data_offsets"]
    if base + end > len(data):
        raise ValueError(f"the file has {len(data)} bytes, but its header describes {base + end}")
    kind = np.dtype(_TYPES[entry["dtype"]])
    return np.frombuffer(data, kind, (end - start) // kind.itemsize, base + start).reshape(entry["shape"])


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{error.filename} is missing"
    return f"{type(error).__name__}: {error}" if not str(error) or isinstance(error, KeyError) else str(error)


class HashEmbedder:
    name = "hash-256 (plain sub-token hashing, nothing learned)"
    dimension = 256

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for part, count in _parts(text).items():
                value = zlib.crc32(part.encode("utf-8", "surrogatepass"))
                row[value % self.dimension] += (1.0 if value & 0x8000_0000 else -1.0) * count**0.5
        return unit_rows(rows)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        row: npt.NDArray[np.float32] = self.embed([text])[0]
        return row


def _parts(text: str) -> Counter[str]:
    return Counter(part for word in WORD.findall(fold(text[:MAX_TEXT])) for part in split(word))
