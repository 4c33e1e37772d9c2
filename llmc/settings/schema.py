"""The settings as a JSON schema, for editors and for programs that write settings (`llmc config schema`).

pydantic generates it; this keeps it to draft-07, which the TOML and JSON extensions of the common editors understand,
and describes files as they are written: `agents.script` inside `agents`, `tools.script` inside `tools`, a string for a
root, no `home`.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from llmc.settings.fields import settings_of
from llmc.settings.sections import Settings

__all__ = ["json_schema"]

_STRING: dict[str, Any] = {"type": "string"}


class _Generator(GenerateJsonSchema):
    """Names are the property names already, so titles only repeat them; secrets have no default worth showing."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False

    def encode_default(self, dft: Any) -> Any:
        return dft.model_dump(mode="json") if isinstance(dft, BaseModel) else super().encode_default(dft)


def json_schema() -> dict[str, Any]:
    schema = TypeAdapter(Settings).json_schema(schema_generator=_Generator, ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs")
    for each in definitions.values():
        each.pop("title", None)
    properties = schema["properties"]
    del properties["home"]  # only the environment sets it
    for name, setting in settings_of(Settings).items():
        if setting.shorthand:
            properties[name]["items"] = {"anyOf": [_STRING, properties[name]["items"]]}
        if setting.at:
            above, _, key = setting.at.partition(".")
            properties.setdefault(above, {}).setdefault("properties", {})[key] = properties.pop(name)
    properties["$schema"] = _STRING
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "llmc settings"}
    return {**head, **schema, "definitions": definitions}
