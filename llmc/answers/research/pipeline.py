"""The research pipeline: locators → analyzers, patterns, notes → models → synthesis.

Roles run concurrently in the task pool, in two stages; the second stage receives the places found by the first. Models
run afterwards (`model_stage`) and can only improve a complete result. `planning` builds the tasks. This module decides
which roles run and merges their results; it does not search.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llmc.answers.research.improve import without_model
from llmc.answers.research.model_stage import ROLES_SHARE, SYNTHESIS_SHARE, RoleFloor, run_models
from llmc.answers.research.planning import RolePlan, role_plans, tasks
from llmc.answers.research.question import QuestionType
from llmc.answers.research.report import ResearchProgress, ResearchReport
from llmc.answers.research.result import (
    ALSO,
    Result,
    ResultStatus,
    RoleOutcome,
    TaskResult,
    bounded,
    is_answer,
    with_note,
)
from llmc.answers.research.roles import Brief, ResearchRole, role
from llmc.answers.research.runtime import as_completed
from llmc.answers.research.scope import is_inside
from llmc.answers.research.synthesis import synthesize

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from llmc.answers.research.result import ResultPlace
    from llmc.answers.research.runtime import RunningTask
    from llmc.answers.research.session import ResearchSession

__all__ = ["research", "run_role"]

LOCATORS = frozenset({"locator", "thoughts_locator"})


def research(session: ResearchSession) -> ResearchReport:
    """Run every role that the question needs."""
    first = [plan for plan in role_plans(session) if plan.role.name in LOCATORS]
    session.later = 1  # until the places are known, an explanation of them is expected
    located = run_stage(session, first, ())
    session.later = 0
    places = tuple(place for place in located.places.get("locator", ()) if place.section != ALSO)
    second = [
        plan for plan in role_plans(session) if plan.role.name not in LOCATORS and is_needed(plan, session, located)
    ]
    answered = run_stage(session, second, places, located.places.get("thoughts_locator", ()))
    return build_report(session, improve_stage(session, [*first, *second], located.merge(answered)))


def run_role(session: ResearchSession, name: str, targets: Sequence[ResultPlace] = ()) -> ResearchReport:
    """Run one built-in role, after the locator if it needs places."""
    settings = session.workspace.settings.roles
    targets = [place for place in targets if in_scope(place, session)]
    plan = RolePlan(role(name), role(name).key, settings.get(name))
    if name == "locator" or targets:
        return build_report(session, improve_stage(session, [plan], run_stage(session, [plan], targets)))
    locator = RolePlan(role("locator"), "locator", settings.get("locator"))
    session.later = 1
    located = run_stage(session, [locator], ())
    session.later = 0
    found = tuple(place for place in located.places.get("locator", ()) if place.section != ALSO)
    stage = located.merge(run_stage(session, [plan], found)) if found else located
    return build_report(session, improve_stage(session, [locator, plan], stage))


def in_scope(place: ResultPlace, session: ResearchSession) -> bool:
    return any(is_inside((place.root, place.path), folder) for folder in session.scope.folders)


@dataclass(frozen=True)
class Stage:
    """Results and places of some roles, by role key."""

    results: dict[str, TaskResult] = field(default_factory=dict)
    places: dict[str, tuple[ResultPlace, ...]] = field(default_factory=dict)

    def merge(self, other: Stage) -> Stage:
        return Stage({**self.results, **other.results}, {**self.places, **other.places})


def is_needed(plan: RolePlan, session: ResearchSession, located: Stage) -> bool:
    if plan.role.name == "thoughts_analyzer":
        return bool(located.places.get("thoughts_locator"))
    found = located.places.get("locator", ())
    if plan.settings and plan.settings.base:
        return bool(found)
    if plan.role.name == "pattern_finder" and QuestionType.EXAMPLE not in session.question.types:
        return False
    if plan.role.name == "analyzer" and session.question.type is QuestionType.EXAMPLE:
        return False
    return bool(found) and not is_answer(found)


def run_stage(
    session: ResearchSession,
    planned: Sequence[RolePlan],
    places: Sequence[ResultPlace],
    notes: Sequence[ResultPlace] = (),
) -> Stage:
    """Run the roles concurrently, each within its deadline."""
    running = [
        (plan, session.pool.submit(task, session.cancelled))
        for plan in planned
        for task in tasks(session, plan, notes if plan.role.name == "thoughts_analyzer" else places)
    ]
    session.tasks += len(running)
    for one in as_completed([task for _, task in running], session.cancelled):
        session.ended.append(one)
        session.progress(progress_event(session, one))
    stage = Stage()
    for plan in planned:
        ended = [task for of, task in running if of is plan]
        stage.results[plan.key] = merge_results([one.result for one in ended if one.result])
        stage.places[plan.key] = tuple(place for one in ended if one.outcome for place in one.outcome.places)
    return stage


def merge_results(ended: Sequence[TaskResult]) -> TaskResult:
    """Merge the tasks of one role: results of successful tasks, and a note about failed ones."""
    good = [one.value for one in ended if one.value is not None]
    if not ended:
        return TaskResult(ResultStatus.OK, Result("Not found: this role had nothing to look at."))
    started, elapsed = min(one.started_at for one in ended), max(one.elapsed_ms for one in ended)
    if not good:
        return replace(ended[0], started_at=started, elapsed_ms=elapsed)
    failed = len(ended) - len(good)
    notes = [note for note in dict.fromkeys(one.notes for one in good) if note]
    if failed:
        notes.append(f"{failed} of {len(ended)} tasks failed or timed out.")
    value = Result(
        summary=" ".join(dict.fromkeys(one.summary for one in good)),
        references=tuple(reference for one in good for reference in one.references),
        key_findings=tuple(finding for one in good for finding in one.key_findings),
        confidence=good[0].confidence,
        notes=" ".join(notes) or None,
    )
    return TaskResult(ResultStatus.OK, bounded(value), None, started, elapsed)


def progress_event(session: ResearchSession, one: RunningTask) -> dict[str, Any]:
    status = one.result.status if one.result else ResultStatus.ERROR
    return {
        "stage": "research",
        "role": one.task.name,
        "status": str(status),
        "message": f"{one.task.name} {status}, looking for {', '.join(session.question.keywords)}",
        "done": len(session.ended),
        "total": session.tasks + session.later,
        "seconds": round(time.monotonic() - session.started, 3),
        "keywords": list(session.question.keywords),
    }


SYNTHESIZER = ResearchRole.of(
    "synthesizer",
    "synthesis",
    """You answer the question directly, in two to four sentences, from the findings of the roles. Evidence first, then
    entry points, configuration, examples. State what is uncertain. Give no advice unless asked for it.""",
    "search symbols read",
    lambda _brief, _toolbox: RoleOutcome(Result("")),
)


def improve_stage(session: ResearchSession, plans: Sequence[RolePlan], stage: Stage) -> Stage:
    """Let the models of the roles improve what was found without them."""
    floors = [
        RoleFloor(plan, one, RoleOutcome(one.value, stage.places.get(plan.key, ())))
        for plan in plans
        if (one := stage.results.get(plan.key)) is not None and one.value is not None
    ]
    better = improve(session, floors, ROLES_SHARE)
    results = {one.plan.key: one.result for one in better}
    return stage.merge(Stage(results, {one.plan.key: one.outcome.places for one in better}))


def improve_synthesis(session: ResearchSession, own: TaskResult, stage: Stage) -> TaskResult:
    """The synthesis in the words of the synthesizer's model, if it has one; a note says why a model did not answer."""
    if own.value is None:
        return own
    plan = RolePlan(SYNTHESIZER, "synthesis", session.workspace.settings.roles.get("synthesizer"))
    places = tuple(place for listed in stage.places.values() for place in listed)
    better = improve(session, [RoleFloor(plan, own, RoleOutcome(own.value, places))], SYNTHESIS_SHARE)
    result = better[0].result if better and better[0].result.value else own
    reasons = dict.fromkeys(session.model_failures.values())
    if not reasons or result.value is None:
        return result
    note = without_model("; ".join(reasons))
    return replace(result, value=with_note(result.value, note, instead_of=map(without_model, reasons)))


def improve(session: ResearchSession, floors: Sequence[RoleFloor], share: float) -> list[RoleFloor]:
    brief = Brief(session.question, several=session.scope.several)
    return run_models(session, brief, floors, lambda one: session.progress(progress_event(session, one)), share)


def build_report(session: ResearchSession, stage: Stage) -> ResearchReport:
    started = time.monotonic()
    brief = Brief(session.question, several=session.scope.several)
    share = min((view.share for view in session.views), default=1.0)
    limits = session.meter.note
    building = f"The index is still being built ({share:.0%} done)." if share < 1.0 else ""
    value = bounded(synthesize(brief, stage.results, stage.places, (building, limits)))
    if building and not value.references:  # what is missing may be in a file that is not indexed yet
        value = replace(value, summary=f"No answer yet: {building[0].lower()}{building[1:-1]}. Ask again.")
    synthesis = TaskResult(
        ResultStatus.OK, value, None, int(time.time() * 1000), int((time.monotonic() - started) * 1000)
    )
    synthesis = improve_synthesis(session, synthesis, stage)
    elapsed = int((time.monotonic() - session.started) * 1000)
    progress = ResearchProgress(
        tasks=session.tasks,
        roles=tuple(stage.results),
        elapsed_ms=elapsed,
        timeouts=tuple(key for key, one in stage.results.items() if one.status is ResultStatus.TIMEOUT),
        keywords=session.question.keywords,
        files=session.meter.files,
        bytes=session.meter.size,
    )
    return ResearchReport(
        question=session.question,
        roots=tuple(session.scope.searched()),
        roles=stage.results,
        synthesis=synthesis,
        constraints=session.constraints,
        progress=progress,
        places=stage.places,
        pending=sum(len(view.pending) for view in session.views),
        share=share,
    )
