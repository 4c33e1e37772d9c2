"""Reading a ripgrep pattern: which trigrams must a matching file hold, and may RE2 decide in its stead?

The parser knows the part of the syntax that ripgrep's engine and RE2 share with the same meaning. Whatever is outside
it (set operations, Unicode properties, inline flags other than `i`, text anchors ...) is `Unsupported`: the caller
lets the bundled ripgrep decide, which is always right and only dearer. The trigram plan follows Russ Cox's "Regular
Expression Matching with a Trigram Index": for each part, the exact strings it can be, else its prefixes and suffixes,
and a condition on everything in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Final

from llmc.store.keywords.trigrams import fold
from llmc.store.protocols import Trigrams

__all__ = ["GrepPlan", "Unsupported", "plan"]

# More exact strings than this cost more look-ups than they save candidates.
MAX_EXACT: Final = 12
MAX_EDGES: Final = 20
MAX_CLASS: Final = 6
# RE2 refuses larger counts; ripgrep takes them.
MAX_REPEAT: Final = 1000
# Nested counts multiply in RE2's program: beyond this ripgrep decides.
MAX_SIZE: Final = 2000

EVERYTHING: Final = Trigrams()
PUNCTUATION: Final = frozenset("\\.+*?()|[]{}^$#&-~/ !\"%',:;=@_`")
CONTROLS: Final = {"t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
# ripgrep's \s knows the vertical tab, RE2's does not.
PERL: Final = {"d": "[0-9]", "D": "[^0-9]", "w": r"\w", "W": r"\W", "s": r"[\t\n\v\f\r ]", "S": r"[^\t\n\v\f\r ]"}
IN_CLASS: Final = {"d": "0-9", "w": r"\w", "s": r"\t\n\v\f\r "}
POSIX: Final = frozenset(
    [
        "alnum",
        "alpha",
        "ascii",
        "blank",
        "cntrl",
        "digit",
        "graph",
        "lower",
        "print",
        "punct",
        "space",
        "upper",
        "word",
        "xdigit",
    ]
)


class Unsupported(Exception):  # noqa: N818 - not an error: a fork in the road
    """Outside the shared syntax: let ripgrep decide."""


@dataclass(frozen=True, slots=True)
class GrepPlan:
    """`source` is the pattern for RE2. `ascii_only`: RE2 agrees with ripgrep on ASCII files alone (\\w, \\b ... are
    Unicode there). `literal` is set when the whole pattern is one case-sensitive string. `has_upper` decides smart
    case.
    """

    source: str
    condition: Trigrams
    ascii_only: bool
    has_upper: bool
    literal: str | None = None


@dataclass(frozen=True, slots=True)
class PatternPart:
    """What is known of the strings that a part of the pattern matches, all folded."""

    exact: frozenset[str] | None  # None: too many to list
    prefix: frozenset[str] = frozenset([""])
    suffix: frozenset[str] = frozenset([""])
    condition: Trigrams = EVERYTHING
    size: int = 1


EMPTY: Final = PatternPart(exact=frozenset([""]))
ANY: Final = PatternPart(exact=None)


def plan(pattern: str, *, fixed: bool = False, ignore_case: bool = False) -> GrepPlan:
    """Raises Unsupported where only ripgrep knows."""
    if fixed:
        return plan_literal(pattern, ignore_case=ignore_case)
    reader = PatternReader(pattern)
    try:
        part = reader.alternation()
    except RecursionError:
        raise Unsupported("nested too deeply") from None
    if reader.more():
        raise Unsupported("unbalanced )")
    if part.size > MAX_SIZE:
        raise Unsupported("too large")
    condition = complete(part)
    flags = "i" if ignore_case or reader.fold_all else ""
    literal = None
    if not flags and not reader.special:
        literal = reader.plain
    source = f"(?m{flags}){''.join(reader.out)}"
    return GrepPlan(source, condition, reader.ascii_only, reader.has_upper, literal)


def plan_literal(text: str, *, ignore_case: bool) -> GrepPlan:
    if "\n" in text or "\r" in text or "\0" in text:
        raise Unsupported("line break in a literal")
    source = "(?m{}){}".format("i" if ignore_case else "", "".join(quote(char) for char in text))
    condition = Trigrams(all=windows(fold(text)))
    has_upper = any(char.isupper() for char in text)
    return GrepPlan(source, condition, ascii_only=False, has_upper=has_upper, literal=None if ignore_case else text)


def quote(char: str) -> str:
    if char.isalnum() or char == "_" or not char.isascii():
        return char
    return f"\\x{ord(char):02x}"


@dataclass(slots=True)
class PatternReader:
    """A recursive-descent reader that writes the RE2 source as it goes."""

    text: str
    at: int = 0
    out: list[str] = field(default_factory=list)
    ascii_only: bool = False
    has_upper: bool = False
    fold_all: bool = False
    special: bool = False
    plain: str = ""

    def more(self) -> bool:
        return self.at < len(self.text)

    def peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def take(self) -> str:
        char = self.peek()
        if not char:
            raise Unsupported("pattern ends early")
        self.at += 1
        return char

    def alternation(self) -> PatternPart:
        branches = [self.concatenation()]
        while self.peek() == "|":
            self.take()
            self.special = True
            self.out.append("|")
            branches.append(self.concatenation())
        return branches[0] if len(branches) == 1 else either(branches)

    def concatenation(self) -> PatternPart:
        part = EMPTY
        while self.more() and self.peek() not in "|)":
            part = follow(part, self.repetition())
        return part

    def repetition(self) -> PatternPart:
        start = len(self.out)
        part = self.atom()
        while self.more() and self.peek() in "*+?{":
            self.special = True
            low, high = self.bounds()
            if self.peek() == "?":
                self.take()
                self.out.append("?")
            # RE2 reads `a**` and `a{2}{3}` otherwise than ripgrep does unless the inner one is a group.
            self.out.insert(start, "(?:")
            self.out.append(")")
            part = repeat(part, low, high)
        return part

    def bounds(self) -> tuple[int, int | None]:
        char = self.take()
        if char != "{":
            self.out.append(char)
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        end = self.text.find("}", self.at)
        inner = self.text[self.at : end] if end >= 0 else ""
        low, comma, high = inner.partition(",")
        if not low.isdecimal() or not low.isascii() or (high and not (high.isdecimal() and high.isascii())):
            raise Unsupported("odd repetition")
        self.at = end + 1
        top = int(high) if high else (None if comma else int(low))
        if int(low) > MAX_REPEAT or (top or 0) > MAX_REPEAT or (top is not None and top < int(low)):
            raise Unsupported("repetition out of range")
        self.out.append("{" + inner + "}")
        return int(low), top

    def atom(self) -> PatternPart:
        char = self.take()
        if char == "\\":
            return self.escape()
        if char in "*+?{":
            raise Unsupported("nothing to repeat")
        if char in "().[^$":
            self.special = True
        if char == "(":
            return self.group()
        if char == "[":
            return self.klass()
        if char == ".":
            self.out.append(".")
            return ANY
        if char in "^$":
            self.out.append(char)
            return EMPTY
        return self.literal(char)

    def literal(self, char: str) -> PatternPart:
        if char in "\n\r\0":
            raise Unsupported("line break")
        self.has_upper = self.has_upper or char.isupper()
        self.plain += char
        self.out.append(quote(char))
        return PatternPart(exact=frozenset([fold(char)]))

    def group(self) -> PatternPart:
        before = self.fold_all
        if self.peek() == "?":
            self.take()
            self.group_head()
            if self.fold_all and not before and self.text[self.at - 1] == ")":
                return EMPTY
        self.out.append("(?:")
        part = self.alternation()
        if self.take() != ")":
            raise Unsupported("unclosed group")
        self.out.append(")")
        return part

    def group_head(self) -> None:
        """`?:`, a name, or `?i)` at the very start; other flags are ripgrep's business."""
        if self.peek() == ":":
            self.take()
            return
        if self.text.startswith("i)", self.at) and self.at == 2:  # noqa: PLR2004 - right behind "(?"
            self.at += 2
            self.fold_all = True
            return
        if self.peek() == "P":
            self.take()
        if self.take() != "<" or not (self.peek().isalpha() or self.peek() == "_"):
            raise Unsupported("flags or look-around")
        end = self.text.find(">", self.at)
        if end < 0 or not self.text[self.at : end].replace("_", "a").isalnum():
            raise Unsupported("odd group name")
        self.at = end + 1

    def escape(self) -> PatternPart:
        char = self.take()
        if char in PUNCTUATION:
            return self.literal(char)
        if char in CONTROLS:
            if char == "r":
                raise Unsupported("carriage return")
            return self.literal(CONTROLS[char])
        self.special = True
        if char in PERL:
            self.ascii_only = True
            self.out.append(PERL[char])
            return ANY
        if char in "bB":
            if self.peek() == "{":
                raise Unsupported("half boundary")
            self.ascii_only = True
            self.out.append("\\" + char)
            return EMPTY
        raise Unsupported(f"escape {char}")

    def klass(self) -> PatternPart:
        """A bracketed class without nesting or set operations."""
        body: list[str] = []
        members: set[str] = set()
        negated = self.peek() == "^"
        if negated:
            self.take()
        first = True
        while first or self.peek() != "]":
            low = self.member(body, members, first=first)
            first = False
            if low and self.peek() == "-" and self.peek(1) not in ("]", ""):
                self.take()
                self.range(low, body, members)
            elif low:
                body.append(quote(low))
                members.add(low)
        self.take()
        self.out.append(f"[{'^' if negated else ''}{''.join(body)}]")
        self.has_upper = self.has_upper or any(char.isupper() for char in members)
        if negated or len(members) > MAX_CLASS or "" in members:
            return ANY
        return PatternPart(exact=frozenset(fold(char) for char in members))

    def member(self, body: list[str], members: set[str], *, first: bool) -> str:
        """One character, or "" when a whole class was read (which `members` then marks by an empty string)."""
        char = self.take()
        if char == "[":
            end = self.text.find(":]", self.at)
            name = self.text[self.at + 1 : end] if self.peek() == ":" and end > 0 else ""
            if name not in POSIX:
                raise Unsupported("nested class")
            self.at = end + 2
            body.append(f"[:{name}:]")
            members.add("")
            return ""
        if char == "]" and not first:
            raise Unsupported("odd class")
        if char in "&~" and self.peek() == char:
            raise Unsupported("set operation")
        if char == "-" and self.peek() == "-":
            raise Unsupported("set operation")
        if char != "\\":
            if char in "\n\r\0":
                raise Unsupported("line break")
            return char
        return self.class_escape(body, members)

    def class_escape(self, body: list[str], members: set[str]) -> str:
        char = self.take()
        if char in IN_CLASS:
            self.ascii_only = True
            body.append(IN_CLASS[char])
            members.add("")
            return ""
        if char in PUNCTUATION:
            return char
        if char in CONTROLS and char != "r":
            return CONTROLS[char]
        raise Unsupported(f"escape {char} in a class")

    def range(self, low: str, body: list[str], members: set[str]) -> None:
        high = self.member(body, members, first=False)
        if not high or high < low:
            raise Unsupported("odd range")
        body.append(f"{quote(low)}-{quote(high)}")
        if ord(high) - ord(low) < MAX_CLASS:
            members.update(chr(code) for code in range(ord(low), ord(high) + 1))
        else:
            members.update(("", low, high))


def follow(left: PatternPart, right: PatternPart) -> PatternPart:
    """`left` then `right`."""
    if left.exact is not None and right.exact is not None:
        joined = frozenset(a + b for a, b in product(left.exact, right.exact))
        if len(joined) <= MAX_EXACT:
            return PatternPart(exact=joined, size=left.size + right.size)
    lefts, rights = open_part(left), open_part(right)
    prefix = lefts.prefix
    if left.exact is not None:
        prefix = cross(left.exact, rights.prefix) or prefix
    suffix = rights.suffix
    if right.exact is not None:
        suffix = cross(lefts.suffix, right.exact) or suffix
    seam = cross(lefts.suffix, rights.prefix)
    condition = both(both(lefts.condition, rights.condition), needed(seam) if seam else EVERYTHING)
    return trim(PatternPart(None, prefix, suffix, condition, left.size + right.size))


def either(branches: list[PatternPart]) -> PatternPart:
    size = sum(branch.size for branch in branches)
    if all(branch.exact is not None for branch in branches):
        union = frozenset().union(*(branch.exact or frozenset() for branch in branches))
        if len(union) <= MAX_EXACT:
            return PatternPart(exact=union, size=size)
    opened = [open_part(branch) for branch in branches]
    prefix = frozenset().union(*(branch.prefix for branch in opened))
    suffix = frozenset().union(*(branch.suffix for branch in opened))
    conditions = [complete(branch) for branch in branches]
    condition = EVERYTHING if any(one.is_empty for one in conditions) else Trigrams(any=(tuple(conditions),))
    return trim(PatternPart(None, prefix, suffix, condition, size))


def repeat(part: PatternPart, low: int, high: int | None) -> PatternPart:
    size = part.size * max(high or low, 1) + 1
    if low == 0:
        if high == 1 and part.exact is not None and len(part.exact) < MAX_EXACT:
            return PatternPart(exact=part.exact | {""}, size=size)
        return PatternPart(exact=None, size=size)
    if low == high == 1:
        return part
    opened = open_part(part)
    return PatternPart(None, opened.prefix, opened.suffix, opened.condition, size)


def open_part(part: PatternPart) -> PatternPart:
    """The same knowledge without the list of exact strings."""
    if part.exact is None:
        return part
    return trim(PatternPart(None, part.exact, part.exact, needed(part.exact), part.size))


def trim(part: PatternPart) -> PatternPart:
    """Edges keep two characters at most: a trigram across the seam needs no more. Too many edges say nothing."""
    condition = both(part.condition, both(needed(part.prefix), needed(part.suffix)))
    prefix = frozenset(text[:2] for text in part.prefix)
    suffix = frozenset(text[-2:] for text in part.suffix)
    return PatternPart(
        part.exact,
        prefix if len(prefix) <= MAX_EDGES else frozenset([""]),
        suffix if len(suffix) <= MAX_EDGES else frozenset([""]),
        condition,
        part.size,
    )


def cross(lefts: frozenset[str], rights: frozenset[str]) -> frozenset[str]:
    if len(lefts) * len(rights) > MAX_EDGES:
        return frozenset()
    return frozenset(a + b for a, b in product(lefts, rights))


def needed(strings: frozenset[str]) -> Trigrams:
    """The file contains one of these strings."""
    if not strings or any(len(text) < 3 for text in strings):  # noqa: PLR2004 - no trigram in it
        return EVERYTHING
    options = tuple(Trigrams(all=windows(text)) for text in sorted(strings))
    if any(option.is_empty for option in options):
        return EVERYTHING
    if len(options) == 1:
        return options[0]
    shared = frozenset.intersection(*(option.all for option in options))
    return Trigrams(all=shared, any=(options,))


def windows(folded: str) -> frozenset[str]:
    """ASCII only: a file that is not UTF-8 was read as Latin-1, and newer case pairs than Python's are not folded."""
    trigrams = (folded[start : start + 3] for start in range(len(folded) - 2))
    return frozenset(trigram for trigram in trigrams if trigram.isascii())


def both(left: Trigrams, right: Trigrams) -> Trigrams:
    if left.is_empty or left == right:
        return right
    if right.is_empty:
        return left
    groups = left.any + tuple(group for group in right.any if group not in left.any)
    return Trigrams(all=left.all | right.all, any=groups)


def complete(part: PatternPart) -> Trigrams:
    if part.exact is not None:
        return needed(part.exact)
    return both(part.condition, both(needed(part.prefix), needed(part.suffix)))
