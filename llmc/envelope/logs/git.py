"""Compacts git log, status, diff and show: one line per commit, changes by file with counts and hunks.

These outputs are content and not problems, so they become groups of the reply instead of a report.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from llmc.envelope.envelope import Group, Item, Row
from llmc.envelope.logs.problem import clip

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Compact", "read_changes", "read_log", "read_status"]

_COMMIT: Final = re.compile(r"commit (?P<hash>[0-9a-f]{7,64})(?P<marks> \(.*\))?$")
_DATE: Final = re.compile(r"(?:Author)?Date: +(?P<date>.+)$")
_DAY: Final = re.compile(r"\w{3} (?P<month>\w{3}) +(?P<day>\d+) [\d:]+ (?P<year>\d{4})")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FILE: Final = re.compile(r"diff --(?:git|cc|combined) (?P<names>.+)$")
_NEW: Final = re.compile(r'\+\+\+ (?:"?b/)?(?P<path>.+?)"?\t?$')
_HUNK: Final = re.compile(r"@@+ .*?\+(?P<start>\d+)(?:,\d+)? @@+(?P<within>.*)$")
_STATUS: Final = re.compile(
    r"\t(?:(?P<what>new file|modified|deleted|renamed|copied|typechange|both \w+|(?:deleted|added) by \w+):\s+)?"
    r"(?P<path>.+)$"
)
_BRANCH: Final = re.compile(r"(?:On branch (?P<name>.+)|(?P<detached>HEAD detached .+))$")


@dataclass(frozen=True, slots=True)
class Compact:
    """A summary of the output, and its groups. `lost`: the groups omit a part of every line, which `found` mentions.
    `cut`: some lines are truncated, and marked with `…`."""

    found: str
    groups: tuple[Group, ...]
    in_order: bool = False
    lost: bool = False
    cut: bool = False


@dataclass(slots=True)
class Commit:
    hash: str
    day: str = ""
    subject: str = ""
    first: int = 0
    last: int = 0
    files: list[Group] = field(default_factory=list)


def read_log(lines: Sequence[str]) -> Compact | None:
    """`git log` and `git show` of commits, in git's own format."""
    commits = [at for at, line in enumerate(lines) if _COMMIT.match(line)]
    if not commits or commits[0] != 0:
        return None
    ends = [*commits[1:], len(lines)]
    read = [commit_of(lines, start, end) for start, end in zip(commits, ends, strict=True)]
    if not any(commit.files for commit in read):
        items = tuple(Item((Row(written(commit)),), start=commit.first, end=commit.last) for commit in read)
        return Compact(plural(len(read), "commit"), (Group("", items),), in_order=True)
    groups: list[Group] = []
    for commit in read:
        groups.append(Group(written(commit), (Item(start=commit.first, end=commit.last),)))
        groups += commit.files
    return Compact(plural(len(read), "commit"), tuple(groups))


def commit_of(lines: Sequence[str], start: int, end: int) -> Commit:
    match = _COMMIT.match(lines[start])
    assert match is not None
    commit = Commit(match["hash"][:10], first=start + 1, last=end)
    for at in range(start, end):
        if _FILE.match(lines[at]):
            commit.files = list(changed_files(lines, at, end))
            break
        date = _DATE.match(lines[at])
        if date:
            commit.day = day_of(date["date"])
        elif lines[at].startswith("    ") and lines[at].strip() and not commit.subject:
            commit.subject = lines[at].strip() + (match["marks"] or "")
    return commit


def day_of(date: str) -> str:
    match = _DAY.match(date)
    if match and match["month"] in _MONTHS:
        return f"{match['year']}-{_MONTHS.index(match['month']) + 1:02}-{int(match['day']):02}"
    return date


def written(commit: Commit) -> str:
    return " ".join(part for part in (commit.hash, commit.day, clip(commit.subject)) if part)


def read_changes(lines: Sequence[str]) -> Compact | None:
    """A unified diff."""
    start = next((at for at, line in enumerate(lines[:20]) if _FILE.match(line)), None)
    if start is None:
        return None
    groups = changed_files(lines, start, len(lines))
    added, removed = (sum(counts(lines, sign, start, len(lines))) for sign in "+-")
    return Compact(f"{plural(len(groups), 'file')} changed, +{added:,} -{removed:,}", tuple(groups))


def changed_files(lines: Sequence[str], start: int, end: int) -> list[Group]:
    heads = [at for at in range(start, end) if _FILE.match(lines[at])]
    return [file_of(lines, head, stop) for head, stop in zip(heads, [*heads[1:], end], strict=True)]


def file_of(lines: Sequence[str], start: int, end: int) -> Group:
    """`path · +10 -3` with its hunks as items; other changes (a rename, a new file, binary) are in the title."""
    hunks = [at for at in range(start, end) if _HUNK.match(lines[at])]
    head = lines[start : hunks[0] if hunks else end]
    match = _FILE.match(lines[start])
    assert match is not None
    path = next((found["path"] for line in head if (found := _NEW.match(line)) and found["path"] != "/dev/null"), "")
    path = path or match["names"].rpartition(" b/")[2].rstrip('"')
    labels = [word for mark, word in LABELS if any(line.startswith(mark) for line in head)]
    added, removed = (sum(counts(lines, sign, hunks[0] if hunks else end, end)) for sign in "+-")
    title = " ".join([path, *([f"+{added} -{removed}"] if hunks else []), *labels])
    parts = [part for at, stop in zip(hunks, [*hunks[1:], end], strict=False) for part in hunk_of(lines, at, stop)]
    return Group(title, (Item(start=start + 1, end=end), *parts))


LABELS: Final = (
    ("new file", "(new)"),
    ("deleted file", "(deleted)"),
    ("rename from", "(renamed)"),
    ("Binary files", "(binary)"),
    ("old mode", "(mode)"),
)


def counts(lines: Sequence[str], sign: str, start: int, end: int) -> list[int]:
    double = f"{sign}{sign}{sign} "
    return [1 for at in range(start, end) if lines[at].startswith(sign) and not lines[at].startswith(double)]


def hunk_of(lines: Sequence[str], start: int, end: int) -> list[Item]:
    """The beginning and the rest of a hunk, so that a short reply shows the beginning of every file first."""
    match = _HUNK.match(lines[start])
    assert match is not None
    rows = [Row(f"@{match['start']}{match['within'].rstrip()}")]
    rows += [Row(clip(line)) for line in lines[start + 1 : end] if not line.startswith("\\ No newline")]
    while len(rows) > 1 and not rows[-1].text:
        rows.pop()
    parts = [(rows[:HUNK_ROWS], 1), (rows[HUNK_ROWS:], 2)]
    return [Item(tuple(part), start=start + 1, end=end, level=level) for part, level in parts if part]


HUNK_ROWS: Final = 12


def read_status(lines: Sequence[str]) -> Compact | None:
    branch = _BRANCH.match(lines[0]) if lines else None
    if branch is None:
        return None
    sections: dict[str, list[Item]] = {}
    section, words = "", [branch["name"] or branch["detached"]]
    for at, line in enumerate(lines[1:], 1):
        match = _STATUS.match(line)
        if line.endswith(":") and line[:1].isupper():
            section = SECTIONS.get(line, line.rstrip(":"))
        elif match and section:
            what = f"{match['what']}: " if match["what"] and match["what"] != "modified" else ""
            sections.setdefault(section, []).append(Item((Row(f"{what}{match['path']}"),), start=at + 1, end=at + 1))
        elif line.startswith("Your branch"):
            words.append(line.rstrip("."))
        elif line.startswith(("nothing to commit", "You have unmerged", "All conflicts", "interactive rebase")):
            words.append(line.partition(",")[2].strip() or line)
    groups = tuple(Group(name, tuple(items), len(items)) for name, items in sections.items())
    return Compact(" · ".join(words), groups)


SECTIONS: Final = {
    "Changes to be committed:": "staged",
    "Changes not staged for commit:": "not staged",
    "Untracked files:": "untracked",
    "Unmerged paths:": "unmerged",
    "Ignored files:": "ignored",
}


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
