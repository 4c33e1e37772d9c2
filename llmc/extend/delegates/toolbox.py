"""The tools of a delegate's model: downstream ones and llmc's own, under names that no two of them share.

Whatever a tool answers goes the way of every reply before the model sees it: without secrets, cut to a budget, the rest
behind a handle, which `llmc__more` opens. Which tools there are is decided here, at each call, by the delegate's own
list and by what its servers offer now; a description that changed takes a tool away.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from llmc.base.errors import QueryError, ToolExecutionError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.extend.delegates.content import lines_of, text_of
from llmc.extend.delegates.loop import DelegateTools
from llmc.state.connected_sessions import ConnectedSession
from llmc.tool import Argument, Tool
from llmc.tool_schema import definition_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.extend.delegates.description import ToolDescription
    from llmc.extend.delegates.downstream import Downstream
    from llmc.settings import Delegate
    from llmc.tool import ToolRequest

__all__ = ["OWN", "DelegateToolbox", "enveloped", "shown_name"]

OWN = "llmc"
MORE = "llmc__more"
# A round with four tools then fits in the 8,000 tokens that a small local model has.
STEP_BUDGET = 1_500
# Some characters are cleaned and fitted in a millisecond, which a change of threads takes as well.
QUICK = 10_000
LONGEST_NAME = 64  # what the providers take
STEP_ARGUMENTS = (Argument("budget", "integer", "Tokens that the reply may take."),)
MORE_SCHEMA = {"type": "object", "properties": {"handle": {"type": "string"}}, "required": ["handle"]}


@dataclass(frozen=True, slots=True)
class DelegateToolbox:
    """For one call of one delegate; `last` is the moment of the monotonic clock at which it must end."""

    asked: ToolRequest
    delegate: Delegate
    servers: Mapping[str, Downstream]
    last: float

    def tools(self) -> dict[str, DelegateTools]:
        """By the names that the model sees."""
        found: dict[str, DelegateTools] = {}
        for server, names in self.delegate.internal_tools.items():
            made = self._own(names) if server == OWN else self._theirs(server, names)
            for inside in made:
                found[shown_name(inside.key, found)] = inside
        if found:
            found[MORE] = DelegateTools(f"{OWN}::more", "The rest of a result, by its handle.", MORE_SCHEMA, self._more)
        return found

    def _theirs(self, server: str, names: tuple[str, ...]) -> list[DelegateTools]:
        downstream = self.servers.get(server)
        known = downstream.state.known if downstream else {}  # one that is being started again is waited for
        wanted = list(known) if names == ("*",) else names
        return [
            DelegateTools(
                known[name].key, known[name].description, known[name].schema, partial(self._call, known[name])
            )
            for name in wanted
            if name in known
        ]

    def _own(self, names: tuple[str, ...]) -> list[DelegateTools]:
        settings = self.asked.workspace.settings
        runtime = self.asked.tools
        tools = [runtime.get(name) for name in names if name in runtime.names() and name != OWN]
        made = [definition_of(one) for one in tools if runtime.is_offered(one, settings)]
        return [
            DelegateTools(f"{OWN}::{one.name}", one.description, one.schema, partial(self._ask, one.name))
            for one in made
        ]

    async def _call(self, described: ToolDescription, arguments: dict[str, Any]) -> str:
        """Asked again whether it may: the list that the model saw may be old."""
        downstream = self.servers[described.server]
        if described.name not in downstream.state.known:
            raise ToolExecutionError(f"{described.key} may not be used now")
        raw = await downstream.call(described.name, arguments, self._left())
        text, failed = text_of(raw)
        shown = partial(self._enclosed, described.key, text, failed=failed)
        return shown() if len(text) < QUICK else await asyncio.to_thread(shown)

    def _left(self) -> float:
        return max(0.1, self.last - asyncio.get_running_loop().time())

    def _enclosed(self, key: str, text: str, *, failed: bool) -> str:
        envelope = enveloped(key, text)
        wrapper = Tool(key, "", lambda _: envelope, STEP_ARGUMENTS, budget="read_budget")
        reply = self.asked.step(key, {"budget": STEP_BUDGET}, self._session(frozenset({key})), wrapper)
        return f"error: {reply.text}" if failed else reply.text

    async def _ask(self, name: str, arguments: dict[str, Any]) -> str:
        return await asyncio.to_thread(self._answer, name, arguments)

    async def _more(self, arguments: dict[str, Any]) -> str:
        handle = arguments.get("handle")
        if not isinstance(handle, str) or not self.asked.handles.has(handle.partition(":")[0], self.asked.owner):
            raise QueryError("there is no such handle", hint="It stands at the end of a result that was cut.")
        return await asyncio.to_thread(self._answer, "read", {"target": handle})

    def _answer(self, name: str, arguments: dict[str, Any]) -> str:
        """In a session of its own, with the owner's handles and nothing that was sent to others."""
        takes_budget = any(argument.name == "budget" for argument in self.asked.tools.get(name).arguments)
        given = {"budget": STEP_BUDGET, **arguments} if takes_budget else arguments
        return self.asked.step(name, given, self._session(frozenset({name}))).text

    def _session(self, allowed: frozenset[str]) -> ConnectedSession:
        return ConnectedSession(f"delegate-{id(self)}", self.asked.owner, allowed=allowed)


def enveloped(name: str, text: str) -> Envelope:
    """A text of others: the first line is ours and says whose it is, the rest stands behind a space."""
    lines = lines_of(text)
    found = f"{name} · {plural(len(lines), 'line')}" if lines else f"{name} · empty"
    groups = (Group("", (Item(tuple(Row(line) for line in lines)),)),) if lines else ()
    return Envelope(name, found, groups, unit="line")


def shown_name(key: str, taken: Mapping[str, DelegateTools]) -> str:
    """`server__tool` in the letters that providers allow; a number where two would be alike."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", key.replace("::", "__"))[:LONGEST_NAME]
    name, number = plain, 2
    while name in taken or name == MORE:
        name = f"{plain[: LONGEST_NAME - 3]}_{number}"
        number += 1
    return name
