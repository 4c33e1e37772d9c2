"""Which surface serves a profile? Those with a contract of their own are imported when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.server.surface import ToolSurface

if TYPE_CHECKING:
    from llmc.server.service import Service
    from llmc.server.surface import Surface

__all__ = ["surface_for"]


def surface_for(service: Service, profile: str, *, data: bool = True, said: str = "") -> Surface:
    """`data`: replies carry it beside the text, which MCP has no use for. `said`: the instructions of a persona."""
    if profile == "pruner":
        from llmc.server.pruner_surface import PrunerSurface  # noqa: PLC0415 - few ask for it

        return PrunerSurface(service)
    return ToolSurface(service, profile, data, said=said)
