"""What do the documents say? Passages of prose for a question, as places that can be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.answers.ask.context import DOC_FILES
from llmc.answers.research.evidence import matched, terms_of
from llmc.answers.research.prose import one_line, telling
from llmc.answers.research.result import Confidence, Result, ResultPlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.answers.ask.context import AskContext
    from llmc.answers.research.toolbox import RoleToolbox
    from llmc.retrieval.results import FileHits

__all__ = ["doc_places", "doc_result"]

MOST_FILES = 5
ROWS = 3
# A passage with fewer of the question's words is about something else; search always has a best one.
LEAST_SHARE, GOOD_SHARE = 0.4, 0.75
# They say where to look, not what for.
ABOUT = terms_of("docs doc documentation readme guide manual say says tell explain explained mention written described")


def doc_places(desk: AskContext) -> tuple[tuple[ResultPlace, float], ...]:
    """(place, share of the question's words that it has), the best first."""
    toolbox = desk.toolbox_for(DOC_FILES)
    if not toolbox.areas:
        return ()
    subject = desk.inquiry.question.subject
    terms = (terms_of(subject) - ABOUT) or terms_of(subject)
    found = [place_of(toolbox, file, terms) for file in toolbox.search(subject, limit=MOST_FILES, per_file=1).files]
    return tuple((place, share) for place, share in found if share >= LEAST_SHARE)


def place_of(toolbox: RoleToolbox, file: FileHits, terms: frozenset[str]) -> tuple[ResultPlace, float]:
    hit = file.hits[0]
    lines = toolbox.shown(toolbox.area_of(file.root), file.path)
    rows = telling(lines, hit.start_line, hit.end_line, terms, ROWS)
    prose = [row for row in rows if not is_heading(row[1])] or prose_after(lines, hit.start_line, hit.end_line)
    number, text = max(prose, key=lambda row: (matched(terms, [row[1]]), -row[0]), default=(hit.start_line, hit.name))
    share = matched(terms, [file.path, hit.name, *lines[hit.start_line - 1 : hit.end_line]])
    says = one_line(text.strip(" #*->|`"))
    return ResultPlace(file.root, file.path, number, hit.end_line, hit.name, hit.kind, "docs", says, rows=()), share


def is_heading(text: str) -> bool:
    return text.startswith("#") or not text.strip("=-~^* ")


def prose_after(lines: Sequence[str], start: int, end: int) -> list[tuple[int, str]]:
    """The first line below a heading that says something."""
    listed = enumerate(lines[start:end], start + 1)
    return next(([(number, text)] for number, text in listed if text.strip() and not is_heading(text)), [])


def doc_result(desk: AskContext, places: tuple[tuple[ResultPlace, float], ...]) -> Result | None:
    """The best passage as the answer; None when there is none."""
    if not places:
        return None
    best, share = places[0]
    listed = [desk.brief.reference(place) for place, _ in places]
    return Result(
        f"{listed[0]} {best.name}: {best.says}".replace("  ", " "),
        tuple(listed),
        tuple(f"{reference} {place.says}" for reference, (place, _) in zip(listed, places, strict=True)),
        Confidence.HIGH if share >= GOOD_SHARE else Confidence.MED,
    )
