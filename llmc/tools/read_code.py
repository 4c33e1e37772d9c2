"""Lines of a file as `read --code` shows them: as statements, or as a skeleton."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from llmc.base.languages import has_statements, language_of
from llmc.envelope import Row
from llmc.indexer.syntax.lexical import lexical_spans
from llmc.retrieval.code_lines import code_lines
from llmc.retrieval.line_kinds import COMMENT, IMPORT, FileText
from llmc.retrieval.skeleton import Fold
from llmc.retrieval.statements import is_left_out, statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.retrieval.code_lines import CodeLines
    from llmc.retrieval.statements import Statement

__all__ = [
    "LONG_FUNCTION",
    "LONG_OF_SEVERAL",
    "SKELETON",
    "code_of",
    "code_rows",
    "is_shorter_as_code",
    "skeleton_rows",
]

# Of a function that is asked for by name and longer than this, the statements are shown unless all of it is asked for;
# with too many of them, its skeleton. Of several functions, which are read to follow a flow, shorter ones are long.
LONG_FUNCTION, LONG_OF_SEVERAL = 80, 40
SKELETON = "skeleton of"
# Of the characters, without `statements` joining anything: of 309 ranges, as many as are a fifth shorter as statements.
WORTH_A_HINT = 0.16
FEW_IMPORTS = 3


@lru_cache(maxsize=4)  # several targets of one call are often in one file, which takes some milliseconds to parse
def code_of(path: str, text: str) -> CodeLines:
    """The lines of a file with the comments and strings that its grammar finds."""
    language = language_of(path)
    return code_lines(text, language, lexical_spans(language, text))


def is_shorter_as_code(rows: tuple[Row, ...], text: FileText) -> bool:
    """An estimate: the lines that `statements` leaves out, without those it joins."""
    spare = (row for row in rows if is_left_out(row.text) or text.kind(row.number or 0) == COMMENT)
    return sum(len(row.text.strip()) for row in spare) > WORTH_A_HINT * sum(len(row.text.strip()) for row in rows)


def code_rows(rows: tuple[Row, ...], lines: Sequence[str], path: str) -> tuple[Row, ...]:
    """One line per statement, without comments, docstrings, log calls and longer lists of imports; a number marks the
    line where each begins. In a file that is not code, only comments and blank lines are removed."""
    language = language_of(path)
    text = "\n".join(lines) + "\n"
    file = FileText(text, language)
    kinds = {row.number or 0: file.kind(row.number or 0) for row in rows}
    if not has_statements(language):
        return tuple(row for row in rows if kinds[row.number or 0] != COMMENT and row.text.strip())
    if not rows:
        return ()
    imports = frozenset(number for number, kind in kinds.items() if kind == IMPORT)
    is_long = FEW_IMPORTS < len(imports) < len(rows) - FEW_IMPORTS
    code = code_of(path, text).without(imports) if is_long else code_of(path, text)
    first, last = rows[0].number or 1, rows[-1].number or 1
    return skeleton_rows(statements(code.part(first, last), first))


def skeleton_rows(parts: Sequence[Statement | Fold]) -> tuple[Row, ...]:
    return tuple(
        Row(f"… {int(part)} lines{': ' if part.names else ''}{', '.join(part.names)}")
        if isinstance(part, Fold)
        else Row(" " * part.level + part.text, part.number)
        for part in parts
    )
