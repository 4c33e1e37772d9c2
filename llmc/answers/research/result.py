"""The result of a role and the result of a task: the two shapes that every interface shows.

`Result` is the normalized payload of a role (`summary`, `references`, `key_findings`, `confidence`, `notes`).
`TaskResult` adds how and when the task ended. `bounded` truncates a result and reports it in the notes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "ALSO",
    "Confidence",
    "Failure",
    "Result",
    "ResultPlace",
    "ResultStatus",
    "RoleOutcome",
    "TaskResult",
    "bounded",
    "is_answer",
    "shortened",
    "with_note",
]

# The section of files that are only listed.
ALSO = "also"
# Readers of a compact report follow about a dozen places; a longer list is a search result, not an answer.
MOST_REFERENCES = 20
MOST_FINDINGS = 12
LONGEST_SUMMARY = 700
LONGEST_FINDING = 320
LONGEST_NOTES = 500
MOST_SNIPPET = 6


class ResultStatus(StrEnum):
    OK = "ok"
    TIMEOUT = "timeout"
    CANCELED = "canceled"
    ERROR = "error"


class Confidence(StrEnum):
    LOW = "low"
    MED = "med"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Result:
    """`references` are `path`, `path:line` or `path:line:col`."""

    summary: str
    references: tuple[str, ...] = ()
    key_findings: tuple[str, ...] = ()
    confidence: Confidence = Confidence.LOW
    notes: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "summary": self.summary,
            "references": list(self.references),
            "key_findings": list(self.key_findings),
            "confidence": str(self.confidence),
            "notes": self.notes,
        }


@dataclass(frozen=True, slots=True)
class ResultPlace:
    """A range of lines in a result. `section` is why it is listed, `of` the definition it belongs to, `says` a one-line
    description, `rows` the excerpt. `weight` ranks it among others; 0 for places named in the question."""

    root: str
    path: str
    line: int
    end: int
    name: str = ""
    kind: str = ""
    section: str = "code"
    says: str = ""
    rows: tuple[tuple[int, str], ...] = ()
    of: str = ""
    weight: float = 0.0

    @property
    def key(self) -> tuple[str, str, int]:
        return self.root, self.path, self.line


def is_answer(places: Sequence[ResultPlace]) -> bool:
    """Whether a finder for the type of the question found these places, rather than search, whose section is `code`."""
    return bool(places) and places[0].section != "code"


@dataclass(frozen=True, slots=True)
class RoleOutcome:
    """What a role returns: the result, and its places for interfaces that can open them."""

    result: Result
    places: tuple[ResultPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """`name` is a stable code: `timeout`, `canceled`, `queue_full`, `internal`, or the code of an `LlmcError`."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How a task ended. `value` is set if the status is ok, `error` otherwise."""

    status: ResultStatus
    value: Result | None = None
    error: Failure | None = None
    started_at: int = 0
    elapsed_ms: int = 0

    def as_dict(self) -> dict[str, Any]:
        timing = {"startedAt": self.started_at, "elapsedMs": self.elapsed_ms}
        if self.value is not None:
            return {"status": str(self.status), "value": self.value.as_dict(), "timing": timing}
        error = self.error or Failure("internal", "the task returned no result")
        return {
            "status": str(self.status),
            "error": {"name": error.name, "message": error.message},
            "timing": timing,
        }


def bounded(result: Result) -> Result:
    """Remove duplicates and truncate every field; the notes report what was left out."""
    references = tuple(dict.fromkeys(result.references))
    findings = tuple(dict.fromkeys(finding_of(text) for text in result.key_findings if text.strip()))
    left = []
    if len(references) > MOST_REFERENCES:
        left.append(f"{len(references) - MOST_REFERENCES} references")
    if len(findings) > MOST_FINDINGS:
        left.append(f"{len(findings) - MOST_FINDINGS} findings")
    notes = result.notes or ""
    if left:
        notes = f"{notes} {' and '.join(left)} more were left out.".strip()
    return replace(
        result,
        summary=shortened(result.summary, LONGEST_SUMMARY),
        references=references[:MOST_REFERENCES],
        key_findings=findings[:MOST_FINDINGS],
        notes=shortened(notes, LONGEST_NOTES) or None,
    )


def finding_of(text: str) -> str:
    """One line for a statement; a snippet keeps as many of its lines as fit."""
    head, *lines = text.strip().split("\n")
    kept, left = [shortened(head, LONGEST_FINDING)], LONGEST_FINDING
    for line in lines[:MOST_SNIPPET]:
        left -= len(line)
        if left < 0:
            break
        kept.append(line.rstrip())
    return "\n".join(kept)


def shortened(text: str, most: int) -> str:
    """Join to one line, and truncate at a word boundary."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return text[: most - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def with_note(result: Result, note: str, instead_of: Iterable[str] = ()) -> Result:
    """The result with this note, once, and without the notes that it repeats."""
    notes = result.notes or ""
    for other in instead_of:
        notes = notes.replace(other, "")
    notes = " ".join(notes.split())
    return replace(result, notes=notes if note in notes else f"{notes} {note}".strip())
