"""Logs, entry by entry: a line that names its level or its time, and the lines of a stack trace below it.

A question that asks for levels ("which errors are there", "list the warnings") keeps every entry of those levels. If
there is not enough room for all of them, three of those that differ in numbers only are kept, and all that differ
otherwise. Other questions about a log go by its words.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llmc.base.words import query_words, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LogEntry", "asked_entries", "read_entries"]

LOOKED_AT: Final = 400  # lines from which a log is recognised
FEWEST_LINES: Final = 20
LOG_SHARE: Final = 0.5  # of the looked-at lines that begin an entry or continue one
LONGEST_PREFIX: Final = 160  # characters that contain time and level
LONGEST_LINE: Final = 1_000
_LEVELS: Final = {
    "error": r"ERROR|ERR|SEVERE|FATAL|CRITICAL|CRIT|PANIC|EMERG|ALERT|E",
    "warning": r"WARNING|WARN|WRN|W",
    "info": r"INFO|NOTICE|I",
    "debug": r"DEBUG|TRACE|VERBOSE|DBG|D",
}
# As loggers write it: in capitals, in brackets, or as `level=error` and `"level":"error"`.
_LEVEL: Final = re.compile(
    r"(?:^|[\s\[\](|<])(?:"
    + "|".join(f"(?P<{name}>{words})" for name, words in _LEVELS.items())
    + r")(?=[\s\]:|),>]|$)"
)
_FIELD: Final = re.compile(r"""\b(?:level|lvl|severity)["']?\s*[:=]\s*["']?(\w+)""", re.IGNORECASE)
_PLAIN: Final = re.compile(
    r"(?i)\s*(?:\S+:\s*)?(error|fatal|panic|warning|warn|info|debug|notice|critical)(?:\[\w+\])?[:\s]"
)
_TIME: Final = re.compile(
    r"[\[(<]?(?:\d{4}[-/.]\d\d[-/.]\d\d[ T]?|\w{3} +\d{1,2} |\d\d?/\w{3}/\d{4}[: ])?\d\d:\d\d:\d\d|[IWEF]\d{4} \d\d:"
    r"|[\[(<]?\d{4}[-/.]\d\d[-/.]\d\d[\])>]?\s"
)
_GLOG: Final = re.compile(r"([IWEF])\d{4} \d\d:")
_TRACE: Final = re.compile(
    r"\s+\S|Traceback|Caused by|\.\.\. \d+ more|goroutine \d|panic:|[\w.$]+(?:Error|Exception|Warning)\b|\s*$|\}|\)"
)
_ASKED: Final = {
    "error": "error failure fail failed exception crash fatal critical panic problem wrong",
    "warning": "warning warn deprecation",
    "info": "info notice",
    "debug": "debug trace",
}
_NUMBER: Final = re.compile(r"0x[0-9a-f]+|\d+", re.IGNORECASE)
ALIKE: Final = 3  # entries that differ in numbers only are kept so often


@dataclass(frozen=True, slots=True)
class LogEntry:
    """Lines `start` to `end` (from 0, `end` exclusive)."""

    start: int
    end: int
    level: str = ""


def read_entries(lines: Sequence[str]) -> list[LogEntry]:
    """The entries of a log; empty if the text is not one."""
    looked = [line for line in lines[:LOOKED_AT] if line.strip()]
    if len(looked) < FEWEST_LINES:
        return []
    begun = [line for line in looked if _begins(line)]
    levelled = sum(1 for line in begun if level_of(line))
    if len(begun) < FEWEST_LINES / 2 or len(begun) < LOG_SHARE * len(looked) or not levelled:
        traced = sum(1 for line in looked if _TRACE.match(line))
        if not levelled or len(begun) + traced < 2 * LOG_SHARE * len(looked) or len(begun) < FEWEST_LINES / 2:
            return []
    found: list[LogEntry] = []
    for at, line in enumerate(lines):
        if not found or _begins(line) or not _TRACE.match(line):
            found.append(LogEntry(at, at + 1, level_of(line)))
        else:
            found[-1] = LogEntry(found[-1].start, at + 1, found[-1].level)
    return found


def _begins(line: str) -> bool:
    head = line[:LONGEST_PREFIX]
    return bool(_TIME.match(head)) or bool(_LEVEL.match(head)) or bool(_FIELD.search(head) and head[:1] in '{lt"')


def level_of(line: str) -> str:
    """error, warning, info or debug; empty if the line names none."""
    head = line[:LONGEST_PREFIX]
    if glog := _GLOG.match(head):
        return {"I": "info", "W": "warning"}.get(glog[1], "error")
    if found := _FIELD.search(line[:LONGEST_LINE]):
        return _named(found[1])
    if (match := _LEVEL.search(head)) and match.lastgroup:
        return match.lastgroup
    plain = _PLAIN.match(head)
    return _named(plain[1]) if plain else ""


def _named(word: str) -> str:
    upper = word.upper()
    return next((name for name, words in _LEVELS.items() if upper in words.split("|")), "")


def levels_asked(question: str) -> frozenset[str]:
    said = {stem(word.text.lower()) for word in query_words(question)}
    return frozenset(name for name, words in _ASKED.items() if said & {stem(word) for word in words.split()})


def asked_entries(
    lines: Sequence[str], entries: Sequence[LogEntry], question: str, costs: Sequence[float], room: float
) -> list[int] | None:
    """The lines of all entries of the levels that a question asks for; None if it asks for none, or there are none."""
    levels = levels_asked(question)
    wanted = [_lines_of(lines, entry) for entry in entries if entry.level in levels]
    if sum(costs[at] for span in wanted for at in span) > room:
        seen: Counter[str] = Counter()
        distinct = []
        for span in wanted:
            text = _NUMBER.sub("0", lines[span.start][:LONGEST_LINE])
            seen[text] += 1
            if seen[text] <= ALIKE:
                distinct.append(span)
        wanted = distinct
    return [at for span in wanted for at in span] or None


def _lines_of(lines: Sequence[str], entry: LogEntry) -> range:
    """Without blank lines at its end."""
    end = entry.end
    while end > entry.start + 1 and not lines[end - 1].strip():
        end -= 1
    return range(entry.start, end)
