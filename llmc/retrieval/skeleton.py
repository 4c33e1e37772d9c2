"""The shape of a long function: signatures, control flow and calls; the rest is folded.

Line by line, without a syntax tree, so that it works for every language and for any range of lines. A line stays if it
branches, leaves, defines or calls; comments, data, arguments and closing brackets go. Folded lines are counted where
they are, except blank lines and brackets, which carry nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

__all__ = ["Fold", "skeleton"]

_FLOW = re.compile(
    r"[\s})]*(?:if|elif|else|elsif|for|foreach|while|until|unless|do|loop|switch|case|default|match|when|select|try|catch"
    r"|except|finally|ensure|rescue|with|using|return|throw|raise|yield|break|continue|goto|defer|go|await|lock|"
    r"synchronized|guard|repeat|begin)\b"
)
_CALL = re.compile(r"[\w$\]>!?]\s?\(|\bnew\s+\w|\w!\[?\(|\|>\s*\w")
_DEFINES = re.compile(
    r"\s*(?:export\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+|override\s+)*"
    r"(?:def|class|function|func|fn|struct|enum|interface|trait|impl|module|namespace|type|fun|sub|proc)\b|\s*@\w|\s*#\["
)
_COMMENT = re.compile(r"\s*(?://|#(?!\[|!|include)|/\*|\*(?:\s|/|$)|--\s|<!--|;;|%%)")
_NOTHING = re.compile(r"[\s(){}\[\];,]*(?:end)?[\s(){}\[\];,]*")
_FEW = 2  # so many folded lines cost no more than the mark that counts them


class Fold(int):
    """A number of lines that are left out."""


def skeleton(lines: Sequence[str], first: int, keep: Collection[int] = ()) -> Iterator[tuple[int, str] | Fold]:
    """(number, line) of what stays, and a `Fold` for each run that does not. `first` is the number of the first line;
    `keep` are numbers of lines that stay whatever they say."""
    run: list[tuple[int, str]] = []
    for number, line in enumerate(lines, first):
        if number in keep or number == first or _stays(line):
            yield from _folded(run)
            run = []
            yield number, line
        else:
            run.append((number, line))
    yield from _folded(run)


def _stays(line: str) -> bool:
    if _COMMENT.match(line):
        return False
    return bool(_FLOW.match(line) or _DEFINES.match(line) or _CALL.search(line))


def _folded(run: list[tuple[int, str]]) -> Iterator[tuple[int, str] | Fold]:
    telling = [(number, line) for number, line in run if not _NOTHING.fullmatch(line)]
    if len(telling) > _FEW:
        yield Fold(len(run))
    else:
        yield from telling
