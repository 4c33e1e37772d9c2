"""The surface of a profile. Profiles with their own contract are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.server.surface import ToolSurface

if TYPE_CHECKING:
    from llmc.server.service import Service
    from llmc.server.surface import Surface

__all__ = ["surface_for"]


def surface_for(service: Service, profile: str, *, data: bool = True, persona_instructions: str = "") -> Surface:
    """`data`: replies contain structured data besides the text, which MCP does not use."""
    if profile == "pruner":
        from llmc.server.pruner_surface import PrunerSurface  # noqa: PLC0415 - few ask for it

        return PrunerSurface(service)
    return ToolSurface(service, profile, data, persona_instructions=persona_instructions)
