"""The links of a tree: what name resolution needs besides definitions and references (`llmc.base.model.Link`).

A language has links if it has a query file `<grammar>.links.scm`, which runs together with the one for
definitions. Captures: `@recv` is the expression before a name, `@bind` a node that gives a variable a type or a value
(`binding` knows its fields), `@local` a variable of unknown type, `@returns` a declared
type and `@return` a returned value, `@base` a base type, `@bound` a type parameter with its bounds, `@export` a
statement that exports, `@mark` an annotation that may make a definition a test or a property, `@label` one of a
switch, `@chan.send` and `@chan.receive` a channel. Resolution itself is left to `llmc.graph`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from llmc.base.model import CALLABLES, ResolutionLink
from llmc.indexer.syntax.binding import UNWRAPPED, bindings
from llmc.indexer.syntax.chains import GENERIC, LITERAL, UNKNOWN, chain, type_chain
from llmc.indexer.syntax.importing import exported, imported
from llmc.indexer.syntax.keyed import keyed_links
from llmc.indexer.syntax.names import CLOSURE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from llmc.indexer.syntax.binding import Binding
    from llmc.indexer.syntax.names import Captures, DefinitionNode, DefinitionTree
    from llmc.indexer.syntax.uses import Imports

__all__ = ["Receivers", "find_links"]

MOST = 20_000  # links of one file; more of them are tables
SELVES = ("self.", "this.", "cls.", "@")
LONGEST_VALUE = 6_000
_EMPTY = (UNKNOWN, LITERAL)
# tree-sitter returns the nodes of a capture in any order; these become links one by one.
_ORDERED = {"bind", "local", "base", "bound", "package", "export", "returns", "return", "mark"}
# Languages in which values of built-in types are recorded, since strings and lists have methods too.
_DYNAMIC = frozenset({"python", "javascript", "typescript", "tsx"})


_CAST = re.compile(r"(?:typing\.|t\.)?cast\(\s*[\"']?([\w.]+)[\"']?\s*,")
_CASTS = frozenset({"type_assertion_expression", "cast_expression"})
_AS = re.compile(r"\bas\s+(?!const\b)([\w.<>\[\]]+)\s*\)?$")
# Annotations, attributes and decorators that mark a test.
_TEST_MARK = re.compile(
    r"(?:#!?\[\s*|@|\[\s*)(?:[\w:.]*\b)?(test|rstest|quickcheck|proptest|test_case|bench|cfg\(test\)|Test|ParameterizedTest|RepeatedTest"
    r"|TestFactory|Fact|Theory|TestMethod|TestCase|SkippableFact|Property)\b"
)
# A type parameter and its bounds: `S: Storage + Send`, `T extends Storage`, `where T : Storage`.
_BOUND = re.compile(
    r"(?:where\s+)?(\w+)\s*(?::|\bextends\b)\s*(?:(?:class|struct|notnull|unmanaged|new\(\))\??\s*,\s*)*([^,=&]+)"
)
_PARAMETER_PROPERTY = re.compile(rb"(?:public|private|protected|readonly|override)\b")


_PROPERTY_MARK = re.compile(r"@(?:functools\.|abc\.)?(?:cached_|abstract)?property\b|@[\w.]+\.cached_property\b")


class Receivers:
    """The chain before a name, by the byte at which the name begins."""

    def __init__(self, grammar: str, data: bytes, captures: Captures) -> None:
        self._data = data
        self._starts = {node.end_byte: node.start_byte for node in captures.get("recv", ())}
        self._generics = grammar == "csharp"  # where Foo and Foo<T> are two types

    def before(self, start: int, name: str) -> str:
        found = self._chain(start) if self._starts and self._data[start - 1 : start] in _JOINT_ENDS else ""
        end = start + len(name)
        return GENERIC if not found and self._generics and self._data[end : end + 1] == b"<" else found

    def _chain(self, start: int) -> str:
        data = self._data
        end = start
        while end > 0 and data[end - 1] in _SPACE:
            end -= 1
        if end < start and data[end - 1 : end] != b".":  # Go ends a line with the dot
            return ""
        while end > 0 and data[end - 1] in _BETWEEN:
            end -= 1
        first = self._starts.get(end)
        if first is None:
            return self._by_text(start)
        return UNKNOWN if end - first > LONGEST_VALUE else chain(data[first:end].decode("utf-8", "replace"))

    def _by_text(self, start: int) -> str:
        """The receiver read from the text, for places where the grammar has only tokens, such as the arguments of a
        macro."""
        before = self._data[max(0, start - _NEAR) : start]
        if found := _WRITTEN_CHAIN.search(before):
            return chain(found[1].decode("utf-8", "replace"))
        return UNKNOWN if _WRITTEN_JOINT.search(before) else ""


_NEAR = 120
_WRITTEN_CHAIN = re.compile(rb"(?<![\w.:)\]])([A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*)(?:\.|::)$")
_WRITTEN_JOINT = re.compile(rb"(?:(?<!\.)\.|::|->)$")
_JOINT_ENDS = frozenset({b".", b":", b">", b" ", b"\n", b"\t", b"#"})
_SPACE = frozenset(b" \t\r\n")
_BETWEEN = frozenset(b".:->?!# \t\r\n")


def find_links(  # noqa: PLR0917 - what one file is
    grammar: str, data: bytes, lines: list[int], captures: Captures, defined: DefinitionTree, imports: Imports
) -> tuple[ResolutionLink, ...]:
    known = {data[name.last : name.end] for one in defined.all for name in one.names}
    known |= {name.encode() for name in imports.names}
    captures = {**captures, **{name: sorted(captures[name], key=_span) for name in _ORDERED & captures.keys()}}
    found = _Links(grammar, data, captures, defined, known, imports.spans)
    links = [*found.imports(), *found.all(), *sorted(keyed_links(data, lines, captures, defined, found.scope))]
    return tuple(dict.fromkeys(links))[:MOST]


def _span(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


class _Links:
    def __init__(  # noqa: PLR0917 - what one file is
        self,
        grammar: str,
        data: bytes,
        captures: Captures,
        defined: DefinitionTree,
        known: set[bytes],
        spans: list[tuple[int, int]],
    ) -> None:
        self._spans = spans
        self._grammar = grammar
        self._dynamic = grammar in _DYNAMIC
        self._data = data
        self._captures = captures
        self._defined = defined
        self._known = known
        self._cuts, self._containers = defined.containers()
        self._members: set[int] = set()  # where a variable is bound to a member of a value

    def _text(self, start: int, end: int) -> str:
        return self._data[start : min(end, start + LONGEST_VALUE)].decode("utf-8", "replace")

    def _of(self, node: Node) -> str:
        return self._text(node.start_byte, node.end_byte)

    def scope(self, byte: int) -> str:
        return self._containers[bisect_right(self._cuts, byte) - 1]

    def _outside(self, byte: int) -> str:
        """The scope of a name that is bound here; if it is a definition itself, the scope that encloses it."""
        owner = self._defined.around(byte)
        if owner is None:
            return ""
        own = any(name.start <= byte < name.end for name in owner.names)
        return owner.container if own else owner.qualified

    def _imports(self, byte: int) -> bool:
        """Whether the byte is part of an import statement."""
        at = bisect_right(self._spans, (byte, len(self._data))) - 1
        return at >= 0 and byte < self._spans[at][1]

    def imports(self) -> Iterator[ResolutionLink]:
        for start, end in self._spans:
            for one in imported(self._grammar, self._text(start, end)):
                yield ResolutionLink("export" if one.exported else "import", self.scope(start), one.local, one.target)
                if one.exported:
                    yield ResolutionLink("import", self.scope(start), one.local, one.target)

    def all(self) -> Iterator[ResolutionLink]:
        captures = self._captures
        for node in captures.get("bind", ()):
            yield from self._bound(node)
        for node in captures.get("local", ()):
            is_known = self._data[node.start_byte : node.end_byte] in self._known
            is_bound = node.start_byte in self._members
            if is_known and not is_bound and not self._imports(node.start_byte):
                yield ResolutionLink("bind", self.scope(node.start_byte), self._of(node), UNKNOWN)
        for node in captures.get("base", ()):
            yield ResolutionLink("base", self.scope(node.start_byte), "", type_chain(self._of(node)))
        for node in captures.get("bound", ()):
            if found := _BOUND.match(self._of(node)):
                yield ResolutionLink("bound", self.scope(node.start_byte), found[1], type_chain(found[2]))
        for node in captures.get("package", ()):
            yield ResolutionLink("module", "", "", self._of(node))
        for node in captures.get("export", ()):
            for name, target in exported(self._of(node)):
                yield ResolutionLink("export", "", name, target)
        yield from self._returns()
        yield from self._marks()

    def _bound(self, node: Node) -> Iterator[ResolutionLink]:
        if node.type == "as_pattern":
            yield from self._as_pattern(node)
            return
        for one in bindings(node):
            if one.member is not None:
                self._members.add(one.name.start_byte)
                if self._imports(one.name.start_byte):
                    continue
            target = self._of(one.name)
            if target == "module.exports" and one.value is not None:
                yield ResolutionLink("export", "", "=", f"#{chain(self._of(one.value))}")
                continue
            if unwrapped := UNWRAPPED.fullmatch(target):
                target = unwrapped[1] or unwrapped[2]
            yield from self._binding(target, one)
            is_property = "parameter" in node.type and _PARAMETER_PROPERTY.match(self._data, node.start_byte)
            if one.type is not None and is_property:
                yield ResolutionLink("atype", self.scope(node.start_byte), target, type_chain(self._of(one.type)))

    def _binding(self, target: str, one: Binding) -> Iterator[ResolutionLink]:
        attribute = next((target[len(self_) :] for self_ in SELVES if target.startswith(self_)), "")
        name, start = attribute or target, one.name.start_byte
        suffix = f".{self._of(one.member)}" if one.member is not None else one.suffix
        if not name.isidentifier():
            return
        scope = self.scope(start) if attribute else self._outside(start)
        if one.type is not None:
            found = type_chain(self._of(one.type))
            if found != UNKNOWN:
                if found != LITERAL or self._dynamic or name.encode() in self._known:
                    yield ResolutionLink("atype" if attribute else "type", scope, name, found)
                return
        if one.value is None:
            found, kind = UNKNOWN, "bind"
        else:
            found, kind = self._value(one.value)
            is_module = found.startswith(("require(", "import("))  # its names are imports
            found = found + suffix if suffix and found not in _EMPTY and not is_module else UNKNOWN if suffix else found
        if attribute:
            if found not in _EMPTY:
                yield ResolutionLink({"bind": "attr", "type": "atype"}[kind], scope, name, found)
        elif found not in _EMPTY or (target.encode() in self._known and scope):
            yield ResolutionLink(kind, scope, name, found)

    def _value(self, node: Node) -> tuple[str, str]:
        """The chain of a value, or of the type of a cast."""
        if node.type in _CASTS and (declared := node.child_by_field_name("type") or node.child_by_field_name("right")):
            return type_chain(self._of(declared)), "type"
        text = self._of(node)
        if found := _CAST.match(text) or (node.type == "as_expression" and _AS.search(text)):
            return type_chain(found[1]), "type"
        return chain(text), "bind"

    def _as_pattern(self, node: Node) -> Iterator[ResolutionLink]:
        """`with open_it() as name`, `except Error as name`."""
        value, alias = next(iter(node.named_children), None), node.child_by_field_name("alias")
        if value is None or alias is None or not (name := self._of(alias)).isidentifier():
            return
        within = node.parent
        if within is not None and within.type == "except_clause":
            yield ResolutionLink("type", self.scope(node.start_byte), name, type_chain(self._of(value)))
        elif (found := chain(self._of(value))) not in _EMPTY:
            yield ResolutionLink("bind", self.scope(node.start_byte), name, f"{found}.__enter__()")

    def _returns(self) -> Iterator[ResolutionLink]:
        declared = set()
        for node in self._captures.get("returns", ()):
            if scope := self._function(node.start_byte):
                found = type_chain(self._of(node))
                declared.add(scope)
                if found not in _EMPTY:
                    yield ResolutionLink("return", scope, "declared", found)
        for node in self._captures.get("return", ()):
            scope = self._function(node.start_byte)
            if scope and scope not in declared and (found := chain(self._of(node))) not in _EMPTY:
                yield ResolutionLink("return", scope, "inferred", found)

    def _function(self, byte: int) -> str:
        """The function around this byte; empty if it has no name."""
        owner: DefinitionNode | None = self._defined.around(byte)
        if owner is not None and owner.default == CLOSURE:
            parent = self._defined.all[owner.parent] if owner.parent >= 0 else None
            owner = parent if parent and parent.kind in CALLABLES and abs(parent.end - owner.end) <= 1 else None
        return owner.qualified if owner is not None and owner.names and owner.kind in CALLABLES else ""

    def _marks(self) -> Iterator[ResolutionLink]:
        """Tests and properties, by the annotation, attribute or decorator of a definition."""
        starts = [one.start for one in self._defined.all]
        for node in self._captures.get("mark", ()):
            text = self._of(node)
            test = _TEST_MARK.match(text)
            if test is None and not _PROPERTY_MARK.match(text):
                continue
            inner = self._defined.around(node.start_byte)
            at = bisect_right(starts, node.end_byte - 1)
            following = self._defined.all[at] if at < len(starts) else None
            one = inner if inner is not None and inner.kind in CALLABLES else following
            if one is not None and one.qualified:
                yield (
                    ResolutionLink("test", one.qualified, "", test[1])
                    if test
                    else ResolutionLink("property", one.qualified, "", "")
                )
