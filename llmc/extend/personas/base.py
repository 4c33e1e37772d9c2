"""The base class of personas: a name, a description, tools, arguments, and a function from arguments to a prompt.

    class DatabaseExpert(Agent):
        name = "db-expert"
        description = "Answers questions about the schema"
        tools = ("search", "read")
        arguments = (AgentArgument("database", "Which one"),)

        def resolve(self, args, context):
            found = context.search(f"{args.get('database', '')} schema", limit=5)
            return AgentPrompt("You know this schema:\\n" + "\\n".join(hit.title for hit in found))

Inline and Lua personas are subclasses of `Agent` too. Each resolution gets its own `context` and keeps no state.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

from llmc.base.errors import ArgumentError
from llmc.extend.personas.model import AgentInfo

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from llmc.extend.personas.context import AgentContext
    from llmc.extend.personas.model import AgentArgument, AgentPrompt

__all__ = ["LONGEST_ARGUMENT", "Agent", "check_arguments", "unique_names"]

LONGEST_ARGUMENT = 8_000


class Agent:
    """Base class of personas. Without `tools`, all tools are available."""

    name: str = ""
    description: str = ""
    tools: tuple[str, ...] | list[str] = ()
    arguments: tuple[AgentArgument, ...] | list[AgentArgument] = ()
    timeout: float = 30.0
    source: ClassVar[str] = "python"

    def resolve(self, args: dict[str, str], context: AgentContext) -> AgentPrompt | Awaitable[AgentPrompt]:
        """The prompt for a conversation; may be an `async def`."""
        raise NotImplementedError

    def complete(self, argument: str, typed: str) -> list[str]:
        """Completions for the value of an argument; by default its `values`."""
        del typed
        return [value for one in self.arguments if one.name == argument for value in one.values]

    @property
    def place(self) -> str:
        return f"{type(self).__module__}.{type(self).__qualname__}"

    def info(self) -> AgentInfo:
        return AgentInfo(
            self.name, self.description, unique_names(self.tools), self.source, tuple(self.arguments), self.place
        )


def unique_names(names: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def check_arguments(info: AgentInfo, given: Mapping[str, Any]) -> dict[str, str]:
    """The arguments as strings; ArgumentError for unknown, missing or invalid ones. Empty strings count as missing."""
    known = [argument.name for argument in info.arguments]
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            takes = f"Available: {', '.join(known)}." if known else "It takes no arguments."
            raise ArgumentError(
                f"{info.name} has no argument {name!r}", hint=f"Did you mean {near[0]}?" if near else takes
            )
    args = {name: as_text(info, name, value) for name, value in given.items() if value is not None}
    for argument in info.arguments:
        if argument.required and not args.get(argument.name, "").strip():
            raise ArgumentError(f"{info.name} needs the argument {argument.name!r}", hint=argument.description)
    return args


def as_text(info: AgentInfo, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f"the argument {name!r} of {info.name} must be a string")
    text = value
    if len(text) > LONGEST_ARGUMENT:
        raise ArgumentError(f"the argument {name!r} of {info.name} is longer than {LONGEST_ARGUMENT} characters")
    return text
