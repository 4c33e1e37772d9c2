"""Does a field of this name contain a secret? `db.password`, `apiKey`, `AWS_SECRET_ACCESS_KEY_2` do; `password_field`,
`tokenizer` and `public_key` do not. The last word decides, since it names the kind of value. A field whose name merely
contains one of these words (`MACHINE_KEY`, `tokenForStaging`) may contain one if its value is long and random.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

from llmc.envelope.redact.table import words

__all__ = ["Sort", "sort_of"]


class Sort(StrEnum):
    """What values of a field may be secret. PASSWORD: chosen by people, so any word. TOKEN: mostly generated. KEY: only
    a long random value. RANDOM: the same, except a UUID, which is an identifier."""

    PASSWORD = "password"  # noqa: S105 - a name, not a password
    TOKEN = "token"  # noqa: S105 - a name, not a token
    KEY = "key"
    RANDOM = "random"
    NONE = ""


_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PASSWORDS: Final = ("password", "passwd", "passwort", "passphrase", "passcode", "pwd", "pswd", "secret", "kennwort")
_TOKENS: Final = ("token", "apikey", "accesskey", "authkey", "credential", "credentials", "jwt", "bearer")


_BYPASSES: Final = ("bypass", "compass", "surpass", "overpass", "trespass", "underpass", "encompass", "multipass")


@lru_cache(4096)
def sort_of(name: str) -> Sort:
    parts = [part.lower() for part in _WORD.findall(name)]
    while len(parts) > 1 and (parts[-1] in words("ends") or parts[-1].isdigit()):
        parts.pop()
    if not parts:
        return Sort.NONE
    return sort_of_words(parts)


def sort_of_words(parts: list[str]) -> Sort:
    *before, last = parts
    leading = before[-1] if before else ""
    if is_password(last):
        return Sort.NONE if words("not_passwords") & set(before) else Sort.PASSWORD
    if last == "key" and leading in {"secret", "master"}:
        return Sort.PASSWORD
    if "public" in before:
        return Sort.NONE
    if last == "salt" and leading in words("salts"):
        return Sort.TOKEN
    is_token = last.endswith(_TOKENS) or last in words("tokens") or (last == "key" and leading in words("keys"))
    if is_token and leading not in words("not_tokens"):
        return Sort.TOKEN
    return key_sort(parts)


def key_sort(parts: list[str]) -> Sort:
    if not may_hold_key(parts):
        return Sort.NONE
    return Sort.KEY if parts[-1] == "key" else Sort.RANDOM


def may_hold_key(parts: list[str]) -> bool:
    """Whether a long random value of this name is a secret; not if the name indicates something else."""
    if parts[-1] in words("not_values") or words("not_keys") & set(parts):
        return False
    return any(part == "key" or part.endswith((*_PASSWORDS, *_TOKENS)) for part in parts)


def is_password(word: str) -> bool:
    if word.endswith(_PASSWORDS) or word in words("passwords"):
        return True
    return word.endswith(("pass", "pw")) and not word.endswith(_BYPASSES)
