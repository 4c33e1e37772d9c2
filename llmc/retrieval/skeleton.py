"""The skeleton of source code: what decides, calls and defines, with everything else folded.

It keeps the statements that branch, leave, define, call, set a field, or set what a later branch tests, abbreviates
long arguments and literals, and folds the rest; if that is still too much, plain calls go before whole levels do.
Conditions are never abbreviated: they are what a reader came for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self

from llmc.retrieval.statements import (
    CLOSES,
    CONDITION,
    FLOW,
    RESULT,
    WORD,
    Statement,
    compact,
    is_left_out,
    is_whole,
    join_lines,
    level_of,
    opens,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from llmc.retrieval.code_lines import CodeLines
    from llmc.retrieval.statements import JoinedLines

__all__ = ["Fold", "skeleton"]

# Arms of a match, and a value that a branch gives: `let x = match y {`.
_ARM = re.compile(r"[^=;]*(?<![=<>!])=>(?:\s|$)")
_CHOOSES = re.compile(r"[=(]\s*(?:await\s+)?(?:match|if|switch|when|case|try|loop|select)\b|\bswitch\s*\{?\s*$")
_LONG_STRING = re.compile(r"\"[^\"\n]{50,}\"|'[^'\n]{50,}'|`[^`\n]{50,}`")
_CALLED = re.compile(r"([^\W\d]\w*)(?=\()")
_COMPOUND = re.compile(r"[^_\W]_+[^_\W]|[a-z][A-Z]")
_CALL = re.compile(r"[\w$\]>!?]\s?\(|\bnew\s+\w|\w!\[?\(|\|>\s*\w")
_DEFINES = re.compile(
    r"\s*(?:export\s+|default\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+|"
    r"override\s+|unsafe\s+|final\s+)*"
    r"(?:def|class|function|func|fn|struct|enum|interface|trait|impl|module|namespace|type|fun|sub|proc)\b|\s*@\w|\s*#\["
)
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\\n]|\\.){0,200}'|`[^`]*`")
_ASSIGNS = re.compile(r"\s*(?:(?:const|let|var|mut|final|auto|val)\s+)*[(\[{]?\s*([\w$.]+)[^=!<>()]{0,40}?:?=(?![=>])")
# Assignments to a field or an element: `self.state = DONE`, `job.Status, job.Stopped = a, b`, `rows[0] += 1`.
_CHANGES = re.compile(
    r"\s*(?:[\w$.\[\]'\"]+,\s*)*(?P<owner>[\w$]+(?:\([^()]*\)|\[[^\]]*\])*(?:(?:\??\.|->|::)[\w$]+(?:\[[^\]]*\])*)*?)"
    r"(?:(?:\.|->)(?P<field>[\w$]+)(?:\[[^\]]*\])*|\[[^\]]*\])\s*(?:,[^=]*)?"
    r"(?:[-+*/|&^%?]|\*\*|<<|>>|\?\?|\|\||&&)?=(?![=>~])\s*(?P<value>.*)"
)
_BRACKET = re.compile(r"[()\[\]{}]")
_LONGEST = 110
_LONGEST_CONDITION = 320
_LONGEST_RESULT = 180
_LONGEST_STRING = 40  # of a literal in a statement that is too long
_ARGUMENTS = 44  # of a bracket's content, when the statement is too long
_MOST_NAMES = 6  # of calls in lines that are left out
_FEW = 3  # this many folded lines need no marker of their own: the line numbers show them


class Fold(int):
    """A number of omitted lines. `names` are the functions that they call, if statements were omitted."""

    names: tuple[str, ...]

    def __new__(cls, lines: int, names: tuple[str, ...] = ()) -> Self:
        made = super().__new__(cls, lines)
        made.names = names
        return made


def skeleton(code: CodeLines, first: int, keep: Collection[int] = (), most: int = 0) -> list[Statement | Fold]:
    """The deciding statements, and a `Fold` for each longer run of others. `first` is the number of the first line;
    `keep` are numbers of lines that always stay. With more than `most` statements further ones are folded."""
    levels: list[int] = []
    kept: list[Statement] = []
    folds: dict[int, int] = {}  # lines folded before the statement with this index
    joined = list(join_lines(code, first))
    tested = _Tested(joined)
    for one in joined:
        wanted = one.number == first or any(one.number <= line < one.number + one.length for line in keep)
        if wanted or _stays(one) or tested.later(one.text):
            text = _abbreviated(plain(one, short=True))
            kept.append(Statement(one.number, level_of(one.text, levels), text, opens(one.masked)))
        elif not is_left_out(one.text):
            folds[len(kept)] = folds.get(len(kept), 0) + one.length
    folded = {kept[at].number if at < len(kept) else 0: size for at, size in folds.items() if size > _FEW}
    shown = compact(kept, _LONGEST, frozenset(folded), whole=is_whole(code.masked))
    if most and len(shown) > most:
        return _thinned(shown, first + len(code.text), most)
    found: list[Statement | Fold] = []
    for statement in shown:
        found += [Fold(folded[statement.number])] if statement.number in folded else []
        found.append(statement)
    return [*found, Fold(folded[0])] if 0 in folded else found


class _Tested:
    """Which variables do later branches test? `status = "failed"` matters if `if status` follows."""

    def __init__(self, joined: Iterable[JoinedLines]) -> None:
        heads = [one.masked for one in joined if FLOW.match(one.text)]
        self._names = {word for masked in heads for word in WORD.findall(masked)}

    def later(self, text: str) -> bool:
        """Whether a statement assigns to one of them."""
        if is_left_out(text):
            return False
        found = _ASSIGNS.match(text)
        return found is not None and found[1].rpartition(".")[2] in self._names


def _thinned(found: Sequence[Statement], end: int, most: int) -> list[Statement | Fold]:
    """Folds plain calls first, from the deepest level up, then assignments to fields, then whole levels, so that each
    remaining level is complete."""
    kept = list(found)
    levels = range(max(one.level for one in found), 1, -1)
    for level, changes in ((level, changes) for changes in (True, False) for level in levels):
        kept = [one for one in found if one.level < level or _decides(one.text, changes=changes)]
        if len(kept) <= most:
            break
    if len(kept) > most:
        deepest = max(1, sorted(one.level for one in kept)[most] - 1)
        kept = [one for one in found if one.level <= deepest]
    thinned: list[Statement | Fold] = []
    for one, following in zip(kept, [*(each.number for each in kept[1:]), end], strict=True):
        thinned.append(one)
        if following - one.number > _FEW + 1:
            inside = [each.text for each in found if one.number < each.number < following]
            thinned.append(Fold(following - one.number - 1, _called(inside)))
    return thinned


def _decides(text: str, *, changes: bool) -> bool:
    """Whether it branches, leaves or defines, or (with `changes`) sets a field."""
    return bool(FLOW.match(text) or _DEFINES.match(text) or _branches(_bare(text)) or (changes and _sets_field(text)))


def _sets_field(text: str) -> bool:
    """Whether it changes the state of an object; not `self.name = name`, of which constructors are full."""
    found = _CHANGES.match(text)
    return found is not None and found["value"].rstrip(" ;").lstrip("_") != (found["field"] or "").lstrip("_")


def _called(texts: Iterable[str]) -> tuple[str, ...]:
    """Compound names that are called: `create_order` says what happens, `push` does not."""
    names = (name for text in texts for name in _CALLED.findall(_bare(text)))
    return tuple(dict.fromkeys(name for name in names if _COMPOUND.search(name)))[:_MOST_NAMES]


def _stays(one: JoinedLines) -> bool:
    if is_left_out(one.text):
        return False
    is_step = FLOW.match(one.text) or _DEFINES.match(one.text) or _CALL.search(one.text)
    return bool(is_step or _branches(one.masked) or _sets_field(one.text))


def _branches(bare: str) -> bool:
    return bool(_ARM.match(bare) or _CHOOSES.search(bare))


def _bare(text: str) -> str:
    """The text with anything that looks like a string masked."""
    return _QUOTED.sub(lambda quoted: "~" * len(quoted[0]), text)


def _abbreviated(text: str) -> str:
    """Long literals and contents of brackets are shortened, innermost last, until the statement is short enough."""
    longest = _LONGEST_CONDITION if CONDITION.match(text) else _LONGEST_RESULT if RESULT.match(text) else _LONGEST
    if len(text) > longest:
        text = _LONG_STRING.sub(lambda one: f"{one[0][:_LONGEST_STRING]}…{one[0][-1]}", text)
    if len(text) <= longest:
        return text
    depth, start, parts = 0, 0, []
    for found in _BRACKET.finditer(_bare(text)):
        if found[0] in CLOSES:
            depth -= 1
            if depth == 0:
                parts += [_cut(text[start : found.start()])]
                start = found.start()
        else:
            if depth == 0:
                parts += [text[start : found.end()]]
                start = found.end()
            depth += 1
    whole = "".join((*parts, text[start:]))
    return whole if len(whole) <= 2 * _LONGEST else f"{whole[: 2 * _LONGEST]}…"


def _cut(content: str) -> str:
    if len(content) <= _ARGUMENTS:
        return content
    kept = re.match(rf".{{0,{_ARGUMENTS}}}(?<=[\s,(\[{{])", content, re.DOTALL)
    return f"{(kept[0] if kept else content[:_ARGUMENTS]).rstrip()}…"
