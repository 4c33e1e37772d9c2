"""Thoughts Analyzer: what was decided, and when? The relevant sentences of the notes, each with its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import term_share, terms_of
from llmc.answers.research.prose import one_line
from llmc.answers.research.result import Confidence, Result, ResultPlace, RoleOutcome
from llmc.answers.research.roles import Brief, ResearchRole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.answers.research.toolbox import RoleToolbox

MOST_NOTES = 3
MOST_SENTENCES = 2
# Words that mark a decision in a note.
_DECIDES = re.compile(
    r"\b(?:decid\w+|decision|chose|chosen|agreed|must|never|always|because|instead|rejected|status)\b", re.IGNORECASE
)


def work(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome:
    terms = terms_of(brief.question.subject)
    places = tuple(place for target in brief.targets[:MOST_NOTES] for place in sentences(target, terms, toolbox))
    if not places:
        return RoleOutcome(Result("Not found: the notes contain nothing citable about this."))
    return RoleOutcome(
        Result(
            summary=f"{places[0].path} notes: {places[0].says}",
            references=tuple(brief.reference(place) for place in places),
            key_findings=tuple(f"{brief.reference(place)}: {place.says}" for place in places),
            confidence=Confidence.MED,
        ),
        places,
    )


def sentences(target: ResultPlace, terms: frozenset[str], toolbox: RoleToolbox) -> Iterator[ResultPlace]:
    lines = toolbox.shown(toolbox.area_of(target.root), target.path)
    scored = []
    for number in range(target.line, min(target.end, len(lines)) + 1):
        text = lines[number - 1].strip()
        if text and not text.startswith(("```", "|")):
            score = term_share(terms, [text]) + (0.3 if _DECIDES.search(text) else 0.0)
            scored.append((-score, number, text))
    for _, number, text in sorted(scored)[:MOST_SENTENCES]:
        sentence = one_line(text.lstrip("#*->. "))
        yield ResultPlace(target.root, target.path, number, number, target.name, "note", "history", sentence)


ROLE = ResearchRole.of(
    "thoughts_analyzer",
    "thoughts_analyzer",
    """You state what the notes decided about the question, when and why, using only the evidence; each statement
    includes its file:line. State what was superseded. No advice.""",
    "search read",
    work,
)
