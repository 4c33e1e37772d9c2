"""focus: which lines answer the question? What is kept, what is left out, and the endpoint that may decide instead."""

from __future__ import annotations

from llmc.envelope.focus.blocks import Block, read_blocks
from llmc.envelope.focus.prune import prune

__all__ = ["Block", "prune", "read_blocks"]
