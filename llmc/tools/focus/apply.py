"""A question applied to an envelope: its items cut into runs of lines, and which of the runs are kept.

    focused = focus(envelope, question, room)

What is kept stays in the order of the text; what is left out is in `whole` beside it, so that a handle leads to all of
it. Long texts are pruned line by line (`prune`); lists of small places (matches, hits) place by place. The envelope
must be clean, since its text may be sent to an endpoint.

An endpoint returns shortened text without line numbers. Its lines are matched in order, each at the nearest place after
the previous one. Lines that it added (marks of omission, a fence around code) match nothing and are dropped: it may
choose what to leave out, but cannot add words to a file.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from llmc.base.words import query_words, stem
from llmc.envelope.envelope import Row
from llmc.extend.pruner.endpoint import PrunerError, ask
from llmc.retrieval.passages.choose import choose
from llmc.retrieval.passages.prune import FEWEST, SHARE, estimate, pruned
from llmc.retrieval.passages.score import bundled, likelihoods
from llmc.retrieval.passages.units import TextUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llmc.envelope.envelope import Envelope, Group, Item
    from llmc.envelope.fit import Kept
    from llmc.extend.pruner.endpoint import Endpoint
    from llmc.retrieval.passages.blocks import Block

    BlocksOf = Callable[[str, str], Sequence[Block] | None]

__all__ = ["Focused", "aligned", "focus", "marked"]

FARTHEST: Final = 3  # a short line (a brace, `return`) is everywhere, and must not carry the rest far away
MARK: Final = "…"
MOST_NAMED: Final = 3  # places that were left out and may be meant
UNSURE: Final = "unsure: no part stands out, other lines may answer too"
MOST_SCORED: Final = 3_000  # items; of more, those that contain most words of the question
FEW_ROWS: Final = 12  # an item with more lines is focused separately


def aligned(lines: Sequence[str], pruned: Sequence[str]) -> list[int]:
    """The numbers, from 1, of the lines that the pruned text kept."""
    where: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        where[line.strip()].append(number)
    found: list[int] = []
    last = 0
    for line in pruned:
        bare = line.strip()
        known = where.get(bare, ())
        at = bisect_right(known, last)
        if not bare:
            at = at if at < len(known) and known[at] == last + 1 else len(known)
        if at < len(known) and (known[at] - last <= FARTHEST or len(known) == 1 or is_telling(bare)):
            last = known[at]
            found.append(last)
    return found


def is_telling(bare: str) -> bool:
    return sum(letter.isalnum() for letter in bare) > FARTHEST * 2


@dataclass(frozen=True, slots=True)
class Focused:
    """`kept` says which items of `whole` answer the question; all of them where nothing was worth leaving out."""

    whole: Envelope
    kept: Kept
    runs: bool = False  # of lines, which are marked where some are left out
    notes: tuple[str, ...] = ()  # names of omitted parts that may be meant, and whether no part stood out


def focus(
    envelope: Envelope,
    question: str,
    room: float,
    *,
    blocks_of: BlocksOf = lambda _root, _path: None,
    endpoint: Endpoint | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Focused:
    """`room` is how many tokens the reply may take; `blocks_of` knows the definitions of a file, if anybody does."""
    total = sum(estimate(row.text) for item in envelope.items() for row in item.rows)
    if endpoint is not None:
        return by_endpoint(envelope, question, endpoint, cancelled)
    if total <= min(FEWEST, room):
        return everything(envelope)
    if envelope.unit == "match":
        return by_matches(envelope, question, min(room, max(FEWEST, SHARE * total)))
    if any(len(item.rows) > FEW_ROWS for item in envelope.items()):
        return by_lines(envelope, question, room / max(1.0, total), blocks_of)
    return by_items(envelope, question, min(room, max(FEWEST, SHARE * total)))


def everything(envelope: Envelope) -> Focused:
    return Focused(envelope, {place: len(item.rows) for place, item in places(envelope)})


def places(envelope: Envelope) -> Iterable[tuple[tuple[int, int], Item]]:
    for at, group in enumerate(envelope.groups):
        for index, item in enumerate(group.items):
            yield (at, index), item


def by_items(envelope: Envelope, question: str, room: float) -> Focused:
    """Each item is one unit: a match with its context, a hit, a name."""
    found = [
        (place, item, f"{envelope.groups[place[0]].title} {item.title}".replace(".", " "))
        for place, item in places(envelope)
    ]
    texts = [" ".join([item.title, *(row.text for row in item.rows)]) for _, item, _ in found]
    if len(found) > MOST_SCORED:
        best = likeliest([f"{name} {text}" for (_, _, name), text in zip(found, texts, strict=True)], question)
        found, texts = [found[at] for at in best], [texts[at] for at in best]
    units = [TextUnit(at, at + 1, at, name) for at, (_, _, name) in enumerate(found)]
    costs = [sum(estimate(row.text) for row in item.rows) + estimate(item.title) + 1 for _, item, _ in found]
    chosen = choose(units, (), likelihoods(texts, units, (), question, bundled()), costs, room).lines
    return Focused(envelope, {place: len(item.rows) for at, (place, item, _) in enumerate(found) if at in chosen})


def likeliest(texts: Sequence[str], question: str) -> list[int]:
    """The places, in order, of the texts that say most of the question; all of them would take seconds to score."""
    asked = [stem(word.text.lower()) for word in query_words(question) if not word.stop]
    hits = [sum(term in text for term in asked) for text in map(str.lower, texts)]
    best = sorted(range(len(texts)), key=lambda at: -hits[at])[:MOST_SCORED]
    return sorted(best)


def by_matches(envelope: Envelope, question: str, room: float) -> Focused:
    """Each match of a search separately, with its context lines."""
    apart = replace(
        envelope, groups=tuple(replace(group, items=tuple(one_match_each(group))) for group in envelope.groups)
    )
    kept = by_items(apart, question, room).kept
    groups = []
    for at, group in enumerate(apart.groups):
        titles: dict[bool, str] = {}
        items = []
        for index, item in enumerate(group.items):
            is_kept = (at, index) in kept
            items.append(replace(item, title="") if titles.get(is_kept) == item.title else item)
            titles[is_kept] = item.title
        groups.append(replace(group, items=tuple(items)))
    return Focused(replace(apart, groups=tuple(groups)), kept)


def one_match_each(group: Group) -> Iterable[Item]:
    for item in group.items:
        has_context = any(row.context for row in item.rows)
        first = 0
        for at in range(1, len(item.rows) + 1):
            rows = item.rows[first:at]
            follows = at < len(item.rows) and item.rows[at].number == (rows[-1].number or 0) + 1
            if not (has_context and follows):
                yield replace(item, rows=rows, start=rows[0].number or item.start, end=rows[-1].number or item.end)
                first = at
        if not item.rows:
            yield item


def by_lines(envelope: Envelope, question: str, share: float, blocks_of: BlocksOf) -> Focused:
    """Every text separately, each with its share of the room."""
    masks: list[set[int]] = []
    also: list[tuple[str, str]] = []
    unsure: list[bool] = []
    items = list(envelope.items())
    for item in items:
        lines = [row.text for row in item.rows]
        room = share * sum(map(estimate, lines))
        found = pruned(lines, question, blocks=blocks_within(item, blocks_of), room=room)
        masks.append(set(found.lines))
        unsure.append(found.is_unsure)
        also += [
            (item.path, f"{one.name} {number_at(item, one.start)}-{number_at(item, one.end)}") for one in found.also
        ]
    notes = [UNSURE] if any(unsure) and all(unsure) else []
    if also:
        notes.append(f"also: {named_places(also[:MOST_NAMED], with_paths=len(items) > 1)}")
    return replace(split(envelope, masks), notes=tuple(notes))


def named_places(found: Sequence[tuple[str, str]], *, with_paths: bool) -> str:
    """(path, name and lines) in words; a path is written once for those that follow each other."""
    before = ""
    words = []
    for path, name in found:
        words.append(f"{path} {name}" if with_paths and path != before else name)
        before = path
    return ", ".join(words)


def number_at(item: Item, at: int) -> int:
    """The number that a reader knows the item's line by; `at` counts from 1."""
    return item.rows[at - 1].number or at


def blocks_within(item: Item, blocks_of: BlocksOf) -> Sequence[Block] | None:
    """The file's definitions, counted in rows of the item; None unless the rows are lines of the file, in order."""
    numbers = [row.number or 0 for row in item.rows]
    if not item.path or not numbers or any(one >= other for one, other in pairwise([0, *numbers])):
        return None
    known = blocks_of(item.root, item.path)
    if known is None:
        return None
    spans = ((block, bisect_left(numbers, block.start) + 1, bisect_right(numbers, block.end)) for block in known)
    return [replace(block, start=start, end=end) for block, start, end in spans if start <= end]


def split(envelope: Envelope, masks: Sequence[set[int]]) -> Focused:
    """Every item in runs of lines that are all kept or all left out; `masks` has the kept lines of each, from 1."""
    groups: list[Group] = []
    kept: Kept = {}
    left = iter(masks)
    for at, group in enumerate(envelope.groups):
        items: list[Item] = []
        for item in group.items:
            for part, wanted in runs(item, next(left)):
                if wanted:
                    kept[at, len(items)] = len(part.rows)
                items.append(part)
        groups.append(replace(group, items=tuple(items)))
    return Focused(replace(envelope, groups=tuple(groups)), kept, runs=True)


def runs(item: Item, mask: set[int]) -> Iterable[tuple[Item, bool]]:
    flags = [number in mask for number in range(1, len(item.rows) + 1)]
    cuts = [0, *(at for at in range(1, len(flags)) if flags[at] != flags[at - 1]), len(flags)]
    for start, end in pairwise(cuts):
        rows = item.rows[start:end]
        if rows:
            first, last = rows[0].number or item.start, rows[-1].number or item.end
            yield replace(item, rows=rows, title=item.title if not start else "", start=first, end=last), flags[start]
    if not item.rows:
        yield item, True


def by_endpoint(envelope: Envelope, question: str, endpoint: Endpoint, cancelled: Callable[[], bool]) -> Focused:
    """One request for everything; raises PrunerError, also if the response does not belong to this text."""
    rows = [row for item in envelope.items() for row in item.rows]
    answer = ask(endpoint, "\n".join(row.text for row in rows), question, cancelled).split("\n")
    chosen = aligned([row.text for row in rows], answer)
    # Some lines may be its own, such as marks of omitted parts; if most are, the response is about another text.
    answered = sum(1 for line in answer if line.strip())
    if answered and len(chosen) * 2 <= answered:
        raise PrunerError("answered with another text")
    # A reply without a line would look like an empty file.
    if not answered and any(row.text.strip() for row in rows):
        raise PrunerError("kept no line")
    masks, before = [], 0
    for item in envelope.items():
        masks.append({number - before for number in chosen if before < number <= before + len(item.rows)})
        before += len(item.rows)
    return split(envelope, masks)


def marked(whole: Envelope, kept: Kept) -> tuple[Group, ...]:
    """As a reader sees it: a mark where lines are left out, then a run whose first line has its number, as has every
    statement that does not begin on the line after the one before it."""
    shown = ((group, tuple(marked_items(at, group, kept))) for at, group in enumerate(whole.groups))
    return tuple(replace(group, items=items) for group, items in shown if items)


def follows(before: Row, row: Row) -> bool:
    return before.number is None or row.number == before.number + 1


def marked_items(at: int, group: Group, kept: Kept) -> Iterable[Item]:
    left = 0
    for index, item in enumerate(group.items):
        rows = item.rows[: kept.get((at, index), 0)]
        if (at, index) not in kept:
            left += len(item.rows)
            continue
        numbered = bool(rows) and rows[0].number is not None
        mark = (Row(MARK if numbered else f"{MARK} {left} lines"),) if left else ()
        rest = (replace(row, number=None) if follows(before, row) else row for before, row in pairwise(rows))
        yield replace(item, rows=(*mark, *rows[:1], *rest))
        left = len(item.rows) - len(rows)
