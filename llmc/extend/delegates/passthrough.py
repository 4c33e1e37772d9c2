"""Downstream tools offered through the gateway; each server takes one line of the menu.

llmc                                    desktop-commander: 26 tools, such as read_file, write_file
llmc name=desktop-commander             one line per tool
llmc name=desktop-commander.read_file   its signature, once per session
… args={"path": "a.txt"}                runs it; the result is fitted like every reply
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmc.base.errors import ToolExecutionError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.extend.delegates.content import text_of
from llmc.extend.delegates.delegate import SIZE_ARGUMENTS
from llmc.extend.delegates.description import arguments_of
from llmc.tool import FOCUS, Argument, Tool
from llmc.tool_schema import call_form

if TYPE_CHECKING:
    from llmc.extend.delegates.description import ToolDescription
    from llmc.extend.delegates.downstream import Downstream
    from llmc.extend.delegates.fleet import Fleet
    from llmc.tool import ToolRequest

__all__ = ["Exposed"]

CALL_SECONDS = 60.0
# What llmc adds to the arguments of a downstream tool, unless it has an argument of that name.
ADDED = (*SIZE_ARGUMENTS, Argument("fields", "strings", "Of a JSON result: a table of only these fields; * for all."))
# These keep a menu line below about 50 tokens.
NAMED, NAMED_CHARS = 6, 110


@dataclass(frozen=True, slots=True)
class Exposed:
    """One server and the tools that its entry exposes."""

    downstream: Downstream
    fleet: Fleet

    @property
    def name(self) -> str:
        return self.downstream.name

    def exposes(self, tool: str) -> bool:
        return tool in self.downstream.mcp.expose or "*" in self.downstream.mcp.expose

    def tools(self) -> dict[str, Tool]:
        """The usable tools by client name, `server.tool`."""
        usable = self.downstream.state.usable
        return {f"{self.name}.{name}": self._tool(one) for name, one in usable.items() if self.exposes(name)}

    def find(self, name: str) -> Tool | None:
        """One of its tools by its own name; for a server that is not running, a tool that reports this."""
        state = self.downstream.state
        if name in state.known and self.exposes(name):
            return self._tool(state.known[name])
        if state.status == "ready" or state.tools or not self.exposes(name):
            return None
        schema: dict[str, object] = {"type": "object", "additionalProperties": True}
        return Tool(f"{self.name}.{name}", self.trouble(), self._fail, (), input_schema=schema)

    def _fail(self, _request: ToolRequest) -> Envelope:
        raise ToolExecutionError(f"{self.name} is not running", reason=self.downstream.state.reason)

    def _tool(self, description: ToolDescription) -> Tool:
        mine = arguments_of(description.schema)
        taken = {one.name for one in mine}
        return Tool(
            name=f"{self.name}.{description.name}",
            summary=description.description.strip() or description.name,
            run=lambda request: self._run(description, request),
            own_seconds=lambda _: CALL_SECONDS,
            arguments=(*mine, *(one for one in ADDED if one.name not in taken)),
            budget="read_budget",
            profiles=frozenset(),
            brief=description.brief,
            schema=tuple(taken) or (FOCUS.name,),
            topics=frozenset(),
            repeatable=False,
            has_side_effects=True,
            input_schema=description.schema,
        )

    def _run(self, description: ToolDescription, request: ToolRequest) -> Envelope:
        """Run the tool. Permission is checked again, since settings and descriptions change."""
        from llmc.extend.delegates.toolbox import text_envelope  # noqa: PLC0415 - only here

        if not self.exposes(description.name):
            raise ToolExecutionError(f"{description.key} is not exposed")
        known = {one.name for one in arguments_of(description.schema)}
        ours = {FOCUS.name, *(one.name for one in ADDED)} - known
        given = {name: value for name, value in request.args.items() if name not in ours}
        work = self.downstream.call(description.name, given, CALL_SECONDS)
        try:
            raw = self.fleet.run(work, lambda: request.cancelled)
        except asyncio.CancelledError:
            raise ToolExecutionError(f"{description.key} was cancelled") from None
        text, failed = text_of(raw)
        if failed:
            raise ToolExecutionError(f"{description.key} failed", reason=text[:4_000])
        envelope = text_envelope(f"{self.name}.{description.name}", text)
        if "fields" in ours and request.texts("fields"):
            structured = raw.get("structuredContent") if isinstance(raw, dict) else None
            envelope = replace(envelope, data={"text": text if structured is None else json.dumps(structured)})
        return envelope

    def line(self) -> str:
        """The menu line of the server."""
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
        """One line per tool, and the tools that are disabled, with the reason."""
        tools = self.tools()
        state = self.downstream.state
        items = [Item((Row(f"{call_form(one)} {one.brief}".rstrip()),)) for one in tools.values()]
        off = [name for name in sorted(state.changed) if self.exposes(name)]
        notes = (f"changed since you allowed them: {', '.join(off)} (llmc delegate trust {self.name})",) if off else ()
        found = f"{self.name} · {plural(len(tools), 'tool')}" if tools else self.trouble()
        data = {"server": self.name, "tools": [{"name": one.name, "summary": one.brief} for one in tools.values()]}
        groups = (Group("", tuple(items)),) if items else ()
        return Envelope("llmc", found, groups, notes, data=data, in_order=True)
