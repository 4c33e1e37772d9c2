"""Checks delegates and tools written in Lua before they are used: `llmc config check` and `llmc serve --config`.

A script is run only to describe itself, in its sandbox as always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.settings.problems import SettingSource, SettingsProblem, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from llmc.settings import Loaded

__all__ = ["name_problems", "script_problems", "taken_by"]


def taken_by(name: str, tools: Collection[str], servers: Collection[str] = (), delegates: Collection[str] = ()) -> str:
    """What else has the name: a built-in tool, an exposed server or a delegate; empty when nothing has."""
    if name in tools:
        return "a built-in tool has this name"
    if name in servers:
        return "an exposed server has this name"
    return "a delegate has this name" if name in delegates else ""


def name_problems(loaded: Loaded, tools: Collection[str]) -> Iterator[SettingsProblem]:
    """`tools` are the names of the built-in tools, which cannot be replaced."""
    settings = loaded.settings
    exposed = {name for name, mcp in settings.mcps.items() if mcp.expose}
    for name in settings.delegates:
        if reason := taken_by(name, tools, exposed):
            key = f"delegates.{name}"
            source = loaded.sources.get(key) or loaded.sources.get(f"{key}.description") or SettingSource("default")
            entry = key if name in tools else ""
            yield SettingsProblem(source, shown(key, 120), reason, "choose another name", entry)
    for name in settings.tool_scripts:
        if reason := taken_by(name, tools, exposed, settings.delegates):
            key = f"tools.script.{name}"
            source = loaded.sources.get(f"{key}.path") or SettingSource("default")
            yield SettingsProblem(source, shown(key, 120), reason, "choose another name", key)


def script_problems(loaded: Loaded) -> Iterator[SettingsProblem]:
    """Scripts that are skipped, since they cannot be read or do not describe a tool."""
    from llmc.extend.delegates.script_tool import ScriptTool  # noqa: PLC0415 - the model loop, which few need

    for name, script in loaded.settings.tool_scripts.items():
        if why := ScriptTool(name, script, loaded.settings, {}).missing():
            key = f"tools.script.{name}"
            source = loaded.sources.get(f"{key}.path") or SettingSource("default")
            yield SettingsProblem(source, shown(key, 120), why, "", key)
