"""The tables that a user names freely: roots, providers, roles, agents, mcps, delegates and their parts.

These are pydantic models; `loader` reads each entry on its own, so that one invalid entry does not affect the others.
`VENDORS` are the providers that a delegate may use without an entry; their keys come from the usual variables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 - pydantic resolves the annotations of properties
from typing import Final, Literal, NamedTuple, Self

from pydantic import ConfigDict, Field, model_validator

from llmc.settings.secret import Secret
from llmc.settings.types import Names, Object, Secrets, SettingPath, SettingsModel, Text, TextLists, Texts, inconsistent

__all__ = [
    "ADDRESS_VARIABLES",
    "VENDORS",
    "AgentArgumentEntry",
    "AgentEntry",
    "AgentScript",
    "AgentSearchEntry",
    "Delegate",
    "Mcp",
    "Provider",
    "RedactionRule",
    "RemoteEntry",
    "RoleEntry",
    "RootEntry",
    "ToolScript",
]

# The environment variables for another address that the vendors' libraries use, by protocol.
ADDRESS_VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}


class Vendor(NamedTuple):
    """`kind` is the protocol; an empty `base_url` is the default of the vendor's library."""

    kind: Literal["openai", "anthropic", "google"]
    base_url: str
    variables: tuple[str, ...]


VENDORS: dict[str, Vendor] = {
    "openai": Vendor("openai", "", ("OPENAI_API_KEY",)),
    "anthropic": Vendor("anthropic", "", ("ANTHROPIC_API_KEY",)),
    "google": Vendor("google", "", ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY")),
    "mistral": Vendor("openai", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "groq": Vendor("openai", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "deepseek": Vendor("openai", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "xai": Vendor("openai", "https://api.x.ai/v1", ("XAI_API_KEY",)),
    "openrouter": Vendor("openai", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "ollama": Vendor("openai", "http://127.0.0.1:11434/v1", ()),
    "lmstudio": Vendor("openai", "http://127.0.0.1:1234/v1", ()),
}


class RootEntry(SettingsModel):
    """A folder that may be read; a plain string is its path."""

    path: SettingPath = Field(description="The folder, relative to the file that names it; `~` is the home folder.")
    name: Text = Field(default="", description="Its name in replies; the folder's own name when empty.")
    include: Texts = Field(
        default=(), description="Gitignore-style patterns; if given, only matching files are indexed."
    )
    exclude: Texts = Field(default=(), description="Gitignore-style patterns of files that are not indexed.")


HTTP_ADDRESS: Final = re.compile(r"https?://[^/\s]")


class RemoteEntry(SettingsModel):
    """A server of a shared index (`llmc serve --shared`) that is queried in addition to the local roots."""

    name: Text = Field(min_length=1, description="Its name in replies.")
    url: Text = Field(min_length=1, description="Its address, as in https://llmc.example.com.")
    token: Secret = Field(default=Secret(), description="Your token or JWT; `${VAR}` is taken from the environment.")
    repositories: Texts = Field(
        default=(), description="Patterns of the repositories to query; all that you may read if empty."
    )
    timeout_ms: int = Field(
        default=1_500,
        ge=50,
        le=30_000,
        description="How long a reply waits for the server; after that it has only local results.",
    )

    @model_validator(mode="after")
    def _url_is_http(self) -> Self:
        if not HTTP_ADDRESS.match(self.url):
            raise inconsistent("url", "must be an http or https address", "as in https://llmc.example.com")
        return self


class RedactionRule(SettingsModel):
    """An additional rule for what is redacted."""

    name: Text = Field(min_length=1, description="Shown in place of the secret, as in `[redacted:name]`.")
    pattern: Text = Field(
        min_length=1, description="RE2 expression; its first group, or else the whole match, is redacted."
    )


class Provider(SettingsModel):
    """A model endpoint."""

    kind: Literal["openai", "anthropic", "google"] = Field(default="openai", description="The protocol it speaks.")
    base_url: Text = Field(default="", description="Its address; the vendor's own when empty.")
    api_key: Secret = Field(default=Secret(), description="Its key; `${VAR}` is taken from the environment.")
    model: Text = Field(default="", description="The model for roles that specify none.")
    timeout_ms: int = Field(default=60_000, ge=100, le=600_000, description="Time limit of one answer.")
    max_concurrent: int = Field(default=2, ge=1, le=64, description="How many requests may run at once.")
    structured: Literal["prompt", "schema"] = Field(
        default="prompt",
        description="How the format of an answer is requested: in the `prompt`, which works with every model, or by a "
        "JSON `schema` that the server enforces, which helps small models but gives them no tools.",
    )


class RoleEntry(SettingsModel):
    """Which model plays a role of the research pipeline (locator, analyzer, pattern_finder) or of the crew.

    With a `base`, the entry defines a role of your own: it works like its base, within its own paths and under its
    name.
    """

    provider: Text = Field(default="", description="Name of an entry in `providers`; without a model when empty.")
    model: Text = Field(default="", description="The model; the provider's when empty.")
    system_prompt: Text = Field(default="", description="Replaces the role's own prompt.")
    max_tokens: int = Field(default=1_024, ge=1, le=65_536, description="Longest answer in tokens.")
    temperature: float = Field(default=0.0, ge=0, le=2, description="Randomness of the answers; 0 is the least.")
    base: Literal["", "locator", "analyzer", "pattern_finder", "thoughts_locator", "thoughts_analyzer"] = Field(
        default="", description="The built-in role that a role of your own is based on."
    )
    paths: Texts = Field(default=(), description="Gitignore-style patterns; if given, it only reads matching files.")
    tools: Texts = Field(default=(), description="The tools of its base that it may use; all if empty.")
    max_files_read: int = Field(
        default=0, ge=0, le=100_000, description="Files that it may open; 0 is the general limit."
    )
    max_bytes_read: int = Field(
        default=0, ge=0, le=1 << 30, description="Bytes that it may read; 0 is the general limit."
    )
    deadline_ms: int = Field(default=0, ge=0, le=3_600_000, description="Its time limit; 0 is the general one.")


class AgentArgumentEntry(SettingsModel):
    """An argument of a persona."""

    name: Text = Field(min_length=1, description="Its name.")
    description: Text = Field(default="", description="Shown where the persona is chosen.")
    required: bool = Field(default=False, description="Whether it must be given.")
    values: Texts = Field(default=(), description="Values that are suggested.")
    complete: Literal["", "folders", "files"] = Field(default="", description="Suggest these of the roots instead.")


class AgentSearchEntry(SettingsModel):
    """Text to insert before the conversation: results of a search, or documents of the project."""

    search: Text = Field(
        default="",
        description="The query; `{name}` is replaced by that argument. With `documents`, it selects passages of them.",
    )
    documents: Names = Field(
        default=(),
        description="Documents by role: readme, contributing, start, architecture, decisions, runbooks, style.",
    )
    limit: int = Field(default=3, ge=1, le=50, description="Maximum number of passages.")
    budget: int = Field(default=400, ge=16, le=8_000, description="Token budget.")

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.search and not self.documents:
            raise inconsistent("", "search is missing", "an entry of context has search, documents or both")
        return self


class AgentEntry(SettingsModel):
    """A persona: prompt, permitted tools, initial context."""

    description: Text = Field(default="", description="One line for the list of personas.")
    tools: Texts = Field(default=(), description="The tools that it may use; all when empty.")
    system_prompt: Text = Field(min_length=1, description="Its instructions.")
    arguments: tuple[AgentArgumentEntry, ...] = ()
    context: tuple[AgentSearchEntry, ...] = ()


class AgentScript(SettingsModel):
    """A persona written in Lua. Further keys are passed to the script as its `config`."""

    model_config = ConfigDict(extra="allow")

    path: SettingPath = Field(description="The script, relative to the file that names it.")
    timeout: int = Field(default=30, ge=1, le=600, description="Time limit in seconds.")

    @property
    def config(self) -> Mapping[str, object]:
        return self.model_extra or {}


class ToolScript(AgentScript):
    """A tool written in Lua. Further keys are passed to the script as its `config`; `${VAR}` is expanded in them."""


class Mcp(SettingsModel):
    """A downstream MCP server."""

    command: Text = Field(default="", description="The program to start (stdio).")
    args: Texts = Field(default=(), description="Its arguments.")
    env: Secrets = Field(default_factory=dict, description="Its environment; `${VAR}` is taken from ours.")
    transport: Literal["stdio", "http", "streamable-http", "sse"] = Field(
        default="stdio", description="How it is reached."
    )
    url: Text = Field(default="", description="Its address (http, sse).")
    headers: Secrets = Field(default_factory=dict, description="Sent with each request; `${VAR}` is expanded.")
    expose: Names = Field(default=(), description="Tools that clients may call directly, with budgets; `*` is all.")
    enabled: bool = Field(default=True, description="Whether it is started.")

    @model_validator(mode="after")
    def _is_reachable(self) -> Self:
        needed = "command" if self.transport == "stdio" else "url"
        if not getattr(self, needed):
            raise inconsistent("", f"{needed} is missing", f"transport {self.transport} needs it")
        return self


class Delegate(SettingsModel):
    """A custom tool: one call runs a model with a few downstream tools."""

    description: Text = Field(min_length=1, description="The purpose of the tool, for the calling model.")
    arguments: Object = Field(default_factory=dict, description="JSON schema of its arguments.")
    internal_tools: TextLists = Field(
        min_length=1, description="For each server in `mcps` (or `llmc`) the tools that the model may call."
    )
    provider: Text = Field(min_length=1, description="Name of an entry in `providers`, or a vendor.")
    model: Text = Field(min_length=1, description="The model.")
    system_prompt: Text = Field(default="", description="The model's instructions; general ones when empty.")
    max_steps: int = Field(default=10, ge=1, le=100, description="Maximum rounds of tool calls.")
    timeout_seconds: int = Field(default=60, ge=1, le=3_600, description="Time limit of one call.")
    max_tokens: int = Field(
        default=100_000, ge=1_000, le=100_000_000, description="Tokens that the model may read and write in one call."
    )
    parallel: int = Field(default=4, ge=1, le=32, description="Tools that it may use at once.")
    listed: bool = Field(
        default=True, description="Whether clients list it; otherwise they call it by name through `llmc`."
    )

    @model_validator(mode="after")
    def _arguments_are_a_schema(self) -> Self:
        if self.arguments and not _is_object_schema(self.arguments):
            reason = "must be a JSON schema of an object"
            raise inconsistent("arguments", reason, "as in {type = 'object', properties = {...}}")
        return self


def _is_object_schema(arguments: Mapping[str, object]) -> bool:
    required = arguments.get("required", [])
    properties = arguments.get("properties", {})
    return (
        arguments.get("type", "object") == "object"
        and isinstance(properties, dict)
        and all(isinstance(each, dict) for each in properties.values())
        and isinstance(required, list)
        and all(isinstance(each, str) for each in required)
    )
