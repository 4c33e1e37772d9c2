"""Every place of a kind: subtypes, overrides, calls, members, or the lines that raise an error. The list is complete,
or the answer says what was not searched.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import cited_line
from llmc.answers.research.finders.answers import (
    answer,
    code_first,
    definition_place,
    joined,
    line_place,
    target_names,
    targets_of,
)
from llmc.answers.research.finders.usages import INCOMPLETE, callers_of
from llmc.answers.research.result import Confidence, ResultPlace
from llmc.base.languages import role_of
from llmc.base.text import indent_of
from llmc.envelope.phrases import plural
from llmc.graph.facts import TYPE_KINDS
from llmc.graph.implementations import implementations

if TYPE_CHECKING:
    from llmc.answers.research.result import RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import GraphTarget, RoleToolbox
    from llmc.graph.entities import Site

__all__ = ["every_place"]

_SUBTYPES = re.compile(
    r"\b(?:subclass\w*|subtypes?|deriv\w+|inherit\w*|extend\w*|implement\w*|overrid\w+|conform\w*|child class\w*)\b",
    re.IGNORECASE,
)
_CALLS = re.compile(
    r"\b(?:calls?|callers?|call sites?|uses?|usages?|invocations?|references?|using|calling)\b", re.IGNORECASE
)
_RAISES = re.compile(r"\b(?:throws?|thrown|rais\w+|return(?:s|ed)? (?:the )?error|emit\w*|reject\w*)\b", re.IGNORECASE)
_MEMBERS = re.compile(r"\b(?:variants?|members?|fields?|methods?|values?|attributes?|properties)\b", re.IGNORECASE)
_RAISING = re.compile(r"\b(?:throw|raise|panic|reject|bail|abort|Err|Error|new|return|fail)\b|\bErr\(")
_THROWS = re.compile(r"\b(?:throw|raise|panic|reject|bail|abort|Err)\b|\bErr\(")
_IMPORTS = re.compile(r"^\s*(?:import|from|use|require|export|const \{|\} = require|#include)\b|^\s*\w+,?\s*$")
_OUTDATED = re.compile(r"\b(?:outdated|deprecated|deprecations?|obsolete)\b", re.IGNORECASE)
DEPRECATES = (
    r"@deprecated\b",
    r"#\[deprecated",
    r"\bDeprecationWarning\b",
    r"\[Obsolete",
    r"(?://|#|\*)\s*deprecated[:.]",
)
MOST_LISTED = 60


def every_place(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    text = brief.question.text
    if _OUTDATED.search(text) and not target_names(brief) and (found := outdated(brief, toolbox)):
        return found
    if _RAISES.search(text) and (found := raised(brief, toolbox)):
        return found
    if _SUBTYPES.search(text) and (found := subtypes(brief, toolbox)):
        return found
    if _MEMBERS.search(text) and (found := members(brief, toolbox)):
        return found
    return callers_of(brief, toolbox) if _CALLS.search(text) else None


def outdated(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    """Lines of code that mark something as deprecated, or warn about it."""
    matches = toolbox.grep(*DEPRECATES, ignore_case=True)
    kept = [one for one in matches if role_of(one.path) == "code" and not toolbox.is_test(one.area, one.path, one.line)]
    if not kept:
        return None
    places = []
    for one in kept[:MOST_LISTED]:
        around = toolbox.symbol_around(one.area, one.path, one.line)
        places.append(line_place(toolbox, one.area, one.path, one.line, around.qualified if around else "", "listed"))
    within = list(dict.fromkeys(place.name or place.path for place in places))
    notes = ["What calls them: ask who calls one of these names."]
    notes += [f"{len(kept) - MOST_LISTED} more are not listed." if len(kept) > MOST_LISTED else ""]
    summary = f"{plural(len(kept), 'line')} of code mark something as deprecated, in {joined(within, 6)}."
    return answer(brief, summary, places, Confidence.MED, notes)


def subtypes(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    name, targets = targets_of(brief, toolbox)
    places: dict[tuple[str, str, int], ResultPlace] = {}
    tests, complete, inferred = 0, True, False
    targets = [one for one in targets if one.node.qualified == name] or targets
    for target in targets:
        found = implementations(target.graph, target.node)
        complete = complete and found.complete
        sites = {edge.source: edge.site for edge in target.graph.incoming(target.node, frozenset({"inherit"})).edges}
        named = {one.node for one in targets}
        # Types that merely have the methods of an interface are likely implementations, not declared ones.
        inferred = inferred or bool(target.graph.structural(target.node).nodes)
        for node in [*(found.types or found.members), *(one for one in sites if one not in found.types)]:
            other = type(target)(target.area, target.graph, node)
            if target.graph.in_test(node):
                tests += 1
            elif target.area.paths.accepts(other.path) and node not in named:
                place = subtype_place(other, sites.get(node), toolbox)
                places.setdefault(place.key, place)
    if not places:
        return None
    listed = sorted(places.values(), key=lambda one: (one.path, one.line))
    defined = [definition_place(one, toolbox, "definition") for one in targets]
    notes = [f"{plural(tests, 'more')} in tests." if tests else "", "" if complete else INCOMPLETE]
    verb = "overridden by" if targets[0].symbol and targets[0].symbol.kind not in TYPE_KINDS else "the base of"
    summary = f"{name} is {verb} {joined([one.name for one in listed], 12)}: {plural(len(listed), 'definition')}."
    sure = complete and not inferred
    return answer(brief, summary, [*listed, *defined], Confidence.HIGH if sure else Confidence.MED, notes)


def subtype_place(target: GraphTarget, site: Site | None, toolbox: RoleToolbox) -> ResultPlace:
    """The definition, or the line that implements the base for it (`impl Trait for Type`)."""
    place = definition_place(target, toolbox, "subtype")
    path = target.graph.project.path(site.doc) if site else ""
    symbol = target.symbol
    if site is None or (path == place.path and symbol and symbol.start_line <= site.line <= symbol.end_line):
        return place
    return ResultPlace(place.root, path, site.line, site.line, place.name, place.kind, "subtype")


def members(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    """The members of a type; for an enumeration its variants, which are lines rather than definitions."""
    for name in target_names(brief):
        types = [one for one in code_first(toolbox.targets(name)) if one.symbol and one.symbol.kind in TYPE_KINDS]
        if len(types) == 1:
            return members_of(brief, types[0], toolbox)
    return None


_VARIANT = re.compile(r"^\s*(?:pub |public |case )?(?P<name>[A-Za-z_]\w*)\s*(?:[({=:,]|$)")


def members_of(brief: Brief, target: GraphTarget, toolbox: RoleToolbox) -> RoleOutcome | None:
    symbol = target.symbol
    doc = toolbox.doc_of(target.area, target.path)
    if symbol is None or doc is None:
        return None
    own = [one for one in toolbox.symbols_of(target.area, doc) if one.container == symbol.qualified]
    lines = toolbox.lines(target.area, target.path) or []
    rows = {one.name: cited_line(one, lines) for one in own}
    if not rows:
        lines = toolbox.shown(target.area, target.path)[symbol.start_line : symbol.end_line]
        depth = min((indent_of(line) for line in lines if line.strip()), default=0)
        for number, line in enumerate(lines, symbol.start_line + 1):
            match = _VARIANT.match(line)
            if match and indent_of(line) == depth and not line.lstrip().startswith(("//", "#", "*", "}")):
                rows.setdefault(match["name"], number)
    if not rows:
        return None
    places = [
        line_place(toolbox, target.area, target.path, line, name, "listed")
        for name, line in list(rows.items())[:MOST_LISTED]
    ]
    head = definition_place(target, toolbox, "definition")
    summary = f"{symbol.qualified} has {plural(len(rows), 'member')}: {joined(list(rows), 30)}."
    return answer(brief, summary, [*places, head], Confidence.MED)


def raised(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    """The lines of code that raise an error by name."""
    names = target_names(brief)
    if not names:
        return None
    name = names[0].replace("::", ".").rpartition(".")[2]
    matches = [one for one in toolbox.grep(name, fixed=True, word=True) if role_of(one.path) == "code"]
    kept = [one for one in matches if is_raising(one.text, name) and not toolbox.is_test(one.area, one.path, one.line)]
    if not kept:
        return None
    places = []
    for one in kept[:MOST_LISTED]:
        around = toolbox.symbol_around(one.area, one.path, one.line)
        places.append(line_place(toolbox, one.area, one.path, one.line, around.qualified if around else "", "listed"))
    within = list(dict.fromkeys(place.name or place.path for place in places))
    notes = [f"{len(kept) - MOST_LISTED} more are not listed." if len(kept) > MOST_LISTED else ""]
    notes += [f"{toolbox.unread} files were not searched." if toolbox.unread else ""]
    summary = f"{name} is raised in {plural(len(kept), 'place')}, in {joined(within, 6)}."
    sure = not toolbox.unread and all(_THROWS.search(one.text) for one in kept)
    return answer(brief, summary, places, Confidence.HIGH if sure else Confidence.MED, notes)


def is_raising(text: str, name: str) -> bool:
    before = text.partition(name)[0]
    is_arm = re.search(rf"\b{re.escape(name)}\b[^=]*=>", text) is not None
    return bool(_RAISING.search(before)) and not is_arm and not _IMPORTS.match(text)
