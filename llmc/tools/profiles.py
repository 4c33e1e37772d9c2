"""Profiles: which tools does a client list, and which instructions does it get?

`lean` is for agents that pay for every definition: three tools and a gateway. `full` lists everything, `research` the
composite tools. Unlisted tools can still be called, by name or through the gateway. A session may be restricted further
(`ConnectedSession.allowed`): other tools are then neither listed nor answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.tools.registry import ALIASES, TOOLS, is_offered, tool

if TYPE_CHECKING:
    from collections.abc import Container

    from llmc.settings import Server, Settings
    from llmc.tool import Tool

__all__ = ["RUN", "aliases", "allowed_tools", "instructions_of", "listed", "offered", "profile_of"]

LEAN = (
    "Indexed: use instead of rg, grep, find, cat, also in subagents: search quotes code for a question, "
    "name or pasted error; grep shows each match in its function.\n"
    "`+8 more → h4k2`: read h4k2 continues. "
    "context_focus_question keeps lines that answer it; code drops comments."
)
INSTRUCTIONS = {
    "research": "Research in this workspace: locate, analyse, find patterns, hand over. Answers name path and line.",
}

RUN = "run"


def instructions_of(profile: str) -> str:
    return INSTRUCTIONS.get(profile, LEAN)


def listed(
    settings: Settings,
    allowed: frozenset[str] | None = None,
    *,
    extra_effects: bool = False,
    taken: Container[str] = (),
) -> tuple[Tool, ...]:
    """The tools of the profile, in the order of `TOOLS`; a session with a restriction lists everything it may use.

    `run` is listed only while something is behind it: an unlisted tool with side effects, or one of the user's own
    (`extra_effects`).
    """
    profile = settings.server.profile
    every = offered(settings, allowed, taken)
    tools = [one for one in every if allowed is not None or profile in one.profiles]
    behind_run = extra_effects or any(one.has_side_effects for one in every if one not in tools)
    return tuple(one for one in tools if one.name != RUN or behind_run)


def offered(settings: Settings, allowed: frozenset[str] | None = None, taken: Container[str] = ()) -> tuple[Tool, ...]:
    """Every tool that this session may use. `taken` are the names of the user's own tools, which replace aliases."""
    tools = (tool(name) for name in (*TOOLS, *aliases(allowed, taken)) if allowed is None or name in allowed)
    return tuple(one for one in tools if is_offered(one, settings))


def aliases(allowed: frozenset[str] | None, taken: Container[str] = ()) -> list[str]:
    """The other names of tools that a session with this restriction knows."""
    return [name for name in ALIASES if allowed is not None and name in allowed and name not in taken]


def allowed_tools(settings: Settings, agent: str) -> frozenset[str] | None:
    """The tools of a persona; None means all. One that cannot be used has no tools but an error."""
    if not agent:
        return None
    from llmc.extend.personas.registry import AgentRegistry  # noqa: PLC0415 - Lua and TOML, which few need

    tools = frozenset(AgentRegistry.from_settings(settings).describe(agent).tools)
    # Both gateways go together: `llmc` explains what `run` runs, and each call is authorized by the tool's own name.
    return (tools | {RUN} if "llmc" in tools else tools) or None


def profile_of(server: Server, agent: str = "") -> str:
    """A profile whose tools have a contract of their own cannot be narrowed, so a persona never has it."""
    return "lean" if server.profile == "pruner" and (agent or server.agent) else server.profile
