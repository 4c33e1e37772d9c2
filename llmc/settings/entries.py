"""The tables that a user names freely: roots, providers, roles, agents, mcps, delegates and their parts.

Names and defaults follow the documents that the product was ordered with. What an entry does is the business of the
part that reads it; here stands what may be written.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmc.settings.record import FrozenRecord, record
from llmc.settings.rows import ValueKind, rest, row, tables
from llmc.settings.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "AgentArgumentEntry",
    "AgentEntry",
    "AgentScript",
    "AgentSearchEntry",
    "Delegate",
    "Mcp",
    "Provider",
    "RedactionRule",
    "RoleEntry",
    "RootEntry",
]


@record
class RootEntry(FrozenRecord):
    """A folder that may be read; a plain text stands for its path."""

    path: Path = row(Path(), "The folder, relative to the file that names it; `~` is the home folder.", required=True)
    name: str = row("", "What replies call it; the folder's own name when empty.")
    include: tuple[str, ...] = row((), "Patterns in gitignore style; when given, only what matches is indexed.")
    exclude: tuple[str, ...] = row((), "Patterns in gitignore style that are left out.")


@record
class RedactionRule(FrozenRecord):
    """A rule of your own for what must not leave."""

    name: str = row("", "Shown in the place of the secret, as in `[redacted:name]`.", required=True)
    pattern: str = row("", "RE2 expression; its first group, or else the whole match, is redacted.", required=True)


@record
class Provider(FrozenRecord):
    """A model endpoint."""

    kind: str = row("openai", "Which protocol it speaks.", choices=("openai", "anthropic", "google"))
    base_url: str = row("", "Where it listens; empty is the vendor's own address.")
    api_key: Secret = row(Secret(), "Its key; `${VAR}` is taken from the environment.")
    model: str = row("", "The model that is used when a role names none.")
    timeout_ms: int = row(60_000, "How long one answer may take.", low=100, high=600_000)
    max_concurrent: int = row(2, "How many requests may run at once.", low=1, high=64)
    structured: str = row(
        "prompt",
        "How the form of an answer is asked for: in the `prompt`, which every model takes, or by a JSON `schema` that "
        "the server enforces, which holds small models to it; they then get no tools.",
        choices=("prompt", "schema"),
    )


@record
class RoleEntry(FrozenRecord):
    """Which model plays a role of the research pipeline (locator, analyzer, pattern_finder) or of the crew.

    With a `base`, a role of your own: it does what its base does, where it is told to look, under its own name.
    """

    provider: str = row("", "Name of an entry in `providers`; empty means without a model.")
    model: str = row("", "The model; empty is the provider's.")
    system_prompt: str = row("", "Replaces the role's own prompt.")
    max_tokens: int = row(1_024, "The longest answer.", low=1, high=65_536)
    temperature: float = row(0.0, "Spread of the answers; 0 repeats itself.", low=0, high=2)
    base: str = row(
        "",
        "The built-in role that a role of your own works as.",
        choices=("", "locator", "analyzer", "pattern_finder", "thoughts_locator", "thoughts_analyzer"),
    )
    paths: tuple[str, ...] = row((), "Globs in gitignore style; when given, it looks nowhere else.")
    tools: tuple[str, ...] = row((), "Those of its base's tools that it may use; empty means all.")
    max_files_read: int = row(0, "Files that it may open; 0 is the general limit.", low=0, high=100_000)
    max_bytes_read: int = row(0, "Bytes that it may read; 0 is the general limit.", low=0, high=1 << 30)
    deadline_ms: int = row(0, "It is stopped after this; 0 is the general deadline.", low=0, high=3_600_000)


@record
class AgentArgumentEntry(FrozenRecord):
    """A value that a persona asks for."""

    name: str = row("", "Its name.", required=True)
    description: str = row("", "Shown where the persona is picked.")
    required: bool = row(False, "Whether the persona cannot do without it.")
    values: tuple[str, ...] = row((), "What is offered where it is typed.")
    complete: str = row("", "Offer these of the roots instead.", choices=("", "folders", "files"))


@record
class AgentSearchEntry(FrozenRecord):
    """A search whose results are put in front of the conversation."""

    search: str = row("", "The query; `{name}` is replaced by that argument.", required=True)
    limit: int = row(3, "How many passages.", low=1, high=50)
    budget: int = row(400, "How many tokens.", low=16, high=8_000)


@record
class AgentEntry(FrozenRecord):
    """A persona: prompt, scoped tools, primed context."""

    description: str = row("", "One line for the list of personas.")
    tools: tuple[str, ...] = row((), "The tools that it sees; empty means all.")
    system_prompt: str = row("", "What it is told to be.", required=True)
    arguments: tuple[AgentArgumentEntry, ...] = tables(AgentArgumentEntry)
    context: tuple[AgentSearchEntry, ...] = tables(AgentSearchEntry)


@record
class AgentScript(FrozenRecord):
    """A persona written in Lua."""

    path: Path = row(Path(), "The script, relative to the file that names it.", required=True)
    timeout: int = row(30, "Seconds until it is stopped.", low=1, high=600)
    config: Mapping[str, object] = rest("Handed to the script as its `config`.")


@record
class Mcp(FrozenRecord):
    """A downstream MCP server."""

    command: str = row("", "The program to start (stdio).")
    args: tuple[str, ...] = row((), "Its arguments.")
    env: Mapping[str, Secret] = row({}, "Its environment; `${VAR}` is taken from ours.", kind=ValueKind.SECRETS)
    transport: str = row("stdio", "How it is reached.", choices=("stdio", "http", "streamable-http", "sse"))
    url: str = row("", "Where it listens (http, sse).")
    headers: Mapping[str, Secret] = row({}, "Sent with each request; `${VAR}` is expanded.", kind=ValueKind.SECRETS)
    expose: tuple[str, ...] = row(
        (), "Tools that are offered to clients as they are, enveloped; `*` is all.", kind=ValueKind.NAMES
    )
    enabled: bool = row(True, "Whether it is started.")


@record
class Delegate(FrozenRecord):
    """A tool of your own: a model with a few downstream tools behind one call."""

    description: str = row("", "What the tool is for, as the calling model reads it.", required=True)
    arguments: Mapping[str, object] = row({}, "JSON schema of its arguments.", kind=ValueKind.OBJECT)
    internal_tools: Mapping[str, tuple[str, ...]] = row(
        {},
        "For each server in `mcps` (or `llmc`) the tools that the model may call.",
        required=True,
        kind=ValueKind.LISTS,
    )
    provider: str = row("", "Name of an entry in `providers`, or a vendor.", required=True)
    model: str = row("", "The model.", required=True)
    system_prompt: str = row("", "What the model is told; a general text when empty.")
    max_steps: int = row(10, "How many rounds of tool calls.", low=1, high=100)
    timeout_seconds: int = row(60, "How long one call may take.", low=1, high=3_600)
    max_tokens: int = row(100_000, "Tokens that the model may read and write in one call.", low=1_000, high=100_000_000)
    parallel: int = row(4, "Tools that it may use at once.", low=1, high=32)
    listed: bool = row(True, "Whether clients list it; else they reach it by its name, through `llmc`.")
