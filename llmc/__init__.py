"""llmc: index-first retrieval for coding agents.

    from llmc import LlmcError, Workspace

These names, and those of `llmc.agents` and `llmc.install`, are the stable Python API (docs/python.md). Importing the
package costs nothing: the client, the CLI and the daemon each import what they need when they need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmc.base.errors import LlmcError
    from llmc.workspace import Workspace

__all__ = ["LlmcError", "Workspace", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "LlmcError":
        from llmc.base.errors import LlmcError  # noqa: PLC0415 - imported when it is used

        return LlmcError
    if name == "Workspace":
        from llmc.workspace import Workspace  # noqa: PLC0415 - tantivy and numpy, which few importers of this need

        return Workspace
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
