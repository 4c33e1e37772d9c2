"""From bytes to a syntax tree, within limits that hold for hostile input.

tree-sitter recovers from errors, and on some inputs this takes quadratic or cubic time and memory:
4 KB of `<!--` keep the Ruby grammar busy for 8 s, 50 KB of `%w(` take the C grammar 6 GB. The binding's progress
callbacks crash (the parser's before Python 3.14, the query's on any version), so the clock is checked where the parser
asks for its next bytes; reporting the end of input stops it. Stopping takes long if the parser has to abandon a deep
stack, so nesting is limited beforehand, and text that repeats itself endlessly is not parsed at all. Queries have no
predicates: the binding would evaluate them on the bytes it was given, and crash.

Two habits hide whole files from a grammar: macros around the items of a Rust module (`cfg_rt! { pub fn … }`), and the
test cases of bats. `plain` rewrites them into something of the same length that the grammar can read. Only the parser
sees the change; names and signatures are taken from the original text.
"""

from __future__ import annotations

import re
import threading
import time
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from tree_sitter import Language, Parser, Query, QueryCursor
from tree_sitter_language_pack import get_language

if TYPE_CHECKING:
    from tree_sitter import Node, Point, Tree

__all__ = ["captures", "language", "parse", "plain", "query"]

_ITEM_MACRO = re.compile(rb"^(?:[ \t]*cfg_\w+|[a-z]\w{4,})![ \t]*\{(?=[ \t]*\r?$)", re.MULTILINE)
_BATS_TEST = re.compile(rb"^@test ([\"'])([^\n]*)\1 \{", re.MULTILINE)
_NOT_A_WORD = re.compile(rb"\W")
QUERIES = Path(__file__).parent / "queries"
LARGEST = 1_500_000  # bytes; larger sources are data or generated, and a tree takes some thirty times its text
DEEPEST = 600  # brackets open at once; hand-written code stays below 30
# Real files take .1 to .5 s a megabyte, the slowest grammars 1 s.
BASE_SECONDS = 0.1
SECONDS_PER_BYTE = 2.5e-6
PIECE = 1_024  # bytes between two checks of the clock; 512 cost 2 % more time, and 4,096 are too many to stop in time

# Of 28,180 real files over 2 KB, three have a stretch with fewer words. The parser is slow if the same few tokens
# repeat; mixtures of many tokens are harmless, even if they are invalid.
STRETCH = 2_048
FEW_WORDS = 6
MOSTLY = 0.9  # a stretch of one long word is data in a string, and harmless
FEW_NODES = 20_000
SAMPLES = 32
DEEPEST_TREE = 10_000  # a query over 40,000 levels still takes .06 s, over 100,000 it takes 34 s
WIDEST_ERROR = 5_000  # .02 s; 40,000 tokens take 1.5 s, 100,000 take 9 s

_WORDS_ONLY = bytes(
    byte if not chr(byte).isascii() or chr(byte).isalnum() or byte == ord("_") else 32 for byte in range(256)
)
_CONTINUATION = 0x80  # the two highest bits of a continuation byte in UTF-8
_INHERITS = "; inherits: "
_OPEN = b"([{"
_NOT_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))
_STEPS = {bracket: 1 if bracket in _OPEN else -1 for bracket in b"()[]{}"}


def plain(grammar: str, data: bytes) -> bytes:
    if grammar == "rust" and b"! {" in data:
        return _ITEM_MACRO.sub(_block, data)
    if grammar == "bash" and b"@test " in data:
        return _BATS_TEST.sub(_function, data)
    return data


def _block(found: re.Match[bytes]) -> bytes:
    """`cfg_rt! {` → `extern  {`, which may contain any item and has no name."""
    text = found[0]
    indent = len(text) - len(text.lstrip())
    return text[:indent] + b"extern".ljust(len(text) - indent - 1) + b"{"


def _function(found: re.Match[bytes]) -> bytes:
    """`@test "adds 1" {` → `_______adds_1(){`."""
    return b"_" * 7 + _NOT_A_WORD.sub(b"_", found[2]) + b"(){"


@cache
def language(grammar: str) -> Language:
    return get_language(grammar)  # type: ignore[arg-type]  # a name from our own table


@cache
def query(grammar: str) -> Query:
    links = f"{grammar}.links"
    patterns = [_patterns(grammar)]
    if (QUERIES / f"{links}.scm").exists():
        patterns.append(_patterns(links))
    return Query(language(grammar), "\n".join(patterns))


def _patterns(name: str) -> str:
    """A query file whose first line is `; inherits: a, b` begins with the patterns of `a` and `b`."""
    text = (QUERIES / f"{name}.scm").read_text("utf-8")
    first = text.partition("\n")[0]
    if not first.startswith(_INHERITS):
        return text
    return "\n".join([*map(_patterns, first.removeprefix(_INHERITS).replace(",", " ").split()), text])


def captures(grammar: str, data: bytes) -> dict[str, list[Node]] | None:
    """The captures of the grammar's query, or None for a file that cannot be parsed."""
    tree = parse(grammar, data)
    return None if tree is None else QueryCursor(query(grammar)).captures(tree.root_node)


def parse(grammar: str, data: bytes) -> Tree | None:
    """None for a file that is too large, too deep or too slow to parse."""
    if len(data) > LARGEST or _depth(data) > DEEPEST or _is_monotonous(data):
        return None
    # The scanner of Perl does not terminate in a comment without a line break at its end: `foo # bar`.
    feed = _Feed(data + b"\n" if grammar == "perl" and not data.endswith(b"\n") else data)
    tree = Parser(language(grammar)).parse(feed.read)
    return None if feed.stopped or _is_degenerate(tree) else tree


def _is_degenerate(tree: Tree) -> bool:
    """Whether a query would take quadratic time: the tree is nearly as deep as its text is long, or has an error node
    with thousands of tokens. Most nodes of such a tree are in the bad part, so a few samples suffice."""
    count = tree.root_node.descendant_count
    if count < FEW_NODES:
        return False
    cursor = tree.walk()
    for place in range(0, count, count // SAMPLES):
        cursor.goto_descendant(place)
        if cursor.depth > DEEPEST_TREE:
            return True
        cursor.goto_parent()
        if cursor.node and cursor.node.is_error and cursor.node.child_count > WIDEST_ERROR:
            return True
    return False


def _is_monotonous(data: bytes) -> bool:
    """Whether a stretch of punctuation repeats the same few words, such as `a<b,a<b,`, as generated input does."""
    spaced = data.translate(_WORDS_ONLY)
    for start in range(0, len(data) - STRETCH + 1, STRETCH):
        words = spaced[start : start + STRETCH].split()
        if len(set(words)) < FEW_WORDS and sum(map(len, words)) < STRETCH * MOSTLY:
            return True
    return False


def _depth(data: bytes) -> int:
    brackets = data.translate(None, _NOT_BRACKETS)
    if len(brackets) <= DEEPEST:
        return 0
    return max(accumulate(map(_STEPS.__getitem__, brackets)))


class _Feed:
    """Passes the bytes to the parser in pieces, and reports the end of input when the time is over."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._buffers = _threads.buffers
        self._started = time.thread_time()
        self._furthest = 0
        self._ended = False
        self.stopped = False

    def read(self, offset: int, _point: Point) -> bytearray:
        self._furthest = max(self._furthest, offset)
        if time.thread_time() - self._started > BASE_SECONDS + self._furthest * SECONDS_PER_BYTE:
            self.stopped = True
        if self.stopped:  # the end of a line, and then of the text
            piece = b"" if self._ended else b"\n"
            self._ended = True
        else:
            piece = self._data[offset : self._end(offset + PIECE)]
        buffer = self._buffers[len(piece)]
        buffer[:] = piece
        return buffer

    def _end(self, end: int) -> int:
        """A piece ends with a whole character: an end of input in the middle of one crashes the parser."""
        data = self._data
        while end < len(data) and data[end] & 0xC0 == _CONTINUATION:
            end += 1
        return end


class _Buffers(threading.local):
    """Reusable buffers, one for each length, since the binding never releases what `read` returns. Each thread has its
    own, because another thread may parse between two reads."""

    def __init__(self) -> None:
        self.buffers = [bytearray(length) for length in range(PIECE + 4)]


_threads = _Buffers()
