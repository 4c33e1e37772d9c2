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


def forward(request: ToolRequest) -> tuple[str, dict[str, Any]] | None:
    """With args, the named tool answers as if it had been called, unless it has side effects."""
    name = request.text("name").strip()
    if request.args.get("args") is None or not name or name == TOOL.name:
        return None
    if acts(request, name):
        raise QueryError(
            f"{name} has side effects, so llmc does not run it", hint=f"Call the tool `run` with name={name}."
        )
    return name, dict(request.args["args"])


def acts(request: ToolRequest, name: str) -> bool:
    if name in TOOLS:
        return tool(name).has_side_effects and is_offered(tool(name), request.workspace.settings)
    extra = request.extra_tools.find(name) if request.extra_tools else None
    return extra is not None and extra.has_side_effects


def run(request: ToolRequest) -> Envelope:
    name = request.text("name").strip()
    tools = [one for one in reachable(request) if one.name not in (TOOL.name, "run")]
    known = {one.name: one for one in tools}
    if name in known:
        return explained(request, known[name])
    if (told := downstream(request, name)) is not None:
        return told
    wish = " ".join(filter(None, (name, request.text("query"))))
    if name and " " not in name and not fitting(tools, wish):
        tool(name)  # a name that is none: the error says which is near
    return menu(request, tools, wish)


def reachable(request: ToolRequest) -> tuple[Tool, ...]:
    allowed = request.session.allowed if request.session else None
    added = request.extra_tools.delegates(allowed) if request.extra_tools else ()
    return (*offered(request.workspace.settings, allowed), *added)


def downstream(request: ToolRequest, name: str) -> Envelope | None:
    """The tools of one of the user's servers, or the arguments of one of them."""
    if request.extra_tools is None or not name:
        return None
    if request.session is not None and not request.extra_tools.open_to(name, request.session.allowed):
        return None
    wanted = request.extra_tools.find(name)
    return explained(request, wanted) if wanted is not None else request.extra_tools.listing(name)


def menu(request: ToolRequest, tools: Sequence[Tool], wish: str) -> Envelope:
    """What fits the wish, or all; then the names of the rest."""
    if request.session is not None:
        # What the client lists, it knows.
        unlisted = [one for one in tools if request.session.profile not in one.profiles]
        tools = by_topics(unlisted or tools, request.session.topics)
    ordered = list(tools)
    chosen = fitting(ordered, wish) if wish else ordered
    shown = chosen or ordered
    rest = [one.name for one in ordered if one not in shown]
    items = tuple(Item((Row(f"{call_form(one)} {one.brief or one.summary}"),)) for one in shown)
    if request.extra_tools is not None:
        lines = request.extra_tools.lines(request.session.allowed if request.session else None)
        items = (*items, *(Item((Row(line),)) for line in lines))
    if rest:
        items = (*items, Item((Row(f"also {', '.join(rest)}"),)))
    if through_run := [one.name for one in shown if one.has_side_effects]:
        items = (*items, Item((Row(f"call with run: {', '.join(through_run)}"),)))
    data = {"tools": [{"name": one.name, "summary": one.summary} for one in ordered]}
    return Envelope("llmc", plural(len(ordered), "tool"), (Group("", items),), data=data, in_order=True)


def explained(request: ToolRequest, wanted: Tool) -> Envelope:
    """Its signature; a session that has it gets the call form as a reminder."""
    seen = request.session.shown if request.session else set()
    data = {"name": wanted.name, "signature": signature(wanted)}
    if wanted.name in seen and not request.flag("fresh"):
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
