"""Where do definitions begin and end? Read off the indentation, for text that no index knows.

Code that a person formats is indented by its nesting, whatever the language: a definition is a line that looks like
one, the deeper lines behind it, and the closing line at its own depth. Where the catalog has the symbols of a file,
those are used instead; both come as `Block`s. Lines count from 1 here, as everywhere a person sees them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Block", "indents", "read_blocks"]

TAB: Final = 8
LONGEST_SIGNATURE: Final = 12  # lines
LONGEST_LINE: Final = 400  # characters that are looked at
_HOLDER: Final = re.compile(
    r"\b(?:class|struct|interface|trait|impl|module|namespace|enum|object|union|extension|protocol|package|describe)\b"
)
_PYTHON: Final = re.compile(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)")
_WORDED: Final = re.compile(
    r"\s*(?:[\w@\[\]().<>,*&:'\"]+\s+)*?"
    r"(?:func|function|fn|fun|def|sub|proc|class|struct|interface|trait|impl|module|namespace|enum|object|extension|"
    r"protocol|macro_rules!)(?:\s*\*|\s+(?:\([^)]*\)\s*|<[^>]*>\s*)?)([\w$.:]+)"
)
# A name, its arguments and an opening brace, or an arrow: methods of JavaScript and Java, functions of C.
_BARE: Final = re.compile(r"\s*(?:[\w<>\[\],.?&*:~@$]+\s+)*?[*&]*([\w$~:.]+)\s*\(")
_ASSIGNED: Final = re.compile(
    r"\s*(?:export\s+)?(?:const|let|var|local)?\s*([\w$.'\"-]+)\s*[:=]\s*(?:async\s+)?(?:function\b|\(|[\w$]+\s*=>)"
)
_NEVER: Final = re.compile(
    r"\s*(?:if|else|for|while|switch|case|return|try|catch|do|with|elif|except|finally|throw|raise|yield|await|match|"
    r"import|from|using|include|assert|print|new|not|and|or|in|foreach|when|unless|until|select|defer|go)\b"
)
_QUOTED: Final = re.compile(r"""("{3}|'{3})|[#].*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
_CLOSING: Final = re.compile(r"\s*(?:[)\]}]|end\b|fi\b|done\b|esac\b)")
# The preprocessor, labels of C and access labels of C++ are indented less than what they belong to.
_OUTDENTED: Final = re.compile(
    r"\s*#\s*(?:if|else|elif|endif|define|undef|pragma|error|line|include)|\s*(?:public|private|protected)?[\w ]*:\s*$"
)
_ABOVE: Final = ("@", "#", "//", "/*", "*", "--", "[")
_TYPE: Final = re.compile(r"[A-Za-z_][\w \t*&<>,:\[\]]{0,80}")


@dataclass(frozen=True, slots=True)
class Block:
    """A definition of lines `start` to `end`; `holds`: it is there for what it holds, as a class is.

    `heads_prose`: it is a heading of documentation and what follows it.
    """

    start: int
    end: int
    name: str = ""
    holds: bool = False
    heads_prose: bool = False


def read_blocks(lines: Sequence[str]) -> list[Block]:
    """The definitions in the text, an outer one before its inner ones."""
    depths = indents(lines)
    found = [block for at in _openers(lines, depths) if (block := _block_at(lines, depths, at)) is not None]
    return [block for block in found if block.end > block.start]


def _openers(lines: Sequence[str], depths: list[int]) -> Iterator[int]:
    """The lines behind which the text goes deeper: every definition is one, and few other lines are."""
    last = -1
    for at, depth in enumerate(depths):
        if depth < 0:
            continue
        if last >= 0 and (depth > depths[last] or lines[at].lstrip().startswith(("{", ")"))):
            yield last
        last = at


def indents(lines: Sequence[str]) -> list[int]:
    """The depth of each line, -1 for a blank one; lines inside a triple-quoted text are as deep as its start."""
    depths: list[int] = []
    quote, deep = "", 0
    for line in lines:
        text = line.expandtabs(TAB) if "\t" in line else line
        bare = text.lstrip()
        if not bare:
            depths.append(-1)
            continue
        depth = len(text) - len(bare)
        depths.append(max(depth, deep) if quote else depth)
        if '"""' in line or "'''" in line:
            before, quote = quote, _quote_behind(line, quote)
            deep = depth if quote and not before else deep
    return depths


def _quote_behind(line: str, quote: str) -> str:
    """The triple quote that is open at the end of a line; those in comments and in other strings open nothing."""
    at = 0
    while True:
        if quote:
            closing = line.find(quote, at)
            if closing < 0:
                return quote
            at, quote = closing + len(quote), ""
        opening = _QUOTED.search(line, at, at + LONGEST_LINE)
        if opening is None:
            return ""
        at, quote = opening.end(), opening[1] or ""


def _block_at(lines: Sequence[str], depths: list[int], at: int) -> Block | None:
    line = lines[at][:LONGEST_LINE]
    if depths[at] < 0 or _NEVER.match(line) or _CLOSING.match(line):
        return None
    worded = _PYTHON.match(line) or _WORDED.match(line)
    match = worded or _ASSIGNED.match(line) or _BARE.match(line)
    braced = match is not None and _opens(lines, at)
    if match is None or (worded is None and not braced):
        return None
    end = _end(lines, depths, at, braced=braced)
    start = _start(lines, depths, at, typed=worded is None)
    return Block(start + 1, end + 1, match[1].strip("'\""), bool(_HOLDER.search(line)))


def _opens(lines: Sequence[str], at: int) -> bool:
    """Whether a braced body follows, and not the rest of a call or a condition."""
    for line in lines[at : at + LONGEST_SIGNATURE]:
        bare = line.rstrip()
        if bare.endswith(("{", "=>", "=> (")):
            return True
        if bare.endswith((";", "}", ":")) or not bare:
            return False
    return False


def _start(lines: Sequence[str], depths: list[int], at: int, *, typed: bool) -> int:
    """With decorators, annotations, comments and, in C, the type on a line of its own directly above."""
    first = at
    while first and depths[first - 1] == depths[at]:
        above = lines[first - 1].strip()
        if not above.startswith(_ABOVE) and not (typed and _TYPE.fullmatch(above) and not _NEVER.match(above)):
            break
        first -= 1
    return first


def _end(lines: Sequence[str], depths: list[int], at: int, *, braced: bool) -> int:
    """The last line that belongs to what begins here."""
    depth, last = depths[at], at
    for index in range(at + 1, len(lines)):
        if depths[index] < 0:
            continue
        if depths[index] <= depth:
            outdented = braced and _OUTDENTED.match(lines[index]) and _amid(lines, depths, index, depth)
            if not outdented and not (depths[index] == depth and _goes_on(lines, depths, at, last, index)):
                break
        last = index
    return last


def _goes_on(lines: Sequence[str], depths: list[int], at: int, last: int, index: int) -> bool:
    """At the same depth: the closing line, or the opening brace on a line of its own."""
    bare = lines[index].strip()
    if bare.startswith("{"):
        return last - at < LONGEST_SIGNATURE and not any(line.rstrip().endswith("}") for line in lines[at : last + 1])
    if not _CLOSING.match(lines[index]):
        return False
    # A second closing line belongs to somebody further out, unless the first ended the arguments only.
    before = lines[last].strip()
    is_second = depths[last] == depths[index] and _CLOSING.match(lines[last])
    return not is_second or before.startswith(")") or before.endswith("{")


def _amid(lines: Sequence[str], depths: list[int], index: int, depth: int) -> bool:
    """Whether deeper lines follow before anything else at this depth: an outdented line is in their midst."""
    for following in range(index + 1, min(index + LONGEST_SIGNATURE, len(lines))):
        if depths[following] > depth:
            return True
        if depths[following] >= 0 and not _OUTDENTED.match(lines[following]):
            return False
    return False
