"""Differential replies: lines that a session has already received are not sent again.

`SentLines` is the memory of one session: a hash of every line that `read` has shown, by line number. A line counts as
known only if the same number had the same text when it was last shown, so changes are never hidden, including a file
that became shorter. The client may have lost the text (its context was compacted, or it is a sub-agent), so a reply
without any text explains how to get it, and lines sent more than a hundred thousand tokens ago are forgotten. If only
some lines are left out, the first such reply and every tenth explain it.

`SentReplies` remembers whole replies of `search` and `grep`: for the same call with the same result only the
places are sent, which is sufficient even for a reader without the first reply.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from llmc.envelope.envelope import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmc.envelope.envelope import Envelope, Item

__all__ = [
    "REPEATED",
    "SentLines",
    "SentReplies",
    "all_known",
    "places_only",
    "unchanged",
    "without_known",
]

# About 120,000 tokens, the size of a model's context, in 1 MB.
MAX_LINES: Final = 10_000
# Leaving out fewer lines saves less than the note costs.
MIN_KNOWN: Final = 6
MAX_SPANS: Final = 4
DIGEST: Final = 8
AGAIN: Final = "fresh=true shows it"
# Five tokens; in every such reply, they were a third of llmc's overhead in a session of 600 calls.
HINT_EVERY: Final = 10

# Older replies are probably no longer in the client's context.
RECENT_TOKENS: Final = 100_000
MAX_REPLIES: Final = 200
GAP: Final = "…"
REPEATED: Final = "as before, places only; fresh=true shows the text"

File = tuple[str, str, str]  # root, path, and kind of text: lines or outline


class SentLines:
    """The lines that a session has received; thread-safe."""

    def __init__(self, most: int = MAX_LINES) -> None:
        self._most = most
        self._files: OrderedDict[File, dict[int, bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self._hints = 0

    def hint(self) -> tuple[str, ...]:
        """A note on how to see the omitted lines, if it is due again."""
        with self._lock:
            self._hints += 1
            return (AGAIN,) if self._hints % HINT_EVERY == 1 else ()

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._files.values()))

    def knows(self, file: File, row: Row) -> bool:
        with self._lock:
            return row.number is not None and self._files.get(file, {}).get(row.number) == digest(row)

    def add(self, file: File, rows: Iterable[Row]) -> None:
        """Remember rows of a file; the least recently sent file is forgotten first."""
        with self._lock:
            known = self._files.pop(file, {})
            known.update((row.number, digest(row)) for row in rows if row.number is not None)
            self._files[file] = dict(list(known.items())[-self._most :])
            while sum(map(len, self._files.values())) > self._most:
                self._files.popitem(last=False)

    def ends_at(self, root: str, path: str, lines: int) -> bool:
        """Whether the file still has every line that was sent. If it became shorter, all its lines are forgotten."""
        with self._lock:
            if max(self._files.get((root, path, ""), {0: b""})) <= lines:
                return True
            self._files = OrderedDict((file, known) for file, known in self._files.items() if file[:2] != (root, path))
            return False

    def remember(self, envelope: Envelope) -> None:
        """Remember a reply that was sent."""
        for file, item in texts_of(envelope):
            self.add(file, item.rows)


class SentReplies:
    """The replies that a session has received, by call; thread-safe."""

    def __init__(self) -> None:
        self._sent: OrderedDict[str, tuple[bytes, int]] = OrderedDict()
        self._lock = threading.Lock()

    def is_repeated(self, call: str, text: str, tokens: int) -> bool:
        """Whether this call recently had the same reply; remembers it if not. `tokens` is the number of tokens that the
        session has received so far."""
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()
        with self._lock:
            before, at = self._sent.pop(call, (b"", 0))
            if before == key and tokens - at < RECENT_TOKENS:
                self._sent[call] = before, at
                return True
            self._sent[call] = key, tokens
            while len(self._sent) > MAX_REPLIES:
                self._sent.popitem(last=False)
            return False


def places_only(envelope: Envelope) -> Envelope:
    """Each file or section with its symbols and line numbers, without the text of the lines."""
    groups = tuple(
        replace(group, items=tuple(replace(item, rows=tuple(_numbers(item.rows))) for item in group.items))
        for group in envelope.groups
    )
    return replace(envelope, groups=groups, notes=(*envelope.notes, REPEATED))


def _numbers(rows: Iterable[Row]) -> Iterator[Row]:
    """The line numbers without text, with adjacent ones as a range; rows without a number are not changed."""
    numbers = sorted({row.number for row in rows if row.number is not None and not row.context})
    if numbers:
        ranges = (f"{first}-{last}" if last > first else str(first) for first, last in spans(numbers))
        yield Row(" ".join(ranges))
    yield from (row for row in rows if row.number is None and row.text != GAP)


def all_known(envelope: Envelope, sent: SentLines, ends: Mapping[tuple[str, str], int]) -> bool:
    """Whether the client has all lines of this reply. `ends` are the line counts of the files."""
    shorter = [path for (root, path), lines in ends.items() if not sent.ends_at(root, path, lines)]
    if shorter:
        return False
    texts = list(texts_of(envelope))
    rows = sum(len(item.rows) for _, item in texts)
    whole = len(texts) == sum(1 for _ in envelope.items())
    return whole and rows >= MIN_KNOWN and all(sent.knows(file, row) for file, item in texts for row in item.rows)


def unchanged(envelope: Envelope) -> Envelope:
    """A one-line reply that says that nothing changed."""
    return replace(envelope, found=f"{envelope.found}, unchanged since you read it", groups=(), notes=(AGAIN,))


def without_known(envelope: Envelope, sent: SentLines) -> Envelope:
    """Only the new lines, with a note about the others; unchanged if that would not be shorter or clearer."""
    known: dict[tuple[File, int | None], int] = {
        (file, row.number): row.number
        for file, item in texts_of(envelope)
        for row in item.rows
        if row.number is not None and sent.knows(file, row)
    }
    files = {file for file, _ in known}
    gaps = list(spans(sorted(known.values()))) if len(files) == 1 else []
    if len(known) < MIN_KNOWN or not 0 < len(gaps) <= MAX_SPANS:
        return envelope
    groups = tuple(
        replace(group, items=tuple(without_rows(item, kind_of(group.title), known) for item in group.items))
        for group in envelope.groups
    )
    ranges = ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in gaps)
    return replace(envelope, groups=groups, notes=(*envelope.notes, f"{ranges} unchanged", *sent.hint()))


def without_rows(item: Item, kind: str, known: Mapping[tuple[File, int | None], int]) -> Item:
    file = (item.root, item.path, kind)
    return replace(item, rows=tuple(row for row in item.rows if (file, row.number) not in known))


def texts_of(envelope: Envelope) -> Iterator[tuple[File, Item]]:
    for group in envelope.groups:
        for item in group.items:
            if item.path and item.rows:
                yield (item.root, item.path, kind_of(group.title)), item


def kind_of(title: str) -> str:
    """Separates an outline from the file's lines, since both use the same line numbers."""
    return title if title == "outline" else ""


def spans(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """1, 2, 3, 7, 8 → (1, 3), (7, 8)."""
    if not numbers:
        return
    first = numbers[0]
    for before, after in pairwise([*numbers, numbers[-1] + 2]):
        if after > before + 1:
            yield first, before
            first = after


def digest(row: Row) -> bytes:
    return blake2b(row.text.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()
