"""Which value? A literal from code and configuration, or the sentence of a document that states it.

A question that names a setting is answered by the lines that assign it; one that describes it by the assignment, option
or sentence whose words, comment and surroundings match best. The answer contains the value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import terms_of
from llmc.answers.research.finders.answers import answer, line_place, target_names
from llmc.answers.research.finders.documents import CHANGES, DOCUMENTS, documented, is_document, is_titled
from llmc.answers.research.finders.sections import section_at, sections_of
from llmc.answers.research.prose import one_line
from llmc.answers.research.question import to_base_form
from llmc.answers.research.result import Confidence, ResultPlace
from llmc.base import words
from llmc.base.languages import role_of
from llmc.graph.lookup import JOINTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.answers.research.result import RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import Area, RoleToolbox, TextMatch

__all__ = ["default_value"]

MOST_MATCHES = 400
MOST_FILES = 14
ROLES = {"code": 0, "config": 1, "stub": 4, "generated": 3, "data": 3, "legacy": 3, "example": 4}
# A literal: a number, a string, a constant of the language, a list, or a call with one of these inside.
_NUMBER = r"-?(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)"
_ATOM = (
    rf"(?:{_NUMBER}\w*|[rbfu]?\"[^\"\n]*\"|[rbfu]?'[^'\n]*'|`[^`\n]*`|true|false|none|null|nil|undefined|some\(.*"
    r"|\[[^\]]*\]|\{\s*\})"
)
_LITERAL = re.compile(rf"(?:&|new\s+)?(?:{_ATOM}|[A-Za-z_][\w.:]*[!]?\s*[({{]\s*[^()]*?(?<!\w){_ATOM})", re.IGNORECASE)
_STATES = re.compile(
    r"\bdefaults?(?:\s+value)?\s*(?:(?:is|are|to|of)\b|[:=])|\bby default\b|\(default\s+[\d\"'`]|\[default"
    r"|\bdefault value\b",
    re.IGNORECASE,
)
_DEFAULTS = re.compile(
    r"default|setting|config|option|constant|conf\b|param|flag|args?\b|cli\b|schema|env", re.IGNORECASE
)
_ASSIGNS = re.compile(
    r"^\s*(?:(?:export|pub(?:\([\w ]+\))?|public|private|protected|static|final|readonly|const|let|var|val|mut|default"
    r"|type|@?\w+\.)\s*){0,6}"
    r"[\"'`]?(?P<name>[A-Za-z_$][\w$.-]*)[\"'`]?\s*(?::\s*[\w<>\[\]&', |?.:]+?)?\s*(?::=|=(?!=|>)|:)\s*(?P<value>\S.*)$"
)
_STATEMENT = re.compile(r"\s*(?:#|//|\*|(?:import|from|if|elif|else|return|assert|for|while|del|yield|raise|throw)\b)")
_OPTION = re.compile(r"\bdefault(?:_value(?:_t|s)?)?\s*[=:(]\s*(?P<value>[^,)\s][^,)\n]*)", re.IGNORECASE)
# Types, locks and shell completions repeat names without their values.
_UNLIKELY = re.compile(r"\.d\.ts$|\.lock$|complet(?:e|ions?)(?:/|\.)|\.(?:zsh|fish|bash)$")
# What a value must look like to answer the question.
_EXPECTED = (
    (
        re.compile(
            r"\bhow (?:many|long|large|big|often|much|deep|far)\b"
            r"|\b(?:ports?|number|size|limit|timeout|interval|seconds|minutes)\b",
            re.IGNORECASE,
        ),
        re.compile(r"(?<![\w{.<])\d|unlimited|no limit|infinite|never|\bnone\b", re.IGNORECASE),
    ),
    (
        re.compile(r"\b(?:name|path|prefix|host|address|url|file|folder|directory|key) of\b", re.IGNORECASE),
        re.compile(r"[\"'`]"),
    ),
)
# A described value is believed only if its line says most of the question and no other line comes near.
GOOD, LEAD = 2.5, 1.3
# Score of an assignment in a place for defaults, under a name that is spelt differently.
CLEAR = 3.0
MOST_OF_IT = 0.75
_WORDS = frozenset(
    words.body(
        "default defaults value values setting option what which when how many much long large big often is are the "
        "name of if not set given specified configured unless told otherwise maximum minimum does do by in for it "
        "to used use uses number count times time limit"
    ).split()
)


@dataclass(frozen=True, slots=True)
class ValueLine:
    """A line that states a value. `score` ranks it; `exact`: it assigns what the question names."""

    area: Area
    path: str
    line: int
    name: str
    value: str
    score: float
    exact: bool


def default_value(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    names = setting_names(brief)
    found: list[ValueLine] = []
    for name in names[:2]:
        found = [*named_values(name, toolbox), *stated_values(name, toolbox)]
        if found:
            break
    if found:
        return named_answer(brief, names[0], found, toolbox)
    if not _WHICH.search(brief.question.text):
        return described(brief, toolbox)
    said = documented(brief, toolbox, least=MOST_OF_IT)
    return said and replace(said, result=replace(said.result, confidence=Confidence.LOW))


# Such a question asks for the name of a setting: the section that describes it has it.
_WHICH = re.compile(
    r"\b(?:which|what)\s(?:\w+\s){0,2}?(?:environment variable|env var|setting|option|flag|key|command)s?\b",
    re.IGNORECASE,
)
_SETTING = re.compile(
    r"`([^`\s]{2,60})`|(?<!\w)(--[a-z][\w.-]*\w)|\b([a-z]+(?:-[a-z]+)+)\b|\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
)


def setting_names(brief: Brief) -> list[str]:
    """Identifiers, flags, quoted and hyphenated words, the surest first."""
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
    if first.exact or first.score >= CLEAR:
        sure = Confidence.HIGH if first.exact and len(values) <= 1 else Confidence.MED
    value = re.sub(r"\s*(?://|#)\s.*$", "", first.value).strip(" ,;")
    summary = f"{name} is {one_line(value, 80)}, by {brief.reference(places[0])}."
    return answer(brief, summary, places, sure)


def plain(value: str) -> str:
    return re.sub(r"\s*(?://|#).*$", "", value).strip(" ,;").lower()


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
    if role not in ROLES or _UNLIKELY.search(match.path) or re.match(r"\s*(?:#(?!\[)|//|\*)", match.text):
        return None
    option = _OPTION.search(match.text)
    value = option["value"] if option and option.start() > 0 else value_in(match.text, name)
    if value is None or not _LITERAL.match(value):
        value = declared_near(match, toolbox, opened=value is not None and opens(value))
    if value is None or toolbox.is_test(match.area, match.path, match.line):
        return None
    around = toolbox.symbol_around(match.area, match.path, match.line)
    scope = f"{match.path} {around.qualified if around else ''}"
    score = 3.0 - ROLES[role] + penalty + (1.5 if _DEFAULTS.search(scope) else 0.0)
    score -= (
        1.5 if around is not None and around.kind in {"function", "method"} and not _DEFAULTS.search(scope) else 0.0
    )
    score += 0.5 if re.match(rf"\s*[\"'`]?(?:{name})\b", match.text, re.IGNORECASE) else 0.0
    score -= 2.0 if penalty and not _DEFAULTS.search(scope) else 0.0
    return ValueLine(match.area, match.path, match.line, name, value, score, exact=not penalty)


def opens(value: str) -> bool:
    """Whether the value goes on below: a table or a call, and no statement."""
    return value.rstrip().endswith(("{", "(", "[")) and not re.match(
        r"(?:match|if|switch|func\w*|fn|async|class|do)\b", value
    )


def value_in(text: str, name: str) -> str | None:
    """What a line assigns to a name: `name = 5`, `"name": 5`, `name=Option(5)`, `name ?? 5`, `name || 5`, `name, 5`."""
    joint = (
        r"(?::\s*[\w<>\[\]&', |?.:]+?\s*=|:=|=(?![=>])|:(?!:)|\?\?|\|\||\.unwrap_or(?:_else)?\((?:\|\|)?"
        r"|\s[\w.\[\]*]+\s*=(?!=))"
    )
    found = re.search(rf"(?:^|[^\w$])(?:{name})[\"'`]?\s*{joint}\s*(?P<value>\S.*)$", text, re.IGNORECASE)
    passed = re.search(rf"\(\s*&?[\"'`](?:{name})[\"'`]\s*,\s*(?P<value>\S.*)$", text, re.IGNORECASE)
    return found["value"] if found else passed["value"] if passed else None


def declared_near(match: TextMatch, toolbox: RoleToolbox, *, opened: bool) -> str | None:
    """The value of what is declared over several lines: a `default` in the lines below or in the attribute above; else
    the literals of the block that the line opens."""
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
        option = _OPTION.search(text)
        if option and _LITERAL.match(option["value"]):
            return option["value"]
    values = [text.strip() for text in block if opened and (_ASSIGNS.match(text) or _LITERAL.match(text.strip()))]
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
            if stated := re.search(r"\bdefaults?\b[^.\n]*", text, re.IGNORECASE) if _STATES.search(text) else None:
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


def described(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    """The value of something that the question describes: the candidate whose words match best."""
    terms = terms_of(to_base_form(brief.question.text.replace("`", " "))) - _WORDS
    if not terms:
        return None
    subject = brief.question.subject
    files = [
        *toolbox.search(subject, limit=MOST_FILES, per_file=3).files,
        *toolbox.search(f"{subject} default setting option", limit=MOST_FILES, per_file=3).files,
        *toolbox.search(f"{subject} default", limit=6, per_file=4, globs=DOCUMENTS).files,
    ]
    seen: dict[tuple[str, str], None] = dict.fromkeys((file.root, file.path) for file in files)
    found = [
        one
        for root, path in seen
        if (role_of(path) in ROLES or is_document(path)) and not CHANGES.search(path)
        for one in candidates(toolbox.area_of(root), path, terms, toolbox)
    ]
    kind = next((kind for asks, kind in _EXPECTED if asks.search(brief.question.text)), None)
    found = [one for one in found if kind is None or kind.search(one.value)]
    found.sort(key=lambda one: -one.score)
    if not found or found[0].score < 1.0:
        return None
    places = [value_place(one, toolbox) for one in found[:3] if one.score >= 0.8 * found[0].score]
    summary = f"{brief.reference(places[0])} says: {places[0].says}"
    others = [one.score for one in found[1:] if plain(one.value) != plain(found[0].value)]
    lead = kind is not None and found[0].score >= LEAD * max(others, default=0.0)
    return answer(brief, summary, places, Confidence.MED if lead and found[0].score >= GOOD else Confidence.LOW)


def candidates(area: Area, path: str, terms: frozenset[str], toolbox: RoleToolbox) -> Iterator[ValueLine]:
    """Lines that state a value, scored by the words of the question in the line, its comment and what encloses it."""
    lines = toolbox.shown(area, path)
    document = is_document(path)
    sections = sections_of(lines) if document else []
    in_path = set(words.body(path.replace("/", " ")).split())
    for number, text in enumerate(lines, 1):
        value = stated_in(text, document=document)
        if value is None or (not document and _UNLIKELY.search(path)):
            continue
        own = set(words.body(text).split())
        if not own & terms and not document:
            continue
        near = set(words.body(" ".join(neighbours(lines, number, document=document))).split())
        section = section_at(sections, number) if document else None
        symbol = None if document else toolbox.symbol_around(area, path, number)
        around = set(words.body(section.title if section else symbol.qualified if symbol else "").split())
        head = set(words.body(text[: text.find(value)] if value in text else text).split())
        weight = len(terms & head) * 1.0 + len((terms & own) - head) * 0.6
        weight += len((terms & near) - own) * 0.5 + len((terms & around) - own - near) * 0.5
        weight += len((terms & in_path) - own - near - around) * 0.2
        score = 3.0 * weight / max(2, len(terms))
        score *= 1.2 if _DEFAULTS.search(f"{path} {text} {symbol.qualified if symbol else ''}") else 0.8
        score *= 0.7 if symbol is not None and symbol.kind in {"function", "method"} and "default" not in text else 1.0
        score *= 0.8 if role_of(path) in {"example", "generated", "data", "stub"} else 1.0
        if score > 0:
            yield ValueLine(area, path, number, "", value, score, exact=False)


def stated_in(text: str, *, document: bool) -> str | None:
    if document:
        found = re.search(r"\b(?:defaults?|is|are)\b.*", text, re.IGNORECASE) if _STATES.search(text) else None
        return found[0] if found else None
    if len(text) > 200 or _STATEMENT.match(text):  # noqa: PLR2004 - data
        return None
    option = _OPTION.search(text)
    if option and _LITERAL.match(option["value"]):
        return option["value"]
    match = _ASSIGNS.match(text)
    return match["value"] if match and _LITERAL.match(match["value"]) else None


def neighbours(lines: Sequence[str], number: int, *, document: bool) -> Iterable[str]:
    """The comment above a line; in a document the paragraphs around it."""
    if document:
        return lines[max(0, number - 4) : number + 4]
    found = []
    for at in range(number - 2, max(-1, number - 7), -1):
        if not re.match(r"\s*(?:#|//|\*|/\*|\"\"\")", lines[at]):
            break
        found.append(lines[at])
    return found
