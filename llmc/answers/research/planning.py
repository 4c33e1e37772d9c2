"""Plans the roles of a question, from settings and scope to tasks for the pool.

User-defined roles run as their `base` role. Each task gets its own toolbox, whose reads are metered for the role and
for the question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmc.answers.research.budget import Budget, MeteredRootFs, ReadMeter
from llmc.answers.research.question import QuestionType
from llmc.answers.research.roles import Brief, role
from llmc.answers.research.runtime import Task
from llmc.answers.research.scope import paths_of
from llmc.answers.research.toolbox import Area, RoleToolbox
from llmc.envelope.redact.redactor import Redactor
from llmc.retrieval.globs import PathFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.answers.research.result import ResultPlace, RoleOutcome
    from llmc.answers.research.roles import ResearchRole
    from llmc.answers.research.runtime import Stop
    from llmc.answers.research.session import ResearchSession
    from llmc.settings import RoleEntry as RoleSettings

__all__ = ["RolePlan", "areas", "role_plans", "role_toolbox", "role_work", "tasks"]

# Minimum weight, relative to the best place, for a further place to be analysed.
NEAR = 0.5
# Number of definitions analysed, each in its own task; a question for a flow may start at several places.
ANALYZED = {QuestionType.HOW: 2}
ANALYZED_IN_FLOW = 4
RESERVED = frozenset(
    {"locator", "analyzer", "patterns", "pattern_finder", "thoughts_locator", "thoughts_analyzer", "synthesis",
     "question", "rootsSearched", "constraints", "progress", "artifactPath"}
)  # fmt: skip


@dataclass(frozen=True)
class RolePlan:
    """A role to run, the key of its result, and the user's settings for it."""

    role: ResearchRole
    key: str
    settings: RoleSettings | None = None


def role_plans(session: ResearchSession) -> list[RolePlan]:
    """The built-in roles in order, then user-defined roles by name."""
    settings = session.workspace.settings.roles
    names = ["locator", "analyzer", "pattern_finder"] if session.scope.folders else []
    names += ["thoughts_locator", "thoughts_analyzer"] if session.scope.thoughts else []
    built_in = [RolePlan(role(name), role(name).key, settings.get(name)) for name in names]
    custom = [
        RolePlan(role(one.base), name, one)
        for name, one in sorted(settings.items())
        if one.base and name not in RESERVED
    ]
    return built_in + custom


def tasks(session: ResearchSession, plan: RolePlan, places: Sequence[ResultPlace]) -> list[Task]:
    """One task per analysed definition; a single task for any other role."""
    deadline = session.left_ms
    if plan.settings and plan.settings.deadline_ms:
        deadline = min(deadline, plan.settings.deadline_ms)
    several = session.scope.several
    if plan.role.name == "analyzer":
        first = places[0].weight if places else 0.0
        near = [place for place in places if not first or place.weight >= NEAR * first]
        targets = near[: ANALYZED.get(session.question.type, 1)]
        if session.question.asks_for_a_flow:  # the locator puts what explains it first, all with the same weight
            targets = [place for place in places[:ANALYZED_IN_FLOW] if place.weight == first]
        beside = len(targets) - 1
        briefs = [Brief(session.question, (target,), several=several, beside=beside) for target in targets]
    else:
        briefs = [Brief(session.question, tuple(places), several=several)]
    return [Task(plan.key, role_work(session, plan, brief), deadline) for brief in briefs]


def role_work(session: ResearchSession, plan: RolePlan, brief: Brief) -> Callable[[Stop], RoleOutcome]:
    return lambda stop: plan.role.work(brief, role_toolbox(session, plan, stop))


def role_toolbox(session: ResearchSession, plan: RolePlan, stop: Stop) -> RoleToolbox:
    """The tools of one task, with the role's permissions, paths and budget."""
    settings, limits = plan.settings, session.constraints.budget
    budget = Budget(
        min(settings.max_files_read, limits.files) if settings and settings.max_files_read else limits.files,
        min(settings.max_bytes_read, limits.bytes) if settings and settings.max_bytes_read else limits.bytes,
    )
    meter = ReadMeter(budget, session.meter)
    return RoleToolbox(
        areas(session, plan, meter, stop),
        role=plan.key,
        allowed=plan.role.tools & set(settings.tools) if settings and settings.tools else plan.role.tools,
        meter=meter,
        stop=stop,
        redactor=Redactor.of(session.workspace.settings.redaction),
    )


def areas(session: ResearchSession, plan: RolePlan, meter: ReadMeter, stop: Stop) -> list[Area]:
    """The views that the role may search, with metered reads."""
    scope = session.scope
    thoughts = plan.role.name.startswith("thoughts_")
    folders = scope.thoughts if thoughts else scope.folders
    roots = {root for root, _ in folders}
    output = []
    for view in session.views:
        if view.root.id in roots:
            paths = paths_of(folders, view.root.id, () if thoughts else scope.thoughts)
            if plan.settings and plan.settings.paths:
                paths = PathFilter(under=paths.under, globs=(*paths.globs, *plan.settings.paths))
            metered = replace(view, root_fs=MeteredRootFs(view.root_fs, meter, stop.check))
            output.append(Area(metered, paths, view))
    return output
