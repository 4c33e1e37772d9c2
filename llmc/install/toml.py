"""Sets and removes TOML tables as text: comments, order and spacing of everything else are preserved.

llmc's table has its own headers, so only the lines from `[mcp_servers.llmc]` to the next header change, without the
comments directly before that header (a parser would count them as part of llmc's table). If the entry is written in
another way (inline, dotted keys), tomlkit edits it. In both cases the result is parsed and compared.
"""

from __future__ import annotations

import tomllib
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from llmc.install.jsonc import BrokenError, nested
from llmc.settings.documents import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["find", "put", "take"]


class TomlSection(NamedTuple):
    path: tuple[str, ...]
    start: int
    end: int


def find(text: str, path: Sequence[str]) -> Any:
    value: Any = parse(text)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def put(text: str, path: Sequence[str], value: dict[str, Any]) -> str:
    if find(text, path) == value:
        return text
    expected = merged(parse(text), path, value)
    for edited in (put_section(text, path, value), put_anywhere(text, path, value)):
        if edited is not None and same(edited, expected):
            return edited
    raise BrokenError(f"the entry {'.'.join(path)} could not be inserted")


def take(text: str, path: Sequence[str]) -> str:
    if find(text, path) is None:
        return text
    expected = merged(parse(text), path, None)
    for edited in (take_section(text, path), take_anywhere(text, path)):
        if edited is not None and same(edited, expected):
            return edited
    raise BrokenError(f"the entry {'.'.join(path)} could not be removed")


def parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, or a number with thousands of digits
        raise BrokenError(str(error) or "nested too deeply") from None


def same(text: str, expected: dict[str, Any]) -> bool:
    """Whether the text has the expected values; empty tables are ignored, since a removal may leave or remove them."""
    try:
        return pruned(tomllib.loads(text)) == pruned(expected)
    except ValueError:
        return False


def pruned(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value != {}}


def merged(table: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    key, *rest = path
    below = table.get(key, {})
    if not rest:
        return {name: one for name, one in {**table, key: value}.items() if one is not None}
    if not isinstance(below, dict):
        raise BrokenError(f"{key} is not a table")
    return {**table, key: merged(below, rest, value)}


# ---- by sections ----


def sections(text: str) -> Iterator[TomlSection]:
    """The headers, each with the extent of its section."""
    for (path, start), (_, end) in pairwise([*headers(text), ((), len(text))]):
        yield TomlSection(path, start, end)


def headers(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    depth, line = 0, 0
    for token in TOKEN.finditer(text):
        mark = token.group()
        if mark == "\n":
            line = token.end()
        elif mark == "[" and depth == 0 and not text[line : token.start()].strip():
            end = text.find("\n", line)
            yield header_path(text[line : end if end >= 0 else len(text)]), line
            depth += 1
        elif mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1


def header_path(line: str) -> tuple[str, ...]:
    value: Any = tomllib.loads(line)
    keys: list[str] = []
    while isinstance(value, dict) and value:
        key, value = next(iter(value.items()))
        keys.append(key)
    return tuple(keys)


def entry_sections(text: str, path: Sequence[str]) -> list[TomlSection]:
    return [section for section in sections(text) if section.path[: len(path)] == tuple(path)]


def put_section(text: str, path: Sequence[str], value: dict[str, Any]) -> str | None:
    newline = "\r\n" if "\r\n" in text else "\n"
    body = rendered(path, value).replace("\n", newline)
    present = entry_sections(text, path)
    if present:
        at = present[0].start
        rest = without(text, present)
        return rest[:at] + body + rest[at:]
    if not text.strip():
        return text + body
    ending = "" if text.endswith("\n") else newline
    gap = "" if text.endswith(newline * 2) else newline
    return text + ending + gap + body


def take_section(text: str, path: Sequence[str]) -> str | None:
    present = entry_sections(text, path)
    if not present:
        return None
    rest, at = without(text, present), present[0].start
    if not rest[at:].strip():  # it was at the end, after a blank line that llmc added
        return rest[:at].rstrip("\r\n") + ("\r\n" if "\r\n" in text else "\n") if rest[:at].strip() else ""
    return rest


def without(text: str, present: list[TomlSection]) -> str:
    for section in reversed(present):
        body = text[section.start : section.end]
        text = text[: section.start] + trailing_comments(body) + text[section.end :]
    return text


def trailing_comments(body: str) -> str:
    """The comments at the end of a table, after a blank line: they belong to the next table."""
    lines = body.splitlines(keepends=True)
    at = len(lines)
    while at > 1 and (not lines[at - 1].strip() or lines[at - 1].lstrip().startswith("#")):
        at -= 1
    tail = lines[at:]
    if not any(line.strip() for line in tail):
        return ""
    while tail and not tail[0].strip():
        tail = tail[1:]
    return "".join(tail)


def rendered(path: Sequence[str], value: dict[str, Any]) -> str:
    import tomlkit  # noqa: PLC0415 - 20 ms, for one client

    return tomlkit.dumps(nested(path, value))


# ---- inline tables and dotted keys ----


def put_anywhere(text: str, path: Sequence[str], value: dict[str, Any]) -> str | None:
    import tomlkit  # noqa: PLC0415 - 20 ms, for one client

    document = tomlkit.parse(text)
    table: Any = document
    for key in path[:-1]:
        table = table.setdefault(key, tomlkit.table(is_super_table=True))
    table[path[-1]] = value
    return tomlkit.dumps(document)


def take_anywhere(text: str, path: Sequence[str]) -> str | None:
    import tomlkit  # noqa: PLC0415 - 20 ms, for one client

    document = tomlkit.parse(text)
    table: Any = document
    for key in path[:-1]:
        table = table[key]
    del table[path[-1]]
    return tomlkit.dumps(document)
