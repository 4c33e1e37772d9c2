"""Research Handoff: a report as markdown, and back again.

The sections are fixed (question, summary, key findings, references, constraints, notes), so programs and people can
both read the file. A handoff written by `create_handoff` also contains the state of the session, the open questions
and the live handles. The text is redacted before it is written. A file that is read back is data: its lines are
displayed and never treated as instructions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.envelope.clean import clean_text
from llmc.envelope.handles import HANDLE
from llmc.envelope.redact.redactor import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.answers.research.report import ResearchReport
    from llmc.settings import Redaction

__all__ = ["Handoff", "HandoffSession", "handoff_text", "parse_handoff"]

TITLE = "# Research Handoff"
SEARCHED = "roots searched: "
MOST_LINES = 20
LONGEST_LINE = 400


@dataclass(frozen=True, slots=True)
class HandoffSession:
    """What a handoff adds to a report: session state, open questions, and (handle, question) of live handles."""

    state: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    handles: tuple[tuple[str, str], ...] = ()


def handoff_text(
    report: ResearchReport,
    redaction: Redaction,
    session: HandoffSession | None = None,
    summary: str = "",
    notes: str = "",
) -> str:
    value = report.synthesis.value
    findings = value.key_findings if value else ()
    references = value.references if value else ()
    all_notes = " ".join(filter(None, (value.notes if value else None, notes)))
    lines = [
        TITLE,
        *section("Question", plain(report.question.text)),
        *section("Summary", plain(summary or (value.summary if value else "No answer."))),
        *section("Key Findings", bullets(findings)),
        *section("References", bullets(references)),
        *section("Constraints / Budgets", bullets(constraints(report))),
    ]
    if all_notes:
        lines += section("Notes", plain(all_notes))
    if session is not None:
        lines += section("Session", bullets(session.state))
        lines += section("Open Questions", bullets(session.open_questions))
        lines += section("Handles", bullets(f"{name} {question}" for name, question in session.handles))
    return clean_text("\n".join(lines) + "\n", Redactor.of(redaction))


def section(title: str, lines: Iterable[str]) -> list[str]:
    return ["", f"## {title}", "", *lines]


def plain(text: str) -> list[str]:
    """The text as it is, with lines that look like headings escaped."""
    return [f"\\{line}" if line.startswith("#") else line for line in text.split("\n")]


def bullets(texts: Iterable[str]) -> Iterator[str]:
    """One bullet per text; continuation lines are indented, so that none can look like a heading."""
    empty = True
    for text in list(texts)[:MOST_LINES]:
        empty = False
        yield "- " + "\n  ".join(line[:LONGEST_LINE] for line in text.split("\n"))
    if empty:
        yield "- none"


def constraints(report: ResearchReport) -> Iterator[str]:
    yield f"{SEARCHED}{', '.join(report.roots)}"
    yield "limits: " + ", ".join(f"{name} {value}" for name, value in report.constraints.as_dict().items())
    yield f"read: {report.progress.files} files, {report.progress.bytes} bytes, {report.progress.elapsed_ms} ms"
    yield f"timeouts: {', '.join(report.progress.timeouts) or 'none'}"


@dataclass(frozen=True, slots=True)
class Handoff:
    """A parsed handoff file. Unknown sections are ignored."""

    question: str
    summary: str
    findings: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    notes: str = ""
    open_questions: tuple[str, ...] = ()
    handles: tuple[tuple[str, str], ...] = ()
    roots: tuple[str, ...] = ()


def parse_handoff(text: str) -> Handoff | None:
    """Parse a handoff file; None when the text is not one."""
    lines = text.split("\n")
    if lines[0].strip() != TITLE:
        return None
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines[1:]:
        if line.startswith("## "):
            current = sections.setdefault(line[3:].strip().lower(), [])
        else:
            current.append(line)
    handles = (item.partition(" ") for item in items(sections.get("handles", [])))
    return Handoff(
        question=paragraph(sections.get("question", [])),
        summary=paragraph(sections.get("summary", [])),
        findings=items(sections.get("key findings", [])),
        references=items(sections.get("references", [])),
        notes=paragraph(sections.get("notes", [])),
        open_questions=items(sections.get("open questions", [])),
        handles=tuple((name, question) for name, _, question in handles if HANDLE.fullmatch(name)),
        roots=roots_of(items(sections.get("constraints / budgets", []))),
    )


def roots_of(limits: Iterable[str]) -> tuple[str, ...]:
    """The folders that the report searched, as `constraints` lists them."""
    listed = next((one.removeprefix(SEARCHED) for one in limits if one.startswith(SEARCHED)), "")
    return tuple(filter(None, listed.split(", ")))


def paragraph(lines: Sequence[str]) -> str:
    return " ".join(" ".join(line.removeprefix("\\") for line in lines).split())


def items(lines: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for line in lines:
        if line.startswith("- "):
            found.append(line[2:].strip())
        elif found and re.match(r"\s+\S", line):
            found[-1] += "\n" + line.strip()
    return tuple(text for text in found if text and text != "none")[:MOST_LINES]
