"""Checks the personas in the settings before they are used: `llmc config check`.

An invalid persona affects nothing else, so the settings are still accepted. Scripts are run only to describe
themselves, in their sandbox as always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError
from llmc.extend.personas.inline import unknown_names
from llmc.extend.personas.script import LuaAgent
from llmc.settings.problems import SettingSource, SettingsProblem, nearest, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.settings import AgentEntry, AgentScript, Loaded, Settings

__all__ = ["KnownTools", "problems_of"]


def problems_of(loaded: Loaded, tools: Iterable[str]) -> Iterator[SettingsProblem]:
    """`tools` are the names of the built-in tools."""
    settings = loaded.settings
    known = KnownTools.of(settings, tools)
    for name, agent in settings.agents.items():
        for part, reason, hint in inline_problems(agent, known):
            key = f"agents.{name}.{part}"
            yield SettingsProblem(place(loaded, key, f"agents.{name}"), key, reason, hint)
    for name, script in settings.agent_scripts.items():
        key = f"agents.script.{name}.path"
        for reason, hint in script_problems(name, script, known):
            yield SettingsProblem(place(loaded, key, ""), key, reason, hint)


@dataclass(frozen=True, slots=True)
class KnownTools:
    """Built-in tools, delegates and scripts by name; a tool of an exposed server is named `server.tool`."""

    names: frozenset[str]
    servers: frozenset[str]

    @classmethod
    def of(cls, settings: Settings, builtin: Iterable[str]) -> KnownTools:
        servers = frozenset(name for name, mcp in settings.mcps.items() if mcp.expose)
        own = {*settings.delegates, *settings.tool_scripts}
        return cls(frozenset({*builtin, *own, *servers}), servers | set(settings.delegates))

    def has(self, tool: str) -> bool:
        return tool in self.names or tool.partition(".")[0] in self.servers


def inline_problems(agent: AgentEntry, known: KnownTools) -> Iterator[tuple[str, str, str]]:
    for reason, hint in tool_problems(agent.tools, known):
        yield "tools", reason, hint
    names = [argument.name for argument in agent.arguments]
    templates = [("system_prompt", agent.system_prompt), *(("context", one.search) for one in agent.context)]
    for part, template in templates:
        for wrong in unknown_names(template, set(names)):
            near = nearest(wrong, names)
            hint = f"did you mean {{{near}}}?" if near else f"write {{{{{wrong}}}}} for literal braces"
            yield part, f"{{{wrong}}} is not one of its arguments", hint
    for twice in sorted({name for name in names if names.count(name) > 1}):
        yield "arguments", f'two arguments are named "{shown(twice)}"', ""


def script_problems(name: str, script: AgentScript, known: KnownTools) -> Iterator[tuple[str, str]]:
    try:
        info = LuaAgent(name, script.path, script.timeout, script.config).describe()
    except LlmcError as error:
        yield error.without_hint, error.hint
        return
    yield from tool_problems(info.tools, known)


def tool_problems(tools: Iterable[str], known: KnownTools) -> Iterator[tuple[str, str]]:
    for tool in tools:
        if not known.has(tool):
            near = nearest(tool, known.names)
            yield f'there is no tool "{shown(tool)}"', f"did you mean {near}?" if near else ""


def place(loaded: Loaded, key: str, around: str) -> SettingSource:
    found = (source for known, source in loaded.sources.items() if known.startswith(f"{around}.")) if around else ()
    return loaded.sources.get(key) or next(iter(found), SettingSource("default"))
