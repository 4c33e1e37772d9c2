"""Definitions and table references of a SQL script.

It uses patterns instead of a grammar: dialects share little but CREATE, and the available grammar fails on stored
procedures of the major databases.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import zip_longest
from typing import TYPE_CHECKING

from llmc.base.model import Reference, Symbol
from llmc.indexer.syntax.outline import Mark, Outline
from llmc.indexer.syntax.sections import LONGEST_NAME, offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_sql"]

MOST_REFERENCES = 5_000
_NAME = r"(?:[\w$]+|'[^'\n]+'|\"[^\"\n]+\"|`[^`\n]+`|\[[^\]\n]+\])"
_CREATE = re.compile(
    r"^[ \t]*create\s+(?:or\s+(?:replace|alter)\s+)?(?:(?:global|local|temp|temporary|unlogged|unique|recursive|"
    r"external|virtual|clustered|nonclustered|constraint|editionable|fulltext|definer\s?=\s?\S+)\s+)*"
    r"(?P<kind>materialized\s+view|table|view|function|procedure|proc|trigger|index|type|schema|sequence|domain|aggregate|"
    r"policy|package(?:\s+body)?|event|database|macro)\s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?"
    rf"(?P<name>{_NAME}(?:\.{_NAME}){{0,3}})",
    re.IGNORECASE | re.MULTILINE,
)
_KINDS = {"proc": "procedure", "package": "module", "package body": "module", "materialized view": "view"}
_PROGRAMS = frozenset({"function", "procedure", "trigger", "module", "event", "aggregate", "macro"})
_DOLLAR = re.compile(r"\$\w*\$")
_STATEMENT = re.compile(
    r"^(?:alter|drop|insert|grant|go|delimiter|comment\s+on|commit)\b|^/[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_SEMICOLON = re.compile(r";[ \t]*(?:--[^\n]*)?$", re.MULTILINE)
_USE = re.compile(
    rf"\b(from|join|into|update|references|call|exec|execute)\s+({_NAME}(?:\.{_NAME}){{0,3}})", re.IGNORECASE
)
_CALLS = frozenset({"call", "exec", "execute"})
_NOT_NAMES = frozenset({"select", "the", "a", "an", "where", "set", "values", "only", "lateral", "unnest", "immediate"})


def read_sql(text: str) -> Outline:
    lines = offsets(text)
    marks = tuple(_marks(text, lines))
    return Outline(marks, tuple(_references(text, lines, marks)))


def _marks(text: str, lines: list[int]) -> Iterator[Mark]:
    every = list(_CREATE.finditer(text))
    covered = 0
    for found, following in zip_longest(every, every[1:]):
        if found.start() < covered:
            continue  # a temporary table inside a function
        kind = " ".join(found["kind"].lower().split())
        kind = _KINDS.get(kind, kind)
        *front, name = [part.strip("\"'`[]")[:LONGEST_NAME] for part in found["name"].split(".")]
        covered = _end(text, found.end(), following.start() if following else len(text), in_program=kind in _PROGRAMS)
        first = bisect_right(lines, found.start())
        last = max(first, bisect_right(lines, covered))
        signature = " ".join(text[found.start() : found.end() + 120].lstrip().partition("\n")[0].split()).rstrip(" (")
        yield Mark(Symbol(name, kind, ".".join(front), first, last, signature), _lead(text, lines, first))


def _end(text: str, start: int, limit: int, *, in_program: bool) -> int:
    """The last character of a statement. The body of a procedure contains semicolons: it ends with its dollar quote or
    before the next statement."""
    if in_program:
        quote = _DOLLAR.search(text, start, limit)
        close = text.find(quote[0], quote.end()) if quote else -1
        if quote and close >= 0:
            start, limit = close + len(quote[0]), len(text)
        elif following := _STATEMENT.search(text, start, limit):
            limit = following.start()
    found = None if in_program and limit < len(text) else _SEMICOLON.search(text, start, limit)
    if found:
        return found.start()
    while limit > start + 1 and text[limit - 1].isspace():
        limit -= 1
    return limit - 1


def _lead(text: str, lines: list[int], line: int) -> int:
    while line > 1 and text[lines[line - 2] : lines[line - 1]].lstrip().startswith("--"):
        line -= 1
    return line


def _references(text: str, lines: list[int], marks: tuple[Mark, ...]) -> Iterator[Reference]:
    starts = [mark.symbol.start_line for mark in marks]
    seen: set[Reference] = set()
    for found in _USE.finditer(text):
        name = found[2].rpartition(".")[2].strip("\"'`[]")[:LONGEST_NAME]
        line = bisect_right(lines, found.start(2))
        at = bisect_right(starts, line) - 1
        container = marks[at].symbol.qualified if at >= 0 and marks[at].symbol.end_line >= line else ""
        one = Reference(name, "call" if found[1].lower() in _CALLS else "use", line, container)
        if name.lower() not in _NOT_NAMES and one not in seen and len(seen) < MOST_REFERENCES:
            seen.add(one)
            yield one
