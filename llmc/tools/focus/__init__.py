"""focus: which lines answer the question? The embedded pruner and an optional endpoint decide what is kept."""

from __future__ import annotations

from llmc.retrieval.passages.blocks import Block, read_blocks
from llmc.retrieval.passages.prune import prune

__all__ = ["Block", "prune", "read_blocks"]
