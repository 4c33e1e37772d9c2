"""A small tree for questions to the code graph: written, indexed and asked in one process."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tool_calls import answer

from llmc.envelope.handles import Handles
from llmc.settings import EmbedderSettings, Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmc.envelope.reply import Reply

__all__ = ["GraphWorld", "graph_world"]


@dataclass
class GraphWorld:
    workspace: Workspace
    handles: Handles
    folder: Path

    def ask(self, tool: str, **args: Any) -> Reply:
        return answer(self.workspace, self.handles, tool, args)

    def text(self, tool: str, **args: Any) -> str:
        reply = self.ask(tool, **args)
        assert not reply.error, reply.text
        return reply.text

    def callees(self, name: str, **args: Any) -> dict[str, str]:
        """`path:name` of each direct call, plumbing included → its precision."""
        data = self.ask("calls", name=name, depth=1, all=True, **args).data
        return {f"{one['path']}:{one['name']}": one["precision"] for one in data["definitions"][0]["calls"]}

    def callers(self, name: str, **args: Any) -> dict[str, str]:
        data = self.ask("callers", name=name, **args).data
        return {f"{one['path']}:{one['name']}": one["precision"] for one in data["definitions"][0]["callers"]}

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        self.workspace.index()


@contextmanager
def graph_world(folder: Path, files: Mapping[str, str]) -> Iterator[GraphWorld]:
    root = folder / "tree"
    root.mkdir()
    settings = Settings(embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(root), home=str(folder / "home"), settings=settings) as workspace:
        world = GraphWorld(workspace, Handles(str(folder / "handles")), root)
        world.write(files)
        yield world
        world.handles.close()
