"""The personas that are there without any settings. Each is a file of this folder, written as a user would write it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.server.agents.inline import TomlAgent
from llmc.server.agents.script import LuaAgent
from llmc.settings import Agent as Entry
from llmc.settings import AgentArgument, AgentContext

if TYPE_CHECKING:
    from llmc.server.agents.base import Agent

__all__ = ["built_in"]

FOLDER = Path(__file__).parent
LUA_SECONDS = 10.0


@cache
def built_in() -> dict[str, Agent]:
    found: dict[str, Agent] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        found[path.stem] = TomlAgent(path.stem, entry(tomllib.loads(path.read_text("utf-8"))), f"built-in {path.name}")
    for path in sorted(FOLDER.glob("*.lua")):
        found[path.stem] = LuaAgent(path.stem, path, LUA_SECONDS, {}, f"built-in {path.name}")
    return found


def entry(table: dict[str, Any]) -> Entry:
    return Entry(
        description=table["description"],
        tools=tuple(table["tools"]),
        system_prompt=table["system_prompt"],
        arguments=tuple(AgentArgument(**one) for one in table.get("arguments", ())),
        context=tuple(AgentContext(**one) for one in table.get("context", ())),
    )
