"""Runs the models of a question after all roles have answered without one, each in its own task.

Roles with a provider run concurrently and share most of the remaining time; the synthesizer gets the rest. A task that
fails or is too late leaves the role's own result with a note, so models cannot make a report worse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmc.answers.providers import model_id
from llmc.answers.research.improve import ImproveTask, improve, without_model
from llmc.answers.research.planning import role_toolbox
from llmc.answers.research.result import ResultStatus, RoleOutcome, with_note
from llmc.answers.research.runtime import Task, as_completed
from llmc.base.errors import LlmcError, ModelUnavailableError
from llmc.envelope.redact.redactor import Redactor
from llmc.settings import RoleEntry as RoleSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.answers.research.planning import RolePlan
    from llmc.answers.research.result import TaskResult
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.runtime import RunningTask, Stop
    from llmc.answers.research.session import ResearchSession
    from llmc.settings import Provider

__all__ = ["ROLES_SHARE", "SYNTHESIS_SHARE", "RoleFloor", "run_models"]

# The share of the remaining time that the roles' models have; then the synthesizer's model has its share of the rest.
# What is left over is for building and sending the report.
ROLES_SHARE, SYNTHESIS_SHARE = 0.6, 0.8
# A model that takes longer is stopped inside its task; the pool stops a task that hangs.
TASK_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class RoleFloor:
    """What a role found without a model: how its task ended, and the outcome."""

    plan: RolePlan
    result: TaskResult
    outcome: RoleOutcome


def run_models(
    session: ResearchSession,
    brief: Brief,
    floors: Sequence[RoleFloor],
    ended: Callable[[RunningTask], None],
    share: float,
) -> list[RoleFloor]:
    """All roles; those that have a model with results that are at least as good. `ended` is called as each task ends.
    `session.model_failures` gets the reasons. A model that was unavailable once is not asked again: each further role
    would wait as long for the same answer."""
    deadline_ms = int(share * session.left_ms)
    running = [
        (floor, submit(session, brief, floor, provider, deadline_ms))
        for floor in floors
        if floor.outcome.result.references
        and (provider := provider_for(session, floor.plan)) is not None
        and asked_model(floor.plan, provider) not in session.unavailable
    ]
    session.tasks += len(running)
    for task in as_completed([task for _, task in running], session.cancelled):
        session.ended.append(task)
        ended(task)
    better = {floor.plan.key: settled(session, floor, task) for floor, task in running}
    return [better.get(floor.plan.key, floor) for floor in floors]


def asked_model(plan: RolePlan, provider: Provider) -> tuple[str, str]:
    return model_id(provider, plan.settings.model if plan.settings else "")


def provider_for(session: ResearchSession, plan: RolePlan) -> Provider | None:
    """The provider of a role, or of research as a whole."""
    settings = session.workspace.settings
    return settings.providers.get((plan.settings.provider if plan.settings else "") or settings.research.provider)


def submit(
    session: ResearchSession, brief: Brief, floor: RoleFloor, provider: Provider, deadline_ms: int
) -> RunningTask:
    plan = floor.plan
    settings = plan.settings or RoleSettings()

    def work(stop: Stop) -> RoleOutcome:
        toolbox = role_toolbox(session, plan, stop)
        redactor = Redactor.of(session.workspace.settings.redaction)
        seconds = min(provider.timeout_ms / 1000, TASK_SHARE * stop.left)
        try:
            return improve(
                ImproveTask(
                    plan.role.prompt,
                    brief,
                    floor.outcome,
                    toolbox,
                    provider,
                    settings,
                    redactor,
                    seconds,
                )
            )
        except LlmcError as error:
            session.model_failures[plan.key] = error.reason or error.message
            if isinstance(error, ModelUnavailableError):
                session.unavailable.add(asked_model(plan, provider))
            raise

    deadline = min(deadline_ms, settings.deadline_ms or deadline_ms)
    return session.pool.submit(Task(f"{plan.key} model", work, max(1, deadline)), session.cancelled)


def settled(session: ResearchSession, floor: RoleFloor, task: RunningTask) -> RoleFloor:
    """The improved result, or the floor with a note; a cancelled call stays cancelled."""
    result, outcome, key = task.result, task.outcome, floor.plan.key
    assert result is not None, "as_completed returns tasks that have ended"
    if result.status is ResultStatus.CANCELED:
        return replace(floor, result=result)
    if outcome is None or result.value is None:
        if result.status is ResultStatus.TIMEOUT and (provider := provider_for(session, floor.plan)) is not None:
            session.model_failures[key] = "it was too slow"
            session.unavailable.add(asked_model(floor.plan, provider))
        reason = session.model_failures.setdefault(key, result.error.message if result.error else "it failed")
        outcome = replace(floor.outcome, result=with_note(floor.outcome.result, without_model(reason)))
    elapsed = floor.result.elapsed_ms + result.elapsed_ms
    return RoleFloor(floor.plan, replace(floor.result, value=outcome.result, elapsed_ms=elapsed), outcome)
