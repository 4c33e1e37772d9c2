"""The sections of the settings and `Settings` itself, the one value that is passed on: pydantic models.

No other package reads settings from the environment or a file: `load` creates a `Settings`, and tests use
`Settings(index=Index(...))`.
The tables that a user names freely are in `entries`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from llmc.base.home import find_home
from llmc.settings.entries import (
    AgentEntry,
    AgentScript,
    Delegate,
    Mcp,
    Provider,
    RedactionRule,
    RemoteEntry,
    RoleEntry,
    RootEntry,
    ToolScript,
)
from llmc.settings.secret import Secret
from llmc.settings.types import (
    At,
    FolderPaths,
    SettingPath,
    SettingsModel,
    Shorthand,
    Text,
    TextLists,
    Texts,
    UserOnly,
    inconsistent,
)

__all__ = [
    "ArtifactSettings",
    "Crew",
    "DaemonSettings",
    "EmbedderSettings",
    "EnvelopeSettings",
    "Index",
    "LedgerSettings",
    "LimitSettings",
    "PrunerProfile",
    "Redaction",
    "Research",
    "Runtime",
    "Server",
    "SessionSettings",
    "Settings",
    "SharedSettings",
    "Shell",
    "WebResearch",
]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class Index(SettingsModel):
    """What is indexed and how soon."""

    # Hand-written source is far smaller; larger files are data or generated, and 2 MiB take 0.4 s to parse.
    max_file_bytes: int = Field(
        default=2 * MIB, ge=KIB, le=GIB, description="Larger files are found by grep and find, but not cut into chunks."
    )
    max_depth: int = Field(default=256, ge=1, le=4_096, description="Folders deeper below a root are not entered.")
    max_files: int = Field(
        default=1_000_000, ge=1, le=100_000_000, description="A walk of a root stops after this many files."
    )
    include: Texts = Field(
        default=(), description="Gitignore-style patterns; if given, only matching files are indexed."
    )
    exclude: Texts = Field(
        default=(),
        description="Gitignore-style patterns of files that are neither indexed nor read, in addition to ignore files.",
    )
    deny: Annotated[Texts, UserOnly()] = Field(
        default=(),
        description="Gitignore-style patterns of files that are never read, besides environment, key and credential "
        "files; `!` allows.",
    )
    hidden: bool = Field(default=True, description="Whether names that begin with a dot are indexed (`.git` never is).")
    debounce_ms: int = Field(default=100, ge=0, le=60_000, description="Changes within this time become one batch.")
    settle_ms: int = Field(
        default=1_000, ge=0, le=600_000, description="A batch waits no longer than this while changes keep coming."
    )
    barrier_ms: int = Field(
        default=200, ge=0, le=10_000, description="How long a query waits for the watcher before it reads from disk."
    )
    # A walk of 30,000 files takes 0.4 s of CPU: 0.05 % of a core at this interval.
    rescan_seconds: int = Field(default=900, ge=0, le=86_400, description="Interval of full walks; 0: never.")
    workers: int = Field(default=0, ge=0, le=64, description="Processes of a large build; 0 depends on the machine.")


class DaemonSettings(SettingsModel):
    """The process that owns the index."""

    idle_minutes: int = Field(default=30, ge=0, le=100_000, description="Exit after this many idle minutes; 0: never.")
    cache_mb: int = Field(
        default=128,
        ge=16,
        le=65_536,
        description="MB for caches: vector indexes, graph facts, replies.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The lowest level that is logged."
    )
    log_bytes: int = Field(default=5 * MIB, ge=16 * KIB, le=GIB, description="A log file is rotated at this size.")
    log_files: int = Field(default=3, ge=0, le=100, description="How many old log files are kept.")


class EmbedderSettings(SettingsModel):
    """How text becomes a vector."""

    kind: Literal["builtin", "hash", "sentence-transformers", "openai", "combined"] = Field(
        default="builtin",
        description="`builtin` ships with llmc, `hash` needs no model, `sentence-transformers` is an extra, `openai` "
        "an endpoint, `combined` is the built-in one together with another.",
    )
    model: Text = Field(
        default="", description="A model folder or name, for the kinds that need one; a hub name may be downloaded."
    )
    endpoint: Text = Field(
        default="", description="Base address of an OpenAI-compatible server, such as `http://localhost:1234/v1`."
    )
    api_key: Secret = Field(default=Secret(), description="Its key; `${VAR}` is taken from the environment.")
    batch: int = Field(default=64, ge=1, le=4_096, description="Texts in one call.")
    dimension: int = Field(default=0, ge=0, le=8_192, description="Length of the vectors; 0 uses the model's own.")
    query_prefix: Text = Field(default="", description="Put before a query, for models that expect one.")
    timeout_ms: int = Field(
        default=30_000,
        ge=100,
        le=600_000,
        description="Time limit of one call to the endpoint, retries included; a query waits at most 10 s.",
    )

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        alternatives = {"openai": ("endpoint",), "sentence-transformers": ("model",), "combined": ("endpoint", "model")}
        wanted = alternatives.get(self.kind, ())
        if wanted and not any(getattr(self, name) for name in wanted):
            raise inconsistent("kind", f'"{self.kind}" needs {" or ".join(f"embedder.{name}" for name in wanted)}')
        return self


class LimitSettings(SettingsModel):
    """How much one query may cost."""

    max_files_read: int = Field(default=50, ge=1, le=100_000, description="Files that a research role may open.")
    max_bytes_read: int = Field(default=MIB, ge=KIB, le=GIB, description="Bytes that a research role may read.")
    max_pattern_chars: int = Field(
        default=1_000, ge=1, le=100_000, description="The longest regular expression, glob, or file name to find."
    )
    max_query_chars: int = Field(
        default=8_000,
        ge=1,
        le=1_000_000,
        description="The longest name, path, target or focus question; a query may be as long as a request.",
    )
    max_list_items: int = Field(
        default=10_000, ge=1, le=1_000_000, description="Maximum number of values in a list argument, such as paths."
    )
    call_timeout_ms: int = Field(
        default=60_000,
        ge=100,
        le=3_600_000,
        description="Time limit of a tool call; commands, models and delegates have their own limits.",
    )
    call_memory_bytes: int = Field(
        default=GIB,
        ge=64 * MIB,
        le=256 * GIB,
        description="A call is stopped if the daemon grows by more than this during it.",
    )
    query_timeout_ms: int = Field(default=2_000, ge=10, le=600_000, description="Time limit of a search or grep.")


class Redaction(SettingsModel):
    """What is redacted."""

    enabled: bool = Field(default=True, description="Whether secrets are replaced in all output.")
    allow: Texts = Field(default=(), description="Gitignore-style patterns of files whose text is not redacted.")
    rules: tuple[RedactionRule, ...] = ()


class EnvelopeSettings(SettingsModel):
    """How a reply fits into a model's context."""

    search_budget: int = Field(default=1_200, ge=50, le=200_000, description="Tokens of a search reply.")
    grep_budget: int = Field(default=1_200, ge=50, le=200_000, description="Tokens of a grep reply.")
    read_budget: int = Field(default=2_000, ge=50, le=200_000, description="Tokens of a read reply.")
    shell_budget: int = Field(default=1_200, ge=50, le=200_000, description="Tokens of a command's output.")
    research_budget: int = Field(default=900, ge=50, le=200_000, description="Tokens of a research report.")
    cap: int = Field(default=8_000, ge=200, le=200_000, description="Longest reply in tokens, whatever the budget.")
    handle_ttl_hours: int = Field(default=24, ge=1, le=8_760, description="Lifetime of a handle.")
    handle_bytes: int = Field(
        default=256 * MIB, ge=MIB, le=64 * GIB, description="Size of all handles; the least used are removed first."
    )
    differential: bool = Field(
        default=True,
        description="Whether a repeated read of an unchanged file is answered in one line, and a repeated search or "
        "grep by its places.",
    )
    numbered: bool = Field(
        default=False,
        description="Whether results are numbered for `read HANDLE:3`, as on a terminal; three tokens each.",
    )
    pruner_url: Annotated[Text, UserOnly()] = Field(
        default="", description="A swe-pruner endpoint for focus questions; empty prunes in process."
    )
    pruner_timeout_ms: Annotated[int, UserOnly()] = Field(
        default=30_000, ge=100, le=300_000, description="Its time limit."
    )


class LedgerSettings(SettingsModel):
    """What calls cost and saved (`llmc stats`); it never leaves the machine."""

    enabled: bool = Field(
        default=True, description="Whether sizes and times of calls are recorded; queries and texts never are."
    )
    days: int = Field(default=90, ge=1, le=3_650, description="Older calls are removed.")
    max_calls: int = Field(
        default=500_000, ge=100, le=50_000_000, description="Beyond this the oldest calls are removed (some 60 MB)."
    )
    client_tokens: int = Field(
        default=25_000,
        ge=100,
        le=10_000_000,
        description="What a client would have shown of a plain tool's reply; savings are counted up to this.",
    )


class PrunerProfile(SettingsModel):
    """The pruner profile."""

    contained: bool = Field(default=True, description="Whether its paths and commands stay inside the roots.")


class Server(SettingsModel):
    """How clients connect."""

    host: Text = Field(default="127.0.0.1", description="Address of the HTTP server.")
    port: int = Field(default=7331, ge=0, le=65_535, description="Port of the HTTP server; 0 chooses a free one.")
    profile: Literal["lean", "research", "pruner", "full"] = Field(
        default="lean", description="Which tools clients list directly."
    )
    agent: Text = Field(default="", description="Serve as this persona: only its tools, its prompt as instructions.")
    agent_arguments: Texts = Field(default=(), description="That persona's arguments, each as `name=value`.")
    without_tools: Texts = Field(default=(), description="Tools that are not offered to any client.")
    max_request_bytes: int = Field(default=4 * MIB, ge=KIB, le=GIB, description="Larger requests are refused.")
    request_seconds: int = Field(
        default=20, ge=1, le=600, description="Time for an HTTP request to arrive and for its reply to be received."
    )
    pruner: PrunerProfile = Field(default_factory=PrunerProfile.model_construct)


class Shell(SettingsModel):
    """Commands that an agent may run."""

    enabled: bool = Field(default=False, description="Whether the shell tool is offered.")
    allow: Texts = Field(
        default=(), description="Further permitted commands: a program, or a program and its first words."
    )
    builtin: bool = Field(
        default=True, description="Whether the built-in list of reading, building and testing commands is permitted."
    )
    allow_shell_syntax: bool = Field(
        default=False, description="Whether `|`, `&&`, `||`, `;` and redirections may join permitted commands."
    )
    contained: bool = Field(
        default=True, description="Whether commands get a private home and the kernel confines them to the roots."
    )
    writable: FolderPaths = Field(
        default=(), description="Further folders that a contained command may read and write."
    )
    environ: Texts = Field(default=(), description="Further variables of the daemon's environment that commands get.")
    seconds: int = Field(default=60, ge=1, le=3_600, description="Time limit of a command.")
    output_bytes: int = Field(
        default=4 * MIB,
        ge=64 * KIB,
        le=GIB,
        description="How many bytes of an output are kept, from its beginning and its end.",
    )


class SessionSettings(SettingsModel):
    """What the server remembers of a conversation."""

    budget_tokens: int = Field(
        default=0,
        ge=0,
        le=1_000_000_000,
        description="Tokens after which a client should start over; it is warned at 75 and 90 %. 0 disables it.",
    )
    ttl_hours: int = Field(default=168, ge=1, le=8_760, description="How long an unused session is kept.")


class ArtifactSettings(SettingsModel):
    """Reports that are written on request."""

    folder: SettingPath = Field(
        default=Path("artifacts"), description="Where they are written; the default is inside the state folder."
    )


class Runtime(SettingsModel):
    """The pool that research roles run in."""

    max_concurrent_tasks: int = Field(default=4, ge=1, le=64, description="Tasks that run at once.")
    max_queued_tasks: int = Field(default=64, ge=0, le=10_000, description="Tasks that may wait; more are refused.")
    default_deadline_ms: int = Field(default=30_000, ge=10, le=3_600_000, description="Time limit of a task.")


class Research(SettingsModel):
    """Questions that several roles answer together."""

    provider: Annotated[Text, UserOnly()] = Field(
        default="",
        description="The entry of `providers` whose model is used for roles that specify none; no model when empty.",
    )
    thoughts: Text = Field(
        default="",
        description="A folder inside the roots with notes and decisions, or a root's name; a root named `thoughts` is "
        "always used.",
    )


class Crew(SettingsModel):
    """The roles of `ask`: beatrice plans, otto searches, rem checks, grace answers; each is an entry of `roles`."""

    provider: Annotated[Text, UserOnly()] = Field(
        default="",
        description="The entry of `providers` whose model is used for roles of the crew that specify none; when empty, "
        "that of research.",
    )
    max_steps: Annotated[int, UserOnly()] = Field(default=8, ge=1, le=50, description="Tool calls for one question.")
    seconds: Annotated[int, UserOnly()] = Field(default=120, ge=1, le=3_600, description="Time limit of one question.")
    max_tokens: Annotated[int, UserOnly()] = Field(
        default=40_000, ge=100, le=10_000_000, description="Tokens that its models may read and write together."
    )


class WebResearch(SettingsModel):
    """Research outside the roots."""

    enabled: bool = Field(default=False, description="Whether any tool may use the network.")
    endpoint: Text = Field(
        default="", description="Address of the search service; `{query}` is replaced, otherwise `?q=` is added."
    )
    api_key: Secret = Field(
        default=Secret(), description="Its key, sent as a bearer token; `${VAR}` is taken from the environment."
    )
    timeout_ms: int = Field(default=10_000, ge=100, le=120_000, description="Time limit of one request in all.")
    max_bytes: int = Field(default=MIB, ge=KIB, le=64 * MIB, description="A larger reply is refused.")
    max_results: int = Field(default=8, ge=1, le=50, description="Results that are shown.")


class SharedSettings(SettingsModel):
    """An index in object storage that many machines publish to and read."""

    url: Text = Field(
        default="",
        description="Where it is: `s3://bucket/prefix`, `gs://…`, `az://container/prefix`, or a folder. Credentials "
        "come from the environment.",
    )
    keep_days: int = Field(
        default=30,
        ge=0,
        le=36_500,
        description="`llmc shared optimize` drops refs that were not published for this many days, except the default "
        "one of each repository; 0 keeps all.",
    )
    tokens: Text = Field(
        default="",
        description="For `llmc serve --shared`: the file of tokens and what each may read (`llmc shared token`).",
    )
    issuer: Text = Field(default="", description="For `llmc serve --shared`: the issuer of JWTs that callers may send.")
    audience: Text = Field(default="", description="The audience that JWTs must name; the URL of this server if empty.")
    jwks_url: Text = Field(
        default="", description="Where the issuer's keys are; found through its OpenID configuration if empty."
    )
    groups_claim: Text = Field(default="groups", description="The claim of a JWT that lists the caller's groups.")
    groups: TextLists = Field(
        default_factory=dict,
        description="Repositories by group, as patterns; the group `*` is everyone with a valid JWT.",
    )
    resource_url: Text = Field(
        default="", description="The URL by which clients reach the server, if a proxy is in front of it."
    )
    audit_log: Text = Field(
        default="", description="File to which a server appends one line of JSON for each call: who, what, from where."
    )


def _state_folder() -> Path:
    return Path(find_home(os.environ).path)


class Settings(SettingsModel):
    """All settings. The roots are empty if none is configured and the current folder cannot be one."""

    home: SettingPath = Field(
        default_factory=_state_folder,
        description="The state folder. Only LLMC_HOME sets it, so that all clients agree.",
    )
    trust: Annotated[FolderPaths, UserOnly()] = Field(
        default=(),
        description="Workspace folders whose settings file may set everything; `/*` at the end: every folder below.",
    )
    roots: Annotated[tuple[RootEntry, ...], Shorthand("path")] = ()
    index: Index = Field(default_factory=Index.model_construct)
    daemon: Annotated[DaemonSettings, UserOnly()] = Field(default_factory=DaemonSettings.model_construct)
    embedder: Annotated[EmbedderSettings, UserOnly()] = Field(default_factory=EmbedderSettings.model_construct)
    limits: LimitSettings = Field(default_factory=LimitSettings.model_construct)
    redaction: Annotated[Redaction, UserOnly()] = Field(default_factory=Redaction.model_construct)
    envelope: EnvelopeSettings = Field(default_factory=EnvelopeSettings.model_construct)
    ledger: Annotated[LedgerSettings, UserOnly()] = Field(default_factory=LedgerSettings.model_construct)
    server: Annotated[Server, UserOnly()] = Field(default_factory=Server.model_construct)
    shared: Annotated[SharedSettings, UserOnly()] = Field(default_factory=SharedSettings.model_construct)
    remotes: Annotated[tuple[RemoteEntry, ...], UserOnly()] = ()
    shell: Annotated[Shell, UserOnly()] = Field(default_factory=Shell.model_construct)
    providers: Annotated[Mapping[str, Provider], UserOnly()] = Field(default_factory=dict)
    roles: Annotated[Mapping[str, RoleEntry], UserOnly()] = Field(default_factory=dict)
    agents: Mapping[str, AgentEntry] = Field(default_factory=dict)
    agent_scripts: Annotated[Mapping[str, AgentScript], UserOnly(), At("agents.script")] = Field(default_factory=dict)
    mcps: Annotated[Mapping[str, Mcp], UserOnly()] = Field(default_factory=dict)
    delegates: Annotated[Mapping[str, Delegate], UserOnly()] = Field(default_factory=dict)
    tool_scripts: Annotated[Mapping[str, ToolScript], UserOnly(), At("tools.script")] = Field(default_factory=dict)
    session: SessionSettings = Field(default_factory=SessionSettings.model_construct)
    artifacts: Annotated[ArtifactSettings, UserOnly()] = Field(default_factory=ArtifactSettings.model_construct)
    runtime: Runtime = Field(default_factory=Runtime.model_construct)
    research: Research = Field(default_factory=Research.model_construct)
    crew: Crew = Field(default_factory=Crew.model_construct)
    web_research: Annotated[WebResearch, UserOnly()] = Field(default_factory=WebResearch.model_construct)
