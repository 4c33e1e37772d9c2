"""A tool as a downstream server describes it, once it was looked at: what it says is shown to models, so it is data.

A description is cleaned and cut, a schema must be a JSON object of bounded size, and a `$ref` that leads out of it is
taken away: nothing is ever fetched for it. `digest` is over what the server said, so that a change is noticed. What a
schema means for llmc's own surfaces (arguments, a signature) is made here as well.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from llmc.envelope.visible import visible_text
from llmc.tool import Argument

__all__ = ["ToolDescription", "arguments_of", "described", "harmless"]

# Desktop Commander's longest is 5,100 characters; what is longer is no description.
LONGEST_DESCRIPTION = 6_000
LONGEST_SCHEMA = 64 << 10
DEEPEST_SCHEMA = 32
LONGEST_HELP = 240
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}")
KINDS = {"string": "string", "integer": "integer", "boolean": "boolean", "object": "object", "number": "number"}


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """`key` is how it is held: two servers may both have a `search`."""

    server: str
    name: str
    description: str
    schema: dict[str, Any]
    digest: str

    @property
    def key(self) -> str:
        return f"{self.server}::{self.name}"

    @property
    def brief(self) -> str:
        """The first sentence."""
        line = next((line.strip() for line in self.description.splitlines() if line.strip()), "")
        return re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0][:160]


def described(server: str, raw: object) -> ToolDescription | str:
    """The tool, or why it cannot be one."""
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        return "it has no name"
    name, schema = raw["name"], raw.get("inputSchema")
    if not NAME.fullmatch(name):
        return "its name is not made of letters, digits, dots, dashes, slashes and underscores"
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return "its schema is no JSON schema of an object"
    said = raw.get("description")
    text = said if isinstance(said, str) else ""
    try:
        packed = json.dumps([name, text, schema], sort_keys=True)
        cleared = harmless(schema)
    except (ValueError, RecursionError, TypeError):
        return "its schema is nested too deeply"
    if len(packed) > LONGEST_SCHEMA:
        return f"its description and schema are larger than {LONGEST_SCHEMA >> 10} KB"
    digest = hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return ToolDescription(
        server, name, visible_text(text[:LONGEST_DESCRIPTION]), {**cleared, "type": "object"}, digest
    )


def harmless(schema: Any, depth: int = 0) -> Any:
    """The schema without references to anywhere else; ValueError when it is nested too deeply."""
    if depth > DEEPEST_SCHEMA:
        raise ValueError("nested too deeply")
    if isinstance(schema, dict):
        return {
            name: harmless(value, depth + 1)
            for name, value in schema.items()
            if name not in {"$ref", "$dynamicRef", "$schema", "$id"} or (name == "$ref" and is_inside(value))
        }
    if isinstance(schema, list):
        return [harmless(value, depth + 1) for value in schema]
    return visible_text(schema) if isinstance(schema, str) else schema


def is_inside(reference: object) -> bool:
    return isinstance(reference, str) and reference.startswith("#/")


def arguments_of(schema: dict[str, Any]) -> tuple[Argument, ...]:
    """The properties of a schema, the required ones first. What the kinds of llmc do not know is taken as it is."""
    properties = schema.get("properties")
    required = schema.get("required")
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    known = properties if isinstance(properties, dict) else {}
    ordered = sorted(known, key=lambda name: name not in needed)
    return tuple(foreign(name, known[name], required=name in needed) for name in ordered)


def foreign(name: str, schema: object, *, required: bool) -> Argument:
    """Its values are the other server's to judge."""
    return Argument(name, kind_of(schema), help_of(schema), required, text="foreign", low=None, high=None)


def kind_of(schema: object) -> str:
    if not isinstance(schema, dict):
        return "value"
    kind, items = schema.get("type"), schema.get("items")
    if kind == "array":
        return "strings" if isinstance(items, dict) and items.get("type") == "string" else "value"
    return KINDS.get(kind, "value") if isinstance(kind, str) else "value"


def help_of(schema: object) -> str:
    """Its description on one line, and what it may be."""
    if not isinstance(schema, dict):
        return ""
    said = schema.get("description")
    parts = [" ".join(said.split())[:LONGEST_HELP] if isinstance(said, str) else ""]
    allowed = schema.get("enum")
    if isinstance(allowed, list):
        parts.append(f"One of {', '.join(str(one) for one in allowed)[:LONGEST_HELP]}.")
    if kind_of(schema) == "value" and isinstance(schema.get("type"), str):
        parts.append(f"({schema['type']})")
    return " ".join(part for part in parts if part)
