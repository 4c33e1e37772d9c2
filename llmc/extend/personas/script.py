"""Personas written in Lua: `lua_script` runs them; this module validates the returned values and converts them to
prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from llmc.base.errors import AgentError, LlmcError
from llmc.extend.personas.base import Agent, unique_names
from llmc.extend.personas.lua_script import LuaScript, table_list, texts
from llmc.extend.personas.model import ROLES, AgentArgument, AgentInfo, AgentPrompt, PromptMessage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmc.extend.personas.context import AgentContext

__all__ = ["LuaAgent"]

LONGEST_PROMPT = 400_000


class LuaAgent(Agent):
    source: ClassVar[str] = "lua"

    def __init__(self, name: str, path: Path, timeout: float, config: Mapping[str, object], place: str = "") -> None:
        self.name = name
        self.timeout = timeout
        self.config = dict(config)
        self._script = LuaScript("agent", name, path)
        self._place = place or str(path)

    @property
    def place(self) -> str:
        return self._place

    def info(self) -> AgentInfo:
        """The description; for an unusable persona it contains the reason."""
        try:
            return self.describe()
        except LlmcError as error:
            reason = error.without_hint
            return AgentInfo(self.name, f"not usable: {reason}", (), self.source, (), self.place)

    def describe(self) -> AgentInfo:
        table = self._script.describe()
        arguments = tuple(argument(self.name, one) for one in table_list(self.name, table, "arguments"))
        tools = texts(self.name, table.get("tools"), "agent.tools")
        text = table.get("description") or ""
        if not isinstance(text, str):
            raise AgentError(f"{self.name} is invalid", reason="agent.description must be a string")
        return AgentInfo(self.name, text, unique_names(tools), self.source, arguments, self.place)

    def complete(self, argument: str, typed: str) -> list[str]:
        del typed
        return [value for one in self.info().arguments if one.name == argument for value in one.values]

    def resolve(self, args: dict[str, str], context: AgentContext) -> AgentPrompt:
        result = self._script.run(args, self.config, self.timeout, context, context.notes)
        return prompt_of(self.name, result, self.describe().tools)


def prompt_of(name: str, table: Any, tools: tuple[str, ...]) -> AgentPrompt:
    if not isinstance(table, dict):
        raise AgentError(
            f"{name} did not return a table", hint="agent.resolve returns { system = ..., messages = ... }."
        )
    system = table.get("system")
    if not isinstance(system, str) or not system.strip():
        raise AgentError(f"{name} returned no `system`", hint="agent.resolve returns { system = ..., messages = ... }.")
    messages = tuple(message(name, at, one) for at, one in enumerate(table_list(name, table, "messages"), 1))
    if len(system) + sum(len(one.content) for one in messages) > LONGEST_PROMPT:
        raise AgentError(f"{name} returned more than {LONGEST_PROMPT} characters")
    own = texts(name, table.get("tools"), "tools")
    return AgentPrompt(system, unique_names(own) if own else tools, messages)


def message(name: str, at: int, table: Any) -> PromptMessage:
    role, content = (table.get("role"), table.get("content")) if isinstance(table, dict) else (None, None)
    if role not in ROLES or not isinstance(content, str):
        reason = f"message {at} needs a role ({', '.join(ROLES)}) and content"
        raise AgentError(f"{name} returned an invalid value", reason=reason)
    return PromptMessage(str(role), content)


def argument(name: str, table: Any) -> AgentArgument:
    if not isinstance(table, dict) or not isinstance(table.get("name"), str) or not table["name"]:
        raise AgentError(f"{name} is invalid", reason="an argument has no name")
    values = texts(name, table.get("values"), f"values of {table['name']}")
    complete = str(table.get("complete") or "")
    required = table.get("required") is True
    return AgentArgument(table["name"], str(table.get("description") or ""), required, values, complete)
