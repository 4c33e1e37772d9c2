"""The table in README.md, generated from a run: at most eight rows, each with what it is compared to.

It is written between two marks; everything outside of them stays as it is.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from bench.goals import FRUGAL
from bench.report import share
from bench.workload import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["MARKS", "MOST_ROWS", "put", "rows"]

MARKS = ("<!-- bench: made by `make bench`, not by hand -->", "<!-- bench: end -->")
MOST_ROWS = 8

PLAIN = "rg + read"
TASKS = {
    "A": "tasks (used while developing)",
    "A held out": "tasks on repositories llmc was not developed with",
}
LONG_SESSION = 600


def rows(found: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(question, llmc, compared to)."""
    raw = found["raw"]
    servers = {row["server"]: row for row in raw.get("fixed", ()) if "fixed" in row}
    if "llmc lean" in servers:
        peers = sorted((row["fixed"], name) for name, row in servers.items() if not name.startswith("llmc"))
        against = ", ".join(f"{name} {tokens:,}" for tokens, name in (peers[:1] + peers[-1:])) or "no peer ran"
        yield "definitions and instructions, paid in every session", f"{servers['llmc lean']['fixed']} tokens", against
    for table, which in TASKS.items():
        yield from of_workload(found["workload"].get(table, {}), which)
    for row in raw.get("session", ()):
        if row["calls"] == LONG_SESSION:
            overhead = f"{row['overhead, % of content']:.2f} % of content"
            yield f"definitions and frame in a session of {row['calls']} calls", overhead, "the content served"
    for row in raw.get("logs", ()):
        if row["runner"] == "pytest":
            result = f"{row['tokens']:,} tokens, {row['missing'] or 'no'} failure missing"
            yield f"a failing pytest run of {row['lines']:,} lines", result, f"{row['raw_tokens']:,} tokens of output"
    for row in raw.get("focus", ())[:1]:
        kept = f"{share(row['kept'])} of answers kept in {share(row['tokens'])} of the tokens"
        yield f"a focus question to a long file, {row['cases']} cases", kept, "the whole file"


def of_workload(answers: dict[str, dict[str, Any]], which: str) -> Iterator[tuple[str, str, str]]:
    """llmc against a skilled plain arm first, then against the most frugal use of a peer."""
    if OURS not in answers:
        return
    own = answers[OURS]
    question = f"{own['tasks']} {which}"
    for name in (PLAIN, FRUGAL):
        one = answers.get(name, {})
        if one.get("tasks") == own["tasks"] and "to llmc" in one:
            yield question, f"{own['tokens']:,} tokens", f"{name}: {one['tokens']:,} tokens ({one['to llmc']:.1f} ×)"
            question = "the same tasks"


def put(readme: Path, found: dict[str, Any]) -> bool:
    """Whether README.md has the marks, and now the table between them."""
    text = readme.read_text("utf-8")
    lines = ["| question | llmc | compared to |", "|---|---|---|"]
    lines += [f"| {question} | {own} | {against} |" for question, own, against in islice(rows(found), MOST_ROWS)]
    start, end = map(re.escape, MARKS)
    made = "\n".join((MARKS[0], "", *lines, "", MARKS[1]))
    new, times = re.subn(f"{start}.*?{end}", lambda _: made, text, count=1, flags=re.DOTALL)
    if times:
        readme.write_text(new, "utf-8")
    return bool(times)
