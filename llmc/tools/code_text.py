"""The lines of a file as `llmc.retrieval.statements` reads them, with comments and strings found by its grammar."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from llmc.base.languages import language_of
from llmc.indexer.syntax.lexical import lexical_spans
from llmc.retrieval.code_lines import code_lines

if TYPE_CHECKING:
    from llmc.retrieval.code_lines import CodeLines

__all__ = ["code_of"]


@lru_cache(maxsize=4)  # several targets of one call are often in one file, which takes some milliseconds to parse
def code_of(path: str, text: str) -> CodeLines:
    language = language_of(path)
    return code_lines(text, language, lexical_spans(language, text))
