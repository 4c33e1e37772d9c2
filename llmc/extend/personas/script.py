"""Personas written in Lua: a script is described once per content, and resolved on every request.

`prelude.lua` defines what a script may do, `sandbox` how long. This module converts its results to values, and reports
results of the wrong shape precisely.
"""

from __future__ import annotations

import os
import stat
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from llmc.base.errors import AgentError, AgentTimeoutError, LlmcError
from llmc.extend.personas.base import Agent, unique_names
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
            return self.describe()
        except LlmcError as error:
            reason = f"{error.message}: {error.reason}" if error.reason else error.message
            return AgentInfo(self.name, f"not usable: {reason}", (), self.source, (), self.place)

    def describe(self) -> AgentInfo:
        table = describe_once(self._path.name, self._text())
        arguments = tuple(argument(self.name, one) for one in table_list(self.name, table, "arguments"))
        tools = texts(self.name, table.get("tools"), "agent.tools")
        text = table.get("description") or ""
        if not isinstance(text, str):
            raise AgentError(f"{self.name} is wrong", reason="agent.description must be a string")
        return AgentInfo(self.name, text, unique_names(tools), self.source, arguments, self.place)

    def complete(self, argument: str, typed: str) -> list[str]:
        del typed
        return [value for one in self.info().arguments if one.name == argument for value in one.values]

    def resolve(self, args: dict[str, str], context: AgentContext) -> AgentPrompt:
        given = {"args": args, "config": self.config}
        job = ScriptJob(self._path.name, self._text(), "resolve", given, self.timeout)
        result = pool.run(job, Bridge(context).answer, context.notes)
        return prompt_of(self.name, result, self.describe().tools)

    def _text(self) -> str:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise AgentError(f"the script of {self.name} cannot be read", reason=error.strerror or "") from None
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise AgentError(f"the script of {self.name} cannot be read", reason="it is not a regular file")
            data = file.read(LARGEST_SCRIPT + 1)
        if len(data) > LARGEST_SCRIPT:
            raise AgentError(f"the script of {self.name} is larger than {LARGEST_SCRIPT >> 10} KiB")
        return data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()


def describe_once(name: str, text: str) -> dict[str, Any]:
    """Describe the script; after a timeout it is not tried again for a while, since lists are requested often."""
    since, error = _slow.get((name, text), (0.0, None))
    if error is not None and time.monotonic() - since < SLOW_SECONDS:
        raise error
    try:
        return describe(name, text)
    except AgentTimeoutError as late:
        _slow.clear()  # only the last one is remembered
        _slow[name, text] = (time.monotonic(), late)
        raise


@lru_cache(maxsize=64)
def describe(name: str, text: str) -> dict[str, Any]:
    """The self-description of a script, cached by its content."""
    printed: Printed = []
    table = pool.run(ScriptJob(name, text, "describe", {}, DESCRIBE_SECONDS), refuse_call, printed)
    if not isinstance(table, dict) or not table.get("resolves"):
        raise AgentError(f"{name} is invalid", reason="it does not define the function agent.resolve")
    return table


def refuse_call(name: str, _args: list[Any]) -> tuple[bool, str]:
    return True, f'"context.{name} is only available in agent.resolve"'


class Bridge:
    """Maps calls of a script to its context. A failed call is an error in the script; only too many calls end it."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context

    def answer(self, name: str, args: list[Any]) -> tuple[bool, str]:
        import orjson  # noqa: PLC0415 - only needed in the daemon

        first = args[0] if args else None
        try:
            if name == "search":
                found: Any = [one.as_dict() for one in self._search(first)]
            elif name == "get":
                found = self._get(first)
            elif name == "documents":
                found = [one.as_dict() for one in self._documents(first)]
            else:
                found = [one.as_dict() for one in self._context.sources()]
        except TooManyCallsError:
            raise
        except LlmcError as error:
            return True, orjson.dumps(f"{error.message} {error.hint}".strip()).decode()
        return False, orjson.dumps(found).decode("utf-8", "replace")

    def _search(self, request: Any) -> list[Any]:
        request = {"query": request} if isinstance(request, str) else request
        if not isinstance(request, dict) or not isinstance(request.get("query"), str):
            raise AgentError("context.search requires a query", hint='For example context.search({ query = "words" })')
        filters = request.get("filters")
        source = filters.get("source") if isinstance(filters, dict) else request.get("source")
        more: dict[str, Any] = {
            name: int(request[name]) for name in ("limit", "budget") if isinstance(request.get(name), int | float)
        }
        mode = request.get("mode") or "hybrid"
        return self._context.search(request["query"], mode=str(mode), source=str(source or ""), **more)

    def _documents(self, request: Any) -> list[Any]:
        if not isinstance(request, dict):
            raise AgentError("context.documents requires a table", hint='For example { roles = { "runbooks" } }.')
        roles = texts("context.documents", request.get("roles"), "roles")
        more: dict[str, Any] = {
            name: int(request[name]) for name in ("limit", "budget") if isinstance(request.get(name), int | float)
        }
        return self._context.documents(roles, about=str(request.get("about") or ""), **more)

    def _get(self, request: Any) -> dict[str, Any]:
        budget = {}
        if isinstance(request, dict):
            budget = {"budget": int(request["budget"])} if isinstance(request.get("budget"), int | float) else {}
            request = request.get("id")
        if not isinstance(request, str):
            raise AgentError("context.get requires the id of a result, or a path")
        return self._context.get(request, **budget).as_dict()


def prompt_of(name: str, table: Any, tools: tuple[str, ...]) -> AgentPrompt:
    if not isinstance(table, dict):
        raise AgentError(
            f"{name} did not return a table", hint="agent.resolve returns { system = ..., messages = ... }."
        )
    system = table.get("system")
    if not isinstance(system, str) or not system.strip():
        raise AgentError(f"{name} returned no `system`", hint="agent.resolve returns { system = ..., messages = ... }.")
    messages = tuple(message(name, at, one) for at, one in enumerate(table_list(name, table, "messages"), 1))
    if len(system) + sum(len(one.content) for one in messages) > LONGEST_PROMPT:
        raise AgentError(f"{name} returned more than {LONGEST_PROMPT} characters")
    own = texts(name, table.get("tools"), "tools")
    return AgentPrompt(system, unique_names(own) if own else tools, messages)


def message(name: str, at: int, table: Any) -> PromptMessage:
    role, content = (table.get("role"), table.get("content")) if isinstance(table, dict) else (None, None)
    if role not in ROLES or not isinstance(content, str):
        reason = f"message {at} needs a role ({', '.join(ROLES)}) and content"
        raise AgentError(f"{name} returned an invalid value", reason=reason)
    return PromptMessage(str(role), content)


def argument(name: str, table: Any) -> AgentArgument:
    if not isinstance(table, dict) or not isinstance(table.get("name"), str) or not table["name"]:
        raise AgentError(f"{name} is invalid", reason="an argument has no name")
    values = texts(name, table.get("values"), f"values of {table['name']}")
    complete = str(table.get("complete") or "")
    required = table.get("required") is True
    return AgentArgument(table["name"], str(table.get("description") or ""), required, values, complete)


def table_list(name: str, table: dict[str, Any], key: str) -> list[Any]:
    value = table.get(key) or []
    if not isinstance(value, list):
        raise AgentError(f"{name} is invalid", reason=f"{key} must be a list")
    return value


def texts(name: str, value: Any, what: str) -> tuple[str, ...]:
    value = value or []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise AgentError(f"{name} is invalid", reason=f"{what} must be a list of strings")
    return tuple(value)
