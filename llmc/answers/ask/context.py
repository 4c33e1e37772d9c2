"""What the four work with: the question's scope and limits, the tools of its route, and a check of every reference.

A step is a call of a tool as a client would make it, in a quick session of its own that may use the tools of the route
and nothing else: whatever a model asks for, `answer` refuses the rest. Steps, seconds and tokens are bounded here.
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
from llmc.answers.research.session import open_inquiry
from llmc.answers.research.toolbox import RoleToolbox
from llmc.envelope.clean import clean_text
from llmc.envelope.redact.redactor import Redactor
from llmc.envelope.render import is_span
from llmc.settings import RoleEntry as RoleSettings
from llmc.state.connected_sessions import ConnectedSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.answers.ask.model_step import ModelVoice
    from llmc.answers.ask.values import Cost, QuestionRoute, ToolStep
    from llmc.answers.research.session import ResearchSession
    from llmc.tool import ToolRequest
    from llmc.workspace import Workspace

__all__ = ["AskContext", "open_desk"]

STEP_BUDGET = 400
MOST_PLACES = 4
EVERY_TOOL = frozenset({"search", "symbols", "refs", "read", "neighbours"})
DOC_FILES = ("*.md", "*.markdown", "*.rst", "*.adoc")
_NUMBERED = re.compile(r"(\d+)(?:-\d+)? ")
_PLACE = re.compile(r"(?<![\w/.-])(/?[\w.-]+(?:/[\w.-]+)*\.\w+:\d+)")


@dataclass
class AskContext:
    """One question at work. `voices` are the roles that a model plays; `notes` are what the reader must know."""

    asked: ToolRequest
    route: QuestionRoute
    inquiry: ResearchSession
    stop: Stop
    visitor: ConnectedSession
    voices: Mapping[str, ModelVoice]
    remembered: tuple[str, ...] = ()
    steps: list[ToolStep] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _toolbox: RoleToolbox | None = None

    @property
    def workspace(self) -> Workspace:
        return self.inquiry.workspace

    @property
    def brief(self) -> Brief:
        return Brief(self.inquiry.question, several=self.inquiry.ground.several)

    @property
    def redactor(self) -> Redactor:
        return Redactor.of(self.workspace.settings.redaction)

    @property
    def toolbox(self) -> RoleToolbox:
        if self._toolbox is None:
            self._toolbox = self.toolbox_for(None)
        return self._toolbox

    @property
    def tokens_left(self) -> int:
        return self.workspace.settings.crew.max_tokens - sum(one.read + one.written for one in self.costs)

    def toolbox_for(self, paths: tuple[str, ...] | None) -> RoleToolbox:
        plan = RolePlan(role("locator"), "ask", RoleSettings(paths=paths) if paths else None)
        meter = ReadMeter(self.inquiry.constraints.budget, self.inquiry.meter)
        found = areas(self.inquiry, plan, meter, self.stop)
        return RoleToolbox(found, role="ask", allowed=EVERY_TOOL, meter=meter, stop=self.stop, redactor=self.redactor)

    def exists(self, reference: str) -> bool:
        return self.toolbox.exists(reference, several=self.brief.several)

    def tell(self, who: str, does: str) -> None:
        call = self.asked.call
        if call is not None:
            call.progress({"stage": "ask", "role": who, "message": f"{who} {does}", "done": len(self.steps)})

    def act(self, step: ToolStep) -> ToolStep:
        """Use a tool, and take down what came of it."""
        self.stop.check()
        if len(self.steps) >= self.workspace.settings.crew.max_steps:
            return replace(step, error="over_budget", text="No further steps: the limit is reached.")
        args: dict[str, Any] = {"budget": STEP_BUDGET, **step.args} if step.tool != "shell" else dict(step.args)
        reply = replace(self.asked, workspace=self.workspace).step(step.tool, args, self.visitor)
        done = replace(step, text=reply.text, places=self.places_in(reply.text), handle=reply.handle, error=reply.error)
        self.steps.append(done)
        return done

    def places_in(self, text: str) -> tuple[str, ...]:
        """The places that a reply shows, as references; only those that exist."""
        found: dict[str, None] = {}
        path = ""
        for line in text.split("\n")[1:]:
            if (match := _NUMBERED.match(line)) and path:
                found.setdefault(f"{path}:{match[1]}")
            elif line and not line.startswith(" ") and not is_span(line):
                path = self._reference(line.partition(" · ")[0])
            for place in _PLACE.findall(line):
                found.setdefault(place)
        return tuple(one for one in list(found)[: MOST_PLACES * 4] if self.exists(one))[:MOST_PLACES]

    def _reference(self, shown: str) -> str:
        """A path as replies show it; with several roots its root's name comes first there, and its folder here."""
        name, _, rest = shown.partition(":")
        if not self.brief.several or not rest:
            return shown
        return next((f"{one.root.path}/{rest}" for one in self.workspace.root_indexes if one.root.name == name), shown)

    def clean(self, text: str) -> str:
        """What a model is sent: without secrets, nothing hidden."""
        return clean_text(text, self.redactor)


def open_desk(asked: ToolRequest, question: str, route: QuestionRoute, voices: Mapping[str, ModelVoice]) -> AskContext:
    """The research that it is built on is the one without models: the crew has its own."""
    settings = replace(asked.workspace.settings, providers={})
    workspace = replace(asked.workspace, settings=settings, owned=False)
    stop = Stop(time.monotonic() + settings.crew.seconds, lambda: asked.cancelled)
    call = asked.call
    inquiry = open_inquiry(
        workspace,
        question,
        asked.texts("roots"),
        cancelled=lambda: asked.cancelled,
        progress=call.progress if call else lambda _event: None,
    )
    visitor = ConnectedSession("crew", owner=asked.owner, allowed=frozenset(route.tools))
    return AskContext(asked, route, inquiry, stop, visitor, voices)
