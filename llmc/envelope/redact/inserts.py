"""Find secrets by the name of their column in SQL: `INSERT INTO users (name, password) VALUES ('ann', 'x')`.

Only literals count, judged as values of a field with the column's name. A row whose `INSERT` is not in the text cannot
be judged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from llmc.envelope.redact.names import Sort, sort_of
from llmc.envelope.redact.table import compiled
from llmc.envelope.redact.values import ContentKind, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["INSERT", "inserted"]

INSERT: Final = (
    rb"""(?i)\b(?:INSERT|REPLACE)\s+(?:[A-Z]+\s+){0,3}INTO\s+[\w.`"\[\]]+\s*\(([^()]{1,1000})\)\s*VALUES?\s*\("""
)
_CELL: Final = re.compile(
    rb"""\s*(?:N?'((?:[^'\\\n]|''|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|(?:[^,()'"\n]|\([^()\n]*\))*)\s*(?P<after>[,)])"""
)
_NEXT: Final = re.compile(rb"\s*,\s*\(")
_MOST_ROWS: Final = 10_000


def inserted(data: bytes) -> Iterator[tuple[int, int, Sort]]:
    """(start, end, sort) of each secret literal in the rows of an INSERT."""
    for insert in compiled(INSERT).finditer(data):
        names = data[slice(*insert.span(1))].decode("latin-1").split(",")
        sorts = [sort_of(name.strip(" \t\r\n`\"'[]")) for name in names]
        if any(sorts):
            yield from _secrets(data, insert.end(), sorts)


def _secrets(data: bytes, at: int, sorts: list[Sort]) -> Iterator[tuple[int, int, Sort]]:
    for _ in range(_MOST_ROWS):
        for sort in sorts:
            cell = _CELL.match(data, at)
            if cell is None:
                return
            at = cell.end()
            start, end = max(cell.span(1), cell.span(2))
            if sort is not Sort.NONE and start < end and _is_secret(data[start:end], sort):
                yield start, end, sort
            if cell["after"] == b")":
                break
        following = _NEXT.match(data, at)
        if following is None:
            return
        at = following.end()


def _is_secret(value: bytes, sort: Sort) -> bool:
    return is_secret(value.decode("utf-8", "replace"), sort, ContentKind.CONFIG, quoted=True)
