"""The definitions of a syntax tree, each with its name, kind and container.

A query marks the extent of a definition `@def`, its name `@name.<kind>` or `@path.<kind>` (a name such as `A::b` or
`M.f` where `A` is the container), and `@scope` for nodes such as a Rust `impl`, which only qualify the names inside
them. A name belongs to the innermost `@def` around it. `@closure` is a function without a name, in which variables are
local; `@not` cancels a `@def`; `@body` is where a signature ends. `@open` is a definition that lasts until the next of
its kind (a package of Perl), `@tail` a node that belongs to the definition before it (a body of Dart). Where a
language defines by calling (`defmodule`, `describe`), the call is `@try.<table>`, a definition only if its first word
is in that table, which also gives the kind of `@name.word`. `@handler` is a call with an anonymous function as an
argument; it is named after the call and its first string, `router.post('/refresh')`. `@handler.chain` ends a chain of
calls, and counts only if the chain names a command: `program.command('init').action(...)`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from llmc.base.model import CALLABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    Captures = dict[str, list[Node]]

__all__ = [
    "CLOSURE",
    "IMPORTING",
    "DefinedName",
    "DefinitionNode",
    "DefinitionTree",
    "definitions",
    "kind_of",
    "parts_of",
    "text_of",
]

LONGEST_NAME = 120

# Precedence of kinds when two patterns match the same name: `const f = () => 1` is a function.
_RANKS = {"variable": 0, "constant": 1, "field": 1, "property": 1, "type": 2, "prototype": 3, "function": 4}
_RANK_OF_OTHERS = 5
_TYPES = frozenset(
    [
        "class",
        "struct",
        "interface",
        "trait",
        "enum",
        "object",
        "extension",
        "protocol",
        "record",
        "actor",
        "union",
        "mixin",
        "impl",
        "instance",
    ]
)
HANDLER = "handler"
_VALUES = frozenset({"variable", "constant", "field", "property"})
_LOCAL = _VALUES | {"prototype"}  # local to a function; `Lock l(m);` looks like a declared function
_JOINTS = re.compile(r"::|->|[.:\\#/]")
# Parts of a path that name no container: `module.exports.f`, `Foo.prototype.bar`, `self.x`.
_EMPTY_PARTS = frozenset({"", "exports", "module", "prototype", "this", "self", "window", "global", "globalThis"})
_SPACE = re.compile(rb"\s*")
_LONGEST_HEAD = 400
_JOINT_BYTES = (b".", b":", b"\\", b"#", b"/", b">")
_COMMAND = re.compile(rb"\.\s*command\(\s*['\"`]([^'\"`]{1,60})['\"`]")
_FIRST_WORD = re.compile(rb"[\s(@:]*([\w!?.*-]+)")
# Allowed between the start of a defining call and a name: the keyword, earlier names, metadata of Clojure.
_CALL_HEAD = re.compile(rb"[(@]?[\w!?.*-]+[\s(]*(?::?\w+[?!]?,\s*|\^(?>\{[^}]*\}|\S+)\s+)*")


def _kinds(**words: str) -> dict[bytes, str]:
    return {word.encode(): kind.rstrip("_") for kind, several in words.items() for word in several.split()}


# table → first word → kind of what is defined
DEFINING: dict[str, dict[bytes, str]] = {
    "test": _kinds(test="describe it test suite context specify bench fdescribe fit xit xdescribe"),
    "gtest": _kinds(test="TEST TEST_F TEST_P TYPED_TEST TYPED_TEST_P"),
    "elixir": _kinds(
        function="def defp defdelegate defguard defguardp defn defnp",
        macro="defmacro defmacrop",
        module="defmodule",
        interface="defprotocol",
        impl="defimpl",
        struct="defstruct defexception",
        test="test describe property",
    ),
    "elixir_attribute": _kinds(type="@type @typep @opaque type typep opaque", method="callback macrocallback"),
    "clojure": _kinds(
        function="defn defn- defmulti defmethod deftask",
        macro="defmacro",
        variable="def defonce declare",
        module="ns",
        interface="defprotocol definterface",
        record="defrecord",
        class_="deftype",
        test="deftest testing",
    ),
    "ruby": _kinds(
        property="attr_accessor attr_reader attr_writer mattr_accessor cattr_accessor class_attribute"
        " thread_mattr_accessor",
        method="define_method delegate scope",
        field="belongs_to has_many has_one has_and_belongs_to_many",
        test="describe RSpec.describe context it specify test should feature scenario",
    ),
    "r": _kinds(class_="setClass setRefClass R6Class", function="setGeneric setMethod"),
    "cmake": _kinds(
        function="function macro", target="add_executable add_library add_custom_target", variable="option"
    ),
}
# The front of a call that imports, perhaps after `local x =` or `const { a, b } =`.
IMPORTING = re.compile(
    rb"(?:[^=;()]{1,400}=\s*)?"
    rb"(?:@|\(:)?(?:require|require_relative|autoload|load|alias|import|use|library|source|requireNamespace|include|\.)(?=[\s(\"'])"
)


class DefinedName(NamedTuple):
    """`last` is where the last part of a path begins."""

    start: int
    end: int
    kind: str
    is_path: bool
    last: int


@dataclass(slots=True)
class DefinitionNode:
    """`names` is empty for a transparent node: a local variable or an anonymous class."""

    start: int
    end: int
    node: Node
    parent: int
    default: str = ""  # the kind of `@name.word`
    names: list[DefinedName] = field(default_factory=list)
    scope: str = ""
    body: int | None = None
    container: str = ""
    qualified: str = ""
    kind: str = ""
    outer_kind: str = ""


CLOSURE = "closure"
_NO_WORD = frozenset({"", CLOSURE, HANDLER})  # kinds that the first word of a call never determines
Defining = tuple[int, int, "Node", str]  # first byte, end, node, kind of `@name.word`


class DefinitionTree:
    """All definitions by their start, and for every byte the innermost one around it."""

    def __init__(self, nodes: list[Defining]) -> None:
        spans = sorted((start, -end, at) for at, (start, end, _, _) in enumerate(nodes))
        self.all: list[DefinitionNode] = []
        self._cuts = [0]
        self._owners = [-1]
        stack: list[int] = []
        for start, minus_end, at in spans:
            self._close(stack, start)
            self.all.append(DefinitionNode(start, -minus_end, nodes[at][2], stack[-1] if stack else -1, nodes[at][3]))
            stack.append(len(self.all) - 1)
            self._cuts.append(start)
            self._owners.append(stack[-1])
        self._close(stack, None)

    def _close(self, stack: list[int], before: int | None) -> None:
        while stack and (before is None or self.all[stack[-1]].end <= before):
            self._cuts.append(self.all[stack.pop()].end)
            self._owners.append(stack[-1] if stack else -1)

    def around(self, byte: int) -> DefinitionNode | None:
        owner = self._owners[bisect_right(self._cuts, byte) - 1]
        return self.all[owner] if owner >= 0 else None

    def containers(self) -> tuple[list[int], list[str]]:
        """The start bytes of ranges, and the qualified name of the innermost definition in each; empty outside of
        all."""
        names = [*(one.qualified for one in self.all), ""]  # the last one is found by index -1
        return self._cuts, [names[owner] for owner in self._owners]

    def places(self) -> set[int]:
        """The offsets at which a definition has its name, or begins with a defining keyword."""
        names = [name for one in self.all if one.default != HANDLER for name in one.names]
        heads = {one.start + step for one in self.all if one.default not in _NO_WORD for step in (0, 1)}
        return heads.union((name.start for name in names), (name.last for name in names))

    def place(self, data: bytes) -> None:
        """Assign names to all definitions, parents first."""
        for one in self.all:
            _place(data, one, self.all[one.parent] if one.parent >= 0 else None)


def definitions(data: bytes, captures: Captures, imports: set[int]) -> DefinitionTree:
    """`imports` are the first bytes of statements that import: `local x = require "x"` defines nothing."""
    found = DefinitionTree([one for one in _nodes(data, captures) if one[0] not in imports])
    for name in _names(data, captures):
        if (owner := found.around(name.start)) is not None:
            _add_name(data, owner, name)
    for one in found.all:
        if one.default == HANDLER and not one.names:
            _name_command(data, one)
    for node in captures.get("scope", ()):
        if (owner := found.around(node.start_byte)) is not None:
            owner.scope = text_of(data, node.start_byte, node.end_byte)
    for node in captures.get("body", ()):
        start = node.start_byte
        owner = found.around(start)
        while owner is not None and (owner.default == CLOSURE or owner.start >= start):
            owner = found.all[owner.parent] if owner.parent >= 0 else None
        if owner is not None and (owner.body is None or start < owner.body):
            owner.body = start
    found.place(data)
    return found


def _add_name(data: bytes, owner: DefinitionNode, name: DefinedName) -> None:
    is_word = name.kind == "word"
    if owner.default == HANDLER:
        if is_word and not owner.names:
            owner.names.append(name._replace(start=owner.start, kind=HANDLER))
    elif owner.default in _NO_WORD:
        if not is_word:
            owner.names.append(name)
    elif is_word and _is_head(data, owner.start, name.start):
        owner.names.append(name._replace(kind=owner.default))


def _name_command(data: bytes, one: DefinitionNode) -> None:
    if command := _command_of(data, one.start, one.end):
        start = command.start() + 1
        one.names.append(DefinedName(start, command.end(), HANDLER, is_path=False, last=start))


def _is_head(data: bytes, start: int, end: int) -> bool:
    return end - start < _LONGEST_HEAD and _CALL_HEAD.fullmatch(data, start, end) is not None


def _nodes(data: bytes, captures: Captures) -> Iterator[Defining]:
    """The defining nodes without duplicates, each with the kind that its first word determines."""
    seen = set(captures.get("not", ()))
    tails = {node.start_byte: node.end_byte for node in captures.get("tail", ())}
    for table, kinds in DEFINING.items():
        for node in captures.get(f"try.{table}", ()):
            word = _FIRST_WORD.match(data, node.start_byte, node.end_byte)
            if word and (kind := _kind_by_word(table, kinds, word[1])) and node not in seen:
                seen.add(node)
                yield node.start_byte, node.end_byte, node, kind
    chains = [node for node in captures.get("handler.chain", ()) if _command_of(data, node.start_byte, node.end_byte)]
    for node in (*captures.get("handler", ()), *chains):
        if node not in seen:
            seen.add(node)
            yield node.start_byte, node.end_byte, node, HANDLER
    for capture, default in (("def", ""), ("closure", CLOSURE)):
        fresh = [node for node in captures.get(capture, ()) if node not in seen]
        seen.update(fresh)
        yield from ((node.start_byte, _end(data, node, tails), node, default) for node in fresh)
    opened = sorted(captures.get("open", ()), key=lambda node: node.start_byte)
    for node, following in zip_longest(opened, opened[1:]):
        yield node.start_byte, following.start_byte if following else len(data), node, ""


def _kind_by_word(table: str, kinds: dict[bytes, str], word: bytes) -> str | None:
    """`it.skip` and `describe.each` define what `it` and `describe` do."""
    return kinds.get(word) or (kinds.get(word.partition(b".")[0]) if table == "test" else None)


def _command_of(data: bytes, start: int, end: int) -> re.Match[bytes] | None:
    return _COMMAND.search(data, start, min(end, start + _LONGEST_HEAD))


def _end(data: bytes, node: Node, tails: dict[int, int]) -> int:
    if not tails:
        return node.end_byte
    space = _SPACE.match(data, node.end_byte)
    return tails.get(space.end() if space else node.end_byte, node.end_byte)


def _names(data: bytes, captures: Captures) -> list[DefinedName]:
    """All names by position; of several kinds for one name, the one of highest rank."""
    best: dict[int, DefinedName] = {}
    for capture, nodes in captures.items():
        form, _, kind = capture.partition(".")
        if form not in ("name", "path"):
            continue
        for node in nodes:
            start, end = node.start_byte, node.end_byte
            last = (
                max(data.rfind(joint, start, end) + 1 for joint in _JOINT_BYTES) or start if form == "path" else start
            )
            name = DefinedName(start, end, kind, form == "path", last)
            rival = best.get(name.start)
            if rival is None or _rank(kind) > _rank(rival.kind):
                best[name.start] = name
    return sorted(best.values())


def _rank(kind: str) -> tuple[int, str]:
    return _RANKS.get(kind, _RANK_OF_OTHERS), kind


def _place(data: bytes, one: DefinitionNode, parent: DefinitionNode | None) -> None:
    """The position of a definition and its name."""
    outer, outer_kind = (parent.qualified, parent.kind) if parent else ("", "")
    one.qualified, one.kind, one.outer_kind = outer, CLOSURE if one.default == CLOSURE else outer_kind, outer_kind
    if one.names and one.names[0].kind in _LOCAL:
        if outer_kind in CALLABLES or outer_kind == CLOSURE:
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
    if kind == "prototype":
        kind = "function"
    if outer in _TYPES:
        return {"function": "method", "variable": "field", "constant": "field"}.get(kind, kind)
    if kind == "function" and outer in _VALUES:
        return "method"
    if kind == "variable" and name.isupper() and len(name) > 1:
        return "constant"
    return kind


def parts_of(data: bytes, name: DefinedName) -> tuple[str, str]:
    """The container that is part of a written name, and the name itself."""
    if name.kind == HANDLER:
        return "", _registration(data, name)
    text = text_of(data, name.start, name.end)
    if not name.is_path:
        is_symbol = text[:1] == ":" and name.kind != "selector"  # of Ruby
        return "", text[1:] if is_symbol else text
    parts = [part for part in _JOINTS.split(text) if part not in _EMPTY_PARTS] or [text]
    return ".".join(parts[:-1]), parts[-1]


def _registration(data: bytes, name: DefinedName) -> str:
    """`router.post(\n  '/refresh'` → router.post('/refresh')."""
    text = " ".join(data[name.start : min(name.end, name.start + LONGEST_NAME)].decode("utf-8", "replace").split())
    call, _, argument = text.partition("(")
    return f"{call.strip()}({argument.strip()})" if argument else call


def text_of(data: bytes, start: int, end: int) -> str:
    text = data[start : min(end, start + LONGEST_NAME)].decode("utf-8", "replace")
    if text.isidentifier():
        return text
    return " ".join(text.split()).removeprefix("@test ").strip("\"'`")[:LONGEST_NAME]
