"""Calls a tool in process: `answer` builds the request that a surface would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.tool import ToolRequest
from llmc.tools.call import call_tool

if TYPE_CHECKING:
    from llmc.envelope.handles import Handles
    from llmc.envelope.reply import Reply
    from llmc.workspace import Workspace

__all__ = ["answer"]


def answer(workspace: Workspace, handles: Handles, name: str, args: dict[str, Any], **options: Any) -> Reply:
    return call_tool(ToolRequest(name, args, workspace, handles, **options))
