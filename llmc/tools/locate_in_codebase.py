"""`locate_in_codebase`: where does it live? Places by category, no excerpts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.answers.research import run_role
from llmc.answers.research.tool_arguments import ARGUMENTS, report_envelope, session_for
from llmc.tool import Argument, Tool, ToolRequest

if TYPE_CHECKING:
    from llmc.envelope import Envelope


def run(request: ToolRequest) -> Envelope:
    return report_envelope(
        request, "locate_in_codebase", run_role(session_for(request, request.text("query")), "locator")
    )


TOOL = Tool(
    name="locate_in_codebase",
    summary="Where something lives: paths and lines by category, without excerpts.",
    run=run,
    own_seconds=lambda settings: settings.runtime.default_deadline_ms / 1000,
    arguments=(
        Argument("query", "string", "What to locate, in words or by name.", required=True, text="free"),
        *ARGUMENTS,
    ),
    budget="research_budget",
    profiles=frozenset({"research", "full"}),
    schema=("query", "roots", "constraints"),
    examples=("locate_in_codebase 'retry policy'",),
    json_profiles=frozenset({"research"}),
)
