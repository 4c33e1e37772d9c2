"""State shared by the four ask roles: the question's scope and limits, its tools, and the check of references.

A step is a tool call like a client's, made in a temporary session that may use only the tools of the route, so a model
cannot reach any other tool. This module bounds the number of steps, the seconds and the tokens.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from llmc.answers.research.budget import ReadMeter
from llmc.answers.research.planning import RolePlan, areas
from llmc.answers.research.roles import Brief, role
from llmc.answers.research.runtime import Stop
from llmc.answers.research.session import open_session
from llmc.answers.research.toolbox import RoleToolbox
from llmc.base.references import cited_places
from llmc.envelope.clean import clean_text
from llmc.envelope.redact.redactor import Redactor
from llmc.envelope.render import is_span
from llmc.state.connected_sessions import ConnectedSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.answers.ask.model_step import RoleModel
    from llmc.answers.ask.values import Cost, QuestionRoute, ToolStep
    from llmc.answers.research.session import ResearchSession
    from llmc.tool import ToolRequest
    from llmc.workspace import Workspace

__all__ = ["AskContext", "open_context"]

STEP_BUDGET = 400
MOST_PLACES = 4
EVERY_TOOL = frozenset({"search", "symbols", "refs", "read", "neighbours"})
_NUMBERED = re.compile(r"(\d+)(?:-\d+)? ")


@dataclass
class AskContext:
    """One question in progress. `models` holds the roles that have a model; `notes` are shown to the reader."""

    request: ToolRequest
    route: QuestionRoute
    session: ResearchSession
    stop: Stop
    step_session: ConnectedSession
    models: Mapping[str, RoleModel]
    remembered: tuple[str, ...] = ()
    steps: list[ToolStep] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    model_failures: dict[str, str] = field(default_factory=dict)  # why a role's model did not answer
    unavailable: set[tuple[str, str]] = field(default_factory=set)  # models that are not asked again
    _toolbox: RoleToolbox | None = None

    @property
    def workspace(self) -> Workspace:
        return self.session.workspace

    @property
    def brief(self) -> Brief:
        return Brief(self.session.question, several=self.session.scope.several)

    @property
    def redactor(self) -> Redactor:
        return Redactor.of(self.workspace.settings.redaction)

    @property
    def toolbox(self) -> RoleToolbox:
        if self._toolbox is None:
            self._toolbox = self._open_toolbox()
        return self._toolbox

    @property
    def tokens_left(self) -> int:
        return self.workspace.settings.crew.max_tokens - sum(one.read + one.written for one in self.costs)

    def _open_toolbox(self) -> RoleToolbox:
        plan = RolePlan(role("locator"), "ask")
        meter = ReadMeter(self.session.constraints.budget, self.session.meter)
        found = areas(self.session, plan, meter, self.stop)
        return RoleToolbox(found, role="ask", allowed=EVERY_TOOL, meter=meter, stop=self.stop, redactor=self.redactor)

    def exists(self, reference: str) -> bool:
        return self.toolbox.exists(reference, several=self.brief.several)

    def report_progress(self, role_name: str, action: str) -> None:
        call = self.request.call
        if call is not None:
            call.progress(
                {"stage": "ask", "role": role_name, "message": f"{role_name} {action}", "done": len(self.steps)}
            )

    def run_step(self, step: ToolStep) -> ToolStep:
        """Call a tool and record the reply as a step."""
        self.stop.check()
        if len(self.steps) >= self.workspace.settings.crew.max_steps:
            return replace(step, error="over_budget", text="Step limit reached; no further steps are run.")
        args: dict[str, Any] = {"budget": STEP_BUDGET, **step.args} if step.tool != "shell" else dict(step.args)
        reply = replace(self.request, workspace=self.workspace).step(step.tool, args, self.step_session)
        done = replace(step, text=reply.text, places=self.places_in(reply.text), handle=reply.handle, error=reply.error)
        self.steps.append(done)
        return done

    def places_in(self, text: str) -> tuple[str, ...]:
        """The existing `path:line` references in the text of a reply."""
        found: dict[str, None] = {}
        path = ""
        for line in text.split("\n")[1:]:
            if (match := _NUMBERED.match(line)) and path:
                found.setdefault(f"{path}:{match[1]}")
            elif line and not line.startswith(" ") and not is_span(line):
                path = self._reference(line.partition(" · ")[0])
            for place in cited_places(line):
                found.setdefault(place)
        return tuple(one for one in list(found)[: MOST_PLACES * 4] if self.exists(one))[:MOST_PLACES]

    def _reference(self, shown: str) -> str:
        """The reference for a path in a reply: with several roots, `name:path` becomes the absolute path."""
        name, _, rest = shown.partition(":")
        if not self.brief.several or not rest:
            return shown
        return next((f"{one.root.path}/{rest}" for one in self.workspace.root_indexes if one.root.name == name), shown)

    def clean(self, text: str) -> str:
        """Redact secrets and hidden characters before text is sent to a model."""
        return clean_text(text, self.redactor)


def open_context(
    request: ToolRequest, question: str, route: QuestionRoute, models: Mapping[str, RoleModel]
) -> AskContext:
    """Open the research session without providers: the ask roles have models of their own."""
    settings = request.workspace.settings.model_copy(update={"providers": {}})
    workspace = replace(request.workspace, settings=settings, owned=False)
    stop = Stop(time.monotonic() + settings.crew.seconds, lambda: request.cancelled)
    call = request.call
    session = open_session(
        workspace,
        question,
        request.texts("roots"),
        cancelled=lambda: request.cancelled,
        progress=call.progress if call else lambda _event: None,
    )
    step_session = ConnectedSession("crew", owner=request.owner, allowed=frozenset(route.tools))
    return AskContext(request, route, session, stop, step_session, models)
