"""Who uses it, and what has to change with it? Edges of the graph; matches by name alone are kept apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.answers.research.finders.answers import (
    answer,
    code_first,
    definition_place,
    joined,
    line_place,
    targets_of,
)
from llmc.answers.research.result import Confidence
from llmc.base.languages import role_of
from llmc.envelope.phrases import plural
from llmc.graph.reach import impact
from llmc.graph.trees import callers

if TYPE_CHECKING:
    from llmc.answers.research.result import ResultPlace, RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import GraphTarget, RoleToolbox
    from llmc.graph.entities import GraphNode

__all__ = ["callers_of", "impact_of"]

MOST_GUESSES = 8
MOST_MATCHES = 200
# If more definitions share the name, a line that calls it is no evidence.
MOST_SHARING = 2
HEAD_LINES = 4
_COMMENT = re.compile(r"\s*(?:#|//|\*|--|;)")
INCOMPLETE = "Not all files that contain the name were looked through."


def callers_of(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    name, targets = targets_of(brief, toolbox)
    if not targets:
        return None
    found: list[ResultPlace] = []
    sources: dict[str, None] = {}
    in_tests: set[GraphNode] = set()
    complete = True
    for target in targets:
        tree = callers(target.graph, target.node, 1)
        complete = complete and tree.complete
        for branch in tree.branches:
            path = target.graph.project.path(branch.site_doc)
            if not target.area.paths.accepts(path):
                continue
            if target.graph.in_test(branch.node):
                in_tests.add(branch.node)
                continue
            if branch.by_value and not branch.node.qualified and branch.site_doc == target.node.doc:
                continue  # an export names it but does not use it
            caller = branch.node.qualified or path.rpartition("/")[2]
            found += [line_place(toolbox, target.area, path, line, caller, "caller") for line in branch.lines]
            sources.setdefault(caller)
    guesses = unresolved(targets, found, toolbox)
    return callers_answer(brief, toolbox, name, targets, (found, guesses, list(sources), len(in_tests), complete))


def unresolved(targets: list[GraphTarget], found: list[ResultPlace], toolbox: RoleToolbox) -> list[ResultPlace]:
    """Lines of code that look like a call of the name and that the graph does not resolve to any definition. None if
    several definitions share the name, since such a line is then no evidence."""
    name = targets[0].node.name
    if len(code_first(toolbox.targets(name))) > MOST_SHARING:
        return []
    known = {(place.path, place.line) for place in found}
    known |= {(one.path, number) for one in targets for number in head_of(one)}
    matches = toolbox.grep(rf"(?:^|[^\w$]){re.escape(name)}\s*\(", most=MOST_MATCHES)
    return [
        line_place(toolbox, one.area, one.path, one.line, around.qualified if around else "", "guess")
        for one in matches
        if role_of(one.path) == "code" and (one.path, one.line) not in known and not _COMMENT.match(one.text)
        if (around := toolbox.symbol_around(one.area, one.path, one.line)) is None or around.name != name
        if not toolbox.is_test(one.area, one.path, one.line)
    ]


def head_of(target: GraphTarget) -> range:
    symbol = target.symbol
    return range(symbol.start_line, symbol.start_line + HEAD_LINES) if symbol else range(0)


def callers_answer(
    brief: Brief,
    toolbox: RoleToolbox,
    name: str,
    targets: list[GraphTarget],
    seen: tuple[list[ResultPlace], list[ResultPlace], list[str], int, bool],
) -> RoleOutcome:
    found, guesses, sources, tests, complete = seen
    defined = [definition_place(one, toolbox, "definition") for one in targets]
    title = targets[0].node.qualified if len(targets) == 1 else name
    notes = [f"Used by {plural(tests, 'test')} as well." if tests else "", "" if complete else INCOMPLETE]
    if found:
        summary = f"{title} is used by {joined(sources, 4)}, in {plural(len(found), 'place')}."
        confidence = Confidence.MED if len(targets) > 1 or not complete else Confidence.HIGH
    elif guesses:
        summary = f"No use of {title} was resolved; {plural(len(guesses), 'line')} of code may mean it by name."
        confidence = Confidence.LOW
    else:
        summary = f"No code in the searched roots uses {title}" + (", only tests." if tests else ".")
        confidence = Confidence.MED if complete else Confidence.LOW
    if found and guesses:
        notes.append(f"{plural(len(guesses), 'match')} by name could not be resolved.")
        confidence = Confidence.MED
    return answer(brief, summary, [*found, *guesses[:MOST_GUESSES], *defined], confidence, notes)


def impact_of(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    name, targets = targets_of(brief, toolbox)
    if not targets:
        return None
    uses: list[ResultPlace] = []
    overrides: list[ResultPlace] = []
    tests, complete = 0, True
    sources: dict[str, None] = {}
    for target in targets:
        touched = impact(target.graph, target.node)
        project = target.graph.project
        complete = complete and touched.complete
        for edge in touched.callers:
            path = project.path(edge.site.doc)
            if target.graph.in_test(edge.source):
                tests += 1
            elif target.area.paths.accepts(path):
                caller = edge.source.qualified or path.rpartition("/")[2]
                sources.setdefault(caller)
                uses.append(line_place(toolbox, target.area, path, edge.site.line, caller, "impact"))
        for node in [*touched.overrides, *touched.overridden]:
            other = type(target)(target.area, target.graph, node)
            if not target.graph.in_test(node) and target.area.paths.accepts(other.path):
                overrides.append(definition_place(other, toolbox, "override"))
    guesses = unresolved(targets, uses, toolbox)
    defined = [definition_place(one, toolbox, "definition") for one in targets]
    title = targets[0].node.qualified if len(targets) == 1 else name
    if not uses and not overrides:
        return callers_of(brief, toolbox)
    parts = [f"{plural(len(uses), 'use')} in {joined(list(sources), 4)}"] if uses else []
    parts += [f"{plural(len(overrides), 'override')} ({joined([one.name for one in overrides])})"] if overrides else []
    notes = [
        f"{plural(tests, 'use')} in tests." if tests else "",
        f"{plural(len(guesses), 'match')} by name could not be resolved." if guesses else "",
        "" if complete else INCOMPLETE,
    ]
    sure = len(targets) == 1 and complete and not guesses
    summary = f"A change of {title} affects {' and '.join(parts)}."
    places = [*uses, *overrides, *guesses[:MOST_GUESSES], *defined]
    return answer(brief, summary, places, Confidence.HIGH if sure else Confidence.MED, notes)
