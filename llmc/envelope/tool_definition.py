"""An entry of the tool list that a client passes to its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ToolDefinition"]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """Only name, description and schema reach the model.

    `title` is what the client shows to people. `reads_only` tells it that the tool may be called without asking the
    user, `always_load` that the definition is small enough to stay loaded, `longest_chars` how long a reply can be.
    """

    name: str
    description: str
    schema: dict[str, Any]
    reads_only: bool = False
    title: str = ""
    always_load: bool = False
    longest_chars: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "inputSchema": self.schema}
