"""`run`: the gateway to tools with side effects (shell, web research, delegates, the user's servers).

It is separate from `llmc`, so that everything else stays marked read-only and clients call it without asking the user.
It is listed only while such a tool is enabled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.base.errors import QueryError
from llmc.tool import Argument, Tool, ToolRequest

if TYPE_CHECKING:
    from llmc.envelope import Envelope


def forward(request: ToolRequest) -> tuple[str, dict[str, Any]] | None:
    name = request.text("name").strip()
    return (name, dict(request.args.get("args") or {})) if name and name != TOOL.name else None


def run(_request: ToolRequest) -> Envelope:
    raise QueryError("run cannot run itself", hint="`llmc` lists the tools.")


TOOL = Tool(
    name="run",
    summary="Run a tool that has side effects, such as `shell`; `llmc` lists and explains them.",
    run=run,
    arguments=(
        Argument("name", "string", "A tool that `llmc` lists.", required=True),
        Argument("args", "object", "The tool's arguments."),
    ),
    profiles=frozenset({"lean", "research", "full"}),
    examples=("run name=shell args={'command': 'pytest -q'}",),
    brief="Run a tool with side effects.",
    schema=("name", "args"),
    topics=frozenset(),
    has_side_effects=True,
    forward=forward,
)
