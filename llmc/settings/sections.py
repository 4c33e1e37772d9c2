"""The sections of the settings and `Settings` itself, the one value that is passed on.

Nothing below reads the environment or a file: `load` makes a `Settings`, or a test writes `Settings(index=Index(...))`.
The tables that a user names freely stand in `entries`.
"""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from llmc.base.home import find_home
from llmc.settings.entries import (
    AgentEntry,
    AgentScript,
    Delegate,
    Mcp,
    Provider,
    RedactionRule,
    RoleEntry,
    RootEntry,
)
from llmc.settings.record import FrozenRecord, record
from llmc.settings.rows import SettingRow, ValueKind, entries, row, section, tables
from llmc.settings.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    "Shell",
    "WebResearch",
]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@record
class Index(FrozenRecord):
    """What is indexed and how soon."""

    # Hand-written source stays far below; what is larger is data or generated, and 2 MiB is 0.4 s of parsing.
    max_file_bytes: int = row(
        2 * MIB, "Files above this are still found by grep and find, but not cut into chunks.", low=KIB, high=GIB
    )
    max_depth: int = row(256, "Folders deeper than this below a root are not entered.", low=1, high=4_096)
    max_files: int = row(1_000_000, "At most this many files of a root.", low=1, high=100_000_000)
    include: tuple[str, ...] = row((), "Patterns in gitignore style; when given, only what matches is indexed.")
    exclude: tuple[str, ...] = row(
        (), "Patterns in gitignore style, besides the ignore files, that are neither indexed nor read."
    )
    deny: tuple[str, ...] = row(
        (),
        "Patterns in gitignore style that are never read, besides environment, key and credential files; `!` allows.",
        personal=True,
    )
    hidden: bool = row(True, "Whether names that begin with a dot are indexed (`.git` never is).")
    debounce_ms: int = row(100, "Changes within this time become one batch.", low=0, high=60_000)
    settle_ms: int = row(1_000, "A batch waits no longer than this while changes keep coming.", low=0, high=600_000)
    barrier_ms: int = row(200, "How long a query waits for the watcher before it reads from disk.", low=0, high=10_000)
    # A walk of 30,000 files takes 0.4 s of CPU: 0.05 % of a core at this pace.
    rescan_seconds: int = row(900, "A walk over all stamps as often as this; 0 is never.", low=0, high=86_400)
    workers: int = row(0, "Processes of a large build; 0 takes what the machine has.", low=0, high=64)


@record
class DaemonSettings(FrozenRecord):
    """The process that owns the index."""

    idle_minutes: int = row(30, "It leaves after this long without a client; 0 is never.", low=0, high=100_000)
    log_level: str = row("info", "The least that is logged.", choices=("debug", "info", "warning", "error"))
    log_bytes: int = row(5 * MIB, "A log file is turned over at this size.", low=16 * KIB, high=GIB)
    log_files: int = row(3, "How many old log files are kept.", low=0, high=100)


@record
class EmbedderSettings(FrozenRecord):
    """How text becomes a vector."""

    kind: str = row(
        "builtin",
        "`builtin` ships with llmc, `hash` needs no model, `sentence-transformers` is an extra, `openai` an endpoint, "
        "`combined` is the built-in one together with another.",
        choices=("builtin", "hash", "sentence-transformers", "openai", "combined"),
    )
    model: str = row("", "A model folder or name, for the kinds that need one; a hub name may be downloaded.")
    endpoint: str = row("", "Base address of an OpenAI-compatible server, such as `http://localhost:1234/v1`.")
    api_key: Secret = row(Secret(), "Its key; `${VAR}` is taken from the environment.")
    batch: int = row(64, "Texts for one call.", low=1, high=4_096)
    dimension: int = row(0, "Length of the vectors; 0 asks the model.", low=0, high=8_192)
    query_prefix: str = row("", "Put in front of a query, for models that want one.")
    timeout_ms: int = row(
        30_000,
        "How long one call to the endpoint may take, retries included; a query waits at most 10 s.",
        low=100,
        high=600_000,
    )


@record
class LimitSettings(FrozenRecord):
    """How much one question may cost."""

    max_files_read: int = row(50, "Files that a research role may open.", low=1, high=100_000)
    max_bytes_read: int = row(MIB, "Bytes that a research role may read.", low=KIB, high=GIB)
    max_pattern_chars: int = row(
        1_000, "The longest regular expression, glob, or file name to find.", low=1, high=100_000
    )
    max_query_chars: int = row(
        8_000,
        "The longest name, path, target or focus question; a query may be as long as a request.",
        low=1,
        high=1_000_000,
    )
    max_list_items: int = row(10_000, "The most values of one list argument, such as paths.", low=1, high=1_000_000)
    call_timeout_ms: int = row(
        60_000,
        "A tool call is stopped after this; commands, models and delegates have limits of their own.",
        low=100,
        high=3_600_000,
    )
    call_memory_bytes: int = row(
        GIB, "A call during which the daemon grows by more than this is stopped.", low=64 * MIB, high=256 * GIB
    )
    query_timeout_ms: int = row(2_000, "A search or grep answers or gives up within this time.", low=10, high=600_000)


@record
class Redaction(FrozenRecord):
    """What must not leave."""

    enabled: bool = row(True, "Whether secrets are replaced in everything that leaves.")
    allow: tuple[str, ...] = row((), "Paths in gitignore style whose text is not redacted.")
    rules: tuple[RedactionRule, ...] = tables(RedactionRule)


@record
class EnvelopeSettings(FrozenRecord):
    """How an answer fits into a model's context."""

    search_budget: int = row(1_200, "Tokens of a search reply.", low=50, high=200_000)
    grep_budget: int = row(1_200, "Tokens of a grep reply.", low=50, high=200_000)
    read_budget: int = row(2_000, "Tokens of a read reply.", low=50, high=200_000)
    shell_budget: int = row(1_200, "Tokens of what a command wrote.", low=50, high=200_000)
    research_budget: int = row(900, "Tokens of a research report.", low=50, high=200_000)
    cap: int = row(8_000, "No reply is longer, whatever budget is asked for.", low=200, high=200_000)
    handle_ttl_hours: int = row(24, "How long a handle lives.", low=1, high=8_760)
    handle_bytes: int = row(256 * MIB, "All handles together; the least used go first.", low=MIB, high=64 * GIB)
    differential: bool = row(True, "Whether a repeated read of an unchanged file answers in one line.")
    pruner_url: str = row("", "A swe-pruner endpoint for focus questions; empty prunes in process.", personal=True)
    pruner_timeout_ms: int = row(30_000, "How long it may take.", low=100, high=300_000, personal=True)


@record
class LedgerSettings(FrozenRecord):
    """What calls cost and saved (`llmc stats`); it never leaves the machine."""

    enabled: bool = row(True, "Whether sizes and times of calls are written down; questions and texts never are.")
    days: int = row(90, "Older calls are forgotten.", low=1, high=3_650)
    max_calls: int = row(
        500_000, "More calls than this are forgotten, the oldest first (some 60 MB).", low=100, high=50_000_000
    )
    client_tokens: int = row(
        25_000,
        "What a client would have shown of a plain tool's reply; savings are counted up to this.",
        low=100,
        high=10_000_000,
    )


@record
class PrunerProfile(FrozenRecord):
    """The pruner profile."""

    contained: bool = row(True, "Whether its paths and commands stay inside the roots.")


@record
class Server(FrozenRecord):
    """How clients ask."""

    host: str = row("127.0.0.1", "Address of the HTTP server.")
    port: int = row(7331, "Port of the HTTP server; 0 takes a free one.", low=0, high=65_535)
    profile: str = row("lean", "Which tools are first class.", choices=("lean", "research", "pruner", "full"))
    agent: str = row("", "Serve as this persona: with its tools alone, and its prompt as instructions.")
    agent_arguments: tuple[str, ...] = row((), "What that persona is told, each as `name=value`.")
    max_request_bytes: int = row(4 * MIB, "Larger requests are refused.", low=KIB, high=GIB)
    request_seconds: int = row(
        20, "How long an HTTP request may take to arrive, and its reply to be taken.", low=1, high=600
    )
    pruner: PrunerProfile = section(PrunerProfile)


@record
class Shell(FrozenRecord):
    """Commands that an agent may run."""

    enabled: bool = row(False, "Whether the shell tool is offered.")
    allow: tuple[str, ...] = row((), "Further commands that may run: a program, or a program and its first words.")
    builtin: bool = row(True, "Whether the built-in list of reading, building and testing commands may run.")
    allow_shell_syntax: bool = row(False, "Whether `|`, `&&`, `||`, `;` and redirections may join allowed commands.")
    contained: bool = row(True, "Whether commands have a home of their own and the kernel keeps them in the roots.")
    writable: tuple[str, ...] = row(
        (), "Further folders that a contained command may read and write.", kind=ValueKind.PATHS
    )
    environ: tuple[str, ...] = row((), "Further variables of the daemon's environment that commands get.")
    seconds: int = row(60, "How long a command may run.", low=1, high=3_600)
    output_bytes: int = row(4 * MIB, "What is kept of an output: its beginning and its end.", low=64 * KIB, high=GIB)


@record
class SessionSettings(FrozenRecord):
    """What the server remembers of a conversation."""

    budget_tokens: int = row(
        0,
        "Tokens after which a client should begin afresh; 75 and 90 % are told. 0 is none.",
        low=0,
        high=1_000_000_000,
    )
    ttl_hours: int = row(168, "How long an unused session is kept.", low=1, high=8_760)


@record
class ArtifactSettings(FrozenRecord):
    """Reports that are written on request."""

    folder: Path = row(Path("artifacts"), "Where they go; a relative default lies in the state folder.")


@record
class Runtime(FrozenRecord):
    """The pool that research roles run in."""

    max_concurrent_tasks: int = row(4, "Tasks that run at once.", low=1, high=64)
    max_queued_tasks: int = row(64, "Tasks that may wait for their turn; a further one is refused.", low=0, high=10_000)
    default_deadline_ms: int = row(30_000, "A task is stopped after this.", low=10, high=3_600_000)


@record
class Research(FrozenRecord):
    """Questions that roles answer together."""

    provider: str = row(
        "",
        "An entry of `providers` whose model plays every role that names none; empty is without a model.",
        personal=True,
    )
    thoughts: str = row(
        "",
        "A folder inside the roots with notes and decisions, or a root's name; a root called `thoughts` is one anyway.",
    )


@record
class Crew(FrozenRecord):
    """Who answers `ask`: beatrice plans, otto looks, rem checks, grace answers; each is an entry of `roles`."""

    provider: str = row(
        "",
        "An entry of `providers` whose model plays every role of the crew that names none; empty is research's.",
        personal=True,
    )
    max_steps: int = row(8, "Tools that are used for one question.", low=1, high=50, personal=True)
    seconds: int = row(120, "How long one question may take.", low=1, high=3_600, personal=True)
    max_tokens: int = row(
        40_000, "Tokens that its models may read and write together.", low=100, high=10_000_000, personal=True
    )


@record
class WebResearch(FrozenRecord):
    """Research outside the roots."""

    enabled: bool = row(False, "Whether any tool may use the network.")
    endpoint: str = row("", "Address of the search service; `{query}` is replaced, else `?q=` is added.")
    api_key: Secret = row(Secret(), "Its key, sent as a bearer token; `${VAR}` is taken from the environment.")
    timeout_ms: int = row(10_000, "How long one request may take in all.", low=100, high=120_000)
    max_bytes: int = row(MIB, "A longer answer is refused.", low=KIB, high=64 * MIB)
    max_results: int = row(8, "Results that are shown.", low=1, high=50)


@record
class Settings(FrozenRecord):
    """Everything that can be set. The roots are empty where none was named and the current folder cannot be one."""

    home: Path = field(
        default_factory=lambda: Path(find_home(os.environ).path),
        metadata={
            "row": SettingRow(
                "home", ValueKind.PATH, "The state folder. Only LLMC_HOME sets it, so that all agree on it."
            )
        },
    )
    trust: tuple[str, ...] = row(
        (),
        "Workspace folders whose own file may set everything; `/*` at the end means every folder below.",
        kind=ValueKind.PATHS,
        personal=True,
    )
    roots: tuple[RootEntry, ...] = tables(RootEntry, short="path")
    index: Index = section(Index)
    daemon: DaemonSettings = section(DaemonSettings, personal=True)
    embedder: EmbedderSettings = section(EmbedderSettings, personal=True)
    limits: LimitSettings = section(LimitSettings)
    redaction: Redaction = section(Redaction, personal=True)
    envelope: EnvelopeSettings = section(EnvelopeSettings)
    ledger: LedgerSettings = section(LedgerSettings, personal=True)
    server: Server = section(Server, personal=True)
    shell: Shell = section(Shell, personal=True)
    providers: Mapping[str, Provider] = entries(Provider, personal=True)
    roles: Mapping[str, RoleEntry] = entries(RoleEntry, personal=True)
    agents: Mapping[str, AgentEntry] = entries(AgentEntry)
    agent_scripts: Mapping[str, AgentScript] = entries(AgentScript, personal=True, at="agents.script")
    mcps: Mapping[str, Mcp] = entries(Mcp, personal=True)
    delegates: Mapping[str, Delegate] = entries(Delegate, personal=True)
    session: SessionSettings = section(SessionSettings)
    artifacts: ArtifactSettings = section(ArtifactSettings, personal=True)
    runtime: Runtime = section(Runtime)
    research: Research = section(Research)
    crew: Crew = section(Crew)
    web_research: WebResearch = section(WebResearch, personal=True)
