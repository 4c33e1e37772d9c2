"""A tool written in Lua (`[tools.script.NAME]`): arguments in, text or a table out.

The script describes its arguments; they become a JSON schema, which clients see and calls are checked against. It runs
in the sandbox of persona scripts, and all that it can reach is the read-only `context` (search, get, sources,
documents), so the tool is marked read-only. A script that fails to describe itself is not listed; calling it gives the
reason. Values of `${VAR}` in its settings are removed from whatever it returns.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.base.errors import AgentError, ConfigError, LlmcError, ToolExecutionError
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.clean import clean_text
from llmc.envelope.phrases import plural
from llmc.envelope.redact.redactor import redactor_for
from llmc.extend.delegates.content import lines_of
from llmc.extend.delegates.delegate import SIZE_ARGUMENTS, check_arguments
from llmc.extend.delegates.description import arguments_of
from llmc.extend.personas.context import AgentContext
from llmc.extend.personas.lua_script import LuaScript, table_list, texts
from llmc.settings.secret import expand, hide_secrets
from llmc.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.settings import Settings, ToolScript
    from llmc.tool import ToolRequest

__all__ = ["ScriptTool"]

TYPES = ("string", "integer", "number", "boolean", "array", "object")
MOST_ARGUMENTS = 50
LONGEST_DESCRIPTION = 2_000
VARIABLE = re.compile(r"\$\{([^}]*)\}")


@dataclass(frozen=True, slots=True)
class ScriptTool:
    """One script of one client; `environ` has the variables that its settings refer to."""

    name: str
    entry: ToolScript
    settings: Settings
    environ: Mapping[str, str]

    def tool(self) -> Tool:
        """The tool as clients list it; AgentError if the script does not describe itself properly."""
        table = self._script.describe()
        description = table.get("description")
        if not isinstance(description, str) or not description.strip():
            raise AgentError(f"{self.name} is invalid", reason="tool.description must be a string that is not empty")
        given = table_list(self.name, table, "arguments")
        if len(given) > MOST_ARGUMENTS:
            raise AgentError(f"{self.name} is invalid", reason=f"it has more than {MOST_ARGUMENTS} arguments")
        schema = self._clean(schema_of(self.name, given))
        return self._tool(self._clean(description.strip())[:LONGEST_DESCRIPTION], schema)

    def callable_tool(self) -> Tool:
        """`tool`, or for an invalid script one that reports the reason when it is called."""
        try:
            return self.tool()
        except LlmcError:
            return self._tool("", {"type": "object", "additionalProperties": True})

    def missing(self) -> str:
        """Why the script cannot be used; empty when it can."""
        try:
            self.tool()
        except LlmcError as error:
            return str(self._clean(error.without_hint))
        return ""

    def run(self, request: ToolRequest) -> Envelope:
        context = AgentContext(request.workspace)
        printed: list[str] = []
        secrets: list[str] = []
        config = expanded(dict(self.entry.config), self.environ, secrets)
        try:
            schema = self.tool().input_schema or {}
            args = with_defaults(schema, request.args)
            check_arguments(self.name, schema, args)
            result = self._script.run(args, config, self.entry.timeout, context, printed)
        except AgentError as error:
            message, reason = hidden((error.message, error.reason), secrets)
            why = f"{message}: {reason}" if reason else message
            raise ToolExecutionError(f"{self.name} failed", reason=why, hint=hidden(error.hint, secrets)) from None
        if not isinstance(result, str | dict | list):
            raise ToolExecutionError(
                f"{self.name} failed", reason="it returned neither text nor a table", hint="Return a string or a table."
            )
        result = hidden(result, secrets)
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=1, sort_keys=True)
        lines = lines_of(text)
        found = f"{self.name} · {plural(len(lines), 'line')}" if lines else f"{self.name} · empty"
        groups = (Group("", (Item(tuple(Row(line) for line in lines)),)),) if lines else ()
        data = {"text": text, "printed": hidden(printed, secrets)}
        data |= {} if isinstance(result, str) else {"result": result}
        return Envelope(self.name, found, groups, tuple(context.notes), data=data, unit="line")

    @property
    def _script(self) -> LuaScript:
        return LuaScript("tool", self.name, self.entry.path)

    def _tool(self, summary: str, schema: dict[str, Any]) -> Tool:
        own_arguments = arguments_of(schema)
        taken = {one.name for one in own_arguments}
        return Tool(
            name=self.name,
            summary=summary,
            run=self.run,
            own_seconds=lambda _: self.entry.timeout,
            arguments=(*own_arguments, *(one for one in SIZE_ARGUMENTS if one.name not in taken)),
            budget="read_budget",
            profiles=frozenset({"lean", "research", "full"}),
            topics=frozenset(),
            input_schema=schema,
        )

    def _clean(self, value: Any) -> Any:
        """Models read it, so it is redacted and hidden characters are made visible."""
        if isinstance(value, str):
            return clean_text(value, redactor_for(self.settings.redaction))
        if isinstance(value, dict):
            return {name: self._clean(inner) for name, inner in value.items()}
        return [self._clean(inner) for inner in value] if isinstance(value, list) else value


def schema_of(name: str, given: list[Any]) -> dict[str, Any]:
    """The JSON schema of `tool.arguments`."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for one in given:
        argument = one.get("name") if isinstance(one, dict) else None
        if not isinstance(argument, str) or not argument:
            raise AgentError(f"{name} is invalid", reason="an argument has no name")
        if argument in properties:
            raise AgentError(f"{name} is invalid", reason=f"two arguments are named {argument!r}")
        properties[argument] = property_of(name, argument, one)
        required += [argument] if one.get("required") is True else []
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def property_of(name: str, argument: str, table: dict[str, Any]) -> dict[str, Any]:
    kind = table.get("type", "string")
    if kind not in TYPES:
        reason = f"the type of {argument} must be one of {', '.join(TYPES)}"
        raise AgentError(f"{name} is invalid", reason=reason)
    schema: dict[str, Any] = {"type": kind}
    if kind == "array":
        schema["items"] = {"type": "string"}
    if table.get("description"):
        schema["description"] = str(table["description"])
    if values := texts(name, table.get("values"), f"values of {argument}"):
        schema["enum"] = list(values)
    if table.get("default") is not None:
        schema["default"] = table["default"]
        check_default(name, argument, schema)
    return schema


def check_default(name: str, argument: str, schema: dict[str, Any]) -> None:
    try:
        check_arguments(name, {"type": "object", "properties": {argument: schema}}, {argument: schema["default"]})
    except LlmcError as error:
        raise AgentError(f"{name} is invalid", reason=f"the default of {argument}: {error.reason}") from None


def with_defaults(schema: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The script's own arguments, without those that llmc adds; what was not given has its default."""
    known: dict[str, Any] = schema.get("properties", {})
    defaults = {name: one["default"] for name, one in known.items() if "default" in one}
    return defaults | {name: value for name, value in given.items() if name in known and value is not None}


def expanded(value: Any, environ: Mapping[str, str], secrets: list[str]) -> Any:
    """The configuration with `${VAR}` replaced in every string; the values of the variables are added to `secrets`."""
    if isinstance(value, str):
        secrets += [environ.get(name, "") for name in VARIABLE.findall(value)]
        try:
            return expand(value, environ).reveal()
        except ConfigError as error:
            error.message = "a variable of the script's settings is not set"
            raise
    if isinstance(value, dict):
        return {name: expanded(inner, environ, secrets) for name, inner in value.items()}
    return [expanded(inner, environ, secrets) for inner in value] if isinstance(value, list | tuple) else value


def hidden(value: Any, secrets: list[str]) -> Any:
    """The value without the secrets, at any depth."""
    if isinstance(value, str):
        return hide_secrets(value, secrets)
    if isinstance(value, dict):
        return {hidden(name, secrets): hidden(inner, secrets) for name, inner in value.items()}
    return [hidden(inner, secrets) for inner in value] if isinstance(value, list | tuple) else value
