"""The whole way of a question: scope → locators → analyzers, patterns, notes → synthesis.

Roles run in the pool, side by side in two stages; the second is told what the first one found. Who plays them is
`casting`'s business. Nothing here searches or writes text: it decides who is called for, and what becomes of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llmc.answers.research.planning import RolePlan, plans, player, tasks
from llmc.answers.research.question import Intent
from llmc.answers.research.report import ResearchProgress, ResearchReport
from llmc.answers.research.result import Result, ResultStatus, RoleOutcome, Wrapped, bounded
from llmc.answers.research.roles import Brief, ResearchRole, role
from llmc.answers.research.runtime import Task, finished
from llmc.answers.research.scope import is_inside
from llmc.answers.research.synthesis import synthesize

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from llmc.answers.research.result import ResultPlace
    from llmc.answers.research.runtime import RunningTask
    from llmc.answers.research.session import ResearchSession

__all__ = ["inquire", "research"]

LOCATORS = frozenset({"locator", "thoughts_locator"})


def research(inquiry: ResearchSession) -> ResearchReport:
    """All roles that the question calls for."""
    first = [plan for plan in plans(inquiry) if plan.role.name in LOCATORS]
    located = run(inquiry, first, ())
    places = located.places.get("locator", ())
    second = [plan for plan in plans(inquiry) if plan.role.name not in LOCATORS and called_for(plan, inquiry, located)]
    answered = run(inquiry, second, places, located.places.get("thoughts_locator", ()))
    return reported(inquiry, located.joined(answered))


def inquire(inquiry: ResearchSession, name: str, targets: Sequence[ResultPlace] = ()) -> ResearchReport:
    """One built-in role alone, behind the locator where it needs places."""
    settings = inquiry.workspace.settings.roles
    targets = [place for place in targets if in_ground(place, inquiry)]
    wanted = RolePlan(role(name), role(name).key, settings.get(name))
    if name == "locator" or targets:
        return reported(inquiry, run(inquiry, [wanted], targets))
    located = run(inquiry, [RolePlan(role("locator"), "locator", settings.get("locator"))], ())
    found = located.places.get("locator", ())
    return reported(inquiry, located.joined(run(inquiry, [wanted], found)) if found else located)


def in_ground(place: ResultPlace, inquiry: ResearchSession) -> bool:
    return any(is_inside((place.root, place.path), folder) for folder in inquiry.ground.folders)


@dataclass(frozen=True)
class Stage:
    """What some roles brought, by key."""

    wrapped: dict[str, Wrapped] = field(default_factory=dict)
    places: dict[str, tuple[ResultPlace, ...]] = field(default_factory=dict)

    def joined(self, other: Stage) -> Stage:
        return Stage({**self.wrapped, **other.wrapped}, {**self.places, **other.places})


def called_for(plan: RolePlan, inquiry: ResearchSession, located: Stage) -> bool:
    if plan.role.name == "thoughts_analyzer":
        return bool(located.places.get("thoughts_locator"))
    if plan.role.name == "pattern_finder" and inquiry.question.intent is not Intent.EXAMPLES:
        return False
    return bool(located.places.get("locator"))


def run(
    inquiry: ResearchSession,
    planned: Sequence[RolePlan],
    places: Sequence[ResultPlace],
    notes: Sequence[ResultPlace] = (),
) -> Stage:
    """The roles side by side; each by its deadline."""
    running = [
        (plan, inquiry.pool.submit(task, inquiry.cancelled))
        for plan in planned
        for task in tasks(inquiry, plan, notes if plan.role.name == "thoughts_analyzer" else places)
    ]
    inquiry.tasks += len(running)
    for one in finished([task for _, task in running], inquiry.cancelled):
        inquiry.ended.append(one)
        inquiry.progress(event(inquiry, one))
    stage = Stage()
    for plan in planned:
        ended = [task for of, task in running if of is plan]
        stage.wrapped[plan.key] = merged([one.wrapped for one in ended if one.wrapped])
        stage.places[plan.key] = tuple(place for one in ended if one.outcome for place in one.outcome.places)
    return stage


def merged(ended: Sequence[Wrapped]) -> Wrapped:
    """The tasks of one role as one: what succeeded stands, and what did not is noted."""
    good = [one.value for one in ended if one.value is not None]
    if not ended:
        return Wrapped(ResultStatus.OK, Result("Not found: there was nothing for this role to look at."))
    started, elapsed = min(one.started_at for one in ended), max(one.elapsed_ms for one in ended)
    if not good:
        return replace(ended[0], started_at=started, elapsed_ms=elapsed)
    failed = len(ended) - len(good)
    notes = [note for note in dict.fromkeys(one.notes for one in good) if note]
    if failed:
        notes.append(f"{failed} of {len(ended)} tasks did not end in time.")
    value = Result(
        summary=" ".join(dict.fromkeys(one.summary for one in good)),
        references=tuple(reference for one in good for reference in one.references),
        key_findings=tuple(finding for one in good for finding in one.key_findings),
        confidence=good[0].confidence,
        notes=" ".join(notes) or None,
    )
    return Wrapped(ResultStatus.OK, bounded(value), None, started, elapsed)


def event(inquiry: ResearchSession, one: RunningTask) -> dict[str, Any]:
    status = one.wrapped.status if one.wrapped else ResultStatus.ERROR
    return {
        "stage": "research",
        "role": one.task.name,
        "status": str(status),
        "message": f"{one.task.name} {status}, looking for {', '.join(inquiry.question.keywords)}",
        "done": len(inquiry.ended),
        "total": inquiry.tasks,
        "seconds": round(time.monotonic() - inquiry.started, 3),
        "keywords": list(inquiry.question.keywords),
    }


SYNTHESIZER = ResearchRole.of(
    "synthesizer",
    "synthesis",
    """You answer the question directly, in two to four sentences, from what the roles found. Evidence first, then entry
    points, configuration, examples. Say what is uncertain. No advice unless it was asked for.""",
    "search symbols read",
    lambda _brief, _toolbox: RoleOutcome(Result("")),
)


def worded(inquiry: ResearchSession, brief: Brief, own: Wrapped, stage: Stage) -> Wrapped:
    """The synthesis in a model's words, by a task of its own; as it is where no model is configured or in time."""
    settings = inquiry.workspace.settings
    chosen = settings.roles.get("synthesizer")
    if own.value is None or not ((chosen and chosen.provider) or settings.research.provider):
        return own
    places = tuple(place for listed in stage.places.values() for place in listed)
    spoken = replace(SYNTHESIZER, work=lambda _brief, _toolbox: RoleOutcome(own.value or Result(""), places))
    plan = RolePlan(spoken, "synthesis", chosen)
    running = inquiry.pool.submit(Task("synthesis", player(inquiry, plan, brief), inquiry.left_ms), inquiry.cancelled)
    inquiry.tasks += 1
    (ended,) = finished([running], inquiry.cancelled)
    inquiry.ended.append(ended)
    inquiry.progress(event(inquiry, ended))
    return ended.wrapped if ended.wrapped and ended.wrapped.value else own


def reported(inquiry: ResearchSession, stage: Stage) -> ResearchReport:
    began = time.monotonic()
    brief = Brief(inquiry.question, several=inquiry.ground.several)
    share = min((view.share for view in inquiry.views), default=1.0)
    limits = "Limits on files or bytes may have truncated the results." if inquiry.meter.truncated else ""
    building = f"The index is still being built ({share:.0%} done)." if share < 1.0 else ""
    value = bounded(synthesize(brief, stage.wrapped, stage.places, (building, limits)))
    synthesis = Wrapped(ResultStatus.OK, value, None, int(time.time() * 1000), int((time.monotonic() - began) * 1000))
    synthesis = worded(inquiry, brief, synthesis, stage)
    elapsed = int((time.monotonic() - inquiry.started) * 1000)
    progress = ResearchProgress(
        tasks=inquiry.tasks,
        roles=tuple(stage.wrapped),
        elapsed_ms=elapsed,
        timeouts=tuple(key for key, one in stage.wrapped.items() if one.status is ResultStatus.TIMEOUT),
        keywords=inquiry.question.keywords,
        files=inquiry.meter.files,
        bytes=inquiry.meter.size,
    )
    return ResearchReport(
        question=inquiry.question,
        roots=tuple(inquiry.ground.searched()),
        roles=stage.wrapped,
        synthesis=synthesis,
        constraints=inquiry.constraints,
        progress=progress,
        places=stage.places,
        pending=sum(len(view.pending) for view in inquiry.views),
        share=share,
    )
