"""The rule table: `rules.toml` read and compiled, once and when first needed.

One `re2.Set` determines in a single pass which of some two hundred rules match a string at all; for source code that is
mostly none, at 450 MB/s. Only those rules are then searched for one by one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from llmc.base.languages import PLAIN, language_of, role_of

__all__ = ["RULES", "WORDS", "Rule", "RuleConfidence", "RuleTable", "Signs", "compiled", "matcher", "table", "words"]

RULES: Final = Path(__file__).with_name("rules.toml")
WORDS: Final = Path(__file__).with_name("words.toml")
# RE2's cache of states. With its default of 8 MB, RE2 discards and rebuilds the cache on large files.
SET_MEMORY: Final = 24 << 20


class RuleConfidence(StrEnum):
    """The sections of the table. Each has its own conditions for a match (`matches`)."""

    TOKEN = "token"  # noqa: S105 - a section's name
    RANDOM = "random"
    PASSWORD = "password"  # noqa: S105 - a section's name
    MIXED = "mixed"
    PAIR = "pair"
    KEY = "key"
    FILE = "file"
    OWN = "own"  # a user's rule: every match is a secret


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    pattern: bytes
    sureness: RuleConfidence
    near: bytes = b""  # matches wherever `pattern` does, and is cheaper

    @property
    def regex(self) -> Any:
        return compiled(self.pattern, utf8=self.sureness is RuleConfidence.OWN)


@dataclass(frozen=True, slots=True)
class Signs:
    """The result of one pass over text. `rules` match somewhere, in the order of the table, followed by those for the
    file name; `blocks`: it may contain a secret that spans lines; `hidden`: something in it may hide a secret."""

    rules: tuple[Rule, ...]
    blocks: bool
    hidden: bool


@dataclass(frozen=True)
class RuleTable:
    rules: tuple[Rule, ...]
    gate: Any
    files: dict[str, tuple[Rule, ...]]
    block: bytes  # patterns for `Signs.blocks` and `Signs.hidden`
    hidden: bytes

    def look(self, data: bytes, path: str) -> Signs:
        found = self.gate.Match(data) or ()
        count = len(self.rules)
        rules = [self.rules[index] for index in sorted(found) if index < count] if found else ()
        return Signs((*rules, *self._file_rules(path)), count in found, count + 1 in found)

    def _file_rules(self, path: str) -> tuple[Rule, ...]:
        """The rules for files that contain only secrets, such as `.htpasswd`, but not `htpasswd.ts`, which is a
        program."""
        rules = self.files.get(path.rpartition("/")[2].lstrip("._").partition(".")[0], ())
        return rules if rules and (language_of(path) == PLAIN or role_of(path) == "config") else ()


@cache
def table() -> RuleTable:
    import tomllib  # noqa: PLC0415 - only a reply needs it

    sections = tomllib.loads(RULES.read_text("utf-8"))
    files = {
        file: tuple(Rule(f"{file}-password", pattern.encode(), RuleConfidence.FILE) for pattern in patterns)
        for file, patterns in sections.pop(RuleConfidence.FILE).items()
    }
    signs = sections.pop("sign")
    hidden = signs["hidden"].replace("INVISIBLE", signs["invisible"]).encode()
    rules = tuple(
        rule_of(name, pattern, RuleConfidence(section))
        for section, named in sections.items()
        for name, patterns in named.items()
        for pattern in patterns
    )
    block = signs["block"].encode()
    gate = matcher([*(rule.near or rule.pattern for rule in rules), block, hidden])
    return RuleTable(rules, gate, files, block, hidden)


def rule_of(name: str, pattern: str | dict[str, str], sureness: RuleConfidence) -> Rule:
    find, near = (pattern, "") if isinstance(pattern, str) else (pattern["find"], pattern["near"])
    if sureness is RuleConfidence.TOKEN and find.startswith(_EDGE):
        rest = find.removeprefix(_EDGE)
        end = _EDGE_OR_NAME if rest.endswith(_EDGE) else ""
        rest = rest.removesuffix(_EDGE)
        near = near or rest
        find = f"{_EDGE_OR_NAME}{rest if _GROUP.search(rest) else f'({rest})'}{end}"
    return Rule(name, find.encode(), sureness, near.encode())


_EDGE: Final = r"\b"
_EDGE_OR_NAME: Final = r"(?:\b|_)"
_GROUP: Final = re.compile(r"(?<!\\)\((?!\?)")


def matcher(patterns: list[bytes]) -> Any:
    """A set whose `Match` returns the indexes of the patterns that match, in one pass."""
    import re2  # noqa: PLC0415 - takes 20 ms, and a client need not load it

    made = re2.Set.SearchSet(options(SET_MEMORY))
    for pattern in patterns:
        made.Add(pattern)
    made.Compile()
    return made


@cache
def words(name: str) -> frozenset[str]:
    """One of the lists of `words.toml`."""
    return frozenset(_lists()[name].split())


@cache
def _lists() -> dict[str, str]:
    import tomllib  # noqa: PLC0415 - only a reply needs it

    return tomllib.loads(WORDS.read_text("utf-8"))


@lru_cache(maxsize=1_024)  # bounded, because users may edit their rules
def compiled(pattern: bytes, *, utf8: bool = False) -> Any:
    import re2  # noqa: PLC0415 - see `matcher`

    return re2.compile(pattern, options(utf8=utf8))


def options(memory: int = 8 << 20, *, utf8: bool = False) -> Any:
    """Patterns match bytes: delimiters are ASCII, and UTF-8 never uses ASCII bytes inside another character."""
    import re2  # noqa: PLC0415 - see `matcher`

    chosen = re2.Options()
    chosen.max_mem = memory
    chosen.log_errors = False
    if not utf8:
        chosen.encoding = re2.Options.Encoding.LATIN1
    return chosen
