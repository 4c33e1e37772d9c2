"""Which value has something that the question describes instead of naming it?

Candidates are the lines of code and configuration that give a name a literal, the comments that state the default of
what is declared below them, and the sentences of documents that state a default. They are scored by how many words of
the question are in the name, the line, its comment and what encloses it; a name with other words counts less, and the
word that the question asks the value of counts twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import loose_name, loose_words
from llmc.answers.research.finders.answers import answer, line_place
from llmc.answers.research.finders.asked_words import NOISE, asked_phrase, wanted_words
from llmc.answers.research.finders.documents import CHANGES, DOCUMENTS, is_document
from llmc.answers.research.finders.literals import LITERAL, UNLIKELY, VALUE_FILES, names_and_values, plain, resolved
from llmc.answers.research.finders.sections import section_at, sections_of
from llmc.answers.research.prose import one_line
from llmc.answers.research.result import Confidence
from llmc.base.languages import role_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.answers.research.finders.asked_words import AskedWords
    from llmc.answers.research.result import ResultPlace, RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import Area, RoleToolbox

__all__ = ["described_value"]

MOST_FILES, MOST_MATCHES = 14, 300
ROLES = frozenset({"code", "config", "generated", "data", "stub", "legacy", "example"})
WEAKER = {"example": 0.8, "generated": 0.8, "data": 0.8, "stub": 0.6, "legacy": 0.8}
STATES = re.compile(
    r"\bdefaults?(?:\s+value)?\s*(?:(?:is|are|to|of)\b|[:=])|\bby default\b|\(default\s+[\d\"'`]|\[default"
    r"|\bdefault value\b",
    re.IGNORECASE,
)
_DEFAULTS = re.compile(
    r"default|setting|config|option|constant|conf\b|param|flag|args?\b|cli\b|schema|env", re.IGNORECASE
)
# The form that a value must have to answer the question.
_EXPECTED = (
    (
        re.compile(
            r"\bhow (?:many|long|large|big|often|much|deep|far)\b"
            r"|\b(?:ports?|number|size|limit|timeout|interval|seconds|minutes|dpi|rounds)\b",
            re.IGNORECASE,
        ),
        re.compile(r"(?<![\w{.<])\d|[\"']\d|unlimited|no limit|infinite|never|\bnone\b", re.IGNORECASE),
    ),
    (
        re.compile(r"\b(?:name|path|prefix|host|address|url|file|folder|directory|key) of\b", re.IGNORECASE),
        re.compile(r"[\"'`]"),
    ),
)
# A described value is only accepted if its line contains most of the question and no other line comes close.
GOOD, LEAD, LEAST = 0.75, 1.25, 0.34
SAME_NAME = 0.2
# Bonus if the name contains the quantity: `interval` if the question is `how often`.
MEASURES = 0.05
# Another line with the same value confirms it if it matches this well, relative to the best.
AGREES = 0.5
_NOTHING = re.compile(r"(?:none|null|nil|undefined|\"\"|'')\b", re.IGNORECASE)
# The pattern of a sentence that states a value.
_QUOTED = re.compile(
    r"[\"`'“]|\d|:\w+:|\b(?:true|false|none|null|nil|never|unlimited|enabled|disabled|on|off)\b", re.IGNORECASE
)
_COMMENT = re.compile(r"\s*(?:#(?!\[)|//|\*|/\*)")
# Lines that may come between the comment of a field and the field.
_ATTRIBUTE = re.compile(r"\s*(?:#\[|@\w|\[)")
_DECLARED = re.compile(
    r"\s*(?:(?:pub(?:\([\w ]+\))?|public|private|protected|static|final|readonly|const|let|var|val|mut|optional)\s+)*"
    r"(?:[\w.<>\[\]*&?]+\s+(?=\w+\s*[=;]))?[\"'`]?(?P<name>[A-Za-z_$][\w$.-]*)"
)
COMMENT_LINES = 8
# A value often ends its line, so a shorter quote would lose it.
LONGEST_VALUE_LINE = 160


@dataclass(frozen=True, slots=True)
class DescribedLine:
    area: Area
    path: str
    line: int
    value: str
    score: float
    named: bool = False  # the name has the words of the question
    says: str = ""  # a value stated in a comment, with the name that it belongs to


def described_value(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    """The value of something that the question describes: the candidate whose words match best."""
    wanted = wanted_words(brief, toolbox)
    if not wanted.terms:
        return None
    kind = next((kind for asks, kind in _EXPECTED if asks.search(brief.question.text)), None)
    found = [one for one in all_candidates(brief, wanted, toolbox) if kind is None or kind.search(one.value)]
    found.sort(key=lambda one: -one.score)
    if not found or found[0].score < LEAST:
        return None
    first = found[0]
    same = [one for one in found[1:] if one.score >= AGREES * first.score and one.path != first.path]
    same = [one for one in same if is_same(one, first)][:2]
    others = [one for one in found[1:4] if one.score >= 0.8 * first.score and one not in same]
    places = [value_place(one, toolbox) for one in [first, *same, *others]]
    rest = max((one.score for one in found[1:] if not is_same(one, first)), default=0.0)
    lead = first.score >= GOOD and first.score >= LEAD * rest
    statement = first.says or (first.value if is_document(first.path) else "")
    statement = one_line(statement, 110) if statement else places[0].says
    summary = f"{brief.reference(places[0])} says: {statement}"
    return answer(brief, summary, places[:4], Confidence.MED if lead and (same or first.named) else Confidence.LOW)


def value_place(one: DescribedLine, toolbox: RoleToolbox) -> ResultPlace:
    place = line_place(toolbox, one.area, one.path, one.line, "", "value", LONGEST_VALUE_LINE)
    return replace(place, says=one_line(one.says, 160)) if one.says else place


def is_same(one: DescribedLine, other: DescribedLine) -> bool:
    """Whether two lines state the same value; `20 * time.Second` and `20 seconds` do."""
    numbers = [re.findall(r"(?<!\w)\d[\d.]*", plain(each.value)) for each in (one, other)]
    if numbers[0] or numbers[1]:
        return numbers[0][:1] == numbers[1][:1]
    return plain(one.value).strip("\"'`.") == plain(other.value).strip("\"'`.")


def all_candidates(brief: Brief, wanted: AskedWords, toolbox: RoleToolbox) -> Iterator[DescribedLine]:
    subject = brief.question.subject
    files = [
        *toolbox.search(subject, limit=MOST_FILES, per_file=3, globs=VALUE_FILES).files,
        *toolbox.search(f"{subject} default setting option", limit=MOST_FILES, per_file=3, globs=VALUE_FILES).files,
        *toolbox.search(f"{subject} default", limit=6, per_file=4, globs=DOCUMENTS).files,
    ]
    seen = dict.fromkeys((file.root, file.path) for file in files)
    seen |= dict.fromkeys(assigning_files(brief, toolbox))
    for root, path in seen:
        if (role_of(path) in ROLES or is_document(path)) and not CHANGES.search(path):
            yield from candidates(toolbox.area_of(root), path, wanted, toolbox)


def assigning_files(brief: Brief, toolbox: RoleToolbox) -> Iterator[tuple[str, str]]:
    """Files that assign a value to a name spelled like the requested words."""
    spelt = re.findall(r"\w+", asked_phrase(brief.question.text))
    if not spelt or len(spelt) > 4:  # noqa: PLR2004 - a description, no name
        return
    name = "[_-]?".join(map(re.escape, spelt))
    pattern = rf"(?:^|[^\w$])(?:default[_-]?)?{name}[\"'`]?\s*(?:[:=,]|\|\||\?\?)"
    count = 0
    for one in toolbox.grep(pattern, ignore_case=True, most=MOST_MATCHES):
        if role_of(one.path) in {"code", "config"} and not UNLIKELY.search(one.path):
            count += 1
            yield one.area.view.root.id, one.path
        if count >= MOST_FILES:
            return


def candidates(area: Area, path: str, wanted: AskedWords, toolbox: RoleToolbox) -> Iterator[DescribedLine]:
    lines = toolbox.shown(area, path)
    if is_document(path):
        yield from stated(area, path, lines, wanted)
    elif not UNLIKELY.search(path):
        yield from assigned(area, path, lines, wanted, toolbox)


def stated(area: Area, path: str, lines: Sequence[str], wanted: AskedWords) -> Iterator[DescribedLine]:
    """Sentences that state a default, with the paragraph around them and the heading above."""
    sections = sections_of(lines)
    in_path = loose_words(path.rpartition("/")[2])
    for number, text in enumerate(lines, 1):
        found = re.search(r"\b(?:defaults?|is|are)\b.*", text, re.IGNORECASE) if STATES.search(text) else None
        if found is None:
            continue
        section = section_at(sections, number)
        head = loose_words(section.title) if section else set()
        own = loose_words(text)
        near = loose_words(" ".join(lines[max(0, number - 4) : number + 3]))
        score = 0.5 * wanted.share(own | head) + 0.4 * wanted.share(own | head | near | in_path)
        score += 0.2 * wanted.share(head)
        score *= 1.0 if _QUOTED.search(found[0]) else 0.6
        if wanted.terms & (own | head):
            yield DescribedLine(area, path, number, found[0], score)


def assigned(
    area: Area, path: str, lines: Sequence[str], wanted: AskedWords, toolbox: RoleToolbox
) -> Iterator[DescribedLine]:
    """Lines that assign a literal to a name, and comments that state the default of the declaration below them."""
    in_path = loose_words(path.replace("/", " "))
    mentions = wanted.mentions

    def scored(number: int, name: str, text: str, comment: str, value: str) -> DescribedLine | None:
        called = wanted.apart(loose_name(name)) - NOISE
        own = wanted.apart(loose_words(text)) | called
        near = own | loose_words(comment)
        if not (wanted.terms | wanted.quantity) & own or not wanted.terms & near:
            return None
        symbol = toolbox.symbol_around(area, path, number)
        around = symbol.qualified if symbol else ""
        wide = near | in_path | loose_words(around)
        expected = wanted.terms | wanted.quantity
        fit = len(called & expected) / len(called) if called else 0.0
        score = 0.35 * wanted.share(called) + 0.15 * wanted.share(own) + 0.15 * wanted.share(near)
        score = (score + 0.35 * wanted.share(wide)) * (0.6 + 0.4 * fit)
        named = bool(called) and called == wanted.asked
        score += SAME_NAME if named else 0.0
        score += MEASURES if called & wanted.quantity else 0.0
        score *= 1.3 if "default" in text.lower() else 1.1 if _DEFAULTS.search(f"{path} {around}") else 0.9
        score *= 0.7 if _NOTHING.match(value) else 1.0
        score *= 0.7 if role_of(path) == "config" and "default" not in path else 1.0
        score *= 0.5 if role_of(path) == "test" or toolbox.is_test(area, path, number) else 1.0
        return DescribedLine(area, path, number, value, score * WEAKER.get(str(role_of(path)), 1.0), named)

    for number, text in enumerate(lines, 1):
        if _COMMENT.match(text):
            if STATES.search(text) and (declared := documented_field(lines, number)):
                name, comment, value = declared
                if one := scored(number, name, comment, "", value):
                    yield replace(one, says=f"{name}: {value}")
            continue
        for name, value in names_and_values(lines, number) if mentions.search(text) else ():
            one = scored(number, name, text, " ".join(comment_of(lines, number)), value)
            shown = value if one is None or LITERAL.match(value) else resolved(value, toolbox)
            if one is not None and shown is not None:
                yield replace(one, value=shown, says="" if shown == value else f"{text.strip(' ,;')} = {shown}")


def documented_field(lines: Sequence[str], number: int) -> tuple[str, str, str] | None:
    """The declaration below a comment that states a default: its name, the comment, and the text after `default`."""
    end = number
    while end < len(lines) and end < number + COMMENT_LINES and _COMMENT.match(lines[end]):
        end += 1
    first = number - 1
    while first > 0 and first > number - COMMENT_LINES and _COMMENT.match(lines[first - 1]):
        first -= 1
    below = next((text for text in lines[end : end + 4] if not _ATTRIBUTE.match(text)), "")
    declared = _DECLARED.match(below)
    stated = re.search(r"\bdefaults?\b.*", lines[number - 1], re.IGNORECASE)
    if declared is None or stated is None:
        return None
    value = stated[0]
    if not re.search(r"\w", value[len("defaults") :]) and number < end:  # `Default:` and the value below it
        value = f"{value} {_COMMENT.sub('', lines[number], count=1).strip()}"
    if value.count(")") > value.count("("):
        value = value[: value.index(")")]
    return declared["name"], " ".join(lines[first:end]), value.rstrip(" */")


def comment_of(lines: Sequence[str], number: int) -> Iterable[str]:
    found = []
    for at in range(number - 2, max(-1, number - 7), -1):
        if not re.match(r"\s*(?:#|//|\*|/\*|\"\"\")", lines[at]):
            break
        found.append(lines[at])
    return found
