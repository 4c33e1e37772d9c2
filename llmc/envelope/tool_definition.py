"""One entry of the list of tools that a client shows to its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ToolDefinition"]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """`reads_only` is for the client, which may then call the tool without asking; no model sees it."""

    name: str
    description: str
    schema: dict[str, Any]
    reads_only: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "inputSchema": self.schema}
