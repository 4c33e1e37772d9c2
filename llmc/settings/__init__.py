"""settings: what is set, by whom?

`Settings` is the one frozen value that every part is given; `load` makes it from the layers and remembers which layer
set what. Rows stand in `sections` and `entries`; `check` and `convert` hold files, variables and flags against them;
`schema` turns them into a JSON schema. Importing this costs little: no pydantic, no TOML parser until there is a
file.
"""

from __future__ import annotations

from llmc.settings.entries import (
    Agent,
    AgentArgument,
    AgentContext,
    AgentScript,
    Delegate,
    Mcp,
    Provider,
    RedactionRule,
    Role,
    RootEntry,
)
from llmc.settings.load import Loaded, examine, load
from llmc.settings.problems import Problem, Source
from llmc.settings.secret import Secret
from llmc.settings.sections import (
    Artifacts,
    Crew,
    Daemon,
    EmbedderSettings,
    EnvelopeSettings,
    Index,
    Limits,
    PrunerProfile,
    Redaction,
    Research,
    Runtime,
    Server,
    Session,
    Settings,
    Shell,
    WebResearch,
)

__all__ = [
    "Agent",
    "AgentArgument",
    "AgentContext",
    "AgentScript",
    "Artifacts",
    "Crew",
    "Daemon",
    "Delegate",
    "EmbedderSettings",
    "EnvelopeSettings",
    "Index",
    "Limits",
    "Loaded",
    "Mcp",
    "Problem",
    "Provider",
    "PrunerProfile",
    "Redaction",
    "RedactionRule",
    "Research",
    "Role",
    "RootEntry",
    "Runtime",
    "Secret",
    "Server",
    "Session",
    "Settings",
    "Shell",
    "Source",
    "WebResearch",
    "examine",
    "load",
]
