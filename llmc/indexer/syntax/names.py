"""The definitions of a tree: which node is one, what it is called, of what kind, and inside which other.

A query marks the extent of a definition `@def`, its name `@name.<kind>` or `@path.<kind>` (a name such as `A::b` or `M.f`
whose front is its container), and what only lends its name to what is inside, like a Rust `impl`, `@scope`. A name belongs
to the innermost `@def` around it. `@closure` is a function without a name, in which variables are local; `@not` takes a
`@def` back; `@body` tells where a signature ends. Where a language defines by calling (`defmodule`, `describe`), the call
is `@try.<table>`, a definition only if its first word is in that table, which then tells the kind of `@name.word`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from llmc.indexer.syntax.keywords import DEFINING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    Captures = dict[str, list[Node]]

__all__ = ["Definition", "Definitions", "Named", "definitions", "kind_of", "parts_of", "text_of"]

LONGEST_NAME = 120

# What a name counts for when two patterns claim it: `const f = () => 1` is a function.
_RANKS = {"variable": 0, "constant": 1, "field": 1, "property": 1, "type": 2, "function": 3}
_RANK_OF_OTHERS = 4
_TYPES = frozenset(
    "class struct interface trait enum object extension protocol record actor union mixin impl instance".split()
)
_CALLABLES = frozenset({"function", "method", "constructor", "macro", "test"})
_VALUES = frozenset({"variable", "constant", "field", "property"})
_JOINTS = re.compile(r"::|->|[.:\\#/]")
# Parts of a path that name no container: `module.exports.f`, `Foo.prototype.bar`, `self.x`.
_EMPTY_PARTS = frozenset({"", "exports", "module", "prototype", "this", "self", "window", "global", "globalThis"})
_FIRST_WORD = re.compile(rb"[\s(@:]*([\w!?.*-]+)")


class Named(NamedTuple):
    start: int
    end: int
    kind: str
    is_path: bool


@dataclass(slots=True)
class Definition:
    """`names` is empty for one that is seen through: a local variable, a nameless class."""

    start: int
    end: int
    node: Node
    parent: int
    default: str = ""  # the kind of `@name.word`; VOID for a call that defines nothing
    names: list[Named] = field(default_factory=list)
    scope: str = ""
    body: int | None = None
    container: str = ""
    qualified: str = ""
    kind: str = ""


VOID = "void"
CLOSURE = "closure"


class Definitions:
    """All definitions by their start, and for every byte the innermost one around it."""

    def __init__(self, nodes: list[tuple[Node, str]]) -> None:
        spans = sorted((node.start_byte, -node.end_byte, at) for at, (node, _) in enumerate(nodes))
        self.all: list[Definition] = []
        self._cuts = [0]
        self._owners = [-1]
        self._qualified = [""]
        stack: list[int] = []
        for start, minus_end, at in spans:
            self._close(stack, start)
            self.all.append(Definition(start, -minus_end, nodes[at][0], stack[-1] if stack else -1, nodes[at][1]))
            stack.append(len(self.all) - 1)
            self._cuts.append(start)
            self._owners.append(stack[-1])
        self._close(stack, None)

    def _close(self, stack: list[int], before: int | None) -> None:
        while stack and (before is None or self.all[stack[-1]].end <= before):
            self._cuts.append(self.all[stack.pop()].end)
            self._owners.append(stack[-1] if stack else -1)

    def around(self, byte: int) -> Definition | None:
        owner = self._owners[bisect_right(self._cuts, byte) - 1]
        return self.all[owner] if owner >= 0 else None

    def container(self, byte: int) -> str:
        """The qualified name of the definition around this byte, empty outside of all."""
        return self._qualified[self._owners[bisect_right(self._cuts, byte) - 1]]

    def place(self, data: bytes) -> None:
        """Name all of them; parents come first."""
        for one in self.all:
            _place(data, one, self.all[one.parent] if one.parent >= 0 else None)
        self._qualified = [*(one.qualified for one in self.all), ""]  # the last is what -1 means


def definitions(data: bytes, captures: Captures) -> Definitions:
    found = Definitions(list(_nodes(data, captures)))
    for name in _names(captures):
        if (owner := found.around(name.start)) is not None and owner.default != VOID:
            owner.names.append(name._replace(kind=owner.default) if name.kind == "word" else name)
    for node in captures.get("scope", ()):
        if (owner := found.around(node.start_byte)) is not None:
            owner.scope = text_of(data, node.start_byte, node.end_byte)
    for node in captures.get("body", ()):
        start = node.start_byte
        owner = found.around(start)
        while owner is not None and owner.default == CLOSURE:
            owner = found.all[owner.parent] if owner.parent >= 0 else None
        if owner is not None and (owner.body is None or start < owner.body):
            owner.body = start
    found.place(data)
    return found


def _nodes(data: bytes, captures: Captures) -> Iterator[tuple[Node, str]]:
    """The nodes that define, each once, with the kind that its first word gives."""
    seen = set(captures.get("not", ()))
    for table, kinds in DEFINING.items():
        for node in captures.get(f"try.{table}", ()):
            word = _FIRST_WORD.match(data, node.start_byte, node.end_byte)
            seen.add(node)
            yield node, kinds.get(word[1], VOID) if word else VOID
    for capture, default in (("def", ""), ("closure", CLOSURE)):
        fresh = [node for node in captures.get(capture, ()) if node not in seen]
        seen.update(fresh)
        yield from ((node, default) for node in fresh)


def _names(captures: Captures) -> list[Named]:
    """All names by position; of several kinds for one name the most telling."""
    best: dict[int, Named] = {}
    for capture, nodes in captures.items():
        form, _, kind = capture.partition(".")
        if form not in ("name", "path"):
            continue
        for node in nodes:
            name = Named(node.start_byte, node.end_byte, kind, form == "path")
            rival = best.get(name.start)
            if rival is None or _rank(kind) > _rank(rival.kind):
                best[name.start] = name
    return sorted(best.values())


def _rank(kind: str) -> tuple[int, str]:
    return _RANKS.get(kind, _RANK_OF_OTHERS), kind


def _place(data: bytes, one: Definition, parent: Definition | None) -> None:
    """Where a definition stands, and under which name."""
    outer, outer_kind = (parent.qualified, parent.kind) if parent else ("", "")
    one.qualified, one.kind = outer, CLOSURE if one.default == CLOSURE else outer_kind
    if one.names and one.names[0].kind in _VALUES:
        if outer_kind in _CALLABLES or outer_kind == CLOSURE:
            one.names.clear()  # a local variable
        elif parent and outer_kind in _VALUES:
            outer = parent.container  # A = B = 1
    one.container = f"{outer}.{one.scope}" if outer and one.scope else outer or one.scope
    if one.names:
        front, last = parts_of(data, one.names[0])
        one.qualified = ".".join([part for part in (one.container, front, last) if part])
        one.kind = kind_of(one.names[0].kind, last, outer_kind)
    elif one.scope:
        one.qualified, one.kind = one.container, "impl"


def kind_of(kind: str, name: str, outer: str) -> str:
    if outer in _TYPES:
        return {"function": "method", "variable": "field", "constant": "field"}.get(kind, kind)
    if kind == "function" and outer in _VALUES:
        return "method"
    if kind == "variable" and name.isupper():
        return "constant"
    return kind


def parts_of(data: bytes, name: Named) -> tuple[str, str]:
    """The container that a name brings with it, and the name itself."""
    text = text_of(data, name.start, name.end)
    if not name.is_path:
        return "", text[1:] if text[:1] == ":" and text[1:].isidentifier() else text  # a symbol of Ruby
    parts = [part for part in _JOINTS.split(text) if part not in _EMPTY_PARTS] or [text]
    return ".".join(parts[:-1]), parts[-1]


def text_of(data: bytes, start: int, end: int) -> str:
    text = data[start : min(end, start + LONGEST_NAME * 2)].decode("utf-8", "replace")
    return " ".join(text.split()).strip("\"'`")[:LONGEST_NAME]
