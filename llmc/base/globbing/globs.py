"""Parses one glob of an ignore file, exactly as ripgrep does.

The syntax is gitignore's with ripgrep's extensions, since llmc returns the files of `rg --files`: `{a,b}` is an
alternative, a character class may match `/`, a backslash inside a class is a literal, `?` is one byte, and a glob with
a syntax error is ignored. `patterns` decides which lines are rules and which rule takes precedence.

A glob is matched in the cheapest exact way: most are a plain name or an extension and need no regular expression.
Regular expressions are for RE2, over bytes.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import Enum, auto

__all__ = ["Glob", "GlobError", "GlobShape", "parse"]


class GlobError(ValueError):
    """The text is not a valid glob."""


class GlobShape(Enum):
    """How a glob is matched."""

    NAME = auto()  # the last part of the path is `text`
    EXTENSION = auto()  # the extension of the last part, with the dot, is `text`
    PATH = auto()  # the whole path is `text`
    WILD_NAME = auto()  # the last part matches `regex`
    WILD_ENTRY = auto()  # an entry of the folder `text` whose name matches `regex`
    WILD_PATH = auto()  # the whole path matches `regex`, in or below the folder `text` ("": anywhere)


@dataclass(frozen=True, slots=True)
class Glob:
    """`stars` counts the wildcards of variable length, which make a glob expensive."""

    shape: GlobShape
    text: str = ""
    regex: bytes = b""
    stars: int = 0


class _Kind(Enum):
    LITERAL = auto()
    ONE = auto()
    STAR = auto()
    CLASS = auto()
    CHOICE = auto()
    ANYWHERE = auto()  # a leading **/
    BETWEEN = auto()  # /**/
    BELOW = auto()  # /** at the end of a choice


@dataclass(frozen=True, slots=True)
class _Token:
    kind: _Kind
    regex: bytes
    char: str = ""
    stars: int = 0
    slash: bool = False  # can match a slash


_MEANING = re.compile(r"[*?\[{},\\]")

_ONE = _Token(_Kind.ONE, b"[^/]")
_STAR = _Token(_Kind.STAR, b"[^/]*", stars=1)
_ANYWHERE = _Token(_Kind.ANYWHERE, b"(?:/?|.*/)", stars=1, slash=True)
_BETWEEN = _Token(_Kind.BETWEEN, b"(?:/|/.*/)", stars=1, slash=True)
_BELOW = _Token(_Kind.BELOW, b"/.*", stars=1, slash=True)


def parse(text: str) -> Glob:
    name = text.removeprefix("**/")
    if name and not _MEANING.search(name) and (name is text or "/" not in name):  # true for nine lines of ten
        return Glob(GlobShape.PATH if name is text else GlobShape.NAME, name)
    tokens = _Parser(text).tokens()
    if tokens == [_ANYWHERE]:
        return Glob(GlobShape.WILD_PATH, "", b".*", 1)
    if tokens and tokens[0] is _ANYWHERE and not any(token.slash for token in tokens[1:]):
        return _of_name(tokens[1:])
    if all(token.kind is _Kind.LITERAL for token in tokens):
        return Glob(GlobShape.PATH, "".join(token.char for token in tokens))
    return _of_path(tokens) if tokens[0].char != "/" else Glob(GlobShape.PATH)  # no path begins with a slash


def _of_name(tokens: list[_Token]) -> Glob:
    literal = "".join(token.char for token in tokens)
    if all(token.kind is _Kind.LITERAL for token in tokens):
        return Glob(GlobShape.NAME, literal)
    if tokens[0] is _STAR and len(literal) == len(tokens) - 1 and literal.rfind(".") == 0:
        return Glob(GlobShape.EXTENSION, literal)
    return Glob(GlobShape.WILD_NAME, "", _regex(tokens), _stars(tokens))


def _of_path(tokens: list[_Token]) -> Glob:
    plain = next(place for place, token in enumerate(tokens) if token.kind is not _Kind.LITERAL)
    literal = "".join(token.char for token in tokens[:plain])
    folder = literal if tokens[plain] is _BETWEEN else literal.rpartition("/")[0]
    if any(token.slash for token in tokens[plain:]):
        return Glob(GlobShape.WILD_PATH, folder, _regex(tokens), _stars(tokens))
    name = tokens[len(folder) + 1 :] if "/" in literal else tokens
    return Glob(GlobShape.WILD_ENTRY, folder, _regex(name), _stars(name))


def _regex(tokens: list[_Token]) -> bytes:
    return b"".join(token.regex for token in tokens)


def _stars(tokens: list[_Token]) -> int:
    return sum(token.stars for token in tokens)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0  # after the last character that was read
        self._branch: list[_Token] = []
        self._open: list[tuple[list[_Token], list[list[_Token]]]] = []  # per open brace: tokens before it, branches
        self._classes = True

    def tokens(self) -> list[_Token]:
        while self._at < len(self._text):
            char = self._next()
            if char == "*":
                self._star()
            elif char == "[" and self._classes:
                self._class()
            elif char in "?{},\\":
                self._special(char)
            else:
                self._push(_literal(char))
        if self._open:
            raise GlobError("an open brace")
        return self._branch

    def _next(self) -> str:
        self._at += 1
        return self._text[self._at - 1]

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _push(self, token: _Token) -> None:
        if token is not _STAR or self._branch[-1:] != [_STAR]:  # ** within a name is equivalent to *
            self._branch.append(token)

    def _special(self, char: str) -> None:
        if char == "?":
            self._push(_ONE)
        elif char == "\\":
            if not self._peek():
                raise GlobError("a backslash at the end")
            self._push(_literal(self._next()))
        elif char == "{":
            self._open.append((self._branch, []))
            self._branch = []
        elif not self._open:
            if char == "}":
                raise GlobError("a brace that was not opened")
            self._push(_literal(char))
        else:
            before, branches = self._open[-1]
            branches.append(self._branch)
            self._branch = []
            if char == "}":
                self._open.pop()
                self._branch = [*before, _choice(branches)]

    def _star(self) -> None:
        before = self._text[self._at - 2] if self._at > 1 else ""
        if self._peek() != "*":
            self._push(_STAR)
            return
        self._next()
        after = self._peek()
        if not self._branch:
            self._push(_ANYWHERE if after in ("", "/") else _STAR)
            self._at += after == "/"
        elif before != "/" and not (self._open and before in (",", "{")):
            self._push(_STAR)
        elif after in ("", "/") or (self._open and after in (",", "}")):
            self._folders(after)
        else:
            self._push(_STAR)

    def _folders(self, after: str) -> None:
        """A `**` that matches whole parts of a path replaces the slash before it."""
        self._at += after == "/"
        last = self._branch.pop()
        if last not in (_ANYWHERE, _BELOW):
            last = _BETWEEN if after == "/" else _BELOW
        self._branch.append(last)

    def _class(self) -> None:
        start = self._at
        negated = self._peek() in ("!", "^")
        self._at += negated
        first, ranges = self._at, list[tuple[str, str]]()
        in_range = False
        while self._at < len(self._text):
            char = self._next()
            if char == "]" and self._at - 1 > first:
                if in_range:
                    ranges.append(("-", "-"))
                self._push(_class(ranges, negated=negated))
                return
            if char == "-" and self._at - 1 > first and not in_range:
                in_range = True
            elif in_range:
                in_range = False
                ranges[-1] = (ranges[-1][0], char)
                if char < ranges[-1][0]:
                    raise GlobError("a range that runs backwards")
            else:
                ranges.append((char, char))
        self._at, self._classes = start, False  # never closed: a literal bracket, and no class can follow
        self._push(_literal("["))


def _literal(char: str) -> _Token:
    return _Token(_Kind.LITERAL, _escaped(char), char, slash=char == "/")


def _choice(branches: list[list[_Token]]) -> _Token:
    tokens = [token for branch in branches for token in branch]
    parts = [_regex(branch) for branch in branches if branch]
    regex = b"(?:" + b"|".join(parts) + b")" if parts else b""
    return _Token(_Kind.CHOICE, regex, stars=_stars(tokens), slash=any(token.slash for token in tokens))


def _class(ranges: list[tuple[str, str]], *, negated: bool) -> _Token:
    """A class of bytes: a letter outside ASCII counts as its separate bytes."""
    regex = b"[^" if negated else b"["
    slash = negated
    for low, high in ranges:
        regex += _escaped(low) if low == high else _escaped(low) + b"-" + _escaped(high)
        if low <= "/" <= high:
            slash = not negated
    return _Token(_Kind.CLASS, regex + b"]", slash=slash)


def _escaped(char: str) -> bytes:
    if char.isascii() and char.isalnum():
        return char.encode()
    return b"".join(b"\\x%02x" % byte for byte in os.fsencode(char))
