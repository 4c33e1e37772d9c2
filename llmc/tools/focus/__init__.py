"""focus: which lines answer the question? What is kept, what is left out, and the endpoint that may decide instead."""

from __future__ import annotations

from llmc.retrieval.passages.blocks import Block, read_blocks
from llmc.retrieval.passages.prune import prune

__all__ = ["Block", "prune", "read_blocks"]
