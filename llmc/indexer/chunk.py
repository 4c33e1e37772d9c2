"""Splits text into chunks, symbols and references: read its outline, cut its lines, name the pieces.

A pure function of the text and its language. `syntax` finds definitions and where text may be cut; `capsule` adds what
retrieval should know of a chunk beyond its own lines. Every line is in exactly one chunk.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from llmc.base.languages import language_of
from llmc.base.model import Chunk, Parsed
from llmc.indexer.capsule import capsule, settings
from llmc.indexer.syntax import EMPTY, outline
from llmc.indexer.syntax.cut import cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.model import Symbol
    from llmc.indexer.syntax import Outline

__all__ = ["parse", "symbols_in"]

_CONFIG = frozenset({"json", "yaml", "toml", "ini", "properties", "xml", "hcl", "gomod"})


def parse(path: str, text: str) -> Parsed:
    """Never fails: text that no reader understands is cut by lines alone."""
    language = language_of(path, text)
    try:
        read = outline(language, text)
    except Exception:  # noqa: BLE001 - a fault in one reader costs a file its symbols, and never the run
        read = EMPTY
    starts = _line_starts(text)
    chunks = tuple(_chunks(language, text, starts, read))
    symbols = tuple(mark.symbol for mark in read.marks)
    return Parsed(language, len(starts) - 1, chunks, symbols, read.references, read.links)


def symbols_in(path: str, text: str) -> tuple[Symbol, ...]:
    """The definitions in the text; none if no reader understands it."""
    try:
        read = outline(language_of(path, text), text)
    except Exception:  # noqa: BLE001 - as in `parse`
        return ()
    return tuple(mark.symbol for mark in read.marks)


def _chunks(language: str, text: str, starts: list[int], read: Outline) -> Iterator[Chunk]:
    def line(number: int) -> str:
        return text[starts[number - 1] : starts[number]]

    gap = "config" if language in _CONFIG else "text"
    firsts = cut(text, starts, read.marks)
    spans = [(first + 1, after) for first, after in pairwise([*firsts, len(starts) - 1])]
    for ordinal, setting in enumerate(settings(read.marks, spans)):
        body = text[starts[setting.first - 1] : starts[setting.last]]
        symbol = setting.main.symbol if setting.main else None
        kind, name = (symbol.kind, symbol.qualified) if symbol else (gap, "")
        yield Chunk(ordinal, setting.first, setting.last, kind, name, body, capsule(setting, line))


def _line_starts(text: str) -> list[int]:
    """Where each line begins, and last where the text ends."""
    lengths = [len(line) + 1 for line in text.split("\n")]
    lengths[-1] -= 1
    starts = list(accumulate(lengths, initial=0))
    return starts if lengths[-1] else starts[:-1]
