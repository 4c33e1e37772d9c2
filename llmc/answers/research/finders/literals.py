"""Literals in code and configuration: which name does a line assign which value?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.answers.research.toolbox import RoleToolbox

__all__ = ["ASSIGNS", "LITERAL", "OPTION", "UNLIKELY", "VALUE_FILES", "names_and_values", "plain", "resolved"]

_NUMBER = r"-?(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)"
_ATOM = (
    rf"(?:{_NUMBER}\w*|[rbfu]?\"[^\"\n]*\"|[rbfu]?'[^'\n]*'|`[^`\n]*`|true|false|none|null|nil|undefined|some\(.*"
    r"|\[[^\]]*\]|\{\s*\})"
)
# A number, a string, a constant of the language, a list, or a call with one of these inside.
LITERAL = re.compile(rf"(?:&|new\s+)?(?:{_ATOM}|[A-Za-z_][\w.:]*[!]?\s*[({{]\s*[^()]*?(?<!\w){_ATOM})", re.IGNORECASE)
ASSIGNS = re.compile(
    r"^\s*(?:(?:export|pub(?:\([\w ]+\))?|public|private|protected|static|final|readonly|const|let|var|val|mut|default"
    r"|type|@?\w+\.)\s*){0,6}"
    r"[\"'`]?(?P<name>[A-Za-z_$][\w$.-]*)[\"'`]?\s*(?::\s*[\w<>\[\]&', |?.:]+?)?\s*(?::=|=(?!=|>)|:)\s*(?P<value>\S.*)$"
)
OPTION = re.compile(r"\bdefault(?:_value(?:_t|s)?)?\s*[=:(]\s*(?P<value>[^,)\s][^,)\n]*)", re.IGNORECASE)
# Translations and lock files are large, repeat the words of every setting and never state its value; reading them would
# use up the budget of a question.
VALUE_FILES = ("!locales", "!locale", "!lang", "!i18n", "!translations", "!*.lock", "!*-lock.*", "!*.po", "!*.svg")
# Types, locks and shell completions repeat names without their values.
UNLIKELY = re.compile(r"\.d\.ts$|\.lock$|complet(?:e|ions?)(?:/|\.)|\.(?:zsh|fish|bash)$")
_STATEMENT = re.compile(r"\s*(?:#|//|\*|(?:import|from|if|elif|else|assert|for|while|del|yield|raise|throw)\b)")
_RETURNS = re.compile(r"\s*return\b")
# `set("port", 4533)`, `getenv("X", 5)`: a quoted name followed by its value.
_PASSED = re.compile(r"[\"'`](?P<name>[A-Za-z_][\w.-]*)[\"'`]\s*,\s*(?P<value>[^\s,)][^)\n]*)")
# `config.size || '10mb'`, `size ?? 5`, `size > 0 ? size : 5`: the value that applies if the name has none.
_ELSE = re.compile(
    r"(?P<name>[A-Za-z_$][\w$.]*)\s*(?:\|\||\?\?|\?:|\bor\b|(?<=\w)\s*:(?=\s*[\d\"'`]))\s*(?P<value>\S.*)$"
)
_CONSTANT = re.compile(r"&?(?:[A-Za-z_]\w*(?:\.|::))*(?P<name>[A-Za-z_]\w*)\s*[,;)]*\s*$")
LONGEST_LINE = 200
MOST_BELOW = 4


def names_and_values(lines: Sequence[str], number: int) -> Iterator[tuple[str, str]]:
    """The names that a line assigns, with their values: literals, or constants with a literal. A call may continue in
    the lines below."""
    text = lines[number - 1]
    if len(text) > LONGEST_LINE or not text.strip() or _STATEMENT.match(text):
        return
    option, match = OPTION.search(text), None if _RETURNS.match(text) else ASSIGNS.match(text)
    if option and LITERAL.match(option["value"]):
        yield (match["name"] if match else text[: option.start()]), option["value"]
        return
    found = False
    for passed in _PASSED.finditer(text):
        if is_value(passed["value"]):
            found = True
            yield passed["name"], passed["value"]
    if match and not found:
        value = match["value"]
        if value.rstrip().endswith(("(", "[")):
            value = " ".join([value, *(line.strip() for line in lines[number : number + MOST_BELOW])])
        if is_value(value):
            found = True
            yield match["name"], value
    if not found and (other := _ELSE.search(text)) and LITERAL.match(other["value"]):
        yield other["name"], other["value"]


def is_value(text: str) -> bool:
    """Whether it is a literal or the name of a constant."""
    if LITERAL.match(text):
        return True
    match = _CONSTANT.match(text)
    return match is not None and match["name"][0].isupper()


def resolved(value: str, toolbox: RoleToolbox) -> str | None:
    """The literal of the constant that a value names; None if it does not name one."""
    match = _CONSTANT.match(value)
    for one in toolbox.define(match["name"], most=3) if match else ():
        lines = toolbox.lines(one.area, one.path) or []
        if one.symbol.start_line <= len(lines):
            text = lines[one.symbol.start_line - 1]
            assigned = ASSIGNS.match(text)
            if assigned and assigned["name"] == match["name"] and LITERAL.match(assigned["value"]):  # type: ignore[index]
                return assigned["value"]
    return None


def plain(value: str) -> str:
    """A value without the rest of its line, for comparison."""
    return re.sub(r"\s*(?://|#).*$", "", value).strip(" ,;)").lower()
