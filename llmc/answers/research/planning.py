"""Who plays which role, where, with what: from the settings and the question to tasks for the pool.

A role of the user's joins by its `base`. Each task gets a toolbox of its own, behind a door that counts for the role
and for the question; where a provider is named, a model words what the role found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmc.answers.research.budget import Budget, MeteredRootFs, ReadMeter
from llmc.answers.research.question import Intent
from llmc.answers.research.roles import Brief, role
from llmc.answers.research.runtime import Task
from llmc.answers.research.scope import paths_of
from llmc.answers.research.toolbox import Area, RoleToolbox
from llmc.envelope.redact.redactor import Redactor
from llmc.retrieval.globs import PathFilter
from llmc.settings import RoleEntry as RoleSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.answers.research.result import ResultPlace, RoleOutcome
    from llmc.answers.research.roles import ResearchRole
    from llmc.answers.research.runtime import Stop
    from llmc.answers.research.session import ResearchSession

__all__ = ["RolePlan", "plans", "player", "tasks"]

# How near to the best place a further one must come to be analysed as well.
NEAR = 0.5
# Definitions that are analysed, each by a task of its own, by what is asked.
ANALYZED = {Intent.WHERE: 1, Intent.HOW: 2, Intent.EXAMPLES: 1}
RESERVED = frozenset(
    {"locator", "analyzer", "patterns", "pattern_finder", "thoughts_locator", "thoughts_analyzer", "synthesis",
     "question", "rootsSearched", "constraints", "progress", "artifactPath"}
)  # fmt: skip


@dataclass(frozen=True)
class RolePlan:
    """A role to be played, under a key, perhaps with settings of the user's."""

    role: ResearchRole
    key: str
    settings: RoleSettings | None = None


def plans(inquiry: ResearchSession) -> list[RolePlan]:
    """The built-in roles in order, then the user's own by name."""
    settings = inquiry.workspace.settings.roles
    names = ["locator", "analyzer", "pattern_finder"] if inquiry.ground.folders else []
    names += ["thoughts_locator", "thoughts_analyzer"] if inquiry.ground.thoughts else []
    found = [RolePlan(role(name), role(name).key, settings.get(name)) for name in names]
    own = [
        RolePlan(role(one.base), name, one)
        for name, one in sorted(settings.items())
        if one.base and name not in RESERVED
    ]
    return found + own


def tasks(inquiry: ResearchSession, plan: RolePlan, places: Sequence[ResultPlace]) -> list[Task]:
    """One for each definition that is analysed, one for any other role."""
    deadline = inquiry.left_ms
    if plan.settings and plan.settings.deadline_ms:
        deadline = min(deadline, plan.settings.deadline_ms)
    several = inquiry.ground.several
    if plan.role.name == "analyzer":
        first = places[0].weight if places else 0.0
        near = [place for place in places if not first or place.weight >= NEAR * first]
        targets = near[: ANALYZED[inquiry.question.intent]]
        briefs = [Brief(inquiry.question, (target,), several=several) for target in targets]
    else:
        briefs = [Brief(inquiry.question, tuple(places), several=several)]
    return [Task(plan.key, player(inquiry, plan, brief), deadline) for brief in briefs]


def player(inquiry: ResearchSession, plan: RolePlan, brief: Brief) -> Callable[[Stop], RoleOutcome]:
    settings, limits = plan.settings, inquiry.constraints.budget
    own = Budget(
        min(settings.max_files_read, limits.files) if settings and settings.max_files_read else limits.files,
        min(settings.max_bytes_read, limits.bytes) if settings and settings.max_bytes_read else limits.bytes,
    )
    allowed = plan.role.tools & set(settings.tools) if settings and settings.tools else plan.role.tools

    def play(stop: Stop) -> RoleOutcome:
        meter = ReadMeter(own, inquiry.meter)
        toolbox = RoleToolbox(
            areas(inquiry, plan, meter, stop),
            role=plan.key,
            allowed=allowed,
            meter=meter,
            stop=stop,
            redactor=Redactor.of(inquiry.workspace.settings.redaction),
        )
        return with_model(inquiry, plan, brief, plan.role.work(brief, toolbox), toolbox)

    return play


def with_model(
    inquiry: ResearchSession, plan: RolePlan, brief: Brief, own: RoleOutcome, toolbox: RoleToolbox
) -> RoleOutcome:
    """Its answer as a model puts it, where the role or all of research has a provider."""
    settings = inquiry.workspace.settings
    name = (plan.settings.provider if plan.settings else "") or settings.research.provider
    provider = settings.providers.get(name)
    if provider is None:
        return own
    from llmc.answers.research.model_rewrite import RolePart, played  # noqa: PLC0415 - only where a model is

    chosen = plan.settings or RoleSettings()
    return played(RolePart(plan.role, brief, own, toolbox, provider, chosen, Redactor.of(settings.redaction)))


def areas(inquiry: ResearchSession, plan: RolePlan, meter: ReadMeter, stop: Stop) -> list[Area]:
    """The views that the role may look at, behind a door that counts."""
    ground = inquiry.ground
    thoughts = plan.role.name.startswith("thoughts_")
    folders = ground.thoughts if thoughts else ground.folders
    roots = {root for root, _ in folders}
    made = []
    for view in inquiry.views:
        if view.root.id in roots:
            paths = paths_of(folders, view.root.id, () if thoughts else ground.thoughts)
            if plan.settings and plan.settings.paths:
                paths = PathFilter(under=paths.under, globs=(*paths.globs, *plan.settings.paths))
            made.append(Area(replace(view, root_fs=MeteredRootFs(view.root_fs, meter, stop.check)), paths))
    return made
