"""What a tool is: a name, a sentence, arguments, and a function from a workspace to an envelope.

Each tool is one file of this package; the menu, the MCP schema, the REST endpoint and the reference page come from its
`TOOL`. `finish` is the way out that all of them share: redact, fit, keep the rest, render.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from llmc.base.errors import LlmcError, QueryError
from llmc.envelope.handles import HANDLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llmc.envelope import Envelope
    from llmc.envelope.handles import Handles
    from llmc.envelope.request import RunningRequest
    from llmc.extend.delegates.offer import Offer
    from llmc.retrieval.view import View
    from llmc.state.connected_sessions import ConnectedSession
    from llmc.workspace import Workspace

__all__ = ["FOCUS", "Argument", "Tool", "ToolRequest"]


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    kind: str  # string, integer, number, boolean, strings, object, value (whatever JSON has)
    help: str
    required: bool = False


# What every tool takes, since every one returns text.
FOCUS = Argument(
    "context_focus_question", "string", "Keep only what answers this question; the rest is behind a handle."
)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One call of a tool: where it is asked, with what, and by whom; a command line has no session."""

    workspace: Workspace
    handles: Handles
    args: Mapping[str, Any]
    owner: str = "local"
    session: ConnectedSession | None = None
    call: RunningRequest | None = None
    offer: Offer | None = None
    data: bool = True  # whether a machine reads the reply
    seen: tuple[View, ...] = ()
    came: float | None = None  # see `answer`

    def views(self) -> Sequence[View]:
        """The roots as they are now, or as they were seen when this call was looked up among earlier ones."""
        return self.seen or self.workspace.views()

    @property
    def wants_data(self) -> bool:
        """Whether the data of the envelope is shown at all; where there is much of it, making it takes time."""
        return self.data or bool(self.args.get("fields"))

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more; long work looks here."""
        return self.call is not None and self.call.cancelled

    def text(self, name: str, default: str = "") -> str:
        return str(self.args.get(name) or default)

    def flag(self, name: str) -> bool:
        return bool(self.args.get(name))

    def number(self, name: str, default: int = 0) -> int:
        value = self.args.get(name)
        return default if value is None else int(value)

    def within(self) -> frozenset[tuple[str, str]] | None:
        """(root, path) of every place behind the handle that `path` names; None when it names none."""
        handles = [name for name in self.texts("path") if self.is_handle(name)]
        if not handles:
            return None
        items = (item for name in handles for item in self.handles.open(name, self.owner).whole.items())
        return frozenset((item.root, item.path) for item in items if item.path)

    def is_alive(self, handle: str) -> bool:
        """Whether this asker can still open it."""
        try:
            self.handles.open(handle, self.owner)
        except LlmcError:
            return False
        return True

    def paths(self) -> tuple[str, ...]:
        """What `path` names besides handles."""
        return tuple(name for name in self.texts("path") if not self.is_handle(name))

    def is_handle(self, name: str) -> bool:
        """`hooks` may well be a folder: a name that could be either is a handle only where there is no such path."""
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
    """`budget` names the setting that bounds a reply when the call does not.

    A schema costs a client tokens in every session, so it shows `brief` (or the summary) and the arguments in `schema`
    (or all but budget and all); the others are accepted all the same, and `llmc NAME` explains every one. `profiles`
    are where it is listed; elsewhere the gateway has it. `topics` (code, docs, tests, history, shell) order the menu.
    `needs` is a setting that must be on. `repeatable`: running it twice does no harm, so a call that was lost is asked
    again. `acts`: it does more than read, such as running a command or asking the web; what does not is marked as
    read-only, so that clients need not ask the user each time. `steady`: the same call has the same reply as long as
    the index and the files in it stay as they are, but for those with an argument in `fleeting`; `names`: the index
    alone will do, since the reply has nothing of the files but their names. `quick`: it computes for milliseconds, and
    takes turns with others like it. `forward` names another tool that answers instead, with its arguments. `json_in`
    are the profiles whose contract is JSON: there the reply's text is the data of the envelope. `input_schema` is the
    schema of a tool that others describe (a delegate, a downstream tool); its `arguments` are made of it.
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
    needs: str = ""
    repeatable: bool = True
    acts: bool = False
    steady: bool = False
    fleeting: tuple[str, ...] = ()
    names: bool = False
    quick: bool = False
    forward: Callable[[ToolRequest], tuple[str, dict[str, Any]] | None] | None = None
    json_in: frozenset[str] = frozenset()
    input_schema: dict[str, Any] | None = None

    def ours(self, asked: ToolRequest) -> ToolRequest:
        """With the arguments alone that mean how much of a reply is wanted: others may have an `all` of their own."""
        if self.input_schema is None:
            return asked
        theirs = self.input_schema.get("properties") or {}
        return replace(asked, args={name: value for name, value in asked.args.items() if name not in theirs})

    def is_steady(self, asked: ToolRequest) -> bool:
        """Whether this very call has the same reply again."""
        return self.steady and not any(asked.args.get(name) for name in ("all", FOCUS.name, *self.fleeting))

    def speaks_json(self, session: ConnectedSession | None) -> bool:
        return session is not None and session.profile in self.json_in

    def check(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the tool wants them, or QueryError naming the nearest right one."""
        known = {argument.name: argument for argument in (*self.arguments, FOCUS)}
        is_open = self.input_schema is not None and bool(self.input_schema.get("additionalProperties"))
        for name in args:
            if name not in known and not is_open:
                near = get_close_matches(name, known, 1)
                hint = f"Did you mean {near[0]}?" if near else f"{self.name} takes {', '.join(known)}."
                raise QueryError(f"{self.name} has no argument {name!r}", hint=hint)
        for argument in self.arguments:
            if argument.required and args.get(argument.name) in (None, ""):
                raise QueryError(f"{self.name} needs {argument.name!r}", hint=argument.help)
        given = {name: value for name, value in args.items() if value is not None}
        return {
            name: converted(self.name, known[name], value) if name in known else value for name, value in given.items()
        }


def converted(tool: str, argument: Argument, value: Any) -> Any:
    """Models send "5" for 5, "true" for true and JSON in a text; anything else of the wrong type is refused."""
    made = CONVERSIONS[argument.kind](value)
    if made is None:
        raise QueryError(f"{argument.name!r} of {tool} must be {ARTICLES[argument.kind]}", hint=argument.help)
    return made


def as_text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def as_number(value: Any) -> int | None:
    try:
        return None if isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def as_real(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else value if isinstance(value, int) else float(value)
    except (TypeError, ValueError):
        return None


def as_flag(value: Any) -> bool | None:
    said = str(value).lower()
    return said in {"true", "1", "yes"} if said in {"true", "1", "yes", "false", "0", "no"} else None


def as_texts(value: Any) -> list[str] | None:
    listed = parsed(value, "[")
    if isinstance(listed, list | tuple) and all(isinstance(one, str) for one in listed):
        return list(listed)
    return [value] if isinstance(value, str) else None


def as_object(value: Any) -> dict[str, Any] | None:
    found = parsed(value, "{")
    return found if isinstance(found, dict) else None


def parsed(value: Any, opening: str) -> Any:
    """A text that holds JSON of the wanted shape, as that; any other value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(opening):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


ARTICLES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "strings": "a list of texts",
    "object": "an object",
    "value": "a value",
}
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "string": as_text,
    "integer": as_number,
    "number": as_real,
    "boolean": as_flag,
    "strings": as_texts,
    "object": as_object,
    "value": lambda value: value,
}
