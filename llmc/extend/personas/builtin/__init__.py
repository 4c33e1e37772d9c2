"""The built-in personas. Each is a file in this folder, written as a user would write it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.extend.personas.inline import TomlAgent
from llmc.extend.personas.script import LuaAgent
from llmc.settings import AgentArgumentEntry, AgentSearchEntry
from llmc.settings import AgentEntry as Entry

if TYPE_CHECKING:
    from llmc.extend.personas.base import Agent

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
        arguments=tuple(AgentArgumentEntry(**one) for one in table.get("arguments", ())),
        context=tuple(AgentSearchEntry(**one) for one in table.get("context", ())),
    )
