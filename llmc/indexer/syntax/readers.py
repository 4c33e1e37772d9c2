"""Which reader reads which language."""

from __future__ import annotations

from llmc.indexer.syntax.grammar import QUERIES
from llmc.indexer.syntax.outline import EMPTY, Outline
from llmc.indexer.syntax.tree import read_tree
from llmc.languages import GRAMMARS

__all__ = ["outline"]


def outline(language: str, text: str) -> Outline:
    grammar = GRAMMARS.get(language)
    if grammar is None or not (QUERIES / f"{grammar}.scm").exists():
        return EMPTY
    return read_tree(grammar, text.encode("utf-8", "replace"))
