"""On which line is a setting?

Neither `tomllib` nor `json` says where a key was, so this walks over the tokens of text that they have already
accepted and notes the line of each key and list item. It reads names only, never values. TOML and JSON share the
walk: a JSON document is to it an inline table with `:` for `=`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TOKEN", "Path", "locate"]

Path = tuple[str | int, ...]

# Of TOML and JSON; `llmc install` finds the headers of TOML tables with it.
TOKEN = re.compile(
    r"""
      (?P<skip> \#[^\n]* | [ \t\r]+ )
    | (?P<line> \n )
    | (?P<text> \"\"\"(?:\\.|[^\\])*?\"{3,5} | '''.*?'{3,5} | "(?:\\.|[^"\\\n])*" | '[^'\n]*' )
    | (?P<mark> [\[\]{}=:,.] )
    | (?P<bare> [^\s\#"'\[\]{}=:,.]+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def locate(text: str, *, is_json: bool) -> dict[Path, int]:
    """The 1-based line of each key and list item, by its path."""
    walk = _Walk(text, comments=not is_json)
    if is_json:
        walk.value(())
    else:
        walk.statements()
    return walk.lines


class _Walk:
    def __init__(self, text: str, *, comments: bool) -> None:
        self._tokens = list(_tokens(text, comments=comments))
        self._at = 0
        self._arrays: dict[Path, int] = {}  # the last item of each array of tables
        self.lines: dict[Path, int] = {}

    def statements(self) -> None:
        table: Path = ()
        while (token := self._peek()) is not None:
            if token[1] == "\n":
                self._at += 1
            elif token[1] == "[":
                table = self._header()
            else:
                self._pair(table)

    def value(self, path: Path) -> None:
        token = self._next()
        if token[1] == "[":
            self._items(path)
        elif token[1] == "{":
            self._table(path)
        else:
            while (following := self._peek()) is not None and following[1] not in ("\n", ",", "]", "}"):
                self._at += 1

    def _header(self) -> Path:
        double = self._tokens[self._at : self._at + 2]
        is_array = len(double) > 1 and double[1][1] == "["
        self._at += 2 if is_array else 1
        keys, line = self._keys("]")
        self._at += 1 if is_array else 0
        path: Path = ()
        for key in keys[:-1]:
            path = self._entered((*path, key), line)
        last: Path = (*path, keys[-1])
        if is_array:
            self._arrays[last] = self._arrays.get(last, -1) + 1
        return self._entered(last, line)

    def _entered(self, path: Path, line: int) -> Path:
        self.lines.setdefault(path, line)
        if path not in self._arrays:
            return path
        item: Path = (*path, self._arrays[path])
        self.lines.setdefault(item, line)
        return item

    def _pair(self, table: Path) -> None:
        keys, line = self._keys("=", ":")
        path = table
        for key in keys:
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._pass_newlines()
        self.value(path)

    def _items(self, path: Path) -> None:
        count = 0
        while self._pass_newlines() != "]":
            if self._tokens[self._at][1] == ",":
                self._at += 1
                continue
            self.lines[(*path, count)] = self._tokens[self._at][2]
            self.value((*path, count))
            count += 1
        self._at += 1

    def _table(self, path: Path) -> None:
        while self._pass_newlines() != "}":
            if self._tokens[self._at][1] == ",":
                self._at += 1
            else:
                self._pair(path)
        self._at += 1

    def _keys(self, *ends: str) -> tuple[list[str], int]:
        keys: list[str] = []
        line = self._tokens[self._at][2]
        while (token := self._next())[1] not in ends:
            if token[0] == "text":
                keys.append(_unquoted(token[1]))
            elif token[0] == "bare":
                keys.append(token[1])
        return keys, line

    def _peek(self) -> tuple[str, str, int] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self) -> tuple[str, str, int]:
        self._at += 1
        return self._tokens[self._at - 1]

    def _pass_newlines(self) -> str:
        while self._tokens[self._at][1] == "\n":
            self._at += 1
        return self._tokens[self._at][1]


def _tokens(text: str, *, comments: bool) -> Iterator[tuple[str, str, int]]:
    line = 1
    for found in TOKEN.finditer(text):
        kind = found.lastgroup or ""
        if kind != "skip" and (comments or kind != "line"):
            yield kind, found[0], line
        line += found[0].count("\n")


def _unquoted(text: str) -> str:
    if text.startswith("'"):
        return text[1:-1]
    import json  # noqa: PLC0415 - seldom needed

    try:
        # TOML's escapes are JSON's but for \e, \xHH and \UHHHHHHHH, which no key here needs.
        return str(json.loads(text, strict=False))
    except ValueError:
        return text[1:-1]
