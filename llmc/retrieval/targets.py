"""What a person names to read: a file, lines of it, or a symbol."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from llmc.base.errors import NotFoundError, QueryError
from llmc.base.text import Binary, decode, split_lines

if TYPE_CHECKING:
    from llmc.base.model import Symbol
    from llmc.base.root_fs import RootFs
    from llmc.retrieval.view import View

__all__ = ["Target", "find_symbol", "length", "lines_of", "named_target", "parse_target"]

LARGEST_READ = 64 << 20
TARGET = re.compile(r"(?P<path>.+?)(?:::(?P<symbol>[^:].*)|:(?P<start>\d+)(?:-(?P<end>\d*))?)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """`end` 0 is the end of the file; `start` 0 is no range at all."""

    path: str
    start: int = 0
    end: int = 0
    symbol: str = ""
    named: bool = False  # the range is that of a name
    kind: str = ""  # of the symbol that has this name

    @property
    def length(self) -> int:
        return self.end - self.start


def parse_target(text: str) -> Target:
    match = TARGET.fullmatch(text.strip())
    if match is None:
        raise QueryError("there is nothing to read", hint="Name a file, such as src/main.py or src/main.py:10-40.")
    start = int(match["start"] or 0)
    end = int(match["end"] or 0) if match["end"] is not None else start
    if match["end"] and end < start:
        raise QueryError(f"lines {start}-{end} run backwards", hint=f"Ask for {end}-{start}.")
    return Target(match["path"], start, end, match["symbol"] or "")


def lines_of(root_fs: RootFs, path: str) -> list[str]:
    data, _ = root_fs.read(path, LARGEST_READ, follow=True)
    text = decode(data)
    if isinstance(text, Binary):
        raise QueryError(f"{path} is not text", reason=text.reason, hint="Only text can be read.")
    return split_lines(text.text)


def find_symbol(view: View, path: str, target: Target) -> Target:
    catalog = view.store.catalog
    doc = catalog.doc_of(view.root.id, path)
    known = catalog.symbols(doc=doc) if doc is not None else []
    wanted = target.symbol.replace("::", ".").removesuffix("()")
    fitting = [
        one.symbol
        for one in known
        if wanted in {one.symbol.name, one.symbol.qualified} or one.symbol.qualified.endswith(f".{wanted}")
    ]
    if fitting:  # the first, but of overloads the one with the body
        symbol = max((one for one in fitting if one.qualified == fitting[0].qualified), key=length)
        return named_target(path, symbol)
    near = get_close_matches(wanted, [one.symbol.qualified for one in known] + [one.symbol.name for one in known], 3)
    hint = f"Did you mean {', '.join(dict.fromkeys(near))}?" if near else "`outline` shows what it defines."
    raise NotFoundError(f"{path} defines no {target.symbol}", hint=hint, path=path)


def named_target(path: str, symbol: Symbol) -> Target:
    return Target(path, symbol.start_line, symbol.end_line, named=True, kind=symbol.kind)


def length(symbol: Symbol) -> int:
    return symbol.end_line - symbol.start_line
