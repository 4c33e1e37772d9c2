"""Does a field by this name hold a secret? `db.password`, `apiKey`, `AWS_SECRET_ACCESS_KEY_2` do; `password_field`,
`tokenizer` and `public_key` do not. The last word decides, since it says what the thing is.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

from llmc.envelope.redact.table import words

__all__ = ["Sort", "sort_of"]


class Sort(StrEnum):
    """PASSWORD: people choose it, so any word may be one. TOKEN: machines make it, so it looks like that."""

    PASSWORD = "password"  # noqa: S105 - the word, not one
    TOKEN = "token"  # noqa: S105 - likewise
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
    *before, last = parts
    leading = before[-1] if before else ""
    if is_password(last):
        return Sort.NONE if words("not_passwords") & set(before) else Sort.PASSWORD
    if last == "key" and leading in {"secret", "master"}:
        return Sort.PASSWORD
    if "public" in before:
        return Sort.NONE
    is_token = last.endswith(_TOKENS) or last in words("tokens") or (last == "key" and leading in words("keys"))
    return Sort.TOKEN if is_token and leading not in words("not_tokens") else Sort.NONE


def is_password(word: str) -> bool:
    if word.endswith(_PASSWORDS) or word in words("passwords"):
        return True
    return word.endswith(("pass", "pw")) and not word.endswith(_BYPASSES)
