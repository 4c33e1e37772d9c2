"""Parses JSON with comments into a tree with the position of each value in the text, for the edits of `jsonc`.

Comments and trailing commas are accepted; other syntax errors are reported with line and column.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BrokenError", "Member", "Node", "find", "is_blank", "parse"]

BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
WORD = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null", re.ASCII)

MAX_NUMBER_CHARS = 1_000


class BrokenError(ValueError):
    """The text cannot be parsed or edited; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Member:
    """An item of a container. `key` is None in a list; `comma` is the position of the comma after it, or -1."""

    key: str | None
    start: int
    node: Node
    comma: int


@dataclass(frozen=True, slots=True)
class Node:
    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()

    def member(self, key: str) -> Member | None:
        """The last member with this key, which is the one that JSON parsers use."""
        return next((member for member in reversed(self.members) if member.key == key), None)


class Parser:
    def __init__(self, text: str) -> None:
        self._text = text

    def document(self) -> Node:
        try:
            node = self._value(self._skip(0))
        except RecursionError:
            raise BrokenError("nested too deeply") from None
        if self._skip(node.end) != len(self._text):
            self._fail(self._skip(node.end), "unexpected text after the end")
        return node

    def _value(self, at: int) -> Node:
        first = self._text[at : at + 1]
        if first in ("{", "["):
            return self._container(at, "}" if first == "{" else "]")
        if first == '"':
            value, end = self._string(at)
            return Node(at, end, value)
        word = WORD.match(self._text, at)
        if word is None:
            self._fail(at, "a value is missing" if first in ("", ",", "}", "]") else f"{first!r} is not a value")
        # Python refuses to convert numbers with thousands of digits; they are compared as strings.
        value = json.loads(word.group()) if len(word.group()) <= MAX_NUMBER_CHARS else word.group()
        return Node(at, word.end(), value)

    def _container(self, start: int, close: str) -> Node:
        members: list[Member] = []
        at = self._skip(start + 1)
        while self._text[at : at + 1] != close:
            if members and members[-1].comma < 0:
                self._fail(at, f"a comma or {close} is missing")
            member = self._member(at, named=close == "}")
            members.append(member)
            at = self._skip(member.comma + 1 if member.comma >= 0 else member.node.end)
        if close == "]":
            return Node(start, at + 1, [member.node.value for member in members], tuple(members))
        return Node(start, at + 1, {str(member.key): member.node.value for member in members}, tuple(members))

    def _member(self, at: int, *, named: bool) -> Member:
        start, key = at, None
        if named:
            if self._text[at : at + 1] != '"':
                self._fail(at, "a quoted key is missing" if at < len(self._text) else "unexpected end")
            key, at = self._string(at)
            at = self._skip(at)
            if self._text[at : at + 1] != ":":
                self._fail(at, "a colon is missing")
            at = self._skip(at + 1)
        node = self._value(at)
        behind = self._skip(node.end)
        return Member(key, start, node, behind if self._text[behind : behind + 1] == "," else -1)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            value, end = json.JSONDecoder().raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            self._fail(error.pos, error.msg.lower())
        return str(value), end

    def _skip(self, at: int) -> int:
        blank = BLANK.match(self._text, at)
        return blank.end() if blank else at

    def _fail(self, at: int, reason: str) -> NoReturn:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        raise BrokenError(f"line {line}, column {column}: {reason}")


def parse(text: str) -> Node:
    return Parser(text).document()


def find(text: str, path: Sequence[str]) -> Any:
    """The value at a path, or None."""
    value = None if is_blank(text) else parse(text).value
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def is_blank(text: str) -> bool:
    return BLANK.fullmatch(text) is not None
