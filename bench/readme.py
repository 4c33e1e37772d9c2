"""The table in README.md, made from a run: what llmc costs and saves, each figure with whom it is compared to.

It stands between two marks; what is outside of them is never touched.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bench.goals import FRUGAL, TYPICAL
from bench.report import share, shown
from bench.workload import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["MARKS", "put", "rows"]

MARKS = ("<!-- bench: made by `make bench`, not by hand -->", "<!-- bench: end -->")

ANSWERS = {
    "A": ("tasks that ask for an answer", "llmc was tuned while looking at these tasks; see docs/bench.md"),
    "A later": ("others, held out at first", "their misses were looked at to improve excerpts; see docs/bench.md"),
    "A held out": ("others, held out", "written before llmc had seen their repositories; see docs/bench.md"),
}


def rows(found: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(question, llmc, compared to)."""
    raw = found["raw"]
    servers = {row["server"]: row for row in raw.get("fixed", ()) if "fixed" in row}
    if "llmc lean" in servers:
        peers = sorted((row["fixed"], name) for name, row in servers.items() if not name.startswith("llmc"))
        against = ", ".join(f"{name} {tokens:,}" for tokens, name in (peers[:1] + peers[-1:])) or "no peer ran"
        yield "definitions and instructions, paid in every session", f"{servers['llmc lean']['fixed']} tokens", against
    for table, words in ANSWERS.items():
        answers = found["workload"].get(table, {})
        if OURS in answers:
            yield from of_workload(answers, *words)
            yield from without_texts(found["apart"].get(table, {}).get("others", {}))
    for row in raw.get("session", ()):
        overhead = f"{row['overhead, % of content']:.2f} % of content"
        length = ", ".join(dict.fromkeys((row["session"], f"{row['calls']} calls")))
        hours = f" ({row['stands for']})" if row["stands for"] else ""
        yield f"definitions and frame, {length}{hours}", overhead, "the content served"
    for row in raw.get("logs", ()):
        told = f"{row['tokens']:,} tokens, no failure missing" if not row["missing"] else f"{row['missing']} missing"
        yield (
            f"a failing {row['runner']} run of {row['lines']:,} lines",
            told,
            f"{row['raw_tokens']:,} tokens of output",
        )
    for row in raw.get("focus", ())[:1]:
        kept = f"{share(row['kept'])} of answers kept in {share(row['tokens'])} of the tokens"
        yield f"a focus question to a long file, {row['cases']} cases", kept, "the whole file"


def of_workload(answers: dict[str, dict[str, Any]], which: str, caution: str) -> Iterator[tuple[str, str, str]]:
    own = answers[OURS]
    first = f"{share(own['answered'])} answered, {share(own['in the first reply'])} in the first reply"
    yield f"{own['tasks']} {which}", f"{own['tokens']:,} tokens, {first}", caution
    for name, one in answers.items():
        if name == OURS or "to llmc" not in one:
            continue
        ratio = f"{one['to llmc']:.1f} × fewer ({one.get('to llmc without it', 0):.1f} × without {one['largest task']})"
        if name == "llmc untrained":
            ratio = f"its own best has {ratio}"
        yield (
            f"the same, {one['tasks']} of them",
            ratio,
            f"{name}: {shown(one['tokens'])} tokens, {share(one['answered'])} answered",
        )


def without_texts(others: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """What is left when those are taken out that ask for a text as such."""
    told = [(name, one["to llmc"]) for name in (TYPICAL, FRUGAL) if "to llmc" in (one := others.get(name, {}))]
    if told and OURS in others:
        ratios = " and ".join(f"{ratio:.3g} ×" for _, ratio in told)
        names = ", ".join(name for name, _ in told)
        yield f"of these, the {others[OURS]['tasks']} that ask for no text as such", f"{ratios} fewer", names


def put(readme: Path, found: dict[str, Any]) -> bool:
    """Whether README.md has the marks, and now the table between them."""
    text = readme.read_text("utf-8")
    lines = ["| question | llmc | against |", "|---|---|---|"]
    lines += [f"| {question} | {own} | {against} |" for question, own, against in rows(found)]
    start, end = map(re.escape, MARKS)
    made = "\n".join((MARKS[0], "", *lines, "", MARKS[1]))
    new, times = re.subn(f"{start}.*?{end}", lambda _: made, text, count=1, flags=re.DOTALL)
    if times:
        readme.write_text(new, "utf-8")
    return bool(times)
