"""`find_patterns`: how is it done elsewhere? Two to six examples with the few lines that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.answers.research import run_role
from llmc.answers.research.tool_arguments import ARGUMENTS, report_envelope, session_for
from llmc.tool import Argument, Tool, ToolRequest

if TYPE_CHECKING:
    from llmc.envelope import Envelope


def run(request: ToolRequest) -> Envelope:
    session = session_for(request, f"examples of {request.text('pattern')}")
    return report_envelope(request, "find_patterns", run_role(session, "pattern_finder"))


TOOL = Tool(
    name="find_patterns",
    summary="Two to six existing examples of a pattern, each with path:line and the few lines that matter.",
    run=run,
    own_seconds=lambda settings: settings.runtime.default_deadline_ms / 1000,
    arguments=(
        Argument(
            "pattern", "string", "What the examples should show, in words or by name.", required=True, text="free"
        ),
        *ARGUMENTS,
    ),
    budget="research_budget",
    profiles=frozenset({"research", "full"}),
    schema=("pattern", "roots", "constraints"),
    examples=("find_patterns 'management command that asks for confirmation'",),
    json_profiles=frozenset({"research"}),
)
