"""The checked description of a downstream tool. Models read descriptions, so they are treated as untrusted data.

Descriptions are cleaned and truncated. A schema must be a JSON object of bounded size; a `$ref` that leads out of it is
removed, and nothing is ever fetched. `digest` covers the server's original text, so changes are detected. This module
also derives llmc arguments and signatures from a schema.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from llmc.envelope.visible import visible_text
from llmc.tool import Argument

__all__ = ["ToolDescription", "arguments_of", "parse_description", "without_external_refs"]

# The longest description of Desktop Commander has 5,100 characters.
LONGEST_DESCRIPTION = 6_000
LONGEST_SCHEMA = 64 << 10
DEEPEST_SCHEMA = 32
LONGEST_HELP = 240
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}")
KINDS = {"string": "string", "integer": "integer", "boolean": "boolean", "object": "object", "number": "number"}


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """`key` includes the server, since two servers may both have a `search`."""

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


def parse_description(server: str, raw: object) -> ToolDescription | str:
    """The description, or the reason why it is invalid."""
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        return "it has no name"
    name, schema = raw["name"], raw.get("inputSchema")
    if not NAME.fullmatch(name):
        return "its name contains characters other than letters, digits, dots, dashes, slashes and underscores"
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return "its schema is not a JSON schema of an object"
    raw_text = raw.get("description")
    text = raw_text if isinstance(raw_text, str) else ""
    try:
        packed = json.dumps([name, text, schema], sort_keys=True)
        cleaned = without_external_refs(schema)
    except (ValueError, RecursionError, TypeError):
        return "its schema is nested too deeply"
    if len(packed) > LONGEST_SCHEMA:
        return f"its description and schema are larger than {LONGEST_SCHEMA >> 10} KB"
    digest = hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return ToolDescription(
        server, name, visible_text(text[:LONGEST_DESCRIPTION]), {**cleaned, "type": "object"}, digest
    )


def without_external_refs(schema: Any, depth: int = 0) -> Any:
    """The schema without references outside itself; ValueError when it is nested too deeply."""
    if depth > DEEPEST_SCHEMA:
        raise ValueError("nested too deeply")
    if isinstance(schema, dict):
        return {
            name: without_external_refs(value, depth + 1)
            for name, value in schema.items()
            if name not in {"$ref", "$dynamicRef", "$schema", "$id"} or (name == "$ref" and is_inside(value))
        }
    if isinstance(schema, list):
        return [without_external_refs(value, depth + 1) for value in schema]
    return visible_text(schema) if isinstance(schema, str) else schema


def is_inside(reference: object) -> bool:
    return isinstance(reference, str) and reference.startswith("#/")


def arguments_of(schema: dict[str, Any]) -> tuple[Argument, ...]:
    """The properties of a schema as arguments, required ones first; unknown types become `value`."""
    properties = schema.get("properties")
    required = schema.get("required")
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    known = properties if isinstance(properties, dict) else {}
    ordered = sorted(known, key=lambda name: name not in needed)
    return tuple(argument_of(name, known[name], required=name in needed) for name in ordered)


def argument_of(name: str, schema: object, *, required: bool) -> Argument:
    """An argument whose values the downstream server validates."""
    return Argument(name, kind_of(schema), help_of(schema), required, text="foreign", low=None, high=None)


def kind_of(schema: object) -> str:
    if not isinstance(schema, dict):
        return "value"
    kind, items = schema.get("type"), schema.get("items")
    if kind == "array":
        return "strings" if isinstance(items, dict) and items.get("type") == "string" else "value"
    return KINDS.get(kind, "value") if isinstance(kind, str) else "value"


def help_of(schema: object) -> str:
    """The description on one line, and the allowed values."""
    if not isinstance(schema, dict):
        return ""
    raw_text = schema.get("description")
    parts = [" ".join(raw_text.split())[:LONGEST_HELP] if isinstance(raw_text, str) else ""]
    allowed = schema.get("enum")
    if isinstance(allowed, list):
        parts.append(f"One of {', '.join(str(one) for one in allowed)[:LONGEST_HELP]}.")
    if kind_of(schema) == "value" and isinstance(schema.get("type"), str):
        parts.append(f"({schema['type']})")
    return " ".join(part for part in parts if part)
