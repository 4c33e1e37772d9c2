"""`create_handoff`: findings, open questions and live results, written to a file for the next session."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from llmc.answers.research import research
from llmc.answers.research.artifact import artifacts_of, file_name
from llmc.answers.research.handoff import HandoffSession, handoff_text
from llmc.answers.research.tool_arguments import ARGUMENTS, session_for
from llmc.base.errors import LlmcError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.tool import Argument, Tool, ToolRequest

if TYPE_CHECKING:
    from llmc.envelope.handles import Stored

MOST_HANDLES = 10


def run(request: ToolRequest) -> Envelope:
    report = research(session_for(request, request.text("question")))
    alive = alive_handles(request)
    session = HandoffSession(
        state_of(request), request.texts("open_questions"), tuple((one.id, one.question) for one in alive)
    )
    settings = request.workspace.settings
    text = handoff_text(report, settings.redaction, session, request.text("summary"), request.text("notes"))
    name = request.text("name")
    name = (name if name.endswith(".md") else f"{name}.md") if name else file_name("handoff", report.question.text)
    path = artifacts_of(request.workspace).write(name, text)
    value = report.synthesis.value
    counted = [
        plural(len(value.references) if value else 0, "reference"),
        plural(len(session.open_questions), "open question"),
    ]
    return replace(
        Envelope(
            "create_handoff",
            f"written to {path}",
            (Group("", (Item((Row(" · ".join([*counted, plural(len(alive), "handle")])),)),)),),
        ),
        data={"path": path, "name": path.rpartition("/")[2], "handles": [one.id for one in alive]},
    )


def alive_handles(request: ToolRequest) -> list[Stored]:
    """Those that the session was given; from the command line the newest about files of this workspace."""
    known = sorted(request.handles.all(request.owner), key=lambda one: (-one.made, one.id))
    if request.session is not None:
        given = {name for name, _ in request.session.handles}
        return [one for one in known if one.id in given][:MOST_HANDLES]
    return list(islice((one for one in known if is_of_workspace(request, one)), MOST_HANDLES))


def is_of_workspace(request: ToolRequest, stored: Stored) -> bool:
    """Whether every file of the result is in a root of this workspace; results without files are of no workspace."""
    try:
        handle = request.handles.open(stored.id, request.owner)
    except LlmcError:
        return False
    groups = (*handle.whole.groups, *handle.whole.folded)
    named = {root for root, _, _ in handle.files if root}
    named |= {item.root for group in groups for item in group.items if item.root}
    return bool(named) and named <= {one.root.id for one in request.workspace.root_indexes}


def state_of(request: ToolRequest) -> tuple[str, ...]:
    session = request.session
    if session is None:
        return ("asked from the command line",)
    known = [f"client: {session.client}" if session.client else "", f"agent: {session.agent}" if session.agent else ""]
    return (*filter(None, known), f"profile: {session.profile}", f"calls: {session.calls}")


TOOL = Tool(
    name="create_handoff",
    summary="Writes findings, open questions and live handles to a file and returns its path.",
    run=run,
    own_seconds=lambda settings: settings.runtime.default_deadline_ms / 1000,
    arguments=(
        Argument("question", "string", "What the work is about.", required=True, text="free"),
        Argument("summary", "string", "Your own summary instead of the report's.", text="free"),
        Argument("open_questions", "strings", "Questions that are still open.", text="free"),
        Argument("notes", "string", "Anything else that the next session should know.", text="free"),
        Argument("name", "string", "The file's name, without a folder."),
        *ARGUMENTS,
    ),
    profiles=frozenset({"research", "full"}),
    schema=("question", "summary", "open_questions", "notes"),
    topics=frozenset({"history"}),
    examples=("create_handoff 'session expiry' --open-questions 'who calls clear_expired?'",),
    repeatable=False,
    json_profiles=frozenset({"research"}),
)
