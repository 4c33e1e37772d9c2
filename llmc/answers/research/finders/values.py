"""Which value? A literal from code and configuration, or the sentence of a document that states it.

A question that names a setting is answered by the lines that assign it, one that describes a setting by the
assignment, option or sentence that matches best, including comment and surroundings. The answer contains the value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmc.answers.research.finders.answers import answer, line_place, target_names
from llmc.answers.research.finders.described import STATES, described_value
from llmc.answers.research.finders.documents import CHANGES, DOCUMENTS, documented, is_document, is_titled
from llmc.answers.research.finders.literals import ASSIGNS, LITERAL, OPTION, UNLIKELY, plain, resolved
from llmc.answers.research.finders.sections import section_at, sections_of
from llmc.answers.research.finders.setting_names import asks_for_a_name, setting_name
from llmc.answers.research.prose import one_line
from llmc.answers.research.result import Confidence, ResultPlace
from llmc.base.languages import role_of
from llmc.base.text import indent_of
from llmc.graph.lookup import JOINTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.answers.research.result import RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import Area, RoleToolbox, TextMatch

__all__ = ["default_value"]

MOST_MATCHES = 400
ROLES = {"code": 0, "config": 1, "stub": 4, "generated": 3, "data": 3, "legacy": 3, "example": 4}
_DEFAULTS = re.compile(
    r"default|setting|config|option|constant|conf\b|param|flag|args?\b|cli\b|schema|env", re.IGNORECASE
)
# Score of an assignment in a place for defaults, under a name that is spelled differently.
CLEAR, CLEAR_LEAD = 3.0, 1.0
# The fallback for a name without a value: `name || 5`, `getenv("NAME", 5)`.
_FALLBACK = re.compile(r"\|\||\?\?|\bor\b|\(\s*&?[\"'`][\w.-]+[\"'`]\s*,|unwrap_or")
MOST_OF_IT = 0.75
BLOCK_LINES = 12


@dataclass(frozen=True, slots=True)
class ValueLine:
    """A line that states a value. `score` ranks it; `exact`: it assigns the name in the question."""

    area: Area
    path: str
    line: int
    name: str
    value: str
    score: float
    exact: bool


def default_value(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    if asks_for_a_name(brief.question.text):
        documentation = documented(brief, toolbox, least=MOST_OF_IT)
        if documentation is not None:
            low = replace(documentation.result, confidence=Confidence.LOW)
            documentation = replace(documentation, result=low)
        return setting_name(brief, toolbox) or documentation
    names = setting_names(brief)
    found: list[ValueLine] = []
    for name in names[:2]:
        found = [*named_values(name, toolbox), *stated_values(name, toolbox)]
        if found:
            break
    if names and _ALLOWED.search(brief.question.text):
        return allowed_values(brief, names[0], found, toolbox)
    if not found:
        return described_value(brief, toolbox)
    return named_answer(brief, names[0], found, toolbox)


_ALLOWED = re.compile(r"\b(?:which|what)\s(?:\w+\s){0,2}?(?:values|choices|modes|levels)\b", re.IGNORECASE)
_SETTING = re.compile(
    r"`([^`\s]{2,60})`|(?<!\w)(--[a-z][\w.-]*\w)|\b([a-z]+(?:-[a-z]+)+)\b|\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
)


def setting_names(brief: Brief) -> list[str]:
    """Identifiers, flags, quoted and hyphenated words, most certain first."""
    quoted = ["".join(found) for found in _SETTING.findall(brief.question.text)]
    flags = [one for one in quoted if one.startswith("--")]
    names = [*flags, *target_names(brief), *(one.lstrip("-").removesuffix("()") for one in quoted)]
    return list(dict.fromkeys(name for name in names if len(name) > 2))  # noqa: PLR2004 - shorter ones are words


def named_answer(brief: Brief, name: str, found: list[ValueLine], toolbox: RoleToolbox) -> RoleOutcome:
    found.sort(key=lambda one: -one.score)
    first = found[0]
    same = [
        one for one in found[1:] if one.score >= first.score - 1.5 and (one.path, one.line) != (first.path, first.line)
    ]
    shown = [first, *same[:2]]
    places = [value_place(one, toolbox) for one in shown]
    values = {plain(one.value) for one in shown if one.exact and role_of(one.path) == role_of(first.path)}
    sure = Confidence.LOW
    if first.exact and len(values) <= 1:
        sure = Confidence.HIGH
    elif first.score >= CLEAR and all(first.score - one.score >= CLEAR_LEAD for one in same):
        sure = Confidence.MED
    if "[redacted:" in toolbox.shown(first.area, first.path)[first.line - 1]:
        summary = f"{name} is set at {brief.reference(places[0])}; the value is a secret and is not shown."
        return answer(brief, summary, places, Confidence.MED if sure is Confidence.HIGH else sure)
    value = re.sub(r"\s*(?://|#)\s.*$", "", first.value).strip(" ,;")
    summary = f"{name} is {one_line(value, 80)}, by {brief.reference(places[0])}."
    return answer(brief, summary, places, sure)


def allowed_values(brief: Brief, name: str, found: list[ValueLine], toolbox: RoleToolbox) -> RoleOutcome | None:
    """The declaration of a setting with the lines that list or check its allowed values, or the section that documents
    it."""
    documentation = documented(brief, toolbox, least=0.0)
    if not found or (documentation is not None and documentation.result.confidence is Confidence.HIGH):
        return documentation
    found.sort(key=lambda one: -one.score)
    first = found[0]
    lines = toolbox.shown(first.area, first.path)
    margin = indent_of(lines[first.line - 1]) if first.line <= len(lines) else 0
    block = [first.line]
    for number in range(first.line + 1, min(first.line + BLOCK_LINES, len(lines)) + 1):
        if lines[number - 1].strip() and indent_of(lines[number - 1]) <= margin:
            break
        block.append(number)
    place = replace(value_place(first, toolbox), rows=tuple((at, lines[at - 1][margin:]) for at in block[1:]))
    summary = f"{name} is declared at {brief.reference(place)}; the lines below it say what it may be."
    return answer(brief, summary, [place], Confidence.LOW)


def value_place(one: ValueLine, toolbox: RoleToolbox) -> ResultPlace:
    return line_place(toolbox, one.area, one.path, one.line, "", "value")


def named_values(name: str, toolbox: RoleToolbox) -> Iterator[ValueLine]:
    """Lines of code and configuration that assign a literal to the name; a prefix of it may be a namespace."""
    last = name[2:] if name.startswith("--") else [part for part in JOINTS.split(name) if part][-1]
    pieces = [piece for piece in re.split(r"[_-]|(?<=[a-z0-9])(?=[A-Z])", last) if piece]
    tried = [(re.escape(last), 0.0)]
    tried += [(rf"default[_-]?{'[_-]?'.join(pieces)}", 0.0), (f"(?:{'[_-]?'.join(pieces)})", -0.5)]
    tried += [(re.escape("_".join(pieces[at:])), -1.0 - at) for at in range(1, min(3, len(pieces) - 1))]
    for spelt, penalty in tried:
        matches = toolbox.grep(spelt, word=True, ignore_case=spelt.startswith(("default", "(?")), most=MOST_MATCHES)
        found = [one for match in matches if (one := assigned(match, spelt, penalty, toolbox))]
        yield from found
        if found and max(one.score for one in found) >= 2.0:  # noqa: PLR2004 - an assignment in a place for defaults
            return


def assigned(match: TextMatch, name: str, penalty: float, toolbox: RoleToolbox) -> ValueLine | None:
    role = role_of(match.path)
    if role not in ROLES or UNLIKELY.search(match.path) or re.match(r"\s*(?:#(?!\[)|//|\*)", match.text):
        return None
    option = OPTION.search(match.text)
    value = option["value"] if option and option.start() > 0 else value_in(match.text, name)
    if value is None or not LITERAL.match(value):
        value = (value and resolved(value, toolbox)) or declared_near(
            match, toolbox, opened=value is not None and opens(value)
        )
    if value is None or toolbox.is_test(match.area, match.path, match.line):
        return None
    around = toolbox.symbol_around(match.area, match.path, match.line)
    scope = f"{match.path} {around.qualified if around else ''}"
    score = 3.0 - ROLES[role] + penalty + (1.5 if _DEFAULTS.search(scope) else 0.0)
    score -= (
        1.5 if around is not None and around.kind in {"function", "method"} and not _DEFAULTS.search(scope) else 0.0
    )
    score += 1.0 if _FALLBACK.search(match.text) else 0.0
    score -= 1.0 if role == "config" and "default" not in match.path else 0.0
    score += 0.5 if re.match(rf"\s*[\"'`]?(?:{name})\b", match.text, re.IGNORECASE) else 0.0
    score -= 2.0 if penalty and not _DEFAULTS.search(scope) else 0.0
    return ValueLine(match.area, match.path, match.line, name, value, score, exact=not penalty)


def opens(value: str) -> bool:
    """Whether the value continues below: a table or a call, but not a statement."""
    return value.rstrip().endswith(("{", "(", "[")) and not re.match(
        r"(?:match|if|switch|func\w*|fn|async|class|do)\b", value
    )


def value_in(text: str, name: str) -> str | None:
    """The value that a line assigns to a name: `name = 5`, `"name": 5`, `name=Option(5)`, `name ?? 5`, `name || 5`,
    `name, 5`."""
    joint = (
        r"(?::\s*[\w<>\[\]&', |?.:]+?\s*=|:=|=(?![=>])|:(?!:)|\?\?|\|\||\.unwrap_or(?:_else)?\((?:\|\|)?"
        r"|\s[\w.\[\]*]+\s*=(?!=))"
    )
    found = re.search(rf"(?:^|[^\w$])(?:{name})[\"'`]?\s*{joint}\s*(?P<value>\S.*)$", text, re.IGNORECASE)
    passed = re.search(rf"\(\s*&?[\"'`](?:{name})[\"'`]\s*,\s*(?P<value>\S.*)$", text, re.IGNORECASE)
    return found["value"] if found else passed["value"] if passed else None


def declared_near(match: TextMatch, toolbox: RoleToolbox, *, opened: bool) -> str | None:
    """The value of a declaration over several lines: a `default` in the lines below or in the attribute above;
    otherwise the literals of the block that the line opens."""
    lines = toolbox.lines(match.area, match.path) or []
    margin = len(match.text) - len(match.text.lstrip())
    chained = match.text.lstrip().startswith(".")
    block: list[str] = []
    for text in lines[match.line : match.line + 10]:
        goes_on = text.lstrip().startswith(".") if chained else len(text) - len(text.lstrip()) > margin
        if text.strip() and not goes_on:
            break
        block.append(text)
    above = [text for text in lines[max(0, match.line - 4) : match.line - 1] if re.match(r"\s*(?:#\[|@)", text)]
    for text in [match.text, *block, *above]:
        option = OPTION.search(text)
        if option and LITERAL.match(option["value"]):
            return option["value"]
    values = [text.strip() for text in block if opened and (ASSIGNS.match(text) or LITERAL.match(text.strip()))]
    return " ".join(values)[:200] or None


def stated_values(name: str, toolbox: RoleToolbox) -> Iterator[ValueLine]:
    """Sentences of documents that state a default, in a section about the name."""
    last = name if name.startswith("--") else [part for part in JOINTS.split(name) if part][-1]
    matches = toolbox.grep(last, fixed=True, globs=DOCUMENTS, most=MOST_MATCHES)
    seen: set[tuple[str, int]] = set()
    for match in matches:
        if not is_document(match.path) or CHANGES.search(match.path):
            continue
        lines = toolbox.shown(match.area, match.path)
        section = section_at(sections_of(lines), match.line)
        if section is None or (match.path, section.start) in seen:
            continue
        titled = is_titled(last, section.title)
        numbers = range(section.start, section.end + 1) if titled else range(match.line, match.line + 1)
        if titled:
            seen.add((match.path, section.start))
        cell = table_default(lines, match.line)
        if cell:
            yield ValueLine(match.area, match.path, match.line, last, cell, 2.4, exact=True)
            continue
        for number in numbers:
            text = lines[number - 1] if number <= len(lines) else ""
            if stated := re.search(r"\bdefaults?\b[^.\n]*", text, re.IGNORECASE) if STATES.search(text) else None:
                yield ValueLine(match.area, match.path, number, last, stated[0].strip(), 2.5 if titled else 0.5, titled)
                break


def table_default(lines: Sequence[str], number: int) -> str:
    """The cell of a row below a heading `default`, in a markdown table whose first cell is the name."""
    if not 0 < number <= len(lines) or not lines[number - 1].lstrip().startswith("|"):
        return ""
    at = number - 1
    while at > 0 and lines[at - 1].lstrip().startswith("|"):
        at -= 1
    heads = [cell.strip().lower() for cell in lines[at].strip().strip("|").split("|")]
    cells = [cell.strip() for cell in lines[number - 1].strip().strip("|").split("|")]
    column = next((place for place, head in enumerate(heads) if head.startswith("default")), -1)
    return cells[column] if 0 <= column < len(cells) else ""
