"""Personas written in Lua: the script is described once for each content, and resolved anew each time.

What a script may do is `prelude.lua`'s business, how long `sandbox`'s. Here its words are turned into values: a script
that says something of another shape is told what and where.
"""

from __future__ import annotations

import os
import stat
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from llmc.base.errors import AgentError, AgentTimeoutError, LlmcError
from llmc.extend.personas.base import Agent, real_tools
from llmc.extend.personas.context import TooManyCallsError
from llmc.extend.personas.model import ROLES, AgentArgument, AgentInfo, AgentPrompt, PromptMessage
from llmc.extend.personas.sandbox import ScriptJob, pool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmc.extend.personas.context import AgentContext
    from llmc.extend.personas.sandbox import Printed

__all__ = ["LuaAgent"]

LARGEST_SCRIPT = 256 << 10
DESCRIBE_SECONDS = 2.0
SLOW_SECONDS = 30.0
LONGEST_PROMPT = 400_000

_slow: dict[tuple[str, str], tuple[float, AgentTimeoutError]] = {}


class LuaAgent(Agent):
    source: ClassVar[str] = "lua"

    def __init__(self, name: str, path: Path, timeout: float, config: Mapping[str, object], place: str = "") -> None:
        self.name = name
        self.timeout = timeout
        self.config = dict(config)
        self._path = path
        self._place = place or str(path)

    @property
    def place(self) -> str:
        return self._place

    def info(self) -> AgentInfo:
        """One that cannot be used is listed all the same, with the reason."""
        try:
            return self.described()
        except LlmcError as error:
            reason = f"{error.message}: {error.reason}" if error.reason else error.message
            return AgentInfo(self.name, f"cannot be used: {reason}", (), self.source, (), self.place)

    def described(self) -> AgentInfo:
        told = once_described(self._path.name, self._text())
        arguments = tuple(argument(self.name, one) for one in table_list(self.name, told, "arguments"))
        tools = texts(self.name, told.get("tools"), "agent.tools")
        text = told.get("description") or ""
        if not isinstance(text, str):
            raise AgentError(f"{self.name} is wrong", reason="agent.description must be a text")
        return AgentInfo(self.name, text, real_tools(tools), self.source, arguments, self.place)

    def complete(self, argument: str, typed: str) -> list[str]:
        del typed
        return [value for one in self.info().arguments if one.name == argument for value in one.values]

    def resolve(self, args: dict[str, str], context: AgentContext) -> AgentPrompt:
        given = {"args": args, "config": self.config}
        job = ScriptJob(self._path.name, self._text(), "resolve", given, self.timeout)
        result = pool.run(job, Bridge(context).answer, context.notes)
        return prompt_of(self.name, result, self.described().tools)

    def _text(self) -> str:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise AgentError(f"the script of {self.name} cannot be read", reason=error.strerror or "") from None
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise AgentError(f"the script of {self.name} cannot be read", reason="it is no file")
            data = file.read(LARGEST_SCRIPT + 1)
        if len(data) > LARGEST_SCRIPT:
            raise AgentError(f"the script of {self.name} is larger than {LARGEST_SCRIPT >> 10} KiB")
        return data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()


def once_described(name: str, text: str) -> dict[str, Any]:
    """One that takes too long even for this is not tried again for a while: lists are asked for often."""
    since, error = _slow.get((name, text), (0.0, None))
    if error is not None and time.monotonic() - since < SLOW_SECONDS:
        raise error
    try:
        return described(name, text)
    except AgentTimeoutError as late:
        _slow.clear()  # one is enough to remember
        _slow[name, text] = (time.monotonic(), late)
        raise


@lru_cache(maxsize=64)
def described(name: str, text: str) -> dict[str, Any]:
    """What the script says of itself; kept for this very text."""
    printed: Printed = []
    told = pool.run(ScriptJob(name, text, "describe", {}, DESCRIBE_SECONDS), refused, printed)
    if not isinstance(told, dict) or not told.get("resolves"):
        raise AgentError(f"{name} is wrong", reason="it defines no function agent.resolve")
    return told


def refused(name: str, _args: list[Any]) -> tuple[bool, str]:
    return True, f'"context.{name} is there in agent.resolve only"'


class Bridge:
    """A script's calls back, as calls of its context. What is wrong with one is an error in the script; only asking
    without end is the end."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context

    def answer(self, name: str, args: list[Any]) -> tuple[bool, str]:
        import orjson  # noqa: PLC0415 - with the context, which is there only in the daemon

        first = args[0] if args else None
        try:
            if name == "search":
                found: Any = [one.as_dict() for one in self._search(first)]
            elif name == "get":
                found = self._get(first)
            else:
                found = [one.as_dict() for one in self._context.sources()]
        except TooManyCallsError:
            raise
        except LlmcError as error:
            return True, orjson.dumps(f"{error.message} {error.hint}".strip()).decode()
        return False, orjson.dumps(found).decode("utf-8", "replace")

    def _search(self, asked: Any) -> list[Any]:
        asked = {"query": asked} if isinstance(asked, str) else asked
        if not isinstance(asked, dict) or not isinstance(asked.get("query"), str):
            raise AgentError("context.search wants a query", hint='such as context.search({ query = "words" })')
        filters = asked.get("filters")
        source = filters.get("source") if isinstance(filters, dict) else asked.get("source")
        more: dict[str, Any] = {
            name: int(asked[name]) for name in ("limit", "budget") if isinstance(asked.get(name), int | float)
        }
        mode = asked.get("mode") or "hybrid"
        return self._context.search(asked["query"], mode=str(mode), source=str(source or ""), **more)

    def _get(self, asked: Any) -> dict[str, Any]:
        budget = {}
        if isinstance(asked, dict):
            budget = {"budget": int(asked["budget"])} if isinstance(asked.get("budget"), int | float) else {}
            asked = asked.get("id")
        if not isinstance(asked, str):
            raise AgentError("context.get wants the id of a result, or a path")
        return self._context.get(asked, **budget).as_dict()


def prompt_of(name: str, told: Any, tools: tuple[str, ...]) -> AgentPrompt:
    if not isinstance(told, dict):
        raise AgentError(f"{name} returned no table", hint="agent.resolve returns { system = ..., messages = ... }.")
    system = told.get("system")
    if not isinstance(system, str) or not system.strip():
        raise AgentError(f"{name} returned no `system`", hint="agent.resolve returns { system = ..., messages = ... }.")
    messages = tuple(message(name, at, one) for at, one in enumerate(table_list(name, told, "messages"), 1))
    if len(system) + sum(len(one.content) for one in messages) > LONGEST_PROMPT:
        raise AgentError(f"{name} returned more than {LONGEST_PROMPT} characters")
    own = texts(name, told.get("tools"), "tools")
    return AgentPrompt(system, real_tools(own) if own else tools, messages)


def message(name: str, at: int, told: Any) -> PromptMessage:
    role, content = (told.get("role"), told.get("content")) if isinstance(told, dict) else (None, None)
    if role not in ROLES or not isinstance(content, str):
        reason = f"message {at} needs a role ({', '.join(ROLES)}) and a content"
        raise AgentError(f"{name} returned what cannot be used", reason=reason)
    return PromptMessage(str(role), content)


def argument(name: str, told: Any) -> AgentArgument:
    if not isinstance(told, dict) or not isinstance(told.get("name"), str) or not told["name"]:
        raise AgentError(f"{name} is wrong", reason="an argument has no name")
    values = texts(name, told.get("values"), f"values of {told['name']}")
    complete = str(told.get("complete") or "")
    required = told.get("required") is True
    return AgentArgument(told["name"], str(told.get("description") or ""), required, values, complete)


def table_list(name: str, told: dict[str, Any], key: str) -> list[Any]:
    value = told.get(key) or []
    if not isinstance(value, list):
        raise AgentError(f"{name} is wrong", reason=f"{key} must be a list")
    return value


def texts(name: str, value: Any, what: str) -> tuple[str, ...]:
    value = value or []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise AgentError(f"{name} is wrong", reason=f"{what} must be a list of texts")
    return tuple(value)
