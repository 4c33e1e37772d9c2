"""llmc: index-first retrieval for coding agents.

    from llmc import Workspace

Importing the package costs nothing: the client, the CLI and the daemon each import what they need when they need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmc.workspace import Workspace

__all__ = ["Workspace", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name != "Workspace":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from llmc.workspace import Workspace  # noqa: PLC0415 - tantivy and numpy, which few importers of this need

    return Workspace
