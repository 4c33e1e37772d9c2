"""One answer out of what the roles found: the direct answer with its evidence first, then entry points, configuration,
examples and history.

The same inputs give the same report: order is that of the roles, and within a role its own. A reference that several
roles name stands once; what each of them says of it stays. A role that failed is named in the notes, and the others
answer without it.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from llmc.answers.research.question import Intent
from llmc.answers.research.result import Confidence, Result, ResultPlace, ResultStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.answers.research.result import Wrapped
    from llmc.answers.research.roles import Brief

__all__ = ["LEADING", "synthesize"]

# Which role's references lead, by what is asked.
LEADING = {
    Intent.WHERE: ("locator", "analyzer", "patterns"),
    Intent.HOW: ("locator", "analyzer", "patterns"),
    Intent.EXAMPLES: ("patterns", "locator", "analyzer"),
}
HISTORY = ("thoughts_analyzer", "thoughts_locator")
FAILED = {ResultStatus.TIMEOUT: "ran out of time", ResultStatus.CANCELED: "was cancelled", ResultStatus.ERROR: "failed"}
LED = 4
MOST_REFERENCES, MOST_FINDINGS = 12, 10


def synthesize(
    brief: Brief,
    wrapped: Mapping[str, Wrapped],
    places: Mapping[str, Sequence[ResultPlace]],
    cautions: Sequence[str] = (),
) -> Result:
    values = {key: one.value for key, one in wrapped.items() if one.value is not None}
    order = [key for key in (*LEADING[brief.question.intent], *sorted(own_roles(wrapped)), *HISTORY) if key in values]
    locator = values.get("locator")
    said = locator.notes or "" if locator else ""
    notes = " ".join(filter(None, (missing(wrapped), *(one for one in cautions if one not in said), said)))
    references = led([values[key].references for key in order])
    if not references:
        told = locator.summary if locator else "The roots could not be searched; see the notes."
        return Result(told, (), locator.key_findings if locator else (), Confidence.LOW, notes or None)
    return Result(
        summary=" ".join(sentences(brief, places)) or values[order[0]].summary,
        references=references,
        key_findings=tuple(text for key in findings_order(order) for text in values[key].key_findings)[:MOST_FINDINGS],
        confidence=(locator or values[order[0]]).confidence,
        notes=notes or None,
    )


def own_roles(wrapped: Mapping[str, Wrapped]) -> list[str]:
    return [key for key in wrapped if key not in {"locator", "analyzer", "patterns", *HISTORY}]


def findings_order(order: Sequence[str]) -> list[str]:
    """What was analysed says more than where it is; the locator's list repeats it."""
    return [key for key in order if key != "locator"] + [key for key in order if key == "locator"]


def led(listed: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The first places of the leading role, then some of each in turn; each once. The rest stands with the roles."""
    first = [reference for references in listed[:1] for reference in references[:LED]]
    turns = [reference for turn in zip_longest(*listed) for reference in turn if reference]
    return tuple(dict.fromkeys([*first, *turns]))[:MOST_REFERENCES]


def missing(wrapped: Mapping[str, Wrapped]) -> str:
    told = [f"the {key} role {FAILED[one.status]}" for key, one in wrapped.items() if one.status is not ResultStatus.OK]
    return f"Partial: {', '.join(told)}." if told else ""


def sentences(brief: Brief, places: Mapping[str, Sequence[ResultPlace]]) -> list[str]:
    """Two to six, each with what it rests on."""
    located, analyzed = places.get("locator", ()), places.get("analyzer", ())
    head = analyzed[0].of if analyzed else ""
    by_section = {
        section: [one for one in analyzed if one.section == section and one.of == head]
        for section in ("definition", "entry", "calls", "config")
    }
    examples = places.get("patterns", ())
    if brief.question.intent is Intent.EXAMPLES and examples:
        return [
            f"{len(examples)} examples of {brief.question.topic}: {listed(brief, examples[:3])}.",
            *defined(brief, by_section, located)[:1],
        ]
    told = defined(brief, by_section, located)
    if by_section["entry"]:
        told.append(f"It is used by {listed(brief, by_section['entry'][:2])}.")
    if by_section["calls"] and brief.question.intent is Intent.HOW:
        told.append(f"It calls {listed(brief, by_section['calls'][:3])}.")
    if by_section["config"]:
        told.append(f"It depends on {listed(brief, by_section['config'][:2])}.")
    return told


def defined(brief: Brief, by_section: Mapping[str, Sequence[ResultPlace]], located: Sequence[ResultPlace]) -> list[str]:
    first = by_section["definition"][:1] or list(located[:1])
    if not first:
        return []
    head = first[0]
    says = f": {head.says.rstrip('.')}" if head.says else ""
    told = [f"{head.name or head.path} at {brief.reference(head)}{says}."]
    others = [one for one in located if one.key != head.key][:2]
    if others:
        told.append(f"See also {listed(brief, others)}.")
    return told


def listed(brief: Brief, places: Sequence[ResultPlace]) -> str:
    return ", ".join(
        f"{place.name} ({brief.reference(place)})" if place.name else brief.reference(place) for place in places
    )
