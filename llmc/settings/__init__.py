"""settings: what is set, by whom?

`Settings` is the one frozen value that every part is given; `load` makes it from the layers and remembers which layer
set what. Rows stand in `sections` and `entries`; `check` and `convert` hold files, variables and flags against them;
`schema` turns them into a JSON schema. Importing this costs little: no pydantic, no TOML parser until there is a
file.
"""

from __future__ import annotations

from llmc.settings.entries import (
    AgentArgumentEntry,
    AgentEntry,
    AgentScript,
    AgentSearchEntry,
    Delegate,
    Mcp,
    Provider,
    RedactionRule,
    RoleEntry,
    RootEntry,
)
from llmc.settings.load import Loaded, examine, load
from llmc.settings.problems import SettingSource, SettingsProblem
from llmc.settings.secret import Secret
from llmc.settings.sections import (
    ArtifactSettings,
    Crew,
    DaemonSettings,
    EmbedderSettings,
    EnvelopeSettings,
    Index,
    LimitSettings,
    PrunerProfile,
    Redaction,
    Research,
    Runtime,
    Server,
    SessionSettings,
    Settings,
    Shell,
    WebResearch,
)

__all__ = [
    "AgentArgumentEntry",
    "AgentEntry",
    "AgentScript",
    "AgentSearchEntry",
    "ArtifactSettings",
    "Crew",
    "DaemonSettings",
    "Delegate",
    "EmbedderSettings",
    "EnvelopeSettings",
    "Index",
    "LimitSettings",
    "Loaded",
    "Mcp",
    "Provider",
    "PrunerProfile",
    "Redaction",
    "RedactionRule",
    "Research",
    "RoleEntry",
    "RootEntry",
    "Runtime",
    "Secret",
    "Server",
    "SessionSettings",
    "SettingSource",
    "Settings",
    "SettingsProblem",
    "Shell",
    "WebResearch",
    "examine",
    "load",
]
