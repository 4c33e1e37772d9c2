"""Merges the results of the roles into one answer: the direct answer with its evidence, then entry points,
configuration, examples and history.

The merge is deterministic: role order first, then the order within a role. A reference found by several roles is
listed once, while the findings of each role are kept. The notes name roles that failed.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from llmc.answers.research.question import QuestionType
from llmc.answers.research.result import Confidence, Result, ResultPlace, ResultStatus, is_answer
from llmc.envelope.phrases import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.answers.research.result import TaskResult
    from llmc.answers.research.roles import Brief

__all__ = ["synthesize"]

# The order of roles in the list of references.
LEADING, EXAMPLES_LEAD = ("locator", "analyzer", "patterns"), ("patterns", "locator", "analyzer")
HISTORY = ("thoughts_analyzer", "thoughts_locator")
FAILED = {ResultStatus.TIMEOUT: "ran out of time", ResultStatus.CANCELED: "was cancelled", ResultStatus.ERROR: "failed"}
LEAD_REFERENCES = 4
MOST_REFERENCES, MOST_FINDINGS = 12, 10


def synthesize(
    brief: Brief,
    results: Mapping[str, TaskResult],
    places: Mapping[str, Sequence[ResultPlace]],
    cautions: Sequence[str] = (),
) -> Result:
    values = {key: one.value for key, one in results.items() if one.value is not None}
    leading = EXAMPLES_LEAD if brief.question.type is QuestionType.EXAMPLE else LEADING
    order = [key for key in (*leading, *sorted(own_roles(results)), *HISTORY) if key in values]
    locator = values.get("locator")
    locator_notes = locator.notes or "" if locator else ""
    notes = " ".join(
        filter(None, (failure_note(results), *(one for one in cautions if one not in locator_notes), locator_notes))
    )
    references = interleave([values[key].references for key in order])
    if not references:
        summary = locator.summary if locator else unanswered(results)
        return Result(summary, (), locator.key_findings if locator else (), Confidence.LOW, notes or None)
    answered = locator is not None and is_answer(places.get("locator", ()))
    return Result(
        summary=(locator.summary if locator and answered else " ".join(sentences(brief, places)))
        or values[order[0]].summary,
        references=references,
        key_findings=tuple(text for key in findings_order(order) for text in values[key].key_findings)[:MOST_FINDINGS],
        confidence=(values[order[0]] if leading is EXAMPLES_LEAD else locator or values[order[0]]).confidence,
        notes=notes or None,
    )


def unanswered(results: Mapping[str, TaskResult]) -> str:
    """The summary if no role found anything because the locator did not end normally."""
    failed = results.get("locator")
    if failed is None or failed.status is not ResultStatus.TIMEOUT:
        return "The roots could not be searched; see the notes."
    return (
        f"No answer within the time limit: the search ran out of time after {failed.elapsed_ms / 1000:.1f} s. Name the "
        "folder or the definition that the question is about."
    )


def own_roles(results: Mapping[str, TaskResult]) -> list[str]:
    return [key for key in results if key not in {"locator", "analyzer", "patterns", *HISTORY}]


def findings_order(order: Sequence[str]) -> list[str]:
    """Role order for findings: the locator last, because its list repeats places that others explain."""
    return [key for key in order if key != "locator"] + [key for key in order if key == "locator"]


def interleave(listed: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The first references of the leading role, then one of each role in turn, without duplicates."""
    first = [reference for references in listed[:1] for reference in references[:LEAD_REFERENCES]]
    turns = [reference for turn in zip_longest(*listed) for reference in turn if reference]
    return tuple(dict.fromkeys([*first, *turns]))[:MOST_REFERENCES]


def failure_note(results: Mapping[str, TaskResult]) -> str:
    failures = [
        f"the {key} role {FAILED[one.status]}" for key, one in results.items() if one.status is not ResultStatus.OK
    ]
    return f"Partial: {', '.join(failures)}." if failures else ""


def sentences(brief: Brief, places: Mapping[str, Sequence[ResultPlace]]) -> list[str]:
    """The sentences of the summary, two to six, each with its references."""
    located, analyzed = places.get("locator", ()), places.get("analyzer", ())
    head = analyzed[0].of if analyzed else ""
    by_section = {
        section: [one for one in analyzed if one.section == section and one.of == head]
        for section in ("definition", "entry", "calls", "config")
    }
    examples = places.get("patterns", ())
    if brief.question.type is QuestionType.EXAMPLE and examples:
        return [
            f"{plural(len(examples), 'example')} of {brief.question.topic}: {listed(brief, examples[:3])}.",
        ]
    lines = definition_sentences(brief, by_section, located)
    if by_section["entry"]:
        lines.append(f"It is used by {listed(brief, by_section['entry'][:2])}.")
    if by_section["calls"] and brief.question.type is QuestionType.HOW:
        lines.append(f"It calls {listed(brief, by_section['calls'][:3])}.")
    if by_section["config"]:
        lines.append(f"It depends on {listed(brief, by_section['config'][:2])}.")
    return lines


def definition_sentences(
    brief: Brief, by_section: Mapping[str, Sequence[ResultPlace]], located: Sequence[ResultPlace]
) -> list[str]:
    first = by_section["definition"][:1] or list(located[:1])
    if not first:
        return []
    head = first[0]
    says = f": {head.says.rstrip('.')}" if head.says else ""
    lines = [f"{head.name or head.path} at {brief.reference(head)}{says}."]
    others = [one for one in located if one.key != head.key][:2]
    if others:
        lines.append(f"See also {listed(brief, others)}.")
    return lines


def listed(brief: Brief, places: Sequence[ResultPlace]) -> str:
    return ", ".join(
        f"{place.name} ({brief.reference(place)})" if place.name else brief.reference(place) for place in places
    )
