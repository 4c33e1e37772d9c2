"""Profiles: which tools does a client list, and what is it told first?

`lean` is for agents that pay for every definition: three tools and a gateway. `full` lists everything, `research` the
composite tools. What is not listed is still there for whoever names it, in a call or through the gateway. A session may
be narrowed further (`Session.allowed`): what it may not use is then neither listed nor answered.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from llmc.errors import NotFoundError, QueryError
from llmc.server.tools import TOOLS, tool

if TYPE_CHECKING:
    from llmc.server.tools.base import Tool
    from llmc.settings import Settings

__all__ = ["allowed_tools", "instructions_of", "is_offered", "listed", "offered", "require_offered"]

LEAN = (
    "Indexed search of this workspace: prefer it to shell grep, find and cat. "
    "A reply that ends in `+8 more → h4k2` goes on with read h4k2; path takes a handle too. "
    "context_focus_question keeps only the lines that answer it."
)
INSTRUCTIONS = {
    "research": "Research in this workspace: locate, analyse, find patterns, hand over. Answers name path and line.",
}


def instructions_of(profile: str) -> str:
    return INSTRUCTIONS.get(profile, LEAN)


def listed(settings: Settings, allowed: frozenset[str] | None = None) -> tuple[Tool, ...]:
    """The tools of the profile, in the order of `TOOLS`."""
    profile = settings.server.profile
    return tuple(one for one in offered(settings, allowed) if profile in one.profiles)


def offered(settings: Settings, allowed: frozenset[str] | None = None) -> tuple[Tool, ...]:
    """Every tool that this session may use."""
    tools = (tool(name) for name in TOOLS if allowed is None or name in allowed)
    return tuple(one for one in tools if is_offered(one, settings))


def allowed_tools(settings: Settings, agent: str) -> frozenset[str] | None:
    """The tools of an agent of the settings; None means all."""
    if not agent:
        return None
    if agent not in settings.agents:
        near = get_close_matches(agent, settings.agents, 1)
        known = f"There are {', '.join(settings.agents)}." if settings.agents else "The settings have none."
        raise NotFoundError(f"there is no agent {agent!r}", hint=f"Did you mean {near[0]}?" if near else known)
    return frozenset(settings.agents[agent].tools) or None


def is_offered(wanted: Tool, settings: Settings) -> bool:
    """Whether the setting that it needs is on."""
    value: object = settings
    for part in wanted.needs.split(".") if wanted.needs else ():
        value = getattr(value, part)
    return bool(value)


def require_offered(wanted: Tool, settings: Settings) -> None:
    if not is_offered(wanted, settings):
        raise QueryError(
            f"{wanted.name} is switched off", hint=f"The user turns it on with `--set {wanted.needs}=true`."
        )
