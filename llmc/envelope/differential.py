"""What a client was given already is not given twice: a read that is all known answers in one line.

`SentLines` is the memory of one session: a hash of every line that a `read` showed, by its number. A line counts as
known only while that number had the very same text when it was last shown, so that no change is ever hidden, a shorter
file included. Whoever asks may not have what the session was given (its context was compacted, or it is an agent that
another one sent), so a reply without any text says how to get it, and what was given some hundred thousand tokens ago
is forgotten here too. Where only some lines are left out, that is said with the first such reply and every tenth.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmc.envelope.envelope import Envelope, Item, Row

__all__ = ["SentLines", "all_known", "unchanged", "without_known"]

# Some 120,000 tokens, as much as a model has in mind, in 1 MB.
MOST_LINES: Final = 10_000
# To leave out fewer saves less than saying so.
FEWEST: Final = 6
MOST_SPANS: Final = 4
DIGEST: Final = 8
AGAIN: Final = "fresh=true shows it"
# Five tokens; in every such reply they were a third of all that llmc added to a session of 600 calls.
SAID_EVERY: Final = 10

File = tuple[str, str, str]  # root, path, which text of it: its lines, or its outline


class SentLines:
    """The lines that a session has; safe from many threads."""

    def __init__(self, most: int = MOST_LINES) -> None:
        self._most = most
        self._files: OrderedDict[File, dict[int, bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self._hints = 0

    def hint(self) -> tuple[str, ...]:
        """How to see what is left out, where it is time to say so."""
        with self._lock:
            self._hints += 1
            return (AGAIN,) if self._hints % SAID_EVERY == 1 else ()

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._files.values()))

    def knows(self, file: File, row: Row) -> bool:
        with self._lock:
            return row.number is not None and self._files.get(file, {}).get(row.number) == digest(row)

    def add(self, file: File, rows: Iterable[Row]) -> None:
        """The file that was given longest ago is forgotten first."""
        with self._lock:
            known = self._files.pop(file, {})
            known.update((row.number, digest(row)) for row in rows if row.number is not None)
            self._files[file] = dict(list(known.items())[-self._most :])
            while sum(map(len, self._files.values())) > self._most:
                self._files.popitem(last=False)

    def ends_at(self, root: str, path: str, lines: int) -> bool:
        """Whether the file still has every line that was given; what it has lost makes the rest new as well."""
        with self._lock:
            if max(self._files.get((root, path, ""), {0: b""})) <= lines:
                return True
            self._files = OrderedDict((file, known) for file, known in self._files.items() if file[:2] != (root, path))
            return False

    def remember(self, envelope: Envelope) -> None:
        """A reply as it was shown."""
        for file, item in texts_of(envelope):
            self.add(file, item.rows)


def all_known(envelope: Envelope, sent: SentLines, ends: Mapping[tuple[str, str], int]) -> bool:
    """Whether this reply, as it would be shown, says nothing new. `ends` are the files' numbers of lines."""
    shorter = [path for (root, path), lines in ends.items() if not sent.ends_at(root, path, lines)]
    if shorter:
        return False
    texts = list(texts_of(envelope))
    rows = sum(len(item.rows) for _, item in texts)
    whole = len(texts) == sum(1 for _ in envelope.items())
    return whole and rows >= FEWEST and all(sent.knows(file, row) for file, item in texts for row in item.rows)


def unchanged(envelope: Envelope) -> Envelope:
    """The one line."""
    return replace(envelope, found=f"{envelope.found}, unchanged since you read it", groups=(), notes=(AGAIN,))


def without_known(envelope: Envelope, sent: SentLines) -> Envelope:
    """Only the lines that are new, with a word of the others; as it is, where that would not be shorter or clearer."""
    known: dict[tuple[File, int | None], int] = {
        (file, row.number): row.number
        for file, item in texts_of(envelope)
        for row in item.rows
        if row.number is not None and sent.knows(file, row)
    }
    files = {file for file, _ in known}
    gaps = list(spans(sorted(known.values()))) if len(files) == 1 else []
    if len(known) < FEWEST or not 0 < len(gaps) <= MOST_SPANS:
        return envelope
    groups = tuple(
        replace(group, items=tuple(lessened(item, kind_of(group.title), known) for item in group.items))
        for group in envelope.groups
    )
    said = ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in gaps)
    return replace(envelope, groups=groups, notes=(*envelope.notes, f"{said} unchanged", *sent.hint()))


def lessened(item: Item, kind: str, known: Mapping[tuple[File, int | None], int]) -> Item:
    file = (item.root, item.path, kind)
    return replace(item, rows=tuple(row for row in item.rows if (file, row.number) not in known))


def texts_of(envelope: Envelope) -> Iterator[tuple[File, Item]]:
    for group in envelope.groups:
        for item in group.items:
            if item.path and item.rows:
                yield (item.root, item.path, kind_of(group.title)), item


def kind_of(title: str) -> str:
    """An outline has lines of its own under the same numbers."""
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
