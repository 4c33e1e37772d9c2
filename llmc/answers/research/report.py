"""A research report and its two forms: JSON for programs, and an envelope for a model's context.

The JSON contains the question, the roots, one result per role that ran, the synthesis, the constraints used and
statistics of the run. The envelope is a short form: the direct answer, then places grouped by why they matter, each of
which can be opened.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from llmc.answers.research.matches import category_of
from llmc.answers.research.question import QuestionType
from llmc.answers.research.result import ALSO, ResultPlace, ResultStatus, shortened
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmc.answers.research.question import Question
    from llmc.answers.research.result import TaskResult
    from llmc.answers.research.scope import Constraints

__all__ = ["ResearchProgress", "ResearchReport", "envelope_of"]

TITLES = {
    "definition": "how it works",
    "member": "members",
    "entry": "used by",
    "calls": "calls",
    "data": "gives back",
    "config": "depends on",
    "example": "examples",
    "history": "history",
    "caller": "called by",
    "guess": "same name, not resolved",
    "impact": "would have to change",
    "override": "overrides",
    "subtype": "subtypes",
    "listed": "places",
    "test": "tests",
    "value": "value",
    "manifest": "declared in",
    "passage": "documentation",
    "change": "changes",
    "raised": "raised at",
    "message": "message defined at",
}
MOST_PLACES, MOST_FURTHER = 7, 11
# When four definitions are explained as well.
MOST_PLACES_OF_FLOW = 5
# (references, findings, summary characters) that each role keeps, down to the smallest useful answer.
CUTS = (
    (20, 12, 700),
    (12, 8, 700),
    (8, 6, 500),
    (6, 4, 400),
    (4, 3, 300),
    (3, 2, 240),
    (2, 1, 180),
    (1, 0, 120),
    (1, 0, 60),
)
STATISTICS = frozenset({"progress", "constraints", "types"})
# Fields of every report; the first and the last always remain.
REQUIRED = ("question", "rootsSearched", "locator", "synthesis")


@dataclass(frozen=True, slots=True)
class ResearchProgress:
    tasks: int = 0
    roles: tuple[str, ...] = ()
    elapsed_ms: int = 0
    timeouts: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    files: int = 0
    bytes: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "tasks": self.tasks,
            "roles": list(self.roles),
            "elapsedMs": self.elapsed_ms,
            "timeouts": list(self.timeouts),
            "keywords": list(self.keywords),
            "filesRead": self.files,
            "bytesRead": self.bytes,
        }


@dataclass(frozen=True, slots=True)
class ResearchReport:
    question: Question
    roots: tuple[str, ...]
    roles: Mapping[str, TaskResult]
    synthesis: TaskResult
    constraints: Constraints
    progress: ResearchProgress
    places: Mapping[str, tuple[ResultPlace, ...]] = field(default_factory=dict)
    pending: int = 0
    share: float = 1.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "question": self.question.text,
            "rootsSearched": list(self.roots),
            **{key: one.as_dict() for key, one in self.roles.items()},
            "synthesis": self.synthesis.as_dict(),
            "types": [str(one) for one in self.question.types],
            "constraints": self.constraints.as_dict(),
            "progress": self.progress.as_dict(),
        }

    def fitted(self) -> dict[str, Any]:
        """The JSON form within its token budget: all lists are cut evenly, and the notes report it. If that is not
        enough, the statistics and then the roles are left out, the locator last; the question and the synthesis always
        remain."""
        whole = self.as_dict()
        for left_out in (frozenset[str](), STATISTICS):
            for most in CUTS:
                cut = {key: cut_wrapper(value, *most) for key, value in whole.items() if key not in left_out}
                if self._fits(cut):
                    return cut
        for key in [*(key for key in reversed(cut) if key not in REQUIRED), "rootsSearched", "locator"]:
            cut.pop(key, None)
            if self._fits(cut):
                break
        return cut

    def _fits(self, form: Mapping[str, Any]) -> bool:
        return count(json.dumps(form, separators=(",", ":"))) <= self.constraints.tokens


def cut_wrapper(wrapper: Any, references: int, findings: int, characters: int) -> Any:
    """A role's result with shorter lists and summary; any other value unchanged."""
    if not isinstance(wrapper, dict) or "value" not in wrapper:
        return wrapper
    value = wrapper["value"]
    left = max(0, len(value["references"]) - references) + max(0, len(value["key_findings"]) - findings)
    if not left:
        return wrapper
    notes = " ".join(filter(None, (value["notes"], f"{left} lines were left out to fit maxTokens.")))
    short = {"references": value["references"][:references], "key_findings": value["key_findings"][:findings]}
    summary = shortened(value["summary"], characters)
    return {**wrapper, "value": {**value, **short, "summary": summary, "notes": notes}}


def envelope_of(tool: str, report: ResearchReport, shown: Mapping[str, str], notes: tuple[str, ...] = ()) -> Envelope:
    """`shown` maps a root to the prefix of its paths when there are several roots."""
    value = report.synthesis.value
    failed = tuple(
        f"{key}: {one.error.message}"
        for key, one in report.roles.items()
        if one.status is not ResultStatus.OK and one.error
    )
    if value is None:
        error = report.synthesis.error
        return Envelope(tool, error.message if error else "no answer", notes=(*failed, *notes), data=report.as_dict())
    value_notes = (value.notes,) if value.notes else ()
    return Envelope(
        tool,
        f"{first_sentence(value.summary)} · {report.question.type} · confidence {value.confidence}",
        groups=tuple(groups_of(report, shown, by_category=tool == "locate_in_codebase")),
        notes=(*value_notes, *failed, *notes),
        data=report.as_dict(),
        in_order=True,
    )


def first_sentence(text: str) -> str:
    """The direct answer; the groups of the envelope contain the rest of the summary."""
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def groups_of(report: ResearchReport, shown: Mapping[str, str], *, by_category: bool = False) -> Iterator[Group]:
    """Groups titled by why their places matter; each place appears once, in the first group that has it."""
    seen: set[tuple[str, str, int]] = set()
    sections: dict[str, list[ResultPlace]] = {}
    examples = report.question.type is QuestionType.EXAMPLE
    head = next((place.of for place in report.places.get("analyzer", ())), "")
    most = MOST_PLACES_OF_FLOW if report.question.asks_for_a_flow else MOST_PLACES
    keys = ["analyzer", "locator", "patterns"]
    own = [key for key in report.places if key not in {*keys, "thoughts_analyzer", "thoughts_locator"}]
    if examples and report.places.get("patterns"):
        keys = ["patterns"]  # places found by search are not examples
    for key in [*keys, *own, "thoughts_analyzer", "thoughts_locator"]:
        for place in report.places.get(key, ()):
            found = category_of(place.path) if by_category else "where"
            title = TITLES.get(place.section, found if key == "locator" else key)
            if place.section == ALSO or (place.of not in {"", head} and place.section != "definition"):
                continue  # the surroundings of a second definition are left to a question about it
            if place.key not in seen and (place.section != "code" or len(sections.get(title, ())) < most):
                repeated = place.section == "definition" and not seen and not examples  # the first line has its text
                seen.add(place.key)
                sections.setdefault(title, []).append(replace(place, says="") if repeated else place)
    for title, places in sections.items():
        if places:
            yield Group(title, tuple(item_of(place, shown) for place in places))
    named = {(place.root, place.path) for listed in sections.values() for place in listed}
    further = {(one.root, one.path): one for one in reversed(report.places.get("locator", ())) if one.section == ALSO}
    left = [place for key, place in reversed(further.items()) if key not in named][:MOST_FURTHER]
    if left and not by_category and not examples:
        yield Group("other files", tuple(item_of(place, shown) for place in left))


def item_of(place: ResultPlace, shown: Mapping[str, str]) -> Item:
    head = f"{shown.get(place.root, '')}{place.path}:{place.line}"
    name = "" if place.section == "data" else place.name
    first = " ".join(part for part in (head, name, f"· {place.says}" if place.says else "") if part)
    # These lines are selected from a definition, so each of them says which one.
    numbered = place.section == "definition"
    rows = (Row(first), *(Row(f"  {number} {text}" if numbered else f"  {text}") for number, text in place.rows))
    return Item(rows, "", place.root, place.path, place.line, place.end)
