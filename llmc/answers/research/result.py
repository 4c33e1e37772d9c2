"""What a role answers with, and what the runtime makes of it: the two shapes that every surface shows.

`Result` is the normalised payload of a role (`summary`, `references`, `key_findings`, `confidence`, `notes`), `Wrapped`
the runtime's word about a task: how it ended, and when. `bounded` cuts a result to size and says so; nothing here knows
how a result came about.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

__all__ = [
    "Confidence",
    "Failure",
    "Result",
    "ResultPlace",
    "ResultStatus",
    "RoleOutcome",
    "Wrapped",
    "bounded",
    "shortened",
]

# A reader of a compact report follows a dozen places at most; what is longer is a search result, not an answer.
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
    """A run of lines that a result speaks of. `section` says why it is there, `of` which definition it is said of;
    `rows` are the lines that are shown, `weight` is how well it fits beside others, 0 for what was named."""

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


@dataclass(frozen=True, slots=True)
class RoleOutcome:
    """What a role hands back: the result for every surface, and its places for those that can open them."""

    result: Result
    places: tuple[ResultPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """`name` is a stable code: `timeout`, `canceled`, `queue_full`, `internal`, or the code of an error of llmc's."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Wrapped:
    """How a task ended. `value` is there exactly when it is ok, `error` exactly when it is not."""

    status: ResultStatus
    value: Result | None = None
    error: Failure | None = None
    started_at: int = 0
    elapsed_ms: int = 0

    def as_dict(self) -> dict[str, Any]:
        timing = {"startedAt": self.started_at, "elapsedMs": self.elapsed_ms}
        if self.value is not None:
            return {"status": str(self.status), "value": self.value.as_dict(), "timing": timing}
        error = self.error or Failure("internal", "the task left no answer")
        return {
            "status": str(self.status),
            "error": {"name": error.name, "message": error.message},
            "timing": timing,
        }


def bounded(result: Result) -> Result:
    """Each reference once and in order, nothing longer than it may be; the notes say what was left out."""
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
    """A statement is one line; a snippet keeps its lines, as many as there is room for."""
    head, *lines = text.strip().split("\n")
    kept, left = [shortened(head, LONGEST_FINDING)], LONGEST_FINDING
    for line in lines[:MOST_SNIPPET]:
        left -= len(line)
        if left < 0:
            break
        kept.append(line.rstrip())
    return "\n".join(kept)


def shortened(text: str, most: int) -> str:
    """On one line, cut at a word."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return text[: most - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"
