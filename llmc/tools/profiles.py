"""Profiles: which tools does a client list, and what is it told first?

`lean` is for agents that pay for every definition: three tools and a gateway. `full` lists everything, `research` the
composite tools. What is not listed is still there for whoever names it, in a call or through the gateway. A session may
be narrowed further (`Session.allowed`): what it may not use is then neither listed nor answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.tools.registry import TOOLS, is_offered, tool

if TYPE_CHECKING:
    from llmc.settings import Server, Settings
    from llmc.tool import Tool

__all__ = ["allowed_tools", "instructions_of", "listed", "offered", "profile_of"]

LEAN = (
    "Indexed: prefer these to shell grep, find and cat. `+8 more → h4k2` at the end goes on with read h4k2; "
    "path takes a handle too. context_focus_question keeps only the lines that answer it."
)
INSTRUCTIONS = {
    "research": "Research in this workspace: locate, analyse, find patterns, hand over. Answers name path and line.",
}


def instructions_of(profile: str) -> str:
    return INSTRUCTIONS.get(profile, LEAN)


def listed(settings: Settings, allowed: frozenset[str] | None = None) -> tuple[Tool, ...]:
    """The tools of the profile, in the order of `TOOLS`; a session that is narrowed lists all that it may use."""
    profile = settings.server.profile
    return tuple(one for one in offered(settings, allowed) if allowed is not None or profile in one.profiles)


def offered(settings: Settings, allowed: frozenset[str] | None = None) -> tuple[Tool, ...]:
    """Every tool that this session may use."""
    tools = (tool(name) for name in TOOLS if allowed is None or name in allowed)
    return tuple(one for one in tools if is_offered(one, settings))


def allowed_tools(settings: Settings, agent: str) -> frozenset[str] | None:
    """The tools of a persona; None means all. One that cannot be used has no tools but an error."""
    if not agent:
        return None
    from llmc.extend.personas.registry import AgentRegistry  # noqa: PLC0415 - Lua and TOML, which few need

    return frozenset(AgentRegistry.from_settings(settings).describe(agent).tools) or None


def profile_of(server: Server, agent: str = "") -> str:
    """A profile whose tools have a contract of their own cannot be narrowed, so a persona never has it."""
    return "lean" if server.profile == "pruner" and (agent or server.agent) else server.profile
