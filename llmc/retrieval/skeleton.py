"""Source code in fewer tokens: one line per statement, without comments, log calls and closing brackets.

`statements` keeps every statement. `skeleton` keeps those that branch, leave, define, call, set a field, or set what a
later branch tests, abbreviates long arguments and literals, and folds the rest; if that is still too much, plain calls
go before whole levels do. Conditions are never abbreviated: they are what a reader came for.

Both work on text and not on a syntax tree, so that every language and every range of lines has one. Brackets decide
where a statement ends (an open parenthesis, square bracket or literal continues it, an open block does not), and so
does a line that is not indented further. A branch with a single short statement is one line (`if (!rows): return`), and
Go's check after a call joins the call: `row, err := load(id) or return nil, err`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from llmc.base.text import indent_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

__all__ = ["Fold", "Statement", "decides", "logs", "skeleton", "spare_characters", "statements"]

_FLOW = re.compile(
    r"[\s})]*(?:if|elif|else|elsif|for|foreach|while|until|unless|do|loop|switch|case|default|match|when|select|try|catch"
    r"|except|finally|ensure|rescue|with|using|return|throw|raise|yield|break|continue|goto|defer|go|await|lock|"
    r"synchronized|guard|repeat|begin|assert)\b"
)
# Arms of a match, and a value that a branch gives: `let x = match y {`.
_ARM = re.compile(r"[^=;]*(?<![=<>!])=>(?:\s|$)")
_CHOOSES = re.compile(r"[=(]\s*(?:await\s+)?(?:match|if|switch|when|case|try|loop|select)\b|\bswitch\s*\{?\s*$")
# Those of them that have a body.
_FLOW_HEAD = re.compile(r"(?:if|elif|else|elsif|for|foreach|while|until|unless|do|loop|switch|match|select|try|with)\b")
_CONDITION = re.compile(r"(?:else\s+)?(?:if|elif|elsif|unless|while|until|switch|match|case|when|assert)\b")
_RESULT = re.compile(r"(?:return|raise|throw|yield|break)\b")
_ELSE = re.compile(r"else\b")
_LABEL = re.compile(r"(?:case|default)\b")  # may have the body of the next one
_LEAVES = re.compile(r"(?:return|continue|break|panic|goto)\b")
_LONG_STRING = re.compile(r"\"[^\"\n]{50,}\"|'[^'\n]{50,}'|`[^`\n]{50,}`")
# Calls on a logger. A function called `log` may be an audit log, and `log.Fatal` leaves.
_LOGS = re.compile(
    r"\s*(?:\w+\.)*_?(?:use|get)?(?:log|logger|logging|console|tracing|slog|klog)(?:\([^()]*\))?(?:\.\w+\([^()]*\))?(?:\.|::)"
    r"(?:trace|debug|info|warn|warning|error|exception|critical|log|print|notice|verbose)(?:f|ln|s|w)?\b!?[^=]*\("
    r"|\s*(?:trace|debug|info|warn|error|println|eprintln)!\("
    r"|\s*(?:const|let|var)?\s*_?log(?:ger)?\s*:?=\s*(?:\w+\.)*\w*log",
    re.IGNORECASE,
)
_GO_CHECK = re.compile(r"if (\w*[eE]rr\w*) != nil")
# The call and its check in one statement; what else the call returns is used in the branches.
_GO_TRIED = re.compile(r"if (?:_, )*(\w*[eE]rr\w*) :?= (?P<call>.+); \1 != nil")
# Nothing but the error is returned.
_GO_PASSED_ON = re.compile(r"return (?:(?:nil|false|0|\"\"|\w+(?:\.\w+)?\{\}), )+(\w*[eE]rr\w*)")
_GO_GROUP = re.compile(r"\s*(?:const|var|type|import)\s*\(\s*")  # of declarations
_CALLED = re.compile(r"([^\W\d]\w*)(?=\()")
_COMPOUND = re.compile(r"[^_\W]_+[^_\W]|[a-z][A-Z]")
_CALL = re.compile(r"[\w$\]>!?]\s?\(|\bnew\s+\w|\w!\[?\(|\|>\s*\w")
_DEFINES = re.compile(
    r"\s*(?:export\s+|default\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+|"
    r"override\s+|unsafe\s+|final\s+)*"
    r"(?:def|class|function|func|fn|struct|enum|interface|trait|impl|module|namespace|type|fun|sub|proc)\b|\s*@\w|\s*#\["
)
_COMMENT = re.compile(r"\s*(?://|#(?!\[|!|include)|/\*|\*(?:\s|/|$)|--\s|<!--|;;|%%|\"\"\"|''')")
_NOTHING = re.compile(r"[\s(){}\[\];,>]*(?:end)?[\s(){}\[\];,]*")
# Strings, in which brackets mean nothing.
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\\n]|\\.){0,200}'|`[^`]*`")
_LIFETIME = re.compile(r"'(?=[a-z_]\w*[^\w'])")  # Rust's, which would open a string
_DOCSTRING = re.compile(r"\s*[rRbBuU]{0,2}(\"{3}|'{3})")
_TRAILING = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\\n]|\\.){0,200}'|`[^`]*`)|\s(//.*|#\s.*)$")
_ENDS_BLOCK = ("{", "}", ";")  # of a line, in languages where `//` begins a comment
_ASSIGNS = re.compile(r"\s*(?:(?:const|let|var|mut|final|auto|val)\s+)*[(\[{]?\s*([\w$.]+)[^=!<>()]{0,40}?:?=(?![=>])")
# A field or an element is set: `self.state = DONE`, `job.Status, job.Stopped = a, b`, `rows[0] += 1`.
_CHANGES = re.compile(
    r"\s*(?:[\w$.\[\]'\"]+,\s*)*(?P<owner>[\w$]+(?:\([^()]*\)|\[[^\]]*\])*(?:(?:\??\.|->|::)[\w$]+(?:\[[^\]]*\])*)*?)"
    r"(?:(?:\.|->)(?P<field>[\w$]+)(?:\[[^\]]*\])*|\[[^\]]*\])\s*(?:,[^=]*)?"
    r"(?:[-+*/|&^%?]|\*\*|<<|>>|\?\?|\|\||&&)?=(?![=>~])\s*(?P<value>.*)"
)
_CONTINUES = re.compile(r"\s*(?:\??\.\w|&&|\|\||[?:+|]\s|and\s|or\s|\)|\])")
_UNFINISHED = re.compile(r"(?:&&|\|\||(?<![=<>!+])=|\s[+?]|\band|\bor)\s*$")
_BRACKET = re.compile(r"[()\[\]{}]")
_CLOSES = {")": "(", "]": "[", "}": "{"}
# Before a brace that opens a block and not a literal: a parameter list, a keyword, an arrow, a Rust closure.
_BLOCK = re.compile(r"(?:[)|\]>\w'\"]|=>|->)\s*$")
_LITERAL = re.compile(r"(?:[=(,:\[]|\breturn|\bin|&&|\|\||\?)\s*$")
# Names after these words are no literal: `throws A, B {`, `class X implements A, B {`, `where T: A, U: B {`.
_HEADED = re.compile(r"\b(?:throws|implements|extends|permits|where)\s[^(){}=]*$")
_STRUCT = re.compile(r"(?:[=(,]|(?<!\)):|\breturn|=>)\s*&?(?:[\w:.]+(?:<[^>]*>)?)\s*$")
# A statement is joined over so many lines at most: brackets in odd strings could keep it open for ever.
_MOST_JOINED = 60
_LONGEST = 110
_LONGEST_LINE = 160  # of a branch with its only statement
_LONGEST_ANNOTATION = 100  # routes are shorter, descriptions of an API are not
_LONGEST_STATEMENT = 400  # what is longer, such as a table of data, keeps its own lines
_LONGEST_CONDITION = 320
_LONGEST_RESULT = 180
_LONGEST_STRING = 40  # of a literal in a statement that is too long
_ARGUMENTS = 44  # of a bracket's content, when the statement is too long
_MOST_NAMES = 6  # of calls in lines that are left out
_FEW = 3  # so many folded lines need no mark of their own: the line numbers show them


def logs(text: str) -> bool:
    """Whether a line only writes a log."""
    return _LOGS.match(text) is not None


def decides(text: str) -> bool:
    """Whether a line begins a branch or leaves the function."""
    bare = text.lstrip(" \t})")
    return _CONDITION.match(bare) is not None or _RESULT.match(bare) is not None


class Fold(int):
    """A number of lines that are left out. `names` are functions that they call, where statements were left out."""

    names: tuple[str, ...]

    def __new__(cls, lines: int, names: tuple[str, ...] = ()) -> Self:
        made = super().__new__(cls, lines)
        made.names = names
        return made


@dataclass(frozen=True, slots=True)
class Statement:
    """One logical line: its first line number, how deep it is nested, and its text, joined and abbreviated. `opens`:
    the line opens a block; `logs`: this begins with a log call."""

    number: int
    level: int
    text: str
    opens: bool = False
    logs: bool = False


def statements(lines: Sequence[str], first: int) -> list[Statement]:
    """Every statement of these lines; `first` is the number of the first one."""
    levels: list[int] = []
    found: list[Statement] = []
    for number, text, length in _joined(lines, first):
        if _is_left_out(text):
            if found and found[-1].opens and _LOGS.match(text):
                found[-1] = replace(found[-1], logs=True)
            continue
        level, whole = _level(text, levels), _cut_annotation(_plain(text))
        if length == 1 or _ANNOTATION.match(whole) or (len(whole) <= _LONGEST_STATEMENT and "…" not in whole):
            found.append(Statement(number, level, whole, _opens(text)))
            continue
        own = lines[number - first : number - first + length]
        found += [
            Statement(number + at, level + (indent_of(line) > indent_of(own[0])), line.strip())
            for at, line in enumerate(own)
            if line.strip()
        ]
    return _compact(found, _LONGEST_LINE, whole=_is_whole(lines))


def skeleton(lines: Sequence[str], first: int, keep: Collection[int] = (), most: int = 0) -> list[Statement | Fold]:
    """What decides, and a `Fold` for each longer run of other statements. `first` is the number of the first line;
    `keep` are numbers of lines that stay whatever they say. With more than `most` statements others are folded, too."""
    levels: list[int] = []
    kept: list[Statement] = []
    folds: dict[int, int] = {}  # lines that are folded before the statement of this index
    joined = list(_joined(lines, first))
    tested = _Tested(text for _, text, _ in joined)
    for number, text, length in joined:
        wanted = number == first or any(number <= line < number + length for line in keep)
        if wanted or _stays(text) or tested.later(text):
            kept.append(Statement(number, _level(text, levels), _abbreviated(_plain(text)), _opens(text)))
        elif not _is_left_out(text):
            folds[len(kept)] = folds.get(len(kept), 0) + length
    folded = {kept[at].number if at < len(kept) else 0: size for at, size in folds.items() if size > _FEW}
    compact = _compact(kept, _LONGEST, frozenset(folded), whole=_is_whole(lines))
    if most and len(compact) > most:
        return _thinned(compact, first + len(lines), most)
    found: list[Statement | Fold] = []
    for one in compact:
        found += [Fold(folded[one.number])] if one.number in folded else []
        found.append(one)
    return [*found, Fold(folded[0])] if 0 in folded else found


class _Tested:
    """Which variables do later branches test? `status = "failed"` decides where `if status` follows."""

    def __init__(self, texts: Iterable[str]) -> None:
        heads = [text for text in texts if _FLOW.match(text)]
        self._names = {word for text in heads for word in _WORD.findall(_bare(text))}

    def later(self, text: str) -> bool:
        """Whether a statement assigns to one of them."""
        if _is_left_out(text):
            return False
        found = _ASSIGNS.match(text)
        return found is not None and found[1].rpartition(".")[2] in self._names


_WORD = re.compile(r"[^\W\d][\w$]*")


def _thinned(found: Sequence[Statement], end: int, most: int) -> list[Statement | Fold]:
    """Plain calls go first, from the deepest level on, then what sets a field; then whole levels, so that what remains
    is complete as far as it goes."""
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
    """Whether it branches, leaves or defines, or, with `changes`, sets a field."""
    return bool(_FLOW.match(text) or _DEFINES.match(text) or _branches(text) or (changes and _sets_field(text)))


def _sets_field(text: str) -> bool:
    """Whether it changes the state of an object; not `self.name = name`, which a constructor is full of."""
    found = _CHANGES.match(text)
    return found is not None and found["value"].rstrip(" ;").lstrip("_") != (found["field"] or "").lstrip("_")


def _called(texts: Iterable[str]) -> tuple[str, ...]:
    """Compound names that are called: `create_order` says what happens there, `push` does not."""
    names = (name for text in texts for name in _CALLED.findall(_bare(text)))
    return tuple(dict.fromkeys(name for name in names if _COMPOUND.search(name)))[:_MOST_NAMES]


def _compact(
    found: Sequence[Statement], longest: int, apart: Collection[int] = (), *, whole: bool = True
) -> list[Statement]:
    """A branch with a single short statement becomes one line, a check of Go joins the call before it, and one that
    only logged goes. Nothing is joined with a statement whose number is in `apart`: lines are folded before it. Unless
    the lines are `whole`, the last branch may go on after them."""
    compact: list[Statement] = []
    at = 0
    while at < len(found):
        one, at = found[at], at + 1
        following = found[at] if at < len(found) else None
        after = found[at + 1] if at + 1 < len(found) else None
        has_body = following is not None and following.level > one.level
        check = _GO_CHECK.fullmatch(one.text)
        if check and not has_body and one.number not in apart:
            continue
        tried = _GO_TRIED.fullmatch(one.text)
        if tried and not has_body and not (following and _ELSE.match(following.text)):
            compact.append(replace(one, text=tried["call"]))
            continue
        is_whole = after.level <= one.level if after else whole or not one.opens
        is_single = has_body and is_whole and _FLOW.match(one.text)
        if is_single and following and following.number not in apart and not _FLOW_HEAD.match(following.text):
            before = compact[-1] if compact and one.number not in apart else None
            if check and before and before.level == one.level and _sets(before.text, check[1]):
                joined = replace(before, text=f"{before.text} or {_passed_on(following.text)}")
            elif tried and _LEAVES.match(following.text):
                before, joined = None, replace(one, text=f"{tried['call']} or {_passed_on(following.text)}")
            else:
                before, joined = None, replace(one, text=f"{one.text.removesuffix(':')}: {following.text}")
            if len(joined.text) <= longest:
                compact[-1:] = [joined] if before else [*compact[-1:], joined]
                at += 1
                continue
        labels = _LABEL.match(one.text) or (following and _LABEL.match(following.text))
        is_emptied = not has_body and one.opens and _FLOW.match(one.text) and not labels  # it only logs
        compact.append(replace(one, text=f"{one.text} … logs" if one.logs else f"{one.text} …") if is_emptied else one)
    return compact


def _is_whole(lines: Sequence[str]) -> bool:
    """Whether no block with brackets goes on after them."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    return bool(_NOTHING.fullmatch(last)) or not any(line.rstrip().endswith("{") for line in lines)


def _opens(text: str) -> bool:
    return text.rstrip().endswith(("{", ":"))


def _passed_on(text: str) -> str:
    """`return nil, err` passes the error on, as `return err` does."""
    found = _GO_PASSED_ON.fullmatch(text)
    return f"return {found[1]}" if found else text


def _sets(text: str, name: str) -> bool:
    """Whether a statement of Go assigns a call's result to this variable."""
    targets, assigned, value = text.partition("=")
    return bool(assigned) and name in _WORD.findall(targets) and "(" in value and not _FLOW.match(text)


def spare_characters(lines: Iterable[str]) -> int:
    """How many characters comments, docstrings, log calls and closing brackets take, line by line: an estimate of what
    `statements` leaves out, ten times as fast."""
    spare = 0
    ending = ""  # of the docstring that is open
    for line in lines:
        quotes = None if ending else _DOCSTRING.match(line)
        if ending or quotes or _is_left_out(line):
            spare += len(line.strip())
        if ending and ending in line:
            ending = ""
        elif quotes and quotes[1] not in line[quotes.end() :]:
            ending = quotes[1]
    return spare


def _is_left_out(text: str) -> bool:
    return bool(_COMMENT.match(text) or _LOGS.match(text) or _NOTHING.fullmatch(text))


def _stays(text: str) -> bool:
    if _is_left_out(text):
        return False
    is_step = _FLOW.match(text) or _DEFINES.match(text) or _CALL.search(text)
    return bool(is_step or _branches(text) or _sets_field(text))


def _branches(text: str) -> bool:
    bare = _bare(text)
    return bool(_ARM.match(bare) or _CHOOSES.search(bare))


def _joined(lines: Sequence[str], first: int) -> Iterator[tuple[int, str, int]]:
    """(number of the first line, text, how many lines) of each statement. A docstring is a comment."""
    at = 0
    slashes = any(line.rstrip().endswith(_ENDS_BLOCK) for line in lines)
    while at < len(lines):
        text, size = lines[at], 1
        if quotes := _DOCSTRING.match(text):
            if quotes[1] not in text[quotes.end() :]:
                rest = (after for after, line in enumerate(lines[at + 1 :], 2) if quotes[1] in line)
                size = next(rest, len(lines) - at)
        elif not _COMMENT.match(text):
            text, size = _closed(lines, at)
            text = _uncommented(text, slashes=slashes)
            indent = indent_of(text)
            opened = _is_open(text)
            while size < _MOST_JOINED and at + size < len(lines):
                line = lines[at + size]
                following = line.strip()
                continues = bool(_CONTINUES.match(following)) and not _NOTHING.fullmatch(following)
                continues = continues or bool(_UNFINISHED.search(text))
                if not opened and not continues:
                    break
                if opened and following and indent_of(line) <= indent and following[0] not in ")]}" and not continues:
                    break  # a bracket in a string or a comment seemed to keep it open
                if not _COMMENT.match(following):
                    text = f"{text} {_uncommented(following, slashes=slashes)}"
                    opened = _is_open(text)
                size += 1
        yield first + at, text, size
        at += size


def _closed(lines: Sequence[str], at: int) -> tuple[str, int]:
    """A line with the end of the text in triple quotes that it opens, and how many lines that are."""
    text, size = lines[at], 1
    opened = _TRIPLE.findall(text)
    if len(opened) % 2 == 0:
        return text, size
    quotes = opened[-1]
    while at + size < len(lines) and quotes not in lines[at + size]:
        size += 1
    last = lines[at + size].partition(quotes)[2] if at + size < len(lines) else ""
    return f"{text.rpartition(quotes)[0]}{quotes[0]}…{quotes[0]}{last}", size + 1


_TRIPLE = re.compile(r"\"{3}|'{3}")


def _uncommented(line: str, *, slashes: bool) -> str:
    """Without the comment at its end; `//` divides in some languages."""
    for found in _TRAILING.finditer(line):
        if found[2] and (slashes or found[2][0] == "#"):
            return line[: found.start()]
    return line


def _is_open(text: str) -> bool:
    """Whether a bracket keeps the statement open. Nothing inside a block counts, the block itself included."""
    bare = _bare(text)
    if _GO_GROUP.fullmatch(bare):
        return False
    heads = bool(_FLOW_HEAD.match(bare.lstrip("} \t")))
    opened: list[str] = []
    for found in _BRACKET.finditer(bare):
        bracket = found[0]
        if bracket in _CLOSES:
            if opened and opened[-1] in {_CLOSES[bracket], "block"}:
                opened.pop()
        elif bracket == "{" and ((heads and not opened) or _opens_block(bare[: found.start()])):
            opened.append("block")
        else:
            opened.append(bracket)
    return bool(opened) and "block" not in opened


def _bare(text: str) -> str:
    """The text with strings blotted out."""
    return _QUOTED.sub(lambda quoted: "~" * len(quoted[0]), _LIFETIME.sub("~", text))


def _opens_block(before: str) -> bool:
    if not before.strip():
        return True
    if _HEADED.search(before):
        return True
    if _LITERAL.search(before):
        return False
    return bool(_BLOCK.search(before)) and not _STRUCT.search(before)


def _level(text: str, levels: list[int]) -> int:
    """How deep a statement is, by the indentations around it."""
    indent = indent_of(text)
    while levels and levels[-1] >= indent:
        levels.pop()
    levels.append(indent)
    return len(levels) - 1


_ANNOTATION = re.compile(r"@[\w.]+\(|#\[")
_STRING = "\ue000"  # a private character in place of a string
_SPACING = (
    (re.compile(r"^\s+|\s+$"), ""),
    (re.compile(r"\s+"), " "),
    (re.compile(r"^\}\s*"), ""),
    (re.compile(r"\s*\{$|;$"), ""),
    (re.compile(r" (\??\.)(?=\w)"), r"\1"),
    (re.compile(r",?\s+([)\]])"), r"\1"),
    (re.compile(r", \}"), " }"),
    (re.compile(r"\(\s+"), "("),
)


def _cut_annotation(text: str) -> str:
    """An annotation describes; a long one is cut, and says so."""
    if len(text) <= _LONGEST_ANNOTATION or not _ANNOTATION.match(text):
        return text
    return f"{text[:_LONGEST_ANNOTATION].rstrip()}…"


def _plain(text: str) -> str:
    """Without surrounding white space, a closing bracket before `else`, and an opening one at the end. Strings stay as
    they are."""
    quoted = [text[one.start() : one.end()] for one in _QUOTED.finditer(_LIFETIME.sub("~", text))]
    for one in quoted:
        text = text.replace(one, _STRING, 1)
    for pattern, replacement in _SPACING:
        text = pattern.sub(replacement, text)
    for one in quoted:
        text = text.replace(_STRING, one, 1)
    return text


def _abbreviated(text: str) -> str:
    """Long literals and contents of brackets are cut, innermost last, until the statement is short enough."""
    longest = _LONGEST_CONDITION if _CONDITION.match(text) else _LONGEST_RESULT if _RESULT.match(text) else _LONGEST
    if len(text) > longest:
        text = _LONG_STRING.sub(lambda one: f"{one[0][:_LONGEST_STRING]}…{one[0][-1]}", text)
    if len(text) <= longest:
        return text
    depth, start, parts = 0, 0, []
    for found in _BRACKET.finditer(_bare(text)):
        if found[0] in _CLOSES:
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
