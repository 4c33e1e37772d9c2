"""The built-in tools by name, in the order in which they are listed, and which of them the settings switch on."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from llmc.base.errors import QueryError

if TYPE_CHECKING:
    from llmc.settings import Settings
    from llmc.tool import Tool

__all__ = ["ALIASES", "TOOLS", "is_offered", "require_offered", "tool"]

TOOLS = (
    "search",
    "grep",
    "read",
    "llmc",
    "run",
    "find",
    "outline",
    "match",
    "refs",
    "calls",
    "callers",
    "impls",
    "tests",
    "path",
    "impact",
    "history",
    "context",
    "tree",
    "handle",
    "over",
    "shell",
    "research_codebase",
    "locate_in_codebase",
    "find_patterns",
    "analyze_component",
    "ask",
    "create_handoff",
    "resume_handoff",
    "web_research",
    "session",
    "list_roots",
    "ping",
)


# Names from the original specification of personas, for those that list them.
ALIASES = {"get": "read", "sources": "list_roots"}


def tool(name: str) -> Tool:
    """Imported when it is first used."""
    if name in ALIASES:
        return replace(tool(ALIASES[name]), name=name, profiles=frozenset())
    if name not in TOOLS:
        near = get_close_matches(name, TOOLS, 1)
        raise QueryError(f"there is no tool {name!r}", hint=f"Did you mean {near[0]}?" if near else ", ".join(TOOLS))
    found: Tool = import_module(f"llmc.tools.{name}").TOOL
    return found


def is_offered(wanted: Tool, settings: Settings) -> bool:
    """Whether the setting that the tool requires is on, and no setting excludes the tool."""
    if wanted.name in settings.server.without_tools:
        return False
    value: object = settings
    for part in wanted.requires_setting.split(".") if wanted.requires_setting else ():
        value = getattr(value, part)
    return bool(value)


def require_offered(wanted: Tool, settings: Settings) -> None:
    if wanted.name in settings.server.without_tools:
        raise QueryError(f"{wanted.name} is not offered by this server", hint="`llmc` lists the tools that are.")
    if not is_offered(wanted, settings):
        section, _, key = wanted.requires_setting.rpartition(".")
        hint = f"The user turns it on with `{key} = true` below [{section}] in their own llmc.toml."
        raise QueryError(f"{wanted.name} is switched off", hint=hint)
