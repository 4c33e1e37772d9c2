"""Functions for all finders: naming the target of a question, quoting lines, and composing the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.answers.research.evidence import cited_line
from llmc.answers.research.prose import one_line
from llmc.answers.research.result import Confidence, Result, ResultPlace, RoleOutcome
from llmc.base.languages import role_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import Area, GraphTarget, RoleToolbox

__all__ = ["answer", "code_first", "definition_place", "joined", "line_place", "target_names", "targets_of"]

MOST_TARGETS = 5
LONGEST_QUOTE = 110


def target_names(brief: Brief) -> list[str]:
    """The identifiers that the question is about, its target first."""
    question = brief.question
    names = [name.text for name in question.names if name.sure and not name.is_file]
    return sorted(names, key=lambda name: name not in question.target)


def targets_of(brief: Brief, toolbox: RoleToolbox) -> tuple[str, list[GraphTarget]]:
    """The first name of the question that has definitions, and those definitions; only code if there is any."""
    for name in target_names(brief):
        found = toolbox.targets(name)
        if found:
            return name, code_first(found)[:MOST_TARGETS]
    return next(iter(target_names(brief)), ""), []


def code_first(targets: Sequence[GraphTarget]) -> list[GraphTarget]:
    code = [one for one in targets if not one.graph.in_test(one.node) and role_of(one.path) == "code"]
    product = [one for one in targets if not one.graph.in_test(one.node) and role_of(one.path) not in {"stub", "doc"}]
    return code or product or list(targets)


def definition_place(target: GraphTarget, toolbox: RoleToolbox, section: str, says: str = "") -> ResultPlace:
    root, path, symbol = target.area.view.root.id, target.path, target.symbol
    if symbol is None:
        return ResultPlace(root, path, 1, 1, target.node.qualified, "", section, says)
    line = cited_line(symbol, toolbox.lines(target.area, path) or [])
    return ResultPlace(root, path, line, symbol.end_line, symbol.qualified, symbol.kind, section, says)


def line_place(  # noqa: PLR0917 - the parts of a place
    toolbox: RoleToolbox, area: Area, path: str, line: int, name: str, section: str, longest: int = LONGEST_QUOTE
) -> ResultPlace:
    """A line, quoted from the current file."""
    lines = toolbox.shown(area, path)
    text = one_line(lines[line - 1], longest) if 0 < line <= len(lines) else ""
    return ResultPlace(area.view.root.id, path, line, line, name, "", section, text)


def answer(
    brief: Brief,
    summary: str,
    places: Sequence[ResultPlace],
    confidence: Confidence,
    notes: Iterable[str] = (),
) -> RoleOutcome:
    """The summary is a sentence that answers the question; each place becomes a finding with its reference."""
    findings = [finding(brief, place) for place in places]
    joined_notes = " ".join(filter(None, notes))
    references = tuple(brief.reference(place) for place in places)
    return RoleOutcome(Result(summary, references, tuple(findings), confidence, joined_notes or None), tuple(places))


def finding(brief: Brief, place: ResultPlace) -> str:
    head = " ".join(filter(None, (brief.reference(place), place.name)))
    head = f"{head}: {place.says}" if place.says else head
    return "\n".join([head, *(text for _, text in place.rows)])


def joined(texts: Sequence[str], most: int = 3) -> str:
    """`a, b and c`; beyond `most` items, the first ones and the number of the others."""
    shown = list(texts[:most])
    if len(texts) > most:
        return f"{', '.join(shown)} and {len(texts) - most} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
