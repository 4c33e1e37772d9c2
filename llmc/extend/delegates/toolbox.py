"""The tools of a delegate's model, from downstream servers and from llmc, under unique names.

Results are processed like every reply before the model sees them: redacted, cut to a budget, and the rest stored behind
a handle that `llmc__more` opens. The set of tools is computed at each call from the delegate's list and the state of
its servers; tools with a changed description are left out.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from llmc.answers.llm import ModelTool
from llmc.base.errors import QueryError, ToolExecutionError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.extend.delegates.content import lines_of, text_of
from llmc.state.connected_sessions import ConnectedSession
from llmc.tool import Argument, Tool
from llmc.tool_schema import definition_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.extend.delegates.description import ToolDescription
    from llmc.extend.delegates.downstream import Downstream
    from llmc.settings import Delegate
    from llmc.tool import ToolRequest

__all__ = ["OWN", "DelegateToolbox", "model_name", "text_envelope"]

OWN = "llmc"
MORE = "llmc__more"
# With this, a round of four calls fits into the 8,000 tokens of a small local model.
STEP_BUDGET = 1_500
# Shorter text is processed in the loop: it takes about as long as switching threads.
QUICK = 10_000
LONGEST_NAME = 64  # the limit of the providers
STEP_ARGUMENTS = (Argument("budget", "integer", "Token budget of the reply."),)
MORE_SCHEMA = {"type": "object", "properties": {"handle": {"type": "string"}}, "required": ["handle"]}


@dataclass(frozen=True, slots=True)
class DelegateToolbox:
    """The tools for one call of one delegate; `last` is its deadline on the monotonic clock."""

    request: ToolRequest
    delegate: Delegate
    servers: Mapping[str, Downstream]
    last: float

    def tools(self) -> dict[str, ModelTool]:
        """The tools by the names that the model sees."""
        found: dict[str, ModelTool] = {}
        for server, names in self.delegate.internal_tools.items():
            found_tools = self._own_tools(names) if server == OWN else self._downstream_tools(server, names)
            for inside in found_tools:
                found[model_name(inside.key, found)] = inside
        if found:
            found[MORE] = ModelTool(f"{OWN}::more", "The rest of a result, by its handle.", MORE_SCHEMA, self._more)
        return found

    def _downstream_tools(self, server: str, names: tuple[str, ...]) -> list[ModelTool]:
        downstream = self.servers.get(server)
        known = downstream.state.known if downstream else {}  # calls wait for a server that is restarting
        wanted = list(known) if names == ("*",) else names
        return [
            ModelTool(known[name].key, known[name].description, known[name].schema, partial(self._call, known[name]))
            for name in wanted
            if name in known
        ]

    def _own_tools(self, names: tuple[str, ...]) -> list[ModelTool]:
        settings = self.request.workspace.settings
        runtime = self.request.tools
        tools = [runtime.get(name) for name in names if name in runtime.names() and name != OWN]
        found_tools = [definition_of(one) for one in tools if runtime.is_offered(one, settings)]
        return [
            ModelTool(f"{OWN}::{one.name}", one.description, one.schema, partial(self._call_own, one.name))
            for one in found_tools
        ]

    async def _call(self, description: ToolDescription, arguments: dict[str, Any]) -> str:
        """Call a downstream tool. Permission is checked again, since the model's list may be outdated."""
        downstream = self.servers[description.server]
        if description.name not in downstream.state.known:
            raise ToolExecutionError(f"{description.key} is currently not available")
        raw = await downstream.call(description.name, arguments, self._left())
        text, failed = text_of(raw)
        shown = partial(self._fit, description.key, text, failed=failed)
        return shown() if len(text) < QUICK else await asyncio.to_thread(shown)

    def _left(self) -> float:
        return max(0.1, self.last - asyncio.get_running_loop().time())

    def _fit(self, key: str, text: str, *, failed: bool) -> str:
        envelope = text_envelope(key, text)
        wrapper = Tool(key, "", lambda _: envelope, STEP_ARGUMENTS, budget="read_budget")
        reply = self.request.step(key, {"budget": STEP_BUDGET}, self._session(frozenset({key})), wrapper)
        return f"error: {reply.text}" if failed else reply.text

    async def _call_own(self, name: str, arguments: dict[str, Any]) -> str:
        return await asyncio.to_thread(self._answer, name, arguments)

    async def _more(self, arguments: dict[str, Any]) -> str:
        handle = arguments.get("handle")
        if not isinstance(handle, str) or not self.request.handles.has(handle.partition(":")[0], self.request.owner):
            raise QueryError("unknown handle", hint="Handles are at the end of shortened results.")
        return await asyncio.to_thread(self._answer, "read", {"target": handle})

    def _answer(self, name: str, arguments: dict[str, Any]) -> str:
        """Call an llmc tool in a temporary session with the owner's handles and no history of sent lines."""
        takes_budget = any(argument.name == "budget" for argument in self.request.tools.get(name).arguments)
        given = {"budget": STEP_BUDGET, **arguments} if takes_budget else arguments
        return self.request.step(name, given, self._session(frozenset({name}))).text

    def _session(self, allowed: frozenset[str]) -> ConnectedSession:
        return ConnectedSession(f"delegate-{id(self)}", self.request.owner, allowed=allowed)


def text_envelope(name: str, text: str) -> Envelope:
    """Untrusted text as an envelope: llmc writes the first line, and every other line is indented."""
    lines = lines_of(text)
    found = f"{name} · {plural(len(lines), 'line')}" if lines else f"{name} · empty"
    groups = (Group("", (Item(tuple(Row(line) for line in lines)),)),) if lines else ()
    return Envelope(name, found, groups, unit="line")


def model_name(key: str, taken: Mapping[str, ModelTool]) -> str:
    """`server__tool` in the characters that providers allow; a number makes it unique."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", key.replace("::", "__"))[:LONGEST_NAME]
    name, number = plain, 2
    while name in taken or name == MORE:
        name = f"{plain[: LONGEST_NAME - 3]}_{number}"
        number += 1
    return name
