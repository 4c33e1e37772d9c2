"""Values passed between the ask roles: a route, steps, costs, and the answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.answers.research.report import ResearchReport
    from llmc.answers.research.result import Result

__all__ = ["CREW", "Answer", "Cost", "QuestionKind", "QuestionRoute", "ToolStep"]

CREW = ("beatrice", "otto", "rem", "grace")


class QuestionKind(StrEnum):
    CODE = "code"
    DOCS = "docs"
    MIXED = "mixed"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class QuestionRoute:
    """`tools` are the only tools this question may use; `command` is the literal command to run, if any."""

    kind: QuestionKind
    tools: tuple[str, ...]
    command: str = ""


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One tool call. `text` is its reply as shown to a model; `places` are the `path:line` references in it."""

    tool: str
    args: Mapping[str, Any]
    why: str = ""
    by: str = "llmc"
    text: str = ""
    places: tuple[str, ...] = ()
    handle: str = ""
    error: str = ""

    @property
    def call(self) -> str:
        """`grep pattern=x path=src`."""
        args = " ".join(f"{key}={value}" for key, value in self.args.items() if key != "budget")
        return f"{self.tool} {args}".strip()[:160]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one role's model: tokens read and written, number of requests, and how it ended."""

    role: str
    model: str
    requests: int
    read: int
    written: int
    seconds: float
    ended: str = "ok"

    def as_dict(self) -> dict[str, Any]:
        return {
            "role": self.role,
            "model": self.model,
            "requests": self.requests,
            "read": self.read,
            "written": self.written,
            "seconds": round(self.seconds, 3),
            "ended": self.ended,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """`worded`: a model wrote the result. `report` holds the places that can be opened."""

    question: str
    route: QuestionRoute
    result: Result
    report: ResearchReport
    steps: tuple[ToolStep, ...] = ()
    costs: tuple[Cost, ...] = ()
    worded: bool = False
    output: str = ""
