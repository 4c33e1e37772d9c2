"""What of a file answers? The definitions that the question is about, and of those the code.

The places that were found in a file are cut into units: a definition each, a long one by its paragraphs. They are
weighed (`weigh`) by the question's words in them and in their names and by the rank of the chunk around them, for which
vectors had their say, and the best are taken while there is room. Of a comment or a docstring in code only the first
line stays: a question is worded like documentation, and the code that decides is below it.

Lines that were begun are completed: statements, short functions, and the last lines of others. For questions about
tests their names are listed, for a class by its name its members.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from typing import TYPE_CHECKING, Final

from llmc.base.languages import GRAMMARS
from llmc.base.text import indent_of
from llmc.retrieval.passages.documentation import documentation, imports, says
from llmc.retrieval.passages.unit_scores import mentions, named_like, weigh
from llmc.retrieval.results import Passage
from llmc.retrieval.signals import TYPES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.candidate import Candidate
    from llmc.retrieval.query_features import QueryFeatures

__all__ = ["BOILERPLATE", "FEWER_PLACES", "PLACES", "passages"]

# That are looked at in the best file and in others; with eight and five the answer was found no more often.
PLACES, FEWER_PLACES = 5, 3
LONGEST_DEFINITION: Final = 120  # lines that are looked at around a place
PIECE, LEAST_PIECE = 320, 120  # characters of a long definition that stay together, at the latest and at a blank line
MOST_PIECE, SENTENCE_ENDS = 640, (".", ":", ";", "!", "?", ")")  # documentation is cut where a sentence ends
LONGEST_LINE: Final = 1_000  # characters; what is longer is data, and says no more
NAME_WITHIN: Final = 30  # lines of decorators and comments that may precede a name
LINE, TITLE = 4, 24  # characters that a line and a title cost beside what is on them
THRIFT: Final = 0.3  # how much cost counts against likelihood: 0 not at all, 1 in full
# What is worth so much less than the best is left out, room or not: 6 % fewer characters, and the answer as often.
BEHIND: Final = 2.5
# What has fewer lines of code is declared here and done elsewhere; what a class has beside its members are values.
STUB, HEAD, LEAST_CODE = -2.5, -3.0, 4
# What is asked of a class beside its name, when its members are meant.
HELD: Final = frozenset({"method", "methods", "member", "members", "function", "functions", "class", "api", "outline"})
# Lines: a function so short is quoted whole, and an end so near is not left out.
SHORT_FUNCTION, SHORT_END = 16, 5
GOES_ON: Final = ("(", "[", "{", ",", "=>", "&&", "||", "=", "+", "\\", "?", ":=", "->")
CLOSING: Final = " \t)]},;"
# What every class writes for itself: it answers nothing unless it is asked for.
_WRITTEN: Final = """__repr__ __str__ __eq__ __hash__ __ne__ __len__ fmt toString ToString String GoString hashCode
equals Equals clone GetHashCode to_s inspect description debugDescription MarshalJSON toJSON"""
BOILERPLATE: Final = frozenset(_WRITTEN.split())
SNAPSHOT: Final = re.compile(r"(?:^|/)(?:__snapshots__|snapshots?|fixtures?|__fixtures__|testdata|cassettes)/|\.snap$")
OF_NO_BODY: Final = frozenset({"constant", "variable", "field", "property", "parameter", "key"})


@dataclass(frozen=True, slots=True)
class ExcerptUnit:
    """Lines of one definition, or of none. `share` is the score of their chunk by that of the best."""

    owner: Symbol | None
    numbers: tuple[int, ...]
    share: float

    @property
    def name(self) -> str:
        return self.owner.qualified if self.owner else ""


def passages(candidate: Candidate, asked: QueryFeatures, room: int, places: int) -> tuple[Passage, ...]:
    """The best of a file within `room` characters, in the order of its lines."""
    if SNAPSHOT.search(candidate.path) and not {"test", "data"} & set(asked.roles):
        return ()  # recorded output repeats the words of what made it
    text = _Text(candidate, places)
    if listed := _asked_for_by_name(candidate, asked):
        return (text.listed(listed, room),)
    return tuple(text.told(text.best(asked, room)))


class _Lines(dict[int, str]):
    """Number → line. Of a long file one is made at a time, and most are asked for again and again."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self.all = lines

    def __missing__(self, number: int) -> str:
        line = self[number] = self.all[number - 1]
        return line


class _Sizes(dict[int, int]):
    """Number → the characters that it costs to show that line."""

    def __init__(self, lines: _Lines) -> None:
        super().__init__()
        self._lines = lines

    def __missing__(self, number: int) -> int:
        size = self[number] = len(self._lines[number].strip()) + LINE
        return size


class _Text:
    """The lines of a file that are looked at: those of the places found, as far as the definitions around them go.

    Numbers are those of lines, from 1.
    """

    def __init__(self, candidate: Candidate, places: int) -> None:
        self._lines = _Lines(candidate.text or ())
        self._sizes = _Sizes(self._lines)
        self._symbols = _around(candidate, places)
        self._holders = frozenset(symbol.container for symbol in self._symbols)
        self._is_code = candidate.language in GRAMMARS
        self._shares = self._looked_at(candidate, places)
        self._numbers = self._telling(sorted(self._shares))
        said = documentation((number, self._lines[number]) for number in self._numbers) if self._is_code else ()
        self._prose = frozenset(said)
        self._owners = self._owned()
        self._said: set[str] = set()

    def _telling(self, numbers: list[int]) -> list[int]:
        """Without imports, unless there is nothing else."""
        idle = set(imports((number, self._lines[number]) for number in numbers)) if self._is_code else set()
        return [number for number in numbers if number not in idle] or numbers

    def _looked_at(self, candidate: Candidate, places: int) -> dict[int, float]:
        """Number → share of its chunk."""
        found: dict[int, float] = {}
        most = candidate.found[0][1].score or 1.0
        for ordinal, score in candidate.found[:places]:
            chunk = candidate.chunks[ordinal]
            start, end = self._whole(chunk.start_line, chunk.end_line)
            lines = dict(enumerate(self._lines.all[start - 1 : end], start))
            self._lines.update(lines)
            share = score.score / most
            found.update({number: share for number in lines if found.get(number, 0.0) < share})
        return found

    def _whole(self, start: int, end: int) -> tuple[int, int]:
        """With the definitions that a chunk begins or ends amid."""
        first, last = start, end
        for symbol in self._near(start, end):
            if symbol.end_line - symbol.start_line <= LONGEST_DEFINITION:
                if symbol.start_line < start <= symbol.end_line:
                    first = min(first, symbol.start_line)
                if symbol.start_line <= end < symbol.end_line:
                    last = max(last, symbol.end_line)
        return first, last

    def _near(self, start: int, end: int) -> list[Symbol]:
        """The definitions that touch these lines, an outer one before its inner ones."""
        begun = bisect_right(self._symbols, end + 1, key=lambda symbol: symbol.start_line)
        return [symbol for symbol in self._symbols[:begun] if symbol.end_line >= start]

    def _owned(self) -> dict[int, Symbol]:
        """Number → the innermost definition around it, comments and decorators above its first line included."""
        found: dict[int, Symbol] = {}
        numbers = self._numbers
        for symbol in self._near(numbers[0], numbers[-1]) if numbers else ():
            inside = slice(bisect_left(numbers, symbol.start_line), bisect_right(numbers, symbol.end_line))
            found.update(dict.fromkeys(numbers[inside], symbol))
            above = symbol.start_line - 1
            while above in self._prose or (above in self._shares and self._lines[above].lstrip().startswith("@")):
                found[above] = symbol
                above -= 1
        return found

    def best(self, asked: QueryFeatures, room: int) -> list[int]:
        self._said = {word.text.strip("_").lower() for word in asked.query.telling}
        texts, units = [], []
        for unit in self._units(room):
            text = "\n".join([self._lines[number][:LONGEST_LINE] for number in unit.numbers])
            if says(text) and not self._is_licence(unit, text, asked):
                texts.append(text)
                units.append(unit)
        lines = [self._shown(unit) for unit in units]
        weights = weigh(texts, [unit.name for unit in units], [unit.share for unit in units], asked)
        costs = [self._cost(numbers) for numbers in lines]
        worth = [
            weight + self._penalty(unit, numbers) - THRIFT * math.log(cost)
            for weight, unit, numbers, cost in zip(weights, units, lines, costs, strict=True)
        ]
        kept: set[int] = set()
        least = max(worth, default=0.0) - BEHIND
        near = [at for at, value in enumerate(worth) if value >= least]
        for at in sorted(near, key=worth.__getitem__, reverse=True):
            if costs[at] <= room or not kept:
                taken = lines[at] if costs[at] <= room else self.fitting(lines[at], room)
                kept.update(taken)
                room -= self._cost(taken)
        kept |= self._between(kept)
        return sorted(self._completed(kept))

    def _is_licence(self, unit: ExcerptUnit, text: str, asked: QueryFeatures) -> bool:
        """Or another comment that belongs to nothing and says nothing of what is asked."""
        if not self._is_code or unit.owner is not None:
            return False
        idle = all(number in self._prose or self._sizes[number] == LINE for number in unit.numbers)
        return idle and not mentions(text, asked)

    def _penalty(self, unit: ExcerptUnit, numbers: Collection[int]) -> float:
        """Where little can be decided."""
        if not self._is_code:
            return 0.0
        owner = unit.owner
        head = owner is not None and owner.kind in TYPES and owner.qualified in self._holders
        if owner is not None and owner.name in BOILERPLATE and owner.name.strip("_").lower() not in self._said:
            return HEAD
        return HEAD * head + STUB * (len(numbers) - len(self._prose.intersection(numbers)) < LEAST_CODE)

    def _units(self, room: int) -> Iterator[ExcerptUnit]:
        """Runs of lines of one definition; what is longer than there is room for goes by paragraphs."""
        for numbers in self._runs():
            whole = self._cost([number for number in numbers if number not in self._prose]) <= room
            for part in [numbers] if whole else self._pieces(numbers):
                yield ExcerptUnit(self._owners.get(part[0]), tuple(part), self._shares[part[len(part) // 2]])

    def _runs(self) -> Iterator[list[int]]:
        """Neighbours of one owner."""
        start, owners = 0, list(map(self._owners.get, self._numbers))
        for at, (one, other) in enumerate(pairwise(self._numbers), 1):
            if other != one + 1 or owners[at] is not owners[at - 1]:
                yield self._numbers[start:at]
                start = at
        if self._numbers:
            yield self._numbers[start:]

    def _pieces(self, numbers: Iterable[int]) -> Iterator[list[int]]:
        piece: list[int] = []
        size = 0
        for number in numbers:
            piece.append(number)
            size += self._sizes[number]
            if size >= PIECE or (size >= LEAST_PIECE and self._sizes[number] == LINE):
                if size < MOST_PIECE and self._goes_on(number):
                    continue
                yield piece
                piece, size = [], 0
        if piece:
            yield piece

    def _goes_on(self, number: int) -> bool:
        """A sentence of documentation, which says little from its middle on."""
        line = self._lines[number].rstrip()
        return not self._is_code and line != "" and not line.endswith(SENTENCE_ENDS)

    def _shown(self, unit: ExcerptUnit) -> list[int]:
        """Its code, of each comment the first line that says something, and where it is named."""
        found = set(self._heading(unit.owner))
        for is_prose, run in groupby(unit.numbers, key=self._prose.__contains__):
            telling = (number for number in run if self._tells(number, unit.owner))
            found.update(islice(telling, 1) if is_prose else telling)
        return sorted(found)

    def _tells(self, number: int, owner: Symbol | None) -> bool:
        """The title names a heading already, and the line under it says nothing."""
        if owner is None or owner.kind != "heading":
            return self._sizes[number] > LINE and (number not in self._prose or says(self._lines[number]))
        return number != owner.start_line and says(self._lines[number])

    def _heading(self, owner: Symbol | None) -> list[int]:
        return [self._named_at(owner)] if owner and owner.kind != "heading" else []

    def _named_at(self, symbol: Symbol) -> int:
        last = min(symbol.end_line, symbol.start_line + NAME_WITHIN, len(self._lines.all))
        for number in range(symbol.start_line, last + 1):
            if symbol.name in self._lines[number] and number not in self._prose:
                return number
        return symbol.start_line

    def _cost(self, numbers: Iterable[int]) -> int:
        return TITLE + sum(map(self._sizes.__getitem__, numbers))

    def _between(self, kept: set[int]) -> set[int]:
        """One line that is missing between two costs no more than the number behind the gap, and may be the answer."""
        missing = [(first, first + 1) for first, second in pairwise(sorted(kept)) if second == first + 2]
        owners = self._owners
        return {number for before, number in missing if owners.get(number) is owners.get(before)} - self._prose

    def _completed(self, kept: set[int]) -> set[int]:
        """With the rest of statements that were begun, the whole of short functions, and the last lines of others."""
        if not self._is_code or not kept:
            return kept
        whole = set(kept)
        for owner in {id(one): one for number in kept if (one := self._owners.get(number))}.values():
            inside = [number for number in kept if owner.start_line <= number <= owner.end_line]
            last = max(inside)
            if owner.kind in TYPES:
                continue
            if owner.end_line - owner.start_line < SHORT_FUNCTION:
                whole |= self._own_lines(owner.start_line, owner.end_line)
            elif owner.end_line - last <= SHORT_END:
                whole |= self._own_lines(last + 1, owner.end_line)
        for number in sorted(kept):
            if number + 1 not in whole:
                whole |= self._statement_end(number)
        whole -= self._loose_ends(whole)
        return whole | self._blank_between(whole)

    def _loose_ends(self, kept: set[int]) -> set[int]:
        """Closing brackets at the beginning of a run, of something that is not shown."""
        found: set[int] = set()
        for number in sorted(kept):
            is_first = number - 1 not in kept or number - 1 in found
            if is_first and not self._lines[number].strip(CLOSING):
                found.add(number)
        return found if len(found) < len(kept) else set()

    def _own_lines(self, first: int, last: int) -> set[int]:
        """Lines of a function without its documentation, of which the first line is enough."""
        last = min(last, len(self._lines.all))
        return {number for number in range(first, last + 1) if number not in self._prose}

    def _statement_end(self, number: int) -> set[int]:
        """The lines up to the end of a statement that goes on below this one; none if that is far."""
        line = self._lines[number].rstrip()
        if not line.endswith(GOES_ON):
            return set()
        depth = indent_of(line)
        found: set[int] = set()
        for below in range(number + 1, min(number + SHORT_END, len(self._lines.all)) + 1):
            found.add(below)
            text = self._lines[below]
            if text.strip() and indent_of(text) <= depth and not text.rstrip().endswith(GOES_ON):
                return found
        return set()

    def _blank_between(self, kept: set[int]) -> set[int]:
        """Blank lines between two that are kept: nothing is left out there."""
        found: set[int] = set()
        for first, second in pairwise(sorted(kept)):
            between = range(first + 1, second)
            alike = self._owners.get(first) is self._owners.get(second)
            if alike and len(between) <= SHORT_END and all(not self._lines[number].strip() for number in between):
                found.update(between)
        return found

    def fitting(self, numbers: Iterable[int], room: int) -> list[int]:
        kept: list[int] = []
        for number in numbers:
            room -= self._sizes[number]
            if kept and room < TITLE:
                break
            kept.append(number)
        return sorted(kept)

    def listed(self, symbols: Sequence[Symbol], room: int) -> Passage:
        """The lines that name them."""
        numbers = self.fitting(dict.fromkeys(map(self._named_at, symbols)), room)
        return Passage("", numbers[0], numbers[-1], tuple((number, self._lines[number].rstrip()) for number in numbers))

    def told(self, numbers: Iterable[int]) -> Iterator[Passage]:
        for _, run in groupby(numbers, key=lambda number: id(self._owners.get(number))):
            lines = tuple((number, self._lines[number].rstrip()) for number in run)
            owner = self._owners.get(lines[0][0])
            start, end = (owner.start_line, owner.end_line) if owner else (lines[0][0], lines[-1][0])
            yield Passage(owner.qualified if owner else "", start, end, lines)


def _around(candidate: Candidate, places: int) -> list[Symbol]:
    """Definitions that may reach into what is looked at, an outer one before its inner ones."""
    chunks = [candidate.chunks[ordinal] for ordinal, _ in candidate.found[:places]]
    first = min(chunk.start_line for chunk in chunks) - LONGEST_DEFINITION
    last = max(chunk.end_line for chunk in chunks) + LONGEST_DEFINITION + 1
    known = candidate.view.store.catalog.symbols_around(candidate.doc, first, last) if _is_known(candidate) else ()
    found = [symbol for symbol in known if symbol.kind not in OF_NO_BODY]
    return sorted(found, key=lambda symbol: (symbol.start_line, -symbol.end_line))


def _is_known(candidate: Candidate) -> bool:
    """Not in a file that changed since it was indexed."""
    return bool(candidate.doc) and not candidate.moved


def _asked_for_by_name(candidate: Candidate, asked: QueryFeatures) -> list[Symbol]:
    """The definitions whose first lines are the answer, what matters most first; empty where it is code."""
    tests = "test" in asked.roles and candidate.role == "test"
    said = {word.text.lower() for word in asked.query.telling}
    if not _is_known(candidate) or (len(said - HELD) > 1 and not tests):
        return []
    known = (one.symbol for one in candidate.view.store.catalog.symbols(doc=candidate.doc))
    symbols = [symbol for symbol in known if symbol.kind not in OF_NO_BODY]
    if tests:
        return _tests(asked, symbols)
    for holder in symbols:
        if holder.name.lower() in said <= {holder.name.lower(), *HELD} and holder.kind != "heading":
            members = [symbol for symbol in symbols if symbol.container == holder.qualified]
            return [holder, *members] if members else []
    return []


def _tests(asked: QueryFeatures, symbols: Sequence[Symbol]) -> list[Symbol]:
    """Those that are named after what is asked for: whole classes of them, then each by itself."""
    code = tuple(f"{symbol.qualified}." for symbol in symbols if symbol.kind in {"function", "method"})
    symbols = [symbol for symbol in symbols if not symbol.qualified.startswith(code)]
    scores = named_like(asked, [symbol.qualified for symbol in symbols])
    holders = {symbol.container for symbol in symbols}
    ranked = sorted(zip(scores, symbols, strict=True), key=lambda one: (one[1].qualified not in holders, -one[0]))
    return [symbol for score, symbol in ranked if score]
