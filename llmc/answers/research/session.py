"""A research session: one question in progress with its scope, limits, deadline and progress callback."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.answers.research.budget import ReadMeter
from llmc.answers.research.question import understand
from llmc.answers.research.runtime import pool_of
from llmc.answers.research.scope import constraints_of, scope_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from llmc.answers.research.question import Question
    from llmc.answers.research.runtime import RunningTask, TaskPool
    from llmc.answers.research.scope import Constraints, ResearchScope
    from llmc.retrieval.view import View
    from llmc.workspace import Workspace

__all__ = ["ResearchSession", "open_session"]


@dataclass
class ResearchSession:
    """One question in progress. `cancelled` reports cancellation; `progress` is called in the requesting thread."""

    workspace: Workspace
    question: Question
    scope: ResearchScope
    constraints: Constraints
    views: Sequence[View]
    meter: ReadMeter
    pool: TaskPool
    deadline: float
    cancelled: Callable[[], bool] = lambda: False
    progress: Callable[[dict[str, Any]], None] = lambda _event: None
    started: float = field(default_factory=time.monotonic)
    ended: list[RunningTask] = field(default_factory=list)
    tasks: int = 0
    later: int = 0  # tasks that will probably be started after these
    model_failures: dict[str, str] = field(default_factory=dict)  # why a role's model did not answer
    unavailable: set[tuple[str, str]] = field(default_factory=set)  # models that are not asked again

    @property
    def left_ms(self) -> int:
        return max(1, int((self.deadline - time.monotonic()) * 1000))


def open_session(
    workspace: Workspace,
    question: str,
    roots: Sequence[str] = (),
    constraints: Mapping[str, Any] | None = None,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    progress: Callable[[dict[str, Any]], None] = lambda _event: None,
) -> ResearchSession:
    """Validate the question, roots and constraints, and open a session for them."""
    limits = constraints_of(constraints or {}, workspace.settings)
    understood, scope = understand(question), scope_of(workspace, roots)
    deadline = time.monotonic() + limits.deadline_ms / 1000
    meter, pool = ReadMeter(limits.budget), pool_of(workspace.settings.runtime)
    views = workspace.views()
    return ResearchSession(workspace, understood, scope, limits, views, meter, pool, deadline, cancelled, progress)
