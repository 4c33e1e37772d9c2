"""The variables that a node of a syntax tree binds, with their types and values."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

__all__ = ["UNWRAPPED", "Binding", "bindings"]


class Binding(NamedTuple):
    """`name` is the node of the variable, perhaps in a pattern. `suffix`, or the name of the `member`, is appended to
    the value's chain."""

    name: Node
    type: Node | None = None
    value: Node | None = None
    suffix: str = ""
    member: Node | None = None


class Fields(NamedTuple):
    """Names of fields; an empty `name` means the first child."""

    name: str
    type: str = ""
    value: str = ""
    suffix: str = ""


FIELDS = {
    "assignment": Fields("left", "type", "right"),
    "named_expression": Fields("name", "", "value"),
    "typed_parameter": Fields("", "type"),
    "typed_default_parameter": Fields("name", "type"),
    "for_statement": Fields("left", "", "right", "[]"),
    "for_in_clause": Fields("left", "", "right", "[]"),
    "variable_declarator": Fields("name", "type", "value"),
    "required_parameter": Fields("pattern", "type", "value"),
    "optional_parameter": Fields("pattern", "type", "value"),
    "public_field_definition": Fields("name", "type", "value"),
    "field_definition": Fields("property", "", "value"),
    "property_signature": Fields("name", "type"),
    "assignment_expression": Fields("left", "", "right"),
    "for_in_statement": Fields("left", "", "right", "[]"),
    "let_declaration": Fields("pattern", "type", "value"),
    "let_condition": Fields("pattern", "", "value"),
    "const_item": Fields("name", "type", "value"),
    "static_item": Fields("name", "type", "value"),
    "for_expression": Fields("pattern", "", "value", "[]"),
    "formal_parameter": Fields("name", "type"),
    "enhanced_for_statement": Fields("name", "type", "value", "[]"),
    "resource": Fields("name", "type", "value"),
    "property_declaration": Fields("name", "type", "value"),
    "foreach_statement": Fields("left", "type", "right", "[]"),
    "declaration_pattern": Fields("name", "type"),
    "for_range_loop": Fields("declarator", "type", "right", "[]"),
}


def bindings(node: Node) -> Iterator[Binding]:
    if special := _SPECIAL.get(node.type):
        yield from special(node)
        return
    fields = FIELDS[node.type]
    name = node.child_by_field_name(fields.name) if fields.name else next(iter(node.named_children), None)
    if name is None:
        return
    declared = node.child_by_field_name(fields.type) if fields.type else None
    value = node.child_by_field_name(fields.value) if fields.value else None
    if node.type == "variable_declarator" and name.type == "object_pattern":
        yield from _taken(name, value)
        return
    yield Binding(_declared(name) or name, declared, value, fields.suffix)


def _taken(pattern: Node, value: Node | None) -> Iterator[Binding]:
    """`const { rows, next: page } = result`: members of a value."""
    for one in pattern.named_children:
        if one.type == "shorthand_property_identifier_pattern":
            yield Binding(one, None, value, member=one)
        elif one.type == "pair_pattern":
            key, name = one.child_by_field_name("key"), one.child_by_field_name("value")
            if name is not None and name.type == "identifier":
                is_named = key is not None and key.type == "property_identifier"
                yield Binding(name, None, value if is_named else None, member=key if is_named else None)


def _parameter(node: Node) -> Iterator[Binding]:
    """A parameter. In Go several names may share a type; C and C++ wrap the name in declarators; Rust uses a
    pattern."""
    declared = node.child_by_field_name("type")
    names = node.children_by_field_name("name")
    if not names and (inner := node.child_by_field_name("declarator") or node.child_by_field_name("pattern")):
        names = [found] if (found := _declared(inner)) is not None else []
    yield from (Binding(name, declared) for name in names)


def _declarations(node: Node) -> Iterator[Binding]:
    """A type and one or more declarators, perhaps with values: fields and variables of typed languages."""
    declared = node.child_by_field_name("type")
    names = node.children_by_field_name("name")
    if names:
        values = node.child_by_field_name("value")
        listed = values.named_children if values is not None and values.type == "expression_list" else [values]
        yield from (Binding(name, declared, value) for name, value in zip_longest(names, listed[: len(names)]) if name)
        return
    declarators = node.children_by_field_name("declarator")
    declarators = declarators or [one for one in node.named_children if one.type == "variable_declarator"]
    for one in declarators:
        name = one.child_by_field_name("name") or _declared(one)
        if name is not None:
            yield Binding(name, declared, one.child_by_field_name("value") or _initial(one, name))


def _initial(declarator: Node, name: Node) -> Node | None:
    """The value of a declarator that has no field for it, as in C#."""
    last = declarator.named_children[-1:] if declarator.type == "variable_declarator" else []
    return last[0] if last and last[0].start_byte > name.end_byte else None


def _declared(node: Node) -> Node | None:
    """The identifier inside of declarators and patterns; None for a function that is only declared."""
    for _ in range(6):
        if node.type == "function_declarator":
            return None
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("reference_declarator", "mut_pattern", "ref_pattern"):
            inner = next(reversed(node.named_children), None)
        if inner is None:
            return node
        node = inner
    return None


def _assigned(node: Node) -> Iterator[Binding]:
    """`a, err := f()` in Go: binds the first of several results."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return
    names = left.named_children if left.type == "expression_list" else [left]
    values = right.named_children if right.type == "expression_list" else [right]
    if len(values) == 1:
        names = names[:1]
    yield from (Binding(name, None, value) for name, value in zip(names, values, strict=False))


def _ranged(node: Node) -> Iterator[Binding]:
    """`for i, x := range xs`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is not None and len(left.named_children) == 2:  # noqa: PLR2004 - index and element
        yield Binding(left.named_children[1], None, right, "[]")


_SPECIAL: dict[str, Callable[[Node], Iterator[Binding]]] = {
    "parameter_declaration": _parameter,
    "variadic_parameter_declaration": _parameter,
    "optional_parameter_declaration": _parameter,
    "parameter": _parameter,
    "var_spec": _declarations,
    "field_declaration": _declarations,
    "local_variable_declaration": _declarations,
    "variable_declaration": _declarations,
    "declaration": _declarations,
    "short_var_declaration": _assigned,
    "assignment_statement": _assigned,
    "range_clause": _ranged,
}
# Patterns that unwrap a value, and modifiers of a name.
UNWRAPPED = re.compile(r"(?:Some|Ok|Err)\((.*)\)|(?:mut|ref|ref mut)\s+(\w+)")
