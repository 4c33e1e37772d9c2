"""Calling a tool in tests: `answer` builds the request that a surface would, `opened_tree` gives it a small project.

`opened_tools` is both: a function that calls any tool on a small project.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llmc.envelope.handles import Handles
from llmc.settings import EmbedderSettings, Settings
from llmc.tool import ToolRequest
from llmc.tools.call import call_tool
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from llmc.envelope.reply import Reply

__all__ = ["answer", "opened_tools", "opened_tree"]


def answer(workspace: Workspace, handles: Handles, name: str, args: dict[str, Any], **options: Any) -> Reply:
    return call_tool(ToolRequest(name, args, workspace, handles, **options))


@contextmanager
def opened_tree(folder: Path, home: Path, files: Mapping[str, str]) -> Iterator[tuple[Workspace, Handles]]:
    """These files as an indexed workspace, with vectors that need no model."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    settings = Settings(embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(folder), home=str(home), settings=settings) as workspace:
        workspace.index()
        yield workspace, Handles(str(home / "handles"))


@contextmanager
def opened_tools(folder: Path, home: Path, files: Mapping[str, str]) -> Iterator[Callable[..., Reply]]:
    """`call("grep", pattern="x")` on these files."""
    with opened_tree(folder, home, files) as (workspace, handles):

        def call(tool: str, **args: Any) -> Reply:
            return answer(workspace, handles, tool, args)

        yield call
