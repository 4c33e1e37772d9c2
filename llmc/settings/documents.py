"""Reads a settings file, with the line of each value. Workspace files are untrusted, since they may come with a clone.

TOML by default, JSON for `*.json`. An unusable file is returned as a `SettingsProblem`; `layer` finds the errors in its
content. The parsers do not report lines, so `locate` tokenizes the text once more.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import TYPE_CHECKING, Any

from llmc.settings.problems import SettingSource, SettingsProblem, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.settings.layer import Key

__all__ = ["TOKEN", "locate", "read_document"]

KeyPath = tuple[str | int, ...]

# The tokens of TOML and JSON; `llmc install` also uses them to find the headers of TOML tables.
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
MAX_BYTES = 1 << 20  # a settings file has some kilobytes; a larger one is another kind of file


def locate(text: str, *, is_json: bool) -> dict[KeyPath, int]:
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
        self._arrays: dict[KeyPath, int] = {}  # the last item of each array of tables
        self.lines: dict[KeyPath, int] = {}

    def statements(self) -> None:
        table: KeyPath = ()
        while (token := self._peek()) is not None:
            if token[1] == "\n":
                self._at += 1
            elif token[1] == "[":
                table = self._header()
            else:
                self._pair(table)

    def value(self, path: KeyPath) -> None:
        token = self._next()
        if token[1] == "[":
            self._items(path)
        elif token[1] == "{":
            self._table(path)
        else:
            while (following := self._peek()) is not None and following[1] not in ("\n", ",", "]", "}"):
                self._at += 1

    def _header(self) -> KeyPath:
        double = self._tokens[self._at : self._at + 2]
        is_array = len(double) > 1 and double[1][1] == "["
        self._at += 2 if is_array else 1
        keys, line = self._keys("]")
        self._at += 1 if is_array else 0
        path: KeyPath = ()
        for key in keys[:-1]:
            path = self._entered((*path, key), line)
        last: KeyPath = (*path, keys[-1])
        if is_array:
            self._arrays[last] = self._arrays.get(last, -1) + 1
        return self._entered(last, line)

    def _entered(self, path: KeyPath, line: int) -> KeyPath:
        self.lines.setdefault(path, line)
        if path not in self._arrays:
            return path
        item: KeyPath = (*path, self._arrays[path])
        self.lines.setdefault(item, line)
        return item

    def _pair(self, table: KeyPath) -> None:
        keys, line = self._keys("=", ":")
        path = table
        for key in keys:
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._pass_newlines()
        self.value(path)

    def _items(self, path: KeyPath) -> None:
        count = 0
        while self._pass_newlines() != "]":
            if self._tokens[self._at][1] == ",":
                self._at += 1
                continue
            self.lines[(*path, count)] = self._tokens[self._at][2]
            self.value((*path, count))
            count += 1
        self._at += 1

    def _table(self, path: KeyPath) -> None:
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
        # TOML has the escapes of JSON, and \e, \xHH and \UHHHHHHHH, which no key here needs.
        return str(json.loads(text, strict=False))
    except ValueError:
        return text[1:-1]


def read_document(
    path: Path, layer: str, *, follow: bool
) -> tuple[dict[str, Any], dict[Key, SettingSource]] | SettingsProblem:
    """The table and the position of each key. `follow=False` refuses links, which could lead to any file of the
    user."""
    source = SettingSource(layer, str(path))
    try:
        text = _read(path, follow=follow).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return SettingsProblem(source, "", f"is not UTF-8 (byte {error.start})", "save it as UTF-8")
    except OSError as error:
        hint = "pass it with --config to use it" if error.errno == errno.ELOOP else ""
        return SettingsProblem(source, "", _why(error), hint)
    is_json = path.suffix == ".json"
    try:
        table = _parse_json(text) if is_json else _parse_toml(text)
        lines = locate(text, is_json=is_json)
        return table, {key: SettingSource(layer, str(path), line) for key, line in lines.items()}
    except RecursionError:
        return SettingsProblem(source, "", "is nested too deeply")
    except ValueError as error:
        line = re.search(r"line (\d+)", str(error))
        reason = re.sub(r"\s*[(:]?\s*(at )?line \d+,? column \d+.*", "", shown(str(error), 200))
        return SettingsProblem(
            SettingSource(layer, str(path), int(line[1]) if line else 0), "", f"cannot be read: {reason}"
        )


def _read(path: Path, *, follow: bool) -> bytes:
    # O_NONBLOCK: opening a FIFO would otherwise wait for its writer.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        if found.st_size > MAX_BYTES:
            raise OSError(errno.EFBIG, f"is larger than {MAX_BYTES:,} bytes")
        return b"".join(iter(lambda: os.read(descriptor, MAX_BYTES), b""))
    finally:
        os.close(descriptor)


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "is a link, and a workspace file may not be one"
    if error.errno in (errno.EINVAL, errno.EFBIG):
        return str(error.strerror)
    return f"cannot be opened: {os.strerror(error.errno or 0)}"


def _parse_toml(text: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - most runs have no settings file

    return tomllib.loads(text)


def _parse_json(text: str) -> dict[str, Any]:
    import json  # noqa: PLC0415 - as above

    table = json.loads(text, object_pairs_hook=_distinct)
    if not isinstance(table, dict):
        raise ValueError("the top must be a table")  # noqa: TRY004 - caught as what is wrong with the file
    return table


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'"{twice}" is given twice')
    return table
