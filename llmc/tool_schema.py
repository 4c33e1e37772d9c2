"""The definition of a tool in a client's tool list: name, summary, arguments.

A definition costs tokens in every session, so a schema of the lean profile has no titles, defaults, unions or
descriptions of arguments; further arguments are described on demand (`signature`). The profiles `full` and
`research` describe every argument with its type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llmc.envelope.tool_definition import ToolDefinition
from llmc.tool import FOCUS

if TYPE_CHECKING:
    from llmc.tool import Argument, Tool

__all__ = ["call_form", "definition_of", "described", "signature"]

# Arguments of every tool: schemas do not repeat them.
COMMON = ("budget", "all", "fields", "fresh", FOCUS.name)

# Every tool takes the focus question, so a full description would be repeated for each.
FOCUSES = "Keep only what answers this."


def definition_of(tool: Tool) -> ToolDefinition:
    """The definition in the lean profile. Strict clients fill in every argument that they see, so fewer is also
    safer."""
    if tool.input_schema is not None:
        return ToolDefinition(tool.name, tool.summary, tool.input_schema, not tool.has_side_effects)
    from llmc.tool_model import schema_of  # noqa: PLC0415 - pydantic: 60 ms, once

    listed = [argument for argument in (*tool.arguments, FOCUS) if is_listed(tool, argument)]
    full = schema_of(tool.name, (*tool.arguments, FOCUS))["properties"]
    schema: dict[str, Any] = {"type": "object", "properties": {one.name: lean(full[one.name]) for one in listed}}
    required = [one.name for one in listed if one.required]
    if required:
        schema["required"] = required
    return ToolDefinition(tool.name, tool.brief or tool.summary, schema, not tool.has_side_effects)


def described(tool: Tool) -> ToolDefinition:
    """The definition with types and descriptions: lists are lists, and an object has its fields."""
    definition = definition_of(tool)
    if tool.input_schema is not None:
        return definition
    listed = [one for one in (*tool.arguments, FOCUS) if one.name in definition.schema["properties"]]
    properties = {one.name: typed(one) for one in listed} | {FOCUS.name: typed(replace(FOCUS, help=FOCUSES))}
    return replace(definition, schema={**definition.schema, "properties": properties})


def typed(argument: Argument) -> dict[str, Any]:
    about = {"description": argument.help}
    if argument.kind == "strings":
        return {"type": "array", "items": {"type": "string"}, **about}
    if argument.kind == "object":
        if not argument.parts:
            return {"type": "object", "additionalProperties": True, **about}
        return {"type": "object", "properties": {one.name: typed(one) for one in argument.parts}, **about}
    return about if argument.kind == "value" else {"type": argument.kind, **about}


def lean(schema: dict[str, Any]) -> dict[str, str]:
    """Only the type. A list of strings is described as a string, the more frequent case, in a third of the tokens; a
    list is accepted too."""
    return {"type": schema.get("type", "string")}


def is_listed(tool: Tool, argument: Argument) -> bool:
    if tool.schema:
        return argument.name in tool.schema
    return argument.required or argument.name not in COMMON


def call_form(tool: Tool) -> str:
    """`refs(name, kind?, path?)`."""
    names = (one.name if one.required else f"{one.name}?" for one in (*tool.arguments, FOCUS) if is_listed(tool, one))
    return f"{tool.name}({', '.join(names)})"


def signature(tool: Tool) -> str:
    """All arguments of the tool, one per line, and its examples."""
    lines = [f"{tool.name}: {tool.summary}"]
    for one in (*tool.arguments, FOCUS):
        kind = "" if one.kind == "string" else f" ({one.kind})"
        lines.append(f" {one.name}{'' if one.required else '?'}{kind}: {one.help}")
    return "\n".join([*lines, *(f" e.g. {example}" for example in tool.examples)])
