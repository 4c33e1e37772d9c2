"""Does a field by this name hold a secret? `db.password`, `apiKey`, `AWS_SECRET_ACCESS_KEY_2` do; `password_field`,
`tokenizer` and `public_key` do not. The last word decides, since it says what the thing is.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

__all__ = ["Sort", "sort_of"]


class Sort(StrEnum):
    """PASSWORD: people choose it, so any word may be one. TOKEN: machines make it, so it looks like that."""

    PASSWORD = "password"  # noqa: S105 - the word, not one
    TOKEN = "token"  # noqa: S105 - likewise
    NONE = ""


_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WORDS: Final = lambda text: frozenset(text.split())  # noqa: E731 - keeps the tables below readable

_PASSWORDS: Final = ("password", "passwd", "passwort", "passphrase", "passcode", "pwd", "pswd", "secret", "kennwort")
_TOKENS: Final = ("token", "apikey", "accesskey", "authkey", "credential", "credentials", "jwt", "bearer")
_WHOLE_PASSWORDS: Final = _WORDS("pass pw psw psk requirepass masterauth")
_WHOLE_TOKENS: Final = _WORDS("auth authtoken")

# `x_key` is a secret for these x; a cache, sort, public or primary key is none.
_KEYS: Final = _WORDS(
    "api access secret private auth encryption decryption signing signature master account storage shared service app "
    "application client consumer license deploy ssh webhook jwt hmac cookie session subscription function admin "
    "aes crypto cipher rsa hash security root token apikey write ingest integration server bot pre psk wep wpa"
)
# What may stand behind the telling word without changing what it is.
_ENDS: Final = _WORDS(
    "prod production dev staging stage live test value val plain plaintext raw string str base64 b64 b 64 hex data "
    "default old new current confirm confirmation again repeat main master primary secondary backup root admin db env "
    "rw ro encoded local remote qa uat eu us id2 hash2"
)
# What before it says that it is a wish, a state or a digest.
_NOT_PASSWORDS: Final = _WORDS(
    "no has is show hide forgot forgotten reset require requires required allow enable disable invalid wrong missing "
    "hashed encrypted sealed digest verify validate check get on by com over render first second one single multi "
    "low high band depth shadow compiler lint"
)
_NOT_TOKENS: Final = _WORDS("next prev previous page pagination continuation cancellation cancel design pad eos bos unk")
_BYPASSES: Final = ("bypass", "compass", "surpass", "overpass", "trespass", "underpass", "encompass", "multipass")


@lru_cache(4096)
def sort_of(name: str) -> Sort:
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and (words[-1] in _ENDS or words[-1].isdigit()):
        words.pop()
    if not words:
        return Sort.NONE
    *before, last = words
    leading = before[-1] if before else ""
    if is_password(last):
        return Sort.NONE if _NOT_PASSWORDS & set(before) else Sort.PASSWORD
    if last == "key" and leading in {"secret", "master"}:
        return Sort.PASSWORD
    is_token = last.endswith(_TOKENS) or last in _WHOLE_TOKENS or (last == "key" and leading in _KEYS)
    return Sort.TOKEN if is_token and leading not in _NOT_TOKENS else Sort.NONE


def is_password(word: str) -> bool:
    if word.endswith(_PASSWORDS) or word in _WHOLE_PASSWORDS:
        return True
    return word.endswith("pass") and not word.endswith(_BYPASSES)
