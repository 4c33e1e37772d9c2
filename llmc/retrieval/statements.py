"""Source code in fewer tokens: one line per statement, without comments, log calls and closing brackets.

The text is joined by its brackets and not by its syntax tree, so that every range of lines has statements, even one
that begins in the middle of a function. `code_lines` says what is a comment or a string; nothing else is left out, and
what is shown is spelled as in the file. Brackets decide where a statement ends (an open parenthesis, square bracket or
literal continues it, an open block does not), and so does a line that is not indented further. A branch with a single
short statement is one line (`if (!rows): return`), and Go's check after a call joins the call: `row, err := load(id) or
return nil, err`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from llmc.base.text import indent_of
from llmc.retrieval.code_lines import STRING
from llmc.retrieval.declarations import fold_declarations, with_body

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from llmc.retrieval.code_lines import CodeLines

__all__ = [
    "CLOSES", "CONDITION", "FLOW", "RESULT", "WORD", "JoinedLines", "Statement", "compact", "decides", "is_left_out",
    "is_whole", "join_lines", "level_of", "logs", "opens", "plain", "statements",
]  # fmt: skip

FLOW = re.compile(
    r"[\s})]*(?:if|elif|else|elsif|for|foreach|while|until|unless|do|loop|switch|case|default|match|when|select|try|catch"
    r"|except|finally|ensure|rescue|with|using|return|throw|raise|yield|break|continue|goto|defer|go|await|lock|"
    r"synchronized|guard|repeat|begin|assert)\b"
)
# Those of them that have a body.
_FLOW_HEAD = re.compile(r"(?:if|elif|else|elsif|for|foreach|while|until|unless|do|loop|switch|match|select|try|with)\b")
CONDITION = re.compile(r"(?:else\s+)?(?:if|elif|elsif|unless|while|until|switch|match|case|when|assert)\b")
RESULT = re.compile(r"(?:return|raise|throw|yield|break)\b")
_ELSE = re.compile(r"else\b")
_LABEL = re.compile(r"(?:case|default)\b")  # may have the body of the next one
WORD = re.compile(r"[^\W\d][\w$]*")
_LEAVES = re.compile(r"(?:return|continue|break|panic|goto)\b")
# Calls on a logger. A function called `log` may be an audit log, and `log.Fatal` leaves.
_LOGS = re.compile(
    r"\s*(?:\$?\w+(?:\.|->|::))*_?(?:use|get)?(?:log|\w*logger|logging|console|tracing|slog|klog)(?:\([^()]*\))?"
    r"(?:\.\w+\([^()]*\))?(?:\.|->|::)"
    r"(?:trace|debug|info|warn|warning|error|exception|critical|log|print|notice|verbose)(?:f|ln|s|w)?\b!?[^=]*\("
    r"|\s*(?:trace|debug|info|warn|error|println|eprintln)!\("
    r"|\s*(?:(?:const|let|var|public|private|protected|internal|static|final|readonly|\w*Logger)\s+)*"
    r"_?log(?:ger)?\s*:?=\s*(?:\w+\.)*\w*log",
    re.IGNORECASE,
)
_GO_CHECK = re.compile(r"if (\w*[eE]rr\w*) != nil")
# The call and its check in one statement; what else the call returns is used in the branches.
_GO_TRIED = re.compile(r"if (?:_, )*(\w*[eE]rr\w*) :?= (?P<call>.+); \1 != nil")
# Only the error is returned.
_GO_PASSED_ON = re.compile(r"return (?:(?:nil|false|0|\"\"|\w+(?:\.\w+)?\{\}), )+(\w*[eE]rr\w*)")
_GO_GROUP = re.compile(r"\s*(?:const|var|type|import)\s*\(\s*")  # of declarations
_NOTHING = re.compile(r"[\s(){}\[\];,>]*(?:end)?[\s(){}\[\];,]*")
_CONTINUES = re.compile(r"\s*(?:\??\.[\w$]|&&|\|\||[?:+|]\s|and\s|or\s|\)|\])")
_UNFINISHED = re.compile(r"(?:&&|\|\||(?<![=<>!+])=|\s[+?]|\band|\bor)\s*$")
_BRACKET = re.compile(r"[()\[\]{}]")
CLOSES = {")": "(", "]": "[", "}": "{"}
# Before a brace that opens a block and not a literal: a parameter list, a keyword, an arrow, a Rust closure.
_BLOCK = re.compile(rf"(?:[)|\]>\w{STRING}]|=>|->)\s*$")
_LITERAL = re.compile(r"(?:[=(,:\[]|\breturn|\bin|&&|\|\||\?|(?:^|[\s(])(?:const|let|var))\s*$")
# Names after these words are no literal: `throws A, B {`, `class X implements A, B {`, `where T: A, U: B {`.
_HEADED = re.compile(r"\b(?:throws|implements|extends|permits|where)\s[^(){}=]*$")
_STRUCT = re.compile(r"(?:[=(,]|(?<!\)):|\breturn|=>)\s*&?(?:[\w:.]+(?:<[^>]*>)?)\s*$")
# Maximum number of lines joined into a statement: brackets in unusual strings could keep it open forever.
_MOST_JOINED = 60
_LONGEST_LINE = 160  # of a branch with its only statement
_LONGEST_ANNOTATION = 100  # routes are shorter, descriptions of an API are not
_LONG_STRING = re.compile(r"\"[^\"\n]{50,}\"|'[^'\n]{50,}'|`[^`\n]{50,}`")
_LONGEST_STRING = 40  # of a long one in an annotation
_LONGEST_MESSAGE = 60  # of a log
_LONGEST_STATEMENT = 400  # longer ones, such as tables of data, keep their lines


def logs(text: str) -> bool:
    """Whether a line only writes a log."""
    return _LOGS.match(text) is not None


def decides(text: str) -> bool:
    """Whether a line begins a branch or leaves the function."""
    bare = text.lstrip(" \t})")
    return CONDITION.match(bare) is not None or RESULT.match(bare) is not None


@dataclass(frozen=True, slots=True)
class Statement:
    """One logical line: its first line number, how deep it is nested, and its text, joined and abbreviated. `opens`:
    the line opens a block; `logs`: how a log call is shown with which this begins."""

    number: int
    level: int
    text: str
    opens: bool = False
    logs: str = ""


class JoinedLines(NamedTuple):
    """The lines of one statement. `masked` has its strings masked, in the same columns. `verbatim`: a string continues
    over several lines, which are kept as they are."""

    number: int
    text: str
    masked: str
    length: int
    verbatim: bool = False


def statements(code: CodeLines, first: int) -> list[Statement]:
    """Every statement of these lines; `first` is the number of the first one."""
    levels: list[int] = []
    found: list[Statement] = []
    for one in join_lines(code, first):
        if is_left_out(one.text):
            if found and found[-1].opens and not found[-1].logs and _LOGS.match(one.text):
                found[-1] = replace(found[-1], logs=_log_message(one))
            continue
        level, whole = level_of(one.text, levels), _cut_annotation(plain(one))
        if one.length == 1 or (not one.verbatim and (_ANNOTATION.match(whole) or len(whole) <= _LONGEST_STATEMENT)):
            found.append(Statement(one.number, level, whole, opens(one.masked)))
            continue
        found += _own_lines(code, one.number - first, one, level)
    return fold_declarations(compact(found, _LONGEST_LINE, whole=is_whole(code.masked)))


def _own_lines(code: CodeLines, at: int, one: JoinedLines, level: int) -> Iterator[Statement]:
    """The lines of a statement separately, indented relative to its first one."""
    indents = [indent_of(code.text[at])]
    for offset in range(one.length):
        text = code.text[at + offset].rstrip()
        if not text:
            continue
        while len(indents) > 1 and indents[-1] >= indent_of(text):
            indents.pop()
        if indent_of(text) > indents[-1]:
            indents.append(indent_of(text))
        yield Statement(one.number + offset, level + len(indents) - 1, text.lstrip())


def compact(
    found: Sequence[Statement], longest: int, apart: Collection[int] = (), *, whole: bool = True
) -> list[Statement]:
    """A branch with a single short statement becomes one line, a check in Go joins the call before it, and one that
    only logged is removed. Statements whose numbers are in `apart` are not joined, since lines are folded before them.
    Unless the lines are `whole`, the last branch may continue after them."""
    compact: list[Statement] = []
    at = 0
    while at < len(found):
        one, at = found[at], at + 1
        following = found[at] if at < len(found) else None
        after = found[at + 1] if at + 1 < len(found) else None
        has_body = following is not None and following.level > one.level
        check = _GO_CHECK.fullmatch(one.text)
        if check and not has_body and one.number not in apart and not (following and _ELSE.match(following.text)):
            continue
        tried = _GO_TRIED.fullmatch(one.text)
        if tried and not has_body and not (following and _ELSE.match(following.text)):
            compact.append(replace(one, text=tried["call"]))
            continue
        is_whole = after.level <= one.level if after else whole or not one.opens
        is_single = has_body and is_whole and FLOW.match(one.text)
        if is_single and following and following.number not in apart and not _FLOW_HEAD.match(following.text):
            before = compact[-1] if compact and one.number not in apart else None
            if check and before and before.level == one.level and _sets(before.text, check[1]):
                joined = replace(before, text=f"{before.text} or {_passed_on(following.text)}")
            elif tried and _LEAVES.match(following.text):
                before, joined = None, replace(one, text=f"{tried['call']} or {_passed_on(following.text)}")
            else:
                before, joined = None, replace(one, text=with_body(one.text, following.text))
            if len(joined.text) <= longest:
                compact[-1:] = [joined] if before else [*compact[-1:], joined]
                at += 1
                continue
        labels = _LABEL.match(one.text) or (following and _LABEL.match(following.text))
        is_emptied = not has_body and one.opens and (one.logs or FLOW.match(one.text)) and not labels
        compact.append(replace(one, text=f"{one.text} … {one.logs}".rstrip()) if is_emptied else one)
    return compact


def is_whole(lines: Sequence[str]) -> bool:
    """Whether no bracketed block continues after them."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    return bool(_NOTHING.fullmatch(last)) or not any(line.rstrip().endswith("{") for line in lines)


def _log_message(one: JoinedLines) -> str:
    """A branch that only writes a log says what it writes: readers look for the place of a message."""
    found = _QUOTED.search(one.masked)
    if found is None:
        return "logs"
    message = " ".join(one.text[found.start() : found.end()].split())
    return f"logs {message if len(message) <= _LONGEST_MESSAGE else f'{message[:_LONGEST_MESSAGE].rstrip()}…'}"


def opens(text: str) -> bool:
    return text.rstrip().endswith(("{", ":"))


def _passed_on(text: str) -> str:
    """`return nil, err` passes the error on, as does `return err`."""
    found = _GO_PASSED_ON.fullmatch(text)
    return f"return {found[1]}" if found else text


def _sets(text: str, name: str) -> bool:
    """Whether a statement in Go assigns a call's result to this variable."""
    targets, assigned, value = text.partition("=")
    return bool(assigned) and name in WORD.findall(targets) and "(" in value and not FLOW.match(text)


def is_left_out(text: str) -> bool:
    """Whether a statement only writes a log or closes brackets, or its lines are blank."""
    return bool(_LOGS.match(text) or _NOTHING.fullmatch(text))


def join_lines(code: CodeLines, first: int) -> Iterator[JoinedLines]:
    """The lines of each statement, joined. Blank lines and former comments belong to none."""
    at = 0
    while at < len(code.text):
        if not code.text[at].strip():
            at += 1
            continue
        text, masked, end = code.text[at].rstrip(), code.masked[at].rstrip(), at + 1
        for following in range(at + 1, min(at + _MOST_JOINED, len(code.text))):
            line, in_string = code.masked[following], following in code.in_string
            if not line.strip() and not in_string:
                continue
            if not in_string and not _is_continued(masked, line, indent_of(code.text[at])):
                break
            start, stop = len(line) - len(line.lstrip()), len(line.rstrip())
            text = f"{text} {code.text[following][start:stop]}"
            masked = f"{masked}{STRING if in_string else ' '}{line[start:stop]}"
            end = following + 1
        verbatim = any(inside in code.in_string for inside in range(at + 1, end))
        yield JoinedLines(first + at, text, masked, end - at, verbatim)
        at = end


def _is_continued(masked: str, line: str, indent: int) -> bool:
    """Whether a statement with this indentation continues in this line."""
    following = line.strip()
    closes = _NOTHING.fullmatch(following)
    if not closes and (_CONTINUES.match(following) or _UNFINISHED.search(masked)):
        return True
    # Where the indentation ends, a bracket was opened before these lines, or the file is malformed.
    return _is_open(masked) and (indent_of(line) > indent or following[0] in ")]}")


def _is_open(masked: str) -> bool:
    """Whether a bracket keeps the statement open. A block and everything inside it does not count."""
    if _GO_GROUP.fullmatch(masked):
        return False
    heads = bool(_FLOW_HEAD.match(masked.lstrip("} \t")))
    opened: list[str] = []
    for found in _BRACKET.finditer(masked):
        bracket = found[0]
        if bracket in CLOSES:
            if opened and opened[-1] in {CLOSES[bracket], "block"}:
                opened.pop()
        elif bracket == "{" and ((heads and not opened) or _opens_block(masked[: found.start()])):
            opened.append("block")
        else:
            opened.append(bracket)
    return bool(opened) and "block" not in opened


def _opens_block(before: str) -> bool:
    if not before.strip():
        return True
    if _HEADED.search(before) or _LABEL.match(before.strip()):
        return True
    if _LITERAL.search(before):
        return False
    return bool(_BLOCK.search(before)) and not _STRUCT.search(before)


def level_of(text: str, levels: list[int]) -> int:
    """The nesting level of a statement, by the indentation around it."""
    indent = indent_of(text)
    while levels and levels[-1] >= indent:
        levels.pop()
    levels.append(indent)
    return len(levels) - 1


_ANNOTATION = re.compile(r"@[\w.]+\(|#\[")
_QUOTED = re.compile(f"{STRING}+")
_TRIPLE = re.compile(r"\w{0,2}(?:\"{3}|'{3})")
_SPACING = (
    (re.compile(r"^\s+|\s+$"), ""),
    (re.compile(r"\s+"), " "),
    (re.compile(r"^\}\s*"), ""),
    (re.compile(r"\s*\{$|;$"), ""),
    (re.compile(r" (\??\.)(?=[\w$])"), r"\1"),
    (re.compile(r",?\s+([)\]])"), r"\1"),
    (re.compile(r", \}"), " }"),
    (re.compile(r"\(\s+"), "("),
)


def _cut_annotation(text: str) -> str:
    """The long strings of a long annotation are cut, and marked."""
    if len(text) <= _LONGEST_ANNOTATION or not _ANNOTATION.match(text):
        return text
    text = _LONG_STRING.sub(lambda quoted: f"{quoted[0][:_LONGEST_STRING]}…{quoted[0][-1]}", text)
    return text if len(text) <= _LONGEST_STATEMENT else f"{text[:_LONGEST_STATEMENT].rstrip()}…"


def plain(one: JoinedLines, *, short: bool = False) -> str:
    """Without surrounding white space, a closing bracket before `else`, and an opening one at the end. Strings stay as
    they are, or with `short` those over several lines are `"…"`."""
    quoted = [one.text[found.start() : found.end()] for found in _QUOTED.finditer(one.masked)]
    if short and one.verbatim:
        quoted = [f"{text[-1]}…{text[-1]}" if _TRIPLE.match(text) or text[-1] == "`" else text for text in quoted]
    gaps = [0, *(at for found in _QUOTED.finditer(one.masked) for at in found.span()), len(one.text)]
    text = STRING.join(one.text[gaps[at] : gaps[at + 1]] for at in range(0, len(gaps), 2))
    for pattern, replacement in _SPACING:
        text = pattern.sub(replacement, text)
    first, *rest = text.split(STRING)
    return first + "".join(string + after for string, after in zip(quoted, rest, strict=True))
