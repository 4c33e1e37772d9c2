"""Locator: where is it? Places by category, references only."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from llmc.answers.research.errors import DeadlineError
from llmc.answers.research.evidence import TYPES, ScoredUnit, place_of, rank_units, score_places, terms_of
from llmc.answers.research.finders import find
from llmc.answers.research.finders.documents import documented
from llmc.answers.research.matches import category_of
from llmc.answers.research.question import QuestionType
from llmc.answers.research.result import ALSO, Confidence, Result, ResultPlace, RoleOutcome, with_note
from llmc.answers.research.roles import Brief, ResearchRole
from llmc.base.languages import role_of
from llmc.envelope.phrases import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.answers.research.question import Name, Question
    from llmc.answers.research.toolbox import DefinitionMatch, RoleToolbox
    from llmc.retrieval.results import FileHits

FILES, FURTHER_FILES = 14, 26
PER_FILE = 8
SEARCHED_WHOLE = 6
MOST_PLACES = 13
MOST_NAMED = 6
MOST_BEST = 6
MOST_DENIED = 5
# Number of definitions that explain a flow: the best by comparison with each other, and the first search results. The
# right one is among four from both for 74 % of 31 questions, and first by comparison for 42 %.
MOST_LIKELY, MOST_FIRST = 2, 2
MOST_OF_FILE = 3
USES = frozenset({"call", "use", "inherit", "type", "import"})
# Share of the remaining time that the finder of one type may take; the rest is for the steps after it.
FINDER_SHARE = 0.7
# Weight of each further place in a file relative to the previous one. With 0.4 to 0.6 the cited line is right for
# 80 % of the dev questions, without it for 77 %.
FURTHER = 0.5
# Path roles that rank below code, however well their words match.
BEHIND = {
    "doc": 2, "test": 2, "fixture": 2, "snapshot": 3, "data": 2, "translation": 2, "example": 1, "generated": 3,
    "amalgamated": 3, "vendored": 3, "legacy": 1, "stub": 2,
}  # fmt: skip
# A name and path that cover this share of the question are probably the right place.
SURE_COVERAGE = 0.6
# Types that search answers; for any other type the requested fact was not found, and a place is only a hint.
SEARCHED = frozenset({QuestionType.WHERE, QuestionType.HOW, QuestionType.EXAMPLE})


def work(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome:
    """The result; if the question names a file on the denylist, a note says that it was not read."""
    outcome = answered(brief, toolbox)
    denied = toolbox.denied_in(brief.question.text)
    if not denied:
        return outcome
    verb = "is" if len(denied) == 1 else "are"
    result, note = outcome.result, f"{', '.join(denied[:MOST_DENIED])} {verb} on the denylist and not read."
    if not result.references:
        return replace(outcome, result=Result(f"No answer: {note}"))
    return replace(outcome, result=with_note(replace(result, confidence=Confidence.LOW), note))


def answered(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome:
    """The first finder of the question's types that finds the requested fact; otherwise the best search results."""
    # Examples are left to the pattern finder, which starts at the places that search ranks first.
    late: list[str] = []
    for kind in brief.question.types if brief.question.type is not QuestionType.EXAMPLE else ():
        try:
            with toolbox.part_of_time(FINDER_SHARE):
                outcome = find(kind, brief, toolbox)
        except DeadlineError:
            toolbox.stop.check()  # raises if no time is left for the other steps either
            late.append(kind)
            continue
        if outcome is not None:
            return with_limit(outcome, late)
    found = with_limit(located(brief, toolbox), late)
    if found.places and role_of(found.places[0].path) == "doc":  # code comes first, so there is none
        return documented(brief, toolbox) or found
    return found


def with_limit(outcome: RoleOutcome, late: Sequence[str]) -> RoleOutcome:
    """The outcome with a note that names the steps that ran out of time."""
    if not late:
        return outcome
    note = f"The step for {' and '.join(late)} reached its time limit; this is what the other steps found."
    return replace(outcome, result=with_note(replace(outcome.result, confidence=Confidence.LOW), note))


def located(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome:
    question = brief.question
    defined = {name: [] if name.is_file else toolbox.define(name.text) for name in question.names}
    missing = [name for name, found in defined.items() if not found and not toolbox.occurs(name.text)]
    if [name for name in missing if name.sure] and len(missing) == len(question.names):
        return not_found(question, missing, toolbox)
    absent = [] if question.names else [word for word in question.keywords if not toolbox.says(word)]
    if absent and len(absent) == len(question.keywords):
        return not_found(question, [], toolbox)
    foreign = [name.text for name, found in defined.items() if is_foreign(name, found) and name not in missing]
    foreign = foreign if question.type is QuestionType.WHERE or len(question.subject.split()) == 1 else []
    places = [place for name in foreign for place in use_places(name, toolbox)]
    places += rank_places(question, [one for name, found in defined.items() if name.sure for one in found], toolbox)
    if not places or places[0].section == ALSO:
        return not_found(question, missing, toolbox)
    notes = [
        f"No file contains {', '.join(words)}." for words in [[*(name.text for name in missing), *absent]] if words
    ]
    notes += [f"{name} is used here but not defined." for name in foreign]
    return found_result(brief, places, notes)


def is_foreign(name: Name, found: Sequence[DefinitionMatch]) -> bool:
    return name.sure and not name.is_file and not found


def use_places(name: str, toolbox: RoleToolbox) -> list[ResultPlace]:
    """Uses of a name that is defined elsewhere, usually in a library."""
    last = name.replace("::", ".").replace("->", ".").replace("#", ".").rpartition(".")[2]
    found = toolbox.uses(last, USES)[:MOST_NAMED]
    return [
        ResultPlace(
            one.area.view.root.id, one.path, one.reference.line, one.reference.line, one.reference.container, "use"
        )
        for one in found
    ]


def rank_places(question: Question, defined: Sequence[DefinitionMatch], toolbox: RoleToolbox) -> list[ResultPlace]:
    result = toolbox.search(question.subject, limit=FURTHER_FILES, per_file=PER_FILE)
    terms = terms_of(question.subject)
    read = result.files[:FILES]
    by_file = [(file, score_places(trim_hits(file, rank), terms, toolbox)) for rank, file in enumerate(read)]
    order = {(file.root, file.path): at for at, (file, _) in enumerate(by_file)}
    named = sorted(
        defined,
        key=lambda one: (
            BEHIND.get(one.role, 0),
            order.get((one.area.view.root.id, one.path), len(order)),
            one.path,
            one.symbol.start_line,
        ),
    )
    meant = [one for one in named if one.role not in BEHIND] or [one for one in named if is_meant(one, question)]
    places = [
        place_of(one.area.view.root.id, one.path, one.symbol, lines_of(one, toolbox)) for one in meant[:MOST_NAMED]
    ]
    likely = likely_places(by_file, question) if question.type is QuestionType.HOW and not named else []
    ordered = list({place.key: place for place in [*places, *likely, *in_order(by_file)]}.values())
    tests = "test" in terms  # otherwise they only repeat what the code does
    ranked = [units[0].place for file, units in by_file if units and (tests or file.role != "test")]
    return [*spread(ordered, ranked)[:MOST_PLACES], *(further_place(file) for file in result.files)]


def further_place(file: FileHits) -> ResultPlace:
    """A place in a file that search found and that is about the question; listed if nothing else names the file."""
    hit = file.hits[0]
    line = hit.lines[0] if hit.lines else hit.start_line
    return ResultPlace(file.root, file.path, line, line, section=ALSO)


def spread(ordered: Sequence[ResultPlace], ranked: Sequence[ResultPlace]) -> list[ResultPlace]:
    """The best places, then the best one of each file that search ranks high: a test or a document about the question
    is more useful than a further place in a file that is already listed."""
    first = list(ordered[:MOST_BEST])
    named = {(place.root, place.path) for place in first}
    further = [place for place in ranked if (place.root, place.path) not in named]
    return list({place.key: place for place in [*first, *further, *ordered]}.values())


def is_meant(one: DefinitionMatch, question: Question) -> bool:
    """Whether a definition outside code is relevant: never a heading, and in a test only for a one-word question."""
    if one.symbol.kind == "heading" or one.role == "doc":
        return False
    return one.role != "test" or len(question.subject.split()) == 1


def trim_hits(file: FileHits, rank: int) -> FileHits:
    """All hits of the first files, where the answer usually is; two hits of later files, tests and documents."""
    if rank < SEARCHED_WHOLE and str(file.role) not in BEHIND:
        return file
    return replace(file, hits=file.hits[:2])


def lines_of(one: DefinitionMatch, toolbox: RoleToolbox) -> list[str]:
    return toolbox.lines(one.area, one.path) or []


def likely_places(by_file: Sequence[tuple[FileHits, list[ScoredUnit]]], question: Question) -> list[ResultPlace]:
    """The definitions that explain the answer to a question without a name, alternating between both orders. Not for
    questions for a place, which often mean a type: types explain little, and are only listed if there is nothing else.
    """
    code = [(file, units) for file, units in by_file if str(file.role) not in BEHIND]
    likely = [one.place for one in rank_units([units for _, units in code], question.text)]
    best = [one for one in likely if has_body(one)][:MOST_LIKELY] or likely[:1]
    known = {one.key for one in best}
    first = [one for one in in_order(code) if has_body(one) and one.key not in known][:MOST_FIRST]
    return [replace(one, weight=1.0) for pair in zip_longest(best, first) for one in pair if one]


def has_body(place: ResultPlace) -> bool:
    """Whether it is a function with lines that can explain something."""
    return bool(place.kind) and place.kind not in TYPES and place.end > place.line


def in_order(by_file: Sequence[tuple[FileHits, list[ScoredUnit]]]) -> list[ResultPlace]:
    """Code first. A file ranks by its best place; further places of it rank lower, because places in two files are
    more useful than two places in one."""
    scored = [
        (BEHIND.get(str(file.role), 0), -worth(file, places, rank), at, rank, places[rank].place)
        for at, (file, places) in enumerate(by_file)
        for rank in range(min(len(places), MOST_OF_FILE))
    ]
    return [replace(place, weight=-score) for _, score, _, _, place in sorted(scored, key=lambda one: one[:4])]


def worth(file: FileHits, places: Sequence[ScoredUnit], rank: int) -> float:
    best = places[0].score
    return file.score * (places[rank].score / best if best else 1.0) * FURTHER**rank


def found_result(brief: Brief, places: list[ResultPlace], notes: list[str]) -> RoleOutcome:
    confidence = Confidence.LOW if notes else confidence_of(brief.question, places[0])
    further = [place for place in places if place.section == ALSO]
    places = [place for place in places if place.section != ALSO][:MOST_PLACES]
    groups: defaultdict[str, list[ResultPlace]] = defaultdict(list)
    for place in places:
        groups[category_of(place.path)].append(place)
    findings = [
        f"{category}: {', '.join(cite(brief, place) for place in listed)}" for category, listed in groups.items()
    ]
    first = places[0]
    counted = f"{plural(len(places), 'place')} in {plural(len({place.path for place in places}), 'file')}"
    result = Result(
        summary=f"{first.name or first.path} is at {brief.reference(first)}; {counted}.",
        references=tuple(brief.reference(place) for place in places),
        key_findings=tuple(findings),
        confidence=confidence,
        notes=" ".join(notes) or None,
    )
    return RoleOutcome(result, (*places, *further))


def cite(brief: Brief, place: ResultPlace) -> str:
    return f"{brief.reference(place)} {place.name}".strip()


def confidence_of(question: Question, first: ResultPlace) -> Confidence:
    terms = terms_of(question.subject)
    named = any(
        name.text.rpartition(".")[2].lower() == first.name.rpartition(".")[2].lower() for name in question.names
    )
    if question.type not in SEARCHED:
        return Confidence.LOW
    if named:
        return Confidence.MED
    first_terms = terms_of(f"{first.path} {first.name}".replace("/", " ").replace(".", " "))
    return Confidence.MED if len(terms & first_terms) >= SURE_COVERAGE * len(terms) else Confidence.LOW


def not_found(question: Question, missing: Sequence[Name], toolbox: RoleToolbox) -> RoleOutcome:
    missing_names = [name.text for name in missing] or list(question.keywords)
    near = list(dict.fromkeys(one for name in missing_names[:3] for one in toolbox.nearest(name)))[:5]
    what = ", ".join(missing_names) or question.subject
    if toolbox.meter.truncated and not missing:
        return RoleOutcome(Result(f"No answer within the limits of this question. {toolbox.meter.note}"))
    notes = [f"Searched definitions, text and paths for {what}."]
    if near:
        notes.append(f"Similar names: {', '.join(near)}.")
    summary = (
        f"Not found: nothing in the searched roots is named {what}."
        if missing or question.type is QuestionType.WHERE
        else f"Not found: nothing in the searched roots mentions {what}."
    )
    findings = (f"Similar names: {', '.join(near)}",) if near else ()
    return RoleOutcome(Result(summary, (), findings, Confidence.LOW, " ".join(notes)))


ROLE = ResearchRole.of(
    "locator",
    "locator",
    """You find where things are. From the evidence, list the files and lines that the question is about, by category
    (implementation, tests, configuration, documentation). No excerpts, no advice, no places outside the evidence.""",
    "search symbols refs read",
    work,
)
