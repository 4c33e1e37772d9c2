"""Checks the names of delegates before they are used: `llmc config check` and `llmc serve --config`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.settings.problems import SettingSource, SettingsProblem, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from llmc.settings import Loaded

__all__ = ["name_problems", "taken_by"]


def taken_by(name: str, tools: Collection[str], servers: Collection[str] = ()) -> str:
    """What else has the name of a delegate: a built-in tool or an exposed server; empty when nothing has."""
    if name in tools:
        return "a built-in tool has this name"
    return "an exposed server has this name" if name in servers else ""


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
