"""A Lua script of a persona or a tool: its text, its description of itself, and one run of its function.

`prelude.lua` defines what a script may do, `sandbox` how long. A script is described once per content. While its
function runs, `ScriptBridge` answers its calls of `context`.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from llmc.base.errors import AgentError, LlmcError
from llmc.extend.personas.context import TooManyCallsError
from llmc.extend.personas.sandbox import ScriptJob, pool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmc.extend.personas.context import AgentContext
    from llmc.extend.personas.sandbox import Printed

    ScriptKind = Literal["agent", "tool"]

__all__ = ["LuaScript", "table_list", "texts"]

LARGEST_SCRIPT = 256 << 10
DESCRIBE_SECONDS = 2.0
FAILED_SECONDS = 30.0
MOST_FAILED = 64
FUNCTIONS = {"agent": "agent.resolve", "tool": "tool.execute"}

_failed: dict[tuple[str, str, str], tuple[float, AgentError]] = {}


@dataclass(frozen=True, slots=True)
class LuaScript:
    """`name` is that of the persona or tool, for messages."""

    kind: ScriptKind
    name: str
    path: Path

    def describe(self) -> dict[str, Any]:
        """Its description of itself. A failure is remembered for a while, since lists are requested often."""
        key = (self.kind, self.path.name, self.text())
        since, error = _failed.get(key, (0.0, None))
        if error is not None and time.monotonic() - since < FAILED_SECONDS:
            raise error
        try:
            return describe(*key)
        except AgentError as wrong:
            while len(_failed) >= MOST_FAILED:
                _failed.pop(next(iter(_failed)), None)
            _failed[key] = (time.monotonic(), wrong)
            raise

    def run(
        self,
        args: Mapping[str, Any],
        config: Mapping[str, Any],
        seconds: float,
        context: AgentContext,
        printed: Printed,
    ) -> Any:
        given = {"args": dict(args), "config": dict(config)}
        job = ScriptJob(self.path.name, self.text(), f"run {self.kind}", given, seconds)
        return pool.run(job, ScriptBridge(context).answer, printed)

    def text(self) -> str:
        what = f"the script of {self.name}"
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise AgentError(f"{what} cannot be read", reason=error.strerror or "") from None
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise AgentError(f"{what} cannot be read", reason="it is not a regular file")
            data = file.read(LARGEST_SCRIPT + 1)
        if len(data) > LARGEST_SCRIPT:
            raise AgentError(f"{what} is larger than {LARGEST_SCRIPT >> 10} KiB")
        return data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()


@lru_cache(maxsize=64)
def describe(kind: str, name: str, text: str) -> dict[str, Any]:
    printed: Printed = []
    table = pool.run(ScriptJob(name, text, f"describe {kind}", {}, DESCRIBE_SECONDS), refuse_call, printed)
    if not isinstance(table, dict) or not table.get("callable"):
        raise AgentError(f"{name} is invalid", reason=f"it does not define the function {FUNCTIONS[kind]}")
    return table


def refuse_call(name: str, _args: list[Any]) -> tuple[bool, str]:
    return True, f'"context.{name} is only available while the function of the script runs"'


class ScriptBridge:
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
