"""`research_codebase`: a question, answered by all roles together in a compact report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.answers.research import research
from llmc.answers.research.tool_arguments import ARGUMENTS, report_envelope, session_for
from llmc.tool import Argument, Tool, ToolRequest

if TYPE_CHECKING:
    from llmc.envelope import Envelope


def run(request: ToolRequest) -> Envelope:
    return report_envelope(request, "research_codebase", research(session_for(request, request.text("question"))))


TOOL = Tool(
    name="research_codebase",
    summary="Answers a question about the code: where, how, with which examples; compact, with path:line.",
    run=run,
    own_seconds=lambda settings: settings.runtime.default_deadline_ms / 1000,
    arguments=(
        Argument(
            "question",
            "string",
            "In a sentence: where is X, how does X work, show examples of X.",
            required=True,
            text="free",
        ),
        Argument("artifact", "boolean", "Write the report as a file too, and say where."),
        *ARGUMENTS,
    ),
    budget="research_budget",
    profiles=frozenset({"research", "full"}),
    schema=("question", "roots", "constraints", "artifact"),
    examples=("research_codebase 'how are sessions expired?'",),
    repeatable=False,
    json_profiles=frozenset({"research"}),
)
