"""Settings with downstream servers and delegates, a scripted model, and clients that use them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daemons import as_work_tree, until
from locations import REPOSITORY
from mcp_world import client, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from daemons import Place
    from mcp import Client
    from model_server import ModelServer

TWIN = str(Path(__file__).with_name("fake_downstream.py"))
SERVERS = Path(os.environ.get("MCP_TEST_SERVERS", REPOSITORY / ".venv-servers"))
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


@dataclass
class World:
    """A folder with a workspace, a settings file, and a place for the records of stand-in servers."""

    folder: Path
    place: Place
    model: ModelServer | None = None
    mcps: dict[str, Any] = field(default_factory=dict)
    tools: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root.mkdir()
        as_work_tree(self.root)
        (self.root / "parcel.py").write_text("def deliver(parcel):\n    return parcel.address\n")

    @property
    def root(self) -> Path:
        return self.folder / "work"

    def twin(self, name: str, behaviour: str = "good", *more: str, **options: Any) -> Path:
        """A stand-in server of this name; returns the folder of its records."""
        state = self.folder / name
        state.mkdir()
        args = [TWIN, behaviour, str(state), *more]
        self.mcps[name] = {"command": sys.executable, "args": args, **options}
        return state

    def delegate(self, name: str, steps: str, internal: dict[str, list[str]], **options: Any) -> None:
        made = {"name": name, "description": f"The {name}.", "arguments": QUERY, "internal_tools": internal}
        self.tools.append({**made, "provider": "scripted", "model": steps, **options})

    @property
    def config(self) -> Path:
        path = self.folder / "delegates.json"
        providers = {"scripted": {"base_url": self.model.url}} if self.model else {}
        path.write_text(json.dumps({"mcps": self.mcps, "tools": self.tools, "providers": providers, **self.more}))
        return path

    def client(self, *arguments: str, **options: Any) -> Client:
        return client(self.place, self.root, "--config", str(self.config), *arguments, **options)

    def llmc(self, *arguments: str) -> Any:
        return self.place.llmc(*arguments, "--config", str(self.config), cwd=self.root)

    def log(self) -> str:
        return Path(self.place.home.log).read_text()


def events(state: Path) -> list[str]:
    path = state / "events"
    return path.read_text().splitlines() if path.exists() else []


def until_event(state: Path, beginning: str) -> str:
    until(lambda: any(one.startswith(beginning) for one in events(state)))
    return next(one for one in events(state) if one.startswith(beginning))


async def said(using: Any, tool: str, /, **arguments: Any) -> str:
    return text_of(await using.call_tool(tool, arguments))


async def gateway(using: Any, name: str, **arguments: Any) -> str:
    return await said(using, "run", name=name, args=arguments)


def npm(package: str) -> str:
    return str(SERVERS / "node_modules" / "@modelcontextprotocol" / package / "dist" / "index.js")


def talk(world: World, act: Callable[[Any], Coroutine[Any, Any, Any]], *arguments: str, **options: Any) -> Any:
    async def run() -> Any:
        async with world.client(*arguments, **options) as using:
            return await act(using)

    return asyncio.run(run())


def alone(world: World, name: str = "clerk", **arguments: Any) -> str:
    """One question in a session of its own."""
    return str(talk(world, lambda using: said(using, name, **(arguments or {"query": "a question"}))))


def sent_to(model: ModelServer, steps: str) -> list[dict[str, Any]]:
    return [request for request in model.requests() if request["model"] == steps]
