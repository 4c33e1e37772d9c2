"""Which setting does something? The name of an environment variable, option or key, found by its description.

Candidates are names in the form that the question names (`--flag`, `UPPER_CASE`, or a key) in documents, code and
configuration. The description of one is its own words, its line, the comment above and the section below its heading.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import loose_name, loose_terms, loose_words
from llmc.answers.research.finders.answers import answer, line_place
from llmc.answers.research.finders.described import comment_of
from llmc.answers.research.finders.documents import CHANGES, DOCUMENTS, is_document
from llmc.answers.research.finders.literals import ASSIGNS, UNLIKELY, VALUE_FILES
from llmc.answers.research.finders.sections import section_at, sections_of
from llmc.answers.research.question import to_base_form
from llmc.answers.research.result import Confidence
from llmc.base.languages import role_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.answers.research.finders.sections import Section
    from llmc.answers.research.result import RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import Area, RoleToolbox

__all__ = ["asks_for_a_name", "setting_name"]

_WHICH = re.compile(
    r"\b(?:which|what)\s(?:\w+\s){0,2}?(?P<kind>environment variable|env var|system propert(?:y|ie)|setting|option"
    # Classes have properties and functions have parameters; in a question about an effect, either word means a setting.
    r"|flag|key|variable|(?:propert(?:y|ie)|parameter)(?=s?\s+(?!do|does|is|are|of|in|can|has|have)\w))s?\b",
    re.IGNORECASE,
)
_UPPER = re.compile(r"(?:(?<![\w.$-])|(?<=env\.))[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?!\w)")
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*\w")
_FIELD = re.compile(r"^\s*(?:pub\s+)?(?P<name>[A-Za-z_]\w{2,})\s+[*\[\]\w.]+\s*(?:`.*|//.*)?$")
_PASSED = re.compile(r"\(\s*&?[\"'](?P<name>[A-Za-z][\w.-]{2,})[\"']")
# Properties of a Java process: `Boolean.getBoolean("a.b.c")`; in documents, quoted names with a dot.
_PROPERTY = re.compile(r"\b(?:get|set)(?:Property|Boolean|Long|Integer)\(\s*\"([\w.-]+)\"")
_DOTTED = re.compile(r"(?:[`'\"]|-D)([a-z][\w-]*(?:\.[\w-]+)+)")
_MEMBER = re.compile(
    r"\b(?:conf(?:ig)?|settings?|options?|opts|env)\b(?:\.\w+)*?\.(?P<name>[A-Za-z_]\w{2,})", re.IGNORECASE
)
_PLACES = re.compile(r"default|setting|conf|option|constant|param|flag|args?\b|cli\b|schema|env", re.IGNORECASE)
_NOISE = frozenset(
    loose_words(
        "which what environment variable env var setting option flag key name is are the a an to does do can i set "
        "property properties system parameter parameters "
        "sets setting control controls make makes configure configures define defines determines determine specify "
        "specifies decide decides used use for of in that must have this whether value"
    )
)
MOST_FILES, MOST_CANDIDATES = 14, 4_000
# Weights of a candidate's own words, of its line and comment, and of what a document says about it.
NAMED, NEAR, DESCRIBED = 0.35, 0.25, 0.4
LEAST, GOOD, LEAD, NEAR_BEST = 0.22, 0.7, 1.2, 0.75
SECTION_LINES = 12
TITLED, ELSEWHERE = 1.25, 0.75


@dataclass(frozen=True, slots=True)
class NamedSetting:
    name: str
    area: Area
    path: str
    line: int
    score: float


def asks_for_a_name(text: str) -> bool:
    return _WHICH.search(text) is not None


def setting_name(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    match = _WHICH.search(brief.question.text)
    if match is None:
        return None
    kind = match["kind"].lower()
    given = {one.lower() for one in [*_UPPER.findall(brief.question.text), *_FLAG.findall(brief.question.text)]}
    terms = loose_terms(to_base_form(brief.question.text)) - _NOISE
    if not terms:
        return None
    best: dict[str, NamedSetting] = {}
    for one in islice(candidates(brief, kind, terms, toolbox), MOST_CANDIDATES):
        key = re.sub(r"[^a-z0-9]", "", one.name.lower())
        if one.name.lower() not in given and (key not in best or best[key].score < one.score):
            best[key] = one
    ranked = sorted(best.values(), key=lambda one: -one.score)
    if not ranked or ranked[0].score < LEAST:
        return None
    first = ranked[0]
    near = [one for one in ranked[1:4] if one.score >= NEAR_BEST * first.score]
    places = [line_place(toolbox, one.area, one.path, one.line, one.name, "value") for one in [first, *near]]
    rest = max((one.score for one in ranked[1:]), default=0.0)
    sure = Confidence.MED if first.score >= GOOD and first.score >= LEAD * rest else Confidence.LOW
    return answer(
        brief,
        f"The {kind.replace('propertie', 'property')} is probably {first.name}: see {brief.reference(places[0])}.",
        places,
        sure,
    )


def candidates(brief: Brief, kind: str, terms: frozenset[str], toolbox: RoleToolbox) -> Iterator[NamedSetting]:
    subject = brief.question.subject
    files = [
        *toolbox.search(subject, limit=MOST_FILES, per_file=3, globs=VALUE_FILES).files,
        *toolbox.search(f"{subject} default setting option", limit=MOST_FILES, per_file=3, globs=VALUE_FILES).files,
        *toolbox.search(f"{subject} {kind}", limit=6, per_file=4, globs=DOCUMENTS).files,
    ]
    for root, path in dict.fromkeys((file.root, file.path) for file in files):
        if CHANGES.search(path) or UNLIKELY.search(path) or role_of(path) in {"test", "fixture", "snapshot"}:
            continue
        area = toolbox.area_of(root)
        lines = toolbox.shown(area, path)
        found = in_document(lines, kind, terms) if is_document(path) else in_code(path, lines, kind, terms)
        for name, number, score in found:
            yield NamedSetting(name, area, path, number, score)


def in_document(lines: Sequence[str], kind: str, terms: frozenset[str]) -> Iterator[tuple[str, int, float]]:
    sections = sections_of(lines)
    for number, text in enumerate(lines, 1):
        for name in names_in(text, kind, code=False):
            section = section_at(sections, number)
            titled = section is not None and name in section.title
            description = about(lines, number, section if titled else None)
            yield name, number, scored(terms, name, text, description) * (TITLED if titled else 1.0)


def about(lines: Sequence[str], number: int, section: Section | None) -> str:
    """The documentation of a name: the section that it heads, or the paragraph around it."""
    if section is not None:
        return " ".join(lines[section.start - 1 : min(section.end, section.start + SECTION_LINES)])
    return " ".join(lines[max(0, number - 3) : number + 2])


def in_code(path: str, lines: Sequence[str], kind: str, terms: frozenset[str]) -> Iterator[tuple[str, int, float]]:
    weight = 1.0 if _PLACES.search(path) else ELSEWHERE
    for number, text in enumerate(lines, 1):
        for name in names_in(text, kind, code=True):
            description = " ".join([*comment_of(lines, number), *lines[number - 1 : number + 1]])
            yield name, number, weight * scored(terms, name, text, description)


def names_in(text: str, kind: str, *, code: bool) -> list[str]:
    """The names in a line that may answer the question."""
    if kind.startswith("env"):
        return _UPPER.findall(text)
    if kind.startswith("system"):
        return (_PROPERTY if code else _DOTTED).findall(text)
    found = _FLAG.findall(text)
    if kind == "flag":
        return found
    found += _UPPER.findall(text)
    if code:
        assigned = ASSIGNS.match(text) or _FIELD.match(text)
        found += [assigned["name"]] if assigned else []
        found += [match["name"] for rule in (_PASSED, _MEMBER) for match in rule.finditer(text)]
    else:
        found += re.findall(r"`([A-Za-z][\w.-]{2,})`", text)
    return list(dict.fromkeys(found))


def scored(terms: frozenset[str], name: str, line: str, description: str) -> float:
    called = loose_name(name)
    if not terms & called and not terms & loose_words(description):
        return 0.0
    fit = len(called & terms) / len(called) if called else 0.0
    near = called | loose_words(line)
    wide = near | loose_words(description)
    share = [len(terms & found) / len(terms) for found in (called, near, wide)]
    return (NAMED * share[0] + NEAR * share[1] + DESCRIBED * share[2]) * (0.7 + 0.3 * fit)
