"""Defines `Tool` (name, summary, arguments, a function from a request to an envelope) and `ToolRequest`, one call of
it.

Each built-in tool is one file of `llmc.tools`; the menu, the MCP schema, the REST endpoint and the reference page are
generated from its `TOOL`. `tools.call` turns a request into a reply.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from llmc.base.errors import LlmcError, QueryError
from llmc.envelope.handles import HANDLE, LOCAL
from llmc.tool_arguments import ALL, BUDGET, FOCUS, SCOPE, Argument, with_checked_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llmc.envelope import Envelope
    from llmc.envelope.handles import Handles
    from llmc.envelope.reply import Reply
    from llmc.envelope.request import ClientInfo, RunningRequest
    from llmc.retrieval.view import View
    from llmc.settings import LimitSettings, Settings
    from llmc.state.connected_sessions import ConnectedSession
    from llmc.state.ledger import Ledger
    from llmc.workspace import Workspace

__all__ = ["ALL", "BUDGET", "FOCUS", "Argument", "ExtraTools", "Tool", "ToolRequest", "ToolRuntime", "budget_of"]

LEAST_BUDGET = 50

# Added to the time limit of a command, a model or a delegate, for writing the reply.
REPLY_SECONDS = 30.0


class ExtraTools(Protocol):
    """The tools of the user's own servers and delegates, in addition to the built-in ones."""

    def find(self, name: str) -> Tool | None: ...

    def open_to(self, name: str, allowed: frozenset[str] | None) -> bool: ...

    def delegates(self, allowed: frozenset[str] | None) -> tuple[Tool, ...]: ...

    def listing(self, server: str) -> Envelope | None: ...

    def lines(self, allowed: frozenset[str] | None) -> list[str]: ...


class ToolRuntime(Protocol):
    """The access of a running tool to other tools, provided by `tools.call`."""

    def names(self) -> tuple[str, ...]: ...

    def get(self, name: str) -> Tool: ...

    def is_offered(self, tool: Tool, settings: Settings) -> bool: ...

    def call(self, request: ToolRequest) -> Reply: ...


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One call of a tool. Surfaces create it and show the `Reply` that `tools.call.call_tool` returns.

    A command line has no session. `client` is set where a connected client made the call itself: it is then part of
    that session's history, which the steps of a longer task are not. `received_at` allows the reply to be shared with
    calls that waited at the same time; a step of a longer task leaves it out, since the task may have changed what it
    asks about. `tool` is set when the tool is known already. `runtime` and `provisional` are set by `call_tool`; the
    latter says that the index is being built and the tool does not read the rest from disk. `numbered`: items have the
    numbers by which a handle opens them. `packed`: another llmc merges the envelope into its own reply.
    """

    name: str
    args: Mapping[str, Any]
    workspace: Workspace
    handles: Handles
    session: ConnectedSession | None = None
    client: ClientInfo | None = None
    call: RunningRequest | None = None
    extra_tools: ExtraTools | None = None
    data: bool = True  # whether a machine reads the reply
    stream: bool = False  # whether a tool that can may print its result through `call` instead of returning it
    received_at: float | None = None
    ledger: Ledger | None = None
    tool: Tool | None = None
    runtime: ToolRuntime | None = None
    seen_views: tuple[View, ...] = ()
    provisional: bool = False
    numbered: bool = False
    packed: bool = False

    @property
    def owner(self) -> str:
        """The owner of the handles that this call may open."""
        return self.session.owner if self.session else LOCAL

    @property
    def allowed(self) -> frozenset[str] | None:
        """The tools that the session is limited to; None for all."""
        return self.session.allowed if self.session else None

    @property
    def tools(self) -> ToolRuntime:
        assert self.runtime is not None, "a running tool was started by call_tool"
        return self.runtime

    def step(self, name: str, args: Mapping[str, Any], session: ConnectedSession, tool: Tool | None = None) -> Reply:
        """Call another tool as part of this one: text only, and no part of the client's history."""
        return self.tools.call(
            replace(
                self,
                name=name,
                args=args,
                session=session,
                client=None,
                extra_tools=None,
                data=False,
                received_at=None,
                ledger=None,
                tool=tool,
                seen_views=(),
            )
        )

    def views(self) -> Sequence[View]:
        """The roots as they are now, or as they were when the reply cache was consulted."""
        return self.seen_views or self.workspace.views()

    @property
    def wants_data(self) -> bool:
        """Whether the reply includes the envelope's data; building large data takes time."""
        return self.data or bool(self.args.get("fields"))

    @property
    def unlimited(self) -> bool:
        """Whether the reply has no budget: a person or a program requested everything. A model's reply never exceeds
        the cap; the rest is behind the handle."""
        return self.flag("all") and (self.session is None or self.data)

    @property
    def cancelled(self) -> bool:
        """Whether the client cancelled the call; long-running tools check it."""
        return self.call is not None and self.call.cancelled

    def text(self, name: str, default: str = "") -> str:
        return str(self.args.get(name) or default)

    def flag(self, name: str) -> bool:
        return bool(self.args.get(name))

    def number(self, name: str, default: int = 0) -> int:
        value = self.args.get(name)
        return default if value is None else int(value)

    def within(self) -> frozenset[tuple[str, str]] | None:
        """(root, path) of every place behind the handles in `path`; None if it contains no handle."""
        handles = [name for name in self.texts("path") if self.is_handle(name)]
        if not handles:
            return None
        items = (item for name in handles for item in self.handles.open(name, self.owner).whole.items())
        return frozenset((item.root, item.path) for item in items if item.path)

    def is_alive(self, handle: str) -> bool:
        """Whether the caller can still open the handle."""
        try:
            self.handles.open(handle, self.owner)
        except LlmcError:
            return False
        return True

    def paths(self) -> tuple[str, ...]:
        """The paths in `path`, without handles."""
        return tuple(name for name in self.texts("path") if not self.is_handle(name))

    def is_handle(self, name: str) -> bool:
        """Whether the name is a handle. `hooks` could also be a folder, so it is one only if no such path exists."""
        if not HANDLE.fullmatch(name):
            return False
        return self.handles.has(name, self.owner) or not self._is_there(name)

    def _is_there(self, name: str) -> bool:
        try:
            self.workspace.locate(name)
        except LlmcError:
            return False
        return True

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.args.get(name) or ()
        return (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. Its schema costs a client tokens in every session, so it only has `brief` (or the summary) and the
    arguments in `schema` (or all except budget and all). Other arguments are accepted too, and `llmc NAME` explains
    all.

    budget            the setting that limits the reply's tokens unless the call does
    profiles          where the tool is listed; elsewhere it is reached through the gateway
    topics            code, docs, tests, history, shell: the order of the menu
    requires_setting  a setting that must be on
    repeatable        running it twice does no harm, so a lost call is sent again
    has_side_effects  it does more than read; every other tool is marked read-only for clients
    cacheable         the same call has the same reply while the index and the files in the reply are unchanged, unless
                      it has one of `uncached_args`
    remembered        a repeated call with the same reply gets only its places
    reads_unindexed   while the index is being built, it reads the other files from disk, so its reply is complete
    names_only        the reply contains only names of files, so it is fresh while the index is unchanged
    cpu_bound         it computes for milliseconds, and waits for a compute slot
    forward           names another tool that answers instead, with its arguments
    json_profiles     profiles in which the text of the reply is the envelope's data as JSON
    input_schema      the schema of a tool described elsewhere (a delegate, a downstream tool)
    own_seconds       for tools that may run longer than `limits.call_timeout_ms`: the setting that limits them
    """

    name: str
    summary: str
    run: Callable[[ToolRequest], Envelope]
    arguments: tuple[Argument, ...]
    budget: str = "search_budget"
    profiles: frozenset[str] = field(default_factory=lambda: frozenset({"full"}))
    examples: tuple[str, ...] = ()
    brief: str = ""
    schema: tuple[str, ...] = ()
    topics: frozenset[str] = frozenset({"code"})
    requires_setting: str = ""
    repeatable: bool = True
    has_side_effects: bool = False
    cacheable: bool = False
    uncached_args: tuple[str, ...] = ()
    remembered: bool = False
    reads_unindexed: bool = False
    names_only: bool = False
    cpu_bound: bool = False
    forward: Callable[[ToolRequest], tuple[str, dict[str, Any]] | None] | None = None
    json_profiles: frozenset[str] = frozenset()
    input_schema: dict[str, Any] | None = None
    own_seconds: Callable[[Settings], float] | None = None

    def own_args(self, request: ToolRequest) -> ToolRequest:
        """The request without arguments of a downstream tool, which may have its own `all`."""
        if self.input_schema is None:
            return request
        theirs = self.input_schema.get("properties") or {}
        return replace(request, args={name: value for name, value in request.args.items() if name not in theirs})

    def is_cacheable(self, request: ToolRequest) -> bool:
        return self.cacheable and not any(request.args.get(name) for name in ("all", FOCUS.name, *self.uncached_args))

    def depends_on_index(self) -> bool:
        """Whether an empty reply is inconclusive while the index is being built."""
        return self.cacheable and not self.reads_unindexed

    def returns_json(self, session: ConnectedSession | None) -> bool:
        return session is not None and session.profile in self.json_profiles

    def seconds_allowed(self, settings: Settings) -> float:
        """The time limit of one call: the tool's own limit, plus the time to write the reply."""
        general = settings.limits.call_timeout_ms / 1000
        return general if self.own_seconds is None else max(general, self.own_seconds(settings) + REPLY_SECONDS)

    def check(self, args: Mapping[str, Any], limits: LimitSettings) -> dict[str, Any]:
        """The validated arguments; QueryError names an invalid one."""
        from llmc.tool_model import validated  # noqa: PLC0415 - pydantic: 60 ms, and clients never call

        arguments = (*self.arguments, FOCUS, *(SCOPE if self.input_schema is None else ()))
        is_open = self.input_schema is not None and bool(self.input_schema.get("additionalProperties"))
        given = validated(self.name, arguments, args, is_open=is_open)
        return with_checked_texts(self.name, arguments, given, limits)


def budget_of(request: ToolRequest, tool: Tool) -> int:
    """The token budget of the reply."""
    settings = request.workspace.settings.envelope
    usual = settings.cap if request.flag("all") else getattr(settings, tool.budget)
    constraints = request.args.get("constraints")
    tokens = constraints.get("maxTokens") if isinstance(constraints, dict) else None
    budget = request.number("budget", max(tokens, LEAST_BUDGET) if isinstance(tokens, int) else usual)
    if budget < LEAST_BUDGET:
        raise QueryError(f"a budget of {budget} tokens is too small", hint=f"Give at least {LEAST_BUDGET}.")
    return min(budget, settings.cap)
