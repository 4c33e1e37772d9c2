"""A downstream tool itself, behind the gateway: its server is one line of the menu, whatever it has.

llmc                                    desktop-commander: 26 tools, such as read_file, write_file
llmc name=desktop-commander             one line for each
llmc name=desktop-commander.read_file   what that takes, once in a session
… args={"path": "a.txt"}                runs it; the answer goes the way of every reply
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.errors import ToolExecutionError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.extend.delegates.content import text_of
from llmc.extend.delegates.delegate import AMOUNTS
from llmc.extend.delegates.description import arguments_of
from llmc.tool import FOCUS, Tool
from llmc.tool_schema import call_form

if TYPE_CHECKING:
    from llmc.extend.delegates.description import ToolDescription
    from llmc.extend.delegates.downstream import Downstream
    from llmc.extend.delegates.fleet import Fleet
    from llmc.tool import ToolRequest

__all__ = ["Exposed"]

CALL_SECONDS = 60.0
# A line of the menu costs at most some 50 tokens with these.
NAMED, NAMED_CHARS = 6, 110


@dataclass(frozen=True, slots=True)
class Exposed:
    """One server and those of its tools that its entry exposes."""

    downstream: Downstream
    fleet: Fleet

    @property
    def name(self) -> str:
        return self.downstream.name

    def exposes(self, tool: str) -> bool:
        return tool in self.downstream.mcp.expose or "*" in self.downstream.mcp.expose

    def tools(self) -> dict[str, Tool]:
        """By the names that a client uses: `server.tool`."""
        usable = self.downstream.state.usable
        return {f"{self.name}.{name}": self._tool(one) for name, one in usable.items() if self.exposes(name)}

    def find(self, name: str) -> Tool | None:
        """One of its tools, by its own name; of a server that does not run, one that says so."""
        state = self.downstream.state
        if name in state.known and self.exposes(name):
            return self._tool(state.known[name])
        if state.status == "ready" or state.tools or not self.exposes(name):
            return None
        schema: dict[str, object] = {"type": "object", "additionalProperties": True}
        return Tool(f"{self.name}.{name}", self.trouble(), self._fail, (), input_schema=schema)

    def _fail(self, _asked: ToolRequest) -> Envelope:
        raise ToolExecutionError(f"{self.name} is not running", reason=self.downstream.state.reason)

    def _tool(self, described: ToolDescription) -> Tool:
        mine = arguments_of(described.schema)
        taken = {one.name for one in mine}
        return Tool(
            name=f"{self.name}.{described.name}",
            summary=described.description.strip() or described.name,
            run=lambda asked: self._run(described, asked),
            own_seconds=lambda _: CALL_SECONDS,
            arguments=(*mine, *(one for one in AMOUNTS if one.name not in taken)),
            budget="read_budget",
            profiles=frozenset(),
            brief=described.brief,
            schema=tuple(taken) or (FOCUS.name,),
            topics=frozenset(),
            repeatable=False,
            has_side_effects=True,
            input_schema=described.schema,
        )

    def _run(self, described: ToolDescription, asked: ToolRequest) -> Envelope:
        """Asked again whether it may: settings and descriptions change."""
        from llmc.extend.delegates.toolbox import enveloped  # noqa: PLC0415 - only here

        if not self.exposes(described.name):
            raise ToolExecutionError(f"{described.key} is not exposed")
        known = {one.name for one in arguments_of(described.schema)}
        ours = {FOCUS.name, *(one.name for one in AMOUNTS)} - known
        given = {name: value for name, value in asked.args.items() if name not in ours}
        work = self.downstream.call(described.name, given, CALL_SECONDS)
        try:
            raw = self.fleet.run(work, lambda: asked.cancelled)
        except asyncio.CancelledError:
            raise ToolExecutionError(f"{described.key} was cancelled") from None
        text, failed = text_of(raw)
        if failed:
            raise ToolExecutionError(f"{described.key} failed", reason=text[:4_000])
        return enveloped(f"{self.name}.{described.name}", text)

    def line(self) -> str:
        """All of it in one line of the menu."""
        names = [name.removeprefix(f"{self.name}.") for name in self.tools()]
        shown: list[str] = []
        for name in names[:NAMED]:
            if sum(map(len, shown)) + len(name) <= NAMED_CHARS:
                shown.append(name)
        such = "such as " if len(shown) < len(names) else ""
        return f"{self.name}: {plural(len(names), 'tool')}, {such}{', '.join(shown)}" if names else self.trouble()

    def trouble(self) -> str:
        state = self.downstream.state
        return f"{self.name}: {state.status}{f', {state.reason}' if state.reason else ''}"

    def listing(self) -> Envelope:
        """One line for each tool, and what is off, and why."""
        tools = self.tools()
        state = self.downstream.state
        items = [Item((Row(f"{call_form(one)} {one.brief}".rstrip()),)) for one in tools.values()]
        off = [name for name in sorted(state.changed) if self.exposes(name)]
        notes = (f"changed since you allowed them: {', '.join(off)} (llmc delegate trust {self.name})",) if off else ()
        found = f"{self.name} · {plural(len(tools), 'tool')}" if tools else self.trouble()
        data = {"server": self.name, "tools": [{"name": one.name, "summary": one.brief} for one in tools.values()]}
        groups = (Group("", tuple(items)),) if items else ()
        return Envelope("llmc", found, groups, notes, data=data, in_order=True)
