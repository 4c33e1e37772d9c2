"""What changed? The section of a changelog, release note or migration guide; for a file or a name, its commits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import terms_of
from llmc.answers.research.finders.answers import answer, joined, target_names
from llmc.answers.research.finders.documents import (
    CHANGES,
    DOCUMENTS,
    ScoredSection,
    about_text,
    best_sections,
    dedent,
    passage_place,
)
from llmc.answers.research.finders.sections import Section, sections_of
from llmc.answers.research.result import Confidence, ResultPlace
from llmc.base.errors import LlmcError
from llmc.envelope.clean import clean_text
from llmc.retrieval.evidence import EvidenceKind, extract
from llmc.retrieval.history import HistoryKind, HistoryRequest, history

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.answers.research.result import RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import Area, RoleToolbox

__all__ = ["changed"]

_VERSION = re.compile(r"(?<![\w.])v?(?P<number>\d+(?:\.\d+){0,3}(?:[-.]?(?:rc|alpha|beta|a|b)\.?\d*)?)(?![\w])")
_RECENT = re.compile(r"\b(?:recent\w*|lately|commits?|history|last|latest|who|when)\b", re.IGNORECASE)
MOST_ROWS = 30
MOST_COMMITS = 5
MOST_FILES = 12
LEAST, GOOD = 0.6, 0.8


def changed(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    version = _VERSION.search(brief.question.text)
    rest = terms_of(about_text(brief)) - terms_of(version[0] if version else "")
    if version and len(rest - project_terms(toolbox)) <= 1 and (found := of_version(brief, version["number"], toolbox)):
        return found
    subject = next((one.text for one in extract(brief.question.text) if one.kind is EvidenceKind.PATH), "")
    subject = subject or next(iter(target_names(brief)), "")
    if _RECENT.search(brief.question.text) and (found := of_history(brief, subject or about_text(brief), toolbox)):
        return found
    return of_topic(brief, version["number"] if version else "", toolbox) or (
        of_history(brief, subject, toolbox) if subject else None
    )


def project_terms(toolbox: RoleToolbox) -> frozenset[str]:
    """Words of the root's name, and words like "version" and "release", which do not narrow the question."""
    names = " ".join(area.view.root.path.rpartition("/")[2] for area in toolbox.areas)
    return terms_of(f"{names} version versions release releases new recently")


def of_version(brief: Brief, version: str, toolbox: RoleToolbox) -> RoleOutcome | None:
    found = sorted(version_sections(version, toolbox), key=lambda one: one[0])
    if not found:
        return None
    _, area, path, section = found[0]
    lines = toolbox.shown(area, path)
    rows = dedent(entries(lines, section)[:MOST_ROWS])
    if not rows:
        return None
    left = max(0, len(entries(lines, section)) - MOST_ROWS)
    place = ResultPlace(area.view.root.id, path, rows[0][0], section.end, section.title, "heading", "change", "", rows)
    summary = f"{brief.reference(place)} ({section.title.strip()}) lists what changed in {version}."
    notes = [f"{left} more lines of this section are not quoted." if left else ""]
    exact = re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.]*\d)", section.title) is not None
    return answer(brief, summary, [place], Confidence.HIGH if exact else Confidence.MED, notes)


def version_sections(version: str, toolbox: RoleToolbox) -> Iterator[tuple[tuple[int, int, int], Area, str, Section]]:
    """(rank, …) of sections for a version: its own heading, else a document about it, else its first release."""
    exact = re.compile(rf"(?<![\d.])v?{re.escape(version)}(?!\.?\d|[a-z])", re.IGNORECASE)
    first = re.compile(rf"(?<![\d.])v?{re.escape(version)}(?:\.0)+(?![.\w])", re.IGNORECASE)
    matches = toolbox.grep(version, fixed=True, globs=DOCUMENTS)
    files = {(one.area.view.root.id, one.path): one.area for one in matches if CHANGES.search(one.path)}
    ordered = sorted(files, key=lambda one: (not is_near(one[1], version), one[1].count("/"), one[1]))
    for root, path in ordered[:MOST_FILES]:
        area = files[root, path]
        sections = sections_of(toolbox.shown(area, path))
        for at, section in enumerate(sections):
            rank = 0 if exact.search(section.title) else 1 if first.search(section.title) else 9
            if rank < 9:  # noqa: PLR2004 - it is about the version
                whole = with_inner(sections, at)
                named = 0 if exact.search(path) else 1
                yield (rank, named, -min(40, whole.end - whole.start)), area, path, whole


def is_near(path: str, version: str) -> bool:
    """Whether the path contains the version or its series: `changelog-5.5.rst` for 5.5.2."""
    series = version.rpartition(".")[0]
    return any(re.search(rf"(?<![\d.])v?{re.escape(one)}(?!\.?\d)", path) for one in (version, series) if one)


def with_inner(sections: list[Section], at: int) -> Section:
    """The section with its subsections, up to the next heading of the same or a higher level."""
    section = sections[at]
    end = section.end
    ranks = list(dict.fromkeys(one.level for one in sections))  # the order in which levels first occur
    for one in sections[at + 1 :]:
        if ranks.index(one.level) <= ranks.index(section.level):
            break
        end = one.end
    return Section(section.title, section.start, end, section.level)


FEW = 3
_DROPPED = re.compile(r"\s*(?:$|([=\-~^\"'`#*+])\1{2,}\s*$|\.\.\s|:[\w-]+:|<)")


def entries(lines: list[str], section: Section) -> list[tuple[int, str]]:
    """The lines of the section without underlines, targets and fields."""
    inside = [(number, lines[number - 1].rstrip()) for number in range(section.start + 1, section.end + 1)]
    kept = [(number, text) for number, text in inside if not _DROPPED.match(text)]
    inner = [one for one in sections_of(lines) if section.start < one.start <= section.end and one.level != "entry"]
    if len(kept) <= 2 * MOST_ROWS or len(inner) < FEW:
        return kept
    rows: list[tuple[int, str]] = []  # for a long section, the beginning of each of its parts
    for one in inner:
        text = next(
            (text for number, text in kept if one.start + 1 < number <= one.end and text.strip() != one.title), ""
        )
        rows.append((one.start, f"{one.title}: {text.strip()}" if text else one.title))
    return rows


def of_topic(brief: Brief, version: str, toolbox: RoleToolbox) -> RoleOutcome | None:
    """The section of a changelog or migration guide about a topic."""
    about = about_text(brief)
    found = best_sections(about, target_names(brief), toolbox, lambda path: CHANGES.search(path) is not None)
    good = [one for one in found if one.share >= LEAST and is_of(one, version)]
    if not good:
        return None
    places = [passage_place(brief, toolbox, one, 12) for one in good[:2]]
    first = places[0]
    summary = f"{brief.reference(first)} ({first.name}) says: {' '.join(text.strip() for _, text in first.rows[:3])}"
    return answer(brief, summary, places, Confidence.MED if good[0].share >= GOOD else Confidence.LOW)


def is_of(one: ScoredSection, version: str) -> bool:
    return not version or version in f"{one.path} {one.section.title}".lower()


def of_history(brief: Brief, subject: str, toolbox: RoleToolbox) -> RoleOutcome | None:
    try:
        found = history([area.source for area in toolbox.areas], HistoryRequest(subject, MOST_COMMITS))
    except LlmcError:
        return None
    if not found.commits or (found.kind is HistoryKind.WORDS and "/" in subject):
        return None
    path = found.about[0] if found.about else found.commits[0].files[0] if found.commits[0].files else ""
    if not path:
        return None
    rows = tuple(
        (0, clean_text(f"{one.id[:10]} {one.day} {one.author}: {one.subject}", toolbox.redactor))
        for one in found.commits
    )
    place = ResultPlace(found.root, path, 1, 1, "", "", "change", f"{found.total} commits", rows)
    last = found.commits[0]
    what = joined(list(found.about), 2) if found.kind is not HistoryKind.WORDS else subject
    summary = f"The last of {found.total} commits of {what} is {last.id[:10]} of {last.day}: {last.subject}"
    if found.kind is HistoryKind.WORDS:
        summary = f"{found.total} commits mention {what}; the closest is {last.id[:10]} of {last.day}: {last.subject}"
    sure = found.is_read and found.kind is HistoryKind.PATH
    notes = ["" if found.is_read else f"The history is still being read: {found.read} commits so far."]
    notes += [f"These are the commits of the file that defines {subject}." if found.kind is HistoryKind.SYMBOL else ""]
    return answer(brief, summary, [place], Confidence.HIGH if sure else Confidence.LOW, notes)
