"""An entry of the tool list that a client passes to its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ToolDefinition"]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """`reads_only` tells the client that it may call the tool without asking the user; the model does not see it."""

    name: str
    description: str
    schema: dict[str, Any]
    reads_only: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "inputSchema": self.schema}
