"""Documentation passages that answer a question, as places that can be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.answers.ask.context import DOC_FILES
from llmc.answers.research.evidence import term_share, terms_of
from llmc.answers.research.prose import matching_lines, one_line
from llmc.answers.research.result import Confidence, Result, ResultPlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.answers.ask.context import AskContext
    from llmc.answers.research.toolbox import RoleToolbox
    from llmc.retrieval.results import FileHits

__all__ = ["doc_places", "doc_result"]

MOST_FILES = 5
ROWS = 3
# A passage with a smaller share of the question's words is off topic; search always returns a best one.
LEAST_SHARE, GOOD_SHARE = 0.4, 0.75
# Words that say where to look, not what to look for.
ABOUT = terms_of("docs doc documentation readme guide manual say says tell explain explained mention written described")


def doc_places(context: AskContext) -> tuple[tuple[ResultPlace, float], ...]:
    """(place, share of the question's words found in it), best first."""
    toolbox = context.toolbox_for(DOC_FILES)
    if not toolbox.areas:
        return ()
    subject = context.session.question.subject
    terms = (terms_of(subject) - ABOUT) or terms_of(subject)
    found = [passage_of(toolbox, file, terms) for file in toolbox.search(subject, limit=MOST_FILES, per_file=1).files]
    return tuple((place, share) for place, share in found if share >= LEAST_SHARE)


def passage_of(toolbox: RoleToolbox, file: FileHits, terms: frozenset[str]) -> tuple[ResultPlace, float]:
    hit = file.hits[0]
    lines = toolbox.shown(toolbox.area_of(file.root), file.path)
    rows = matching_lines(lines, hit.start_line, hit.end_line, terms, ROWS)
    prose = [row for row in rows if not is_heading(row[1])] or prose_after(lines, hit.start_line, hit.end_line)
    number, text = max(
        prose, key=lambda row: (term_share(terms, [row[1]]), -row[0]), default=(hit.start_line, hit.name)
    )
    share = term_share(terms, [file.path, hit.name, *lines[hit.start_line - 1 : hit.end_line]])
    says = one_line(text.strip(" #*->|`"))
    return ResultPlace(file.root, file.path, number, hit.end_line, hit.name, hit.kind, "docs", says, rows=()), share


def is_heading(text: str) -> bool:
    return text.startswith("#") or not text.strip("=-~^* ")


def prose_after(lines: Sequence[str], start: int, end: int) -> list[tuple[int, str]]:
    """The first line of text below a heading."""
    listed = enumerate(lines[start:end], start + 1)
    return next(([(number, text)] for number, text in listed if text.strip() and not is_heading(text)), [])


def doc_result(context: AskContext, places: tuple[tuple[ResultPlace, float], ...]) -> Result | None:
    """The best passage as a result, or None without passages."""
    if not places:
        return None
    best, share = places[0]
    listed = [context.brief.reference(place) for place, _ in places]
    return Result(
        f"{listed[0]} {best.name}: {best.says}".replace("  ", " "),
        tuple(listed),
        tuple(f"{reference} {place.says}" for reference, (place, _) in zip(listed, places, strict=True)),
        Confidence.HIGH if share >= GOOD_SHARE else Confidence.MED,
    )
