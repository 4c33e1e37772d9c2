"""What a tool is: a name, a sentence, arguments, and a function from a workspace to an envelope.

Each tool is one file of this package; the menu, the MCP schema, the REST endpoint and the reference page come from its
`TOOL`. `finish` is the way out that all of them share: redact, fit, keep the rest, render.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from llmc.envelope.handles import HANDLE
from llmc.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmc.envelope import Envelope
    from llmc.envelope.handles import Handles
    from llmc.server.calls import Call
    from llmc.server.sessions import Session
    from llmc.workspace import Workspace

__all__ = ["Argument", "Asked", "Tool"]


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    kind: str  # string, integer, boolean, strings
    help: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a tool: where it is asked, with what, and by whom; a command line has no session."""

    workspace: Workspace
    handles: Handles
    args: Mapping[str, Any]
    owner: str = "local"
    session: Session | None = None
    call: Call | None = None

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
        handles = [name for name in self.texts("path") if HANDLE.fullmatch(name)]
        if not handles:
            return None
        items = (item for name in handles for item in self.handles.open(name, self.owner).whole.items())
        return frozenset((item.root, item.path) for item in items if item.path)

    def paths(self) -> tuple[str, ...]:
        """What `path` names besides handles."""
        return tuple(name for name in self.texts("path") if not HANDLE.fullmatch(name))

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.args.get(name) or ()
        return (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True, slots=True)
class Tool:
    """`budget` names the setting that bounds a reply when the call does not."""

    name: str
    summary: str
    run: Callable[[Asked], Envelope]
    arguments: tuple[Argument, ...]
    budget: str = "search_budget"
    profiles: frozenset[str] = field(default_factory=lambda: frozenset({"full"}))
    examples: tuple[str, ...] = ()

    def check(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the tool wants them, or QueryError naming the nearest right one."""
        known = {argument.name: argument for argument in self.arguments}
        for name in args:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"Did you mean {near[0]}?" if near else f"{self.name} takes {', '.join(known)}."
                raise QueryError(f"{self.name} has no argument {name!r}", hint=hint)
        for argument in self.arguments:
            if argument.required and args.get(argument.name) in (None, ""):
                raise QueryError(f"{self.name} needs {argument.name!r}", hint=argument.help)
        return {name: converted(self.name, known[name], value) for name, value in args.items() if value is not None}


def converted(tool: str, argument: Argument, value: Any) -> Any:
    """Models send "5" for 5 and "true" for true; anything else of the wrong type is refused."""
    kind = argument.kind
    if kind == "string" and isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    if kind == "integer" and not isinstance(value, bool):
        try:
            return int(value)
        except (TypeError, ValueError):
            pass
    if kind == "boolean":
        if isinstance(value, bool):
            return value
        if str(value).lower() in {"true", "1", "yes", "false", "0", "no"}:
            return str(value).lower() in {"true", "1", "yes"}
    if kind == "strings":
        if isinstance(value, str):
            return [value]
        if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            return list(value)
    raise QueryError(f"{argument.name!r} of {tool} must be {ARTICLES[kind]}", hint=argument.help)


ARTICLES = {"string": "a text", "integer": "a whole number", "boolean": "true or false", "strings": "a list of texts"}
