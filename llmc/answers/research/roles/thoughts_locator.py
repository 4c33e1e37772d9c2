"""Thoughts Locator: which notes and decisions mention it? Runs only when a thoughts folder is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.answers.research.result import Confidence, Result, ResultPlace, RoleOutcome
from llmc.answers.research.roles import Brief, ResearchRole

if TYPE_CHECKING:
    from llmc.answers.research.toolbox import RoleToolbox

FILES = 6


def work(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome:
    question = brief.question
    absent = [word for word in question.keywords if not toolbox.says(word)]
    files = (
        () if len(absent) == len(question.keywords) else toolbox.search(question.subject, limit=FILES, per_file=1).files
    )
    places = tuple(
        ResultPlace(file.root, file.path, hit.start_line, hit.end_line, hit.name, hit.kind, "history")
        for file in files
        for hit in file.hits
    )
    if not places:
        return RoleOutcome(Result(f"Not found: no note mentions {', '.join(question.keywords)}."))
    counted = "1 note mentions" if len(places) == 1 else f"{len(places)} notes mention"
    return RoleOutcome(
        Result(
            summary=f"{counted} this; the closest is {brief.reference(places[0])}.",
            references=tuple(brief.reference(place) for place in places),
            key_findings=tuple(f"{brief.reference(place)} {place.name}".strip() for place in places),
            confidence=Confidence.LOW if absent else Confidence.MED,
            notes=f"No note contains {', '.join(absent)}." if absent else None,
        ),
        places,
    )


ROLE = ResearchRole.of(
    "thoughts_locator",
    "thoughts_locator",
    """You find which notes, decisions and tickets mention the subject of the question. List the documents and their
    sections, newest and most relevant first. No excerpts.""",
    "search read",
    work,
)
