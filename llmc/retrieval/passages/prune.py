"""The embedded pruner: which lines answer a question? Pure, offline, some 20 ms for a thousand lines.

    kept = prune(lines, "how are cookies merged")      # numbers of lines, from 1

The text is cut into units and passages inside them (`units`), each is scored (`score`), and what is likely enough for
its cost is kept (`choose`). Imports that bring a name into what is kept come along if they are short. Logs go entry by
entry (`log_entries`). `pruned` also names what was left out and may be meant, and says when no part is clearly better.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.base.words import query_words
from llmc.retrieval.passages.blocks import read_blocks
from llmc.retrieval.passages.choose import choose
from llmc.retrieval.passages.log_entries import asked_entries, read_entries
from llmc.retrieval.passages.score import bundled, likelihoods
from llmc.retrieval.passages.units import cut, inner_passages, is_prose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.embed.static import StaticEmbedder
    from llmc.retrieval.passages.blocks import Block

__all__ = ["SHARE", "LeftOut", "Pruned", "prune", "pruned"]

SHARE: Final = 0.15  # of the tokens of a list or of prose; what is kept of code is less on average
MOST: Final = 0.25  # of the tokens of code, where many functions could be meant
FEWEST: Final = 300  # tokens below which pruning saves nothing worth its risk
LONGEST_LINE: Final = 1_000  # characters; what is longer is data, and says no more
MOST_LINES: Final = 20_000  # what is longer is searched for the words first: 20,000 lines take half a second
AROUND: Final = 6  # lines around a word
SHORTEST_WORD: Final = 3
MOST_NAMED: Final = 3  # of what was left out
# The likelihood of the best unit. Of 560 questions an eighth is below, and three in ten of those lost the answer.
UNSURE: Final = 0.3
FOR_IMPORTS: Final = 0.02  # of the room
_IMPORT: Final = re.compile(
    r"(?:from\s+\S+\s+)?import\s|#include\s|use\s+[\w:]+|using\s+[\w.]+;|(?:const|var|let)\s.*\brequire\("
)
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A definition, or a part of one, that may answer as well; lines count from 1."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Pruned:
    """`lines` are the numbers of those kept. `is_unsure`: no part scores clearly higher, others may answer too."""

    lines: list[int]
    also: tuple[LeftOut, ...] = ()
    is_unsure: bool = False


def prune(
    lines: Sequence[str],
    question: str,
    *,
    blocks: Sequence[Block] | None = None,
    room: float | None = None,
    model: Callable[[], StaticEmbedder | None] = bundled,
) -> list[int]:
    """The numbers of the lines that `pruned` keeps."""
    return pruned(lines, question, blocks=blocks, room=room, model=model).lines


def pruned(
    lines: Sequence[str],
    question: str,
    *,
    blocks: Sequence[Block] | None = None,
    room: float | None = None,
    model: Callable[[], StaticEmbedder | None] = bundled,
) -> Pruned:
    """`blocks` are the definitions if they are known; `room` is how many tokens may be kept, if not a share of all."""
    costs = [estimate(line) for line in lines]
    if not blocks and (entries := read_entries(lines)):
        wanted = asked_entries(lines, entries, question, costs, sum(costs) if room is None else room)
        if wanted is not None:
            return Pruned([number + 1 for number in wanted])
    if len(lines) > MOST_LINES:
        near = around_words(lines, question)
        if len(near) < len(lines):
            found = pruned([lines[at] for at in near], question, room=room, model=model)
            return Pruned([near[number - 1] + 1 for number in found.lines], is_unsure=found.is_unsure)
    blocks = read_blocks(lines) if blocks is None else blocks
    largest = max(FEWEST, (MOST if blocks else SHARE) * sum(costs))
    room = largest if room is None else min(room, largest)
    if sum(costs) <= room:
        return Pruned(list(range(1, len(lines) + 1)))
    every = cut(lines, blocks, costs, room)
    # What holds no name says nothing, unless nothing does.
    units = [unit for unit in every if any(map(_NAME.search, lines[unit.start : unit.end]))] or every
    short = [line[:LONGEST_LINE] for line in lines]
    passages = inner_passages(lines, units, prose=is_prose(blocks))
    likely = likelihoods(short, units, passages, question, model())
    choice = choose(units, passages, likely, costs, room * (1 - FOR_IMPORTS))
    kept = choice.lines | imports_for(lines, choice.lines, costs, room * FOR_IMPORTS)
    numbers = [number + 1 for number in sorted(kept) if lines[number].strip() or {number - 1, number + 1} <= kept]
    also = tuple(LeftOut(unit.name, unit.start + 1, unit.end) for unit in choice.dropped[:MOST_NAMED])
    return Pruned(numbers, also, is_unsure=bool(blocks) and choice.best < UNSURE)


def around_words(lines: Sequence[str], question: str) -> list[int]:
    """The lines, from 0, with a word of the question, and some around each: only these of a long text are scored."""
    asked = [word.text.lower() for word in query_words(question) if not word.stop and len(word.text) >= SHORTEST_WORD]
    found: set[int] = set()
    for at, line in enumerate(lines):
        if any(word in line[:LONGEST_LINE].lower() for word in asked):
            found.update(range(max(0, at - AROUND), min(len(lines), at + AROUND + 1)))
        if len(found) > MOST_LINES // 2:
            break
    return sorted(found or range(MOST_LINES // 2))


def estimate(line: str) -> float:
    """Tokens of a line, near enough to weigh one against another; counting them exactly would take longer than all."""
    bare = line.strip()
    return 1.0 + len(bare) / 3.9 if bare else 0.5


def imports_for(lines: Sequence[str], kept: set[int], costs: Sequence[float], room: float) -> set[int]:
    """Lines that bring a name in which something kept uses."""
    found: set[int] = set()
    used: set[str] = set()
    for number, line in enumerate(lines):
        if number in kept or not _IMPORT.match(line):
            continue
        used = used or {name for at in kept for name in _NAME.findall(lines[at])}
        brought = _NAME.findall(line.rpartition("import")[2] or line)
        if costs[number] <= room and used.intersection(brought):
            found.add(number)
            room -= costs[number]
    return found
