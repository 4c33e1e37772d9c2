"""settings: what is set, by whom?

`Settings` is the one frozen value that is passed on; `load` builds it from the layers and records the layer of each
value. The models are in `sections` and `entries`, built on pydantic; `layer` reads files, variables and flags against
them, `loader` merges the layers and builds the result, `listing` shows it.

Names are imported when they are first used: pydantic takes 60 to 110 ms to import, and the thin client and
`llmc install` need only `locations` from this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llmc.settings.entries import (
        AgentArgumentEntry,
        AgentEntry,
        AgentScript,
        AgentSearchEntry,
        Delegate,
        Mcp,
        Provider,
        RedactionRule,
        RemoteEntry,
        RoleEntry,
        RootEntry,
        ToolScript,
    )
    from llmc.settings.loader import Loaded, examine, load
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
    "RemoteEntry",
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
    "ToolScript",
    "WebResearch",
    "examine",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in ("sections", "entries", "loader", "problems", "secret"):
        found = import_module(f"llmc.settings.{module}")
        if name in found.__all__:
            return getattr(found, name)
    raise AttributeError(name)
