"""Where is it defined? The definition of a name, inherited members included, with its documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.answers.research.evidence import cited_line
from llmc.answers.research.finders.answers import answer, code_first, definition_place, joined, target_names
from llmc.answers.research.prose import doc_sentence, one_line
from llmc.answers.research.result import Confidence
from llmc.base.words import query_words
from llmc.graph.lookup import JOINTS

if TYPE_CHECKING:
    from llmc.answers.research.result import RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import GraphTarget, RoleToolbox

__all__ = ["defined_at"]

MOST_DEFINITIONS = 6


def defined_at(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    """None if the question has further words: search then knows better which place is meant."""
    names = target_names(brief)
    if not names or not is_only_name(brief, names):
        return None
    found = [(name, code_first(toolbox.targets(name))) for name in names]
    if not all(targets for _, targets in found):
        return None
    targets = [one for _, several in found for one in several]
    shown = targets[:MOST_DEFINITIONS]
    places = [definition_place(one, toolbox, "definition", says(one, toolbox)) for one in shown]
    notes = [f"{len(targets) - len(shown)} more definitions have this name." if len(targets) > len(shown) else ""]
    first = places[0]
    if len(targets) == 1:
        base = first.name.rpartition(".")[0]
        inherited = f", inherited from {base}," if base and is_inherited(names[0], first.name) else ""
        summary = f"{names[0] if inherited else first.name}{inherited} is defined at {brief.reference(first)}."
        return answer(brief, summary, places, Confidence.HIGH, notes)
    where = joined([f"{one.name} ({brief.reference(one)})" for one in places], 4)
    summary = f"{joined(names)} is defined in {len(targets)} places: {where}."
    return answer(
        brief, summary, places, Confidence.HIGH if len(targets) <= MOST_DEFINITIONS else Confidence.MED, notes
    )


def is_only_name(brief: Brief, names: list[str]) -> bool:
    rest = brief.question.subject
    for name in names:
        rest = rest.replace(name, " ")
    left = [word.text for word in query_words(rest.replace("()", " ")) if not word.stop]
    return all(word.lower() in KINDS for word in left)


# Words for a kind of definition, which do not identify one.
KINDS = frozenset(
    """
    class function method struct trait interface type enum module macro constant variable field attribute
    property decorator handler implementation definition declared defined implemented located setting option
    """.split()  # noqa: SIM905 a column of quoted words would hide the list
)


def is_inherited(name: str, found: str) -> bool:
    """Whether `Sub.method` was found as `Base.method`; a name in another letter case counts as the same name."""
    parts = [part for part in JOINTS.split(name) if part]
    return len(parts) > 1 and not f".{found}".lower().endswith("." + ".".join(parts).lower())


def says(target: GraphTarget, toolbox: RoleToolbox) -> str:
    symbol = target.symbol
    if symbol is None:
        return ""
    lines = toolbox.shown(target.area, target.path)
    named = cited_line(symbol, lines)
    return doc_sentence(lines, symbol.start_line, named, symbol.end_line) or one_line(symbol.signature)
