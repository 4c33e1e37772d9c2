"""The values of personas: what a list shows of one, and what it becomes when it is asked for.

They are the contract of the endpoints, of MCP and of `llmc.agents`; `as_dict` is what goes out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["ROLES", "AgentArgument", "AgentInfo", "AgentPrompt", "PromptMessage", "ResolvedPersona"]

ROLES: Final = ("user", "assistant", "system")


@dataclass(frozen=True, slots=True)
class AgentArgument:
    """`values` are offered when it is typed; `complete` offers `folders` or `files` of the roots instead."""

    name: str
    description: str = ""
    required: bool = False
    values: tuple[str, ...] = ()
    complete: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "required": self.required}


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """`source` is `toml`, `lua` or `python`; `place` is the file or class behind it. No `tools` means all."""

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
    """A prompt and what it took. `notes` are what a script printed, and searches that could not be made."""

    info: AgentInfo
    prompt: AgentPrompt
    searches: int = 0
    fetches: int = 0
    seconds: float = 0.0
    system_tokens: int = 0
    message_tokens: int = 0
    notes: tuple[str, ...] = field(default=())
