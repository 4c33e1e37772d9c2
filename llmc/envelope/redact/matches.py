"""Find the matches of a rule and check each: every section of the table has conditions beyond the pattern."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from llmc.envelope.redact.names import Sort
from llmc.envelope.redact.table import Rule, RuleConfidence
from llmc.envelope.redact.values import ContentKind, is_blank, is_mixed, is_random, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["matches"]


def matches(rule: Rule, data: bytes) -> Iterator[tuple[int, int]]:
    """(start, end) of each secret that the rule finds."""
    regex = rule.regex
    for match in regex.finditer(data):
        group = next((index for index in range(1, regex.groups + 1) if match.start(index) >= 0), 0)
        start, end = match.span(group)
        if start < end and is_meant(rule, data[start:end]):
            yield start, end


def is_meant(rule: Rule, found: bytes) -> bool:
    value = found.decode("utf-8", "replace")
    bare = value.strip("\"'")
    if rule.sureness is RuleConfidence.TOKEN:
        return not is_blank(value)
    if rule.sureness is RuleConfidence.RANDOM:
        return not is_blank(value) and is_random(value)
    if rule.sureness is RuleConfidence.PASSWORD:
        return is_password(bare)
    if rule.sureness is RuleConfidence.MIXED:
        return is_password(bare) and is_unusual(bare)
    if rule.sureness in {RuleConfidence.PAIR, RuleConfidence.KEY}:
        return is_encoded(found, rule.sureness)
    return True


def is_password(value: str) -> bool:
    """Judged as in a config file, where a plain word may be the password."""
    return is_secret(value, Sort.PASSWORD, ContentKind.CONFIG, quoted=True)


def is_unusual(value: str) -> bool:
    return is_mixed(value) or value.count("-") >= 3  # noqa: PLR2004 - a passphrase of four words


def is_encoded(found: bytes, sureness: RuleConfidence) -> bool:
    """Whether it is base64 of a private key (KEY) or of `user:password` (PAIR)."""
    try:
        plain = base64.b64decode(found[: len(found) // 4 * 4], altchars=b"-_" if b"-" in found else None)
    except (binascii.Error, ValueError):
        return False
    if sureness is RuleConfidence.KEY:
        return b"PRIVATE KEY" in plain or b"PuTTY-User-Key-File" in plain
    user, colon, password = plain.partition(b":")
    printable = all(32 <= byte < 127 for byte in plain) or plain.decode("utf-8", "ignore").isprintable()  # noqa: PLR2004 - ASCII
    return bool(user and colon and password) and printable
