"""Values of personas: their description in lists, and the prompt they resolve to.

They define the HTTP endpoints, MCP prompts and `llmc.agents`; `as_dict` is the wire format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["ROLES", "AgentArgument", "AgentInfo", "AgentPrompt", "PromptMessage", "ResolvedPersona"]

ROLES: Final = ("user", "assistant", "system")


@dataclass(frozen=True, slots=True)
class AgentArgument:
    """`values` are offered as completions; `complete` offers `folders` or `files` of the roots instead."""

    name: str
    description: str = ""
    required: bool = False
    values: tuple[str, ...] = ()
    complete: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "required": self.required}


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """`source` is `toml`, `lua` or `python`; `place` is its file or class. Empty `tools` means all tools."""

    name: str
    description: str
    tools: tuple[str, ...]
    source: str
    arguments: tuple[AgentArgument, ...] = ()
    place: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "tools": list(self.tools),
            "source": self.source,
            "arguments": [argument.as_dict() for argument in self.arguments],
        }


@dataclass(frozen=True, slots=True)
class PromptMessage:
    role: str
    content: str

    def as_dict(self) -> dict[str, str]:
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class AgentPrompt:
    system: str
    tools: tuple[str, ...] = ()
    messages: tuple[PromptMessage, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        messages = [message.as_dict() for message in self.messages]
        return {"system": self.system, "tools": list(self.tools), "messages": messages}


@dataclass(frozen=True, slots=True)
class ResolvedPersona:
    """A prompt and its cost. `notes` are lines printed by a script and failed searches."""

    info: AgentInfo
    prompt: AgentPrompt
    searches: int = 0
    fetches: int = 0
    seconds: float = 0.0
    system_tokens: int = 0
    message_tokens: int = 0
    notes: tuple[str, ...] = field(default=())
