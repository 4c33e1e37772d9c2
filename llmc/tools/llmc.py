"""`llmc`: the gateway to every tool that a client does not list, so that a session pays only for what it uses.

Without a name, or with a request in words, it returns a menu with one line per tool; with a name, the arguments of that
tool, in full once per session; with a name and args, the reply of the tool. Tools with side effects are listed and
explained here and called through `run`, so that this gateway is read-only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.base.errors import QueryError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.phrases import plural
from llmc.tool import Argument, Tool, ToolRequest
from llmc.tool_schema import call_form, signature
from llmc.tools.profiles import offered
from llmc.tools.registry import TOOLS, is_offered, tool
from llmc.tools.routing import by_topics, fitting

if TYPE_CHECKING:
    from collections.abc import Sequence


def forward(asked: ToolRequest) -> tuple[str, dict[str, Any]] | None:
    """With args, the named tool answers as if it had been called, unless it has side effects."""
    name = asked.text("name").strip()
    if asked.args.get("args") is None or not name or name == TOOL.name:
        return None
    if acts(asked, name):
        raise QueryError(
            f"{name} has side effects, so llmc does not run it", hint=f"Call the tool `run` with name={name}."
        )
    return name, dict(asked.args["args"])


def acts(asked: ToolRequest, name: str) -> bool:
    if name in TOOLS:
        return tool(name).has_side_effects and is_offered(tool(name), asked.workspace.settings)
    extra = asked.extra_tools.find(name) if asked.extra_tools else None
    return extra is not None and extra.has_side_effects


def run(asked: ToolRequest) -> Envelope:
    name = asked.text("name").strip()
    tools = [one for one in reachable(asked) if one.name not in (TOOL.name, "run")]
    known = {one.name: one for one in tools}
    if name in known:
        return explained(asked, known[name])
    if (told := downstream(asked, name)) is not None:
        return told
    wish = " ".join(filter(None, (name, asked.text("query"))))
    if name and " " not in name and not fitting(tools, wish):
        tool(name)  # a name that is none: the error says which is near
    return menu(asked, tools, wish)


def reachable(asked: ToolRequest) -> tuple[Tool, ...]:
    allowed = asked.session.allowed if asked.session else None
    added = asked.extra_tools.delegates(allowed) if asked.extra_tools else ()
    return (*offered(asked.workspace.settings, allowed), *added)


def downstream(asked: ToolRequest, name: str) -> Envelope | None:
    """The tools of one of the user's servers, or the arguments of one of them."""
    if asked.extra_tools is None or not name:
        return None
    if asked.session is not None and not asked.extra_tools.open_to(name, asked.session.allowed):
        return None
    wanted = asked.extra_tools.find(name)
    return explained(asked, wanted) if wanted is not None else asked.extra_tools.listing(name)


def menu(asked: ToolRequest, tools: Sequence[Tool], wish: str) -> Envelope:
    """What fits the wish, or all; then the names of the rest."""
    if asked.session is not None:
        # What the client lists, it knows.
        unlisted = [one for one in tools if asked.session.profile not in one.profiles]
        tools = by_topics(unlisted or tools, asked.session.topics)
    ordered = list(tools)
    chosen = fitting(ordered, wish) if wish else ordered
    shown = chosen or ordered
    rest = [one.name for one in ordered if one not in shown]
    items = tuple(Item((Row(f"{call_form(one)} {one.brief or one.summary}"),)) for one in shown)
    if asked.extra_tools is not None:
        lines = asked.extra_tools.lines(asked.session.allowed if asked.session else None)
        items = (*items, *(Item((Row(line),)) for line in lines))
    if rest:
        items = (*items, Item((Row(f"also {', '.join(rest)}"),)))
    if through_run := [one.name for one in shown if one.has_side_effects]:
        items = (*items, Item((Row(f"call with run: {', '.join(through_run)}"),)))
    data = {"tools": [{"name": one.name, "summary": one.summary} for one in ordered]}
    return Envelope("llmc", plural(len(ordered), "tool"), (Group("", items),), data=data, in_order=True)


def explained(asked: ToolRequest, wanted: Tool) -> Envelope:
    """Its signature; a session that has it gets the call form as a reminder."""
    seen = asked.session.shown if asked.session else set()
    data = {"name": wanted.name, "signature": signature(wanted)}
    if wanted.name in seen and not asked.flag("fresh"):
        return Envelope("llmc", call_form(wanted), data=data)
    seen.add(wanted.name)
    first, *lines = signature(wanted).split("\n")
    items = (Item(tuple(Row(line.removeprefix(" ")) for line in lines)),)
    return Envelope("llmc", first, (Group("", items),), data=data, in_order=True)


TOOL = Tool(
    name="llmc",
    summary="Every other tool: without a name it lists them, a name explains one, args run it.",
    run=run,
    arguments=(
        Argument("name", "string", "A tool, or a description of what you need."),
        Argument("args", "object", "The tool's arguments; {} runs one without any."),
        Argument("query", "string", "A description of what you need.", text="free"),
        Argument("fresh", "boolean", "Explain a tool again, even if it was explained before."),
    ),
    profiles=frozenset({"lean", "research", "full"}),
    examples=("llmc name=refs args={'name': 'Parser.feed', 'kind': 'call'}",),
    brief="calls (a flow), callers, impact, tests …: no name lists all, args run one.",
    schema=("name", "args"),
    topics=frozenset(),
    forward=forward,
)
