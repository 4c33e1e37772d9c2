"""What is known of files that are too large for the index: which trigrams they hold, and whether they hold a NUL byte.

Otherwise every grep reads them here, and four of them took 7 ms of the 9 that a word without matches took among 30,000
files. One is looked at beside the first answer that needs it, and again when its stamp changes. Only trigrams in ASCII
are kept: a bit for each that there can be, 256 KB for a file.
"""

from __future__ import annotations

import codecs
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from llmc.base.errors import LlmcError
from llmc.base.root_fs import settled
from llmc.retrieval.grep.match_lines import searched_end
from llmc.store.keywords.trigrams import fold

if TYPE_CHECKING:
    import numpy.typing as npt

    from llmc.base.model import Stamp
    from llmc.retrieval.view import View
    from llmc.store.protocols import Trigrams

__all__ = ["LARGE", "LargeFiles"]

MOST_FILES: Final = 64  # those met first; 16 MB
CLEARED_SECONDS: Final = 600.0
LARGEST_READ: Final = 16 << 20
BLOCK_BYTES: Final = 1 << 18
OVERLAP: Final = 16  # bytes, so that no letter and no trigram is lost between two blocks
LETTER_BITS: Final = 7
NONE: Final = bytes(1 << 3 * LETTER_BITS - 3)
ALL: Final = b"\xff" * len(NONE)


class KnownLargeFile(NamedTuple):
    """`whole`: there is no NUL byte in it, so that ripgrep searches all of it."""

    stamp: Stamp
    bits: bytes
    whole: bool


class LargeFiles:
    """For one process, from any thread."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], KnownLargeFile] = {}
        self._taking: set[tuple[str, str]] = set()
        self._cleared = time.monotonic()
        self._lock = threading.Lock()
        self._beside = ThreadPoolExecutor(1, "llmc-large")

    def may_hold(self, view: View, path: str, condition: Trigrams) -> bool:
        """False only for a file that is as it was when it was looked at, and that lacks some."""
        known = self._current(view, path)
        return known is None or condition.met(partial(has, known.bits))

    def is_whole(self, view: View, path: str) -> bool:
        known = self._current(view, path)
        return known is not None and known.whole

    def _current(self, view: View, path: str) -> KnownLargeFile | None:
        """None for now if it was never looked at, or has changed since."""
        try:
            seen = view.root_fs.stat(path)
        except LlmcError:
            return None
        place = (view.root.id, path)
        with self._lock:
            known = self._known.get(place)
            if known is not None and seen is not None and seen.stamp == known.stamp:
                return known
            if place not in self._taking and (known is not None or self._has_room()):
                self._taking.add(place)
                self._beside.submit(self._take, view, path)
        return None

    def _take(self, view: View, path: str) -> None:
        place = (view.root.id, path)
        try:
            known = looked_at(view, path)
        finally:
            with self._lock:
                self._taking.discard(place)
        if known is not None:
            with self._lock:
                self._known[place] = known

    def _has_room(self) -> bool:
        """Some may be of files that are long gone: when there are too many, all are checked again."""
        full = len(self._known) + len(self._taking) >= MOST_FILES
        if full and time.monotonic() - self._cleared >= CLEARED_SECONDS:
            self._cleared = time.monotonic()
            self._known.clear()
        return not full


def looked_at(view: View, path: str) -> KnownLargeFile | None:
    """None for one that cannot be read, or has just been written."""
    try:
        data, stamp = view.root_fs.read(path, LARGEST_READ)
    except LlmcError:
        return None
    if not settled(stamp):
        return None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return KnownLargeFile(stamp, ALL, whole=False)
    if searched_end(data) == 0:
        return KnownLargeFile(stamp, NONE, whole=False)
    bits = np.zeros(1 << 3 * LETTER_BITS, np.bool_)
    for start in range(0, len(data), BLOCK_BYTES):  # all at once it would take ten times the memory
        block = data[max(0, start - OVERLAP) : start + BLOCK_BYTES + OVERLAP]
        bits[codes_of(fold(block.decode("utf-8", "replace")).encode())] = True
    return KnownLargeFile(stamp, np.packbits(bits).tobytes(), whole=0 not in data)


def codes_of(text: bytes) -> npt.NDArray[np.uint32]:
    letters = np.frombuffer(text, np.uint8)
    first, second, third = letters[:-2], letters[1:-1], letters[2:]
    plain = (first | second | third) < 1 << LETTER_BITS
    codes: npt.NDArray[np.uint32] = np.left_shift(first[plain], 2 * LETTER_BITS, dtype=np.uint32)
    codes |= np.left_shift(second[plain], LETTER_BITS, dtype=np.uint32)
    codes |= third[plain]
    return codes


def has(bits: bytes, trigram: str) -> bool:
    if not trigram.isascii():
        return True
    first, second, third = trigram.encode()
    code = first << 2 * LETTER_BITS | second << LETTER_BITS | third
    return bool(bits[code >> 3] & 0x80 >> (code & 7))


LARGE = LargeFiles()
