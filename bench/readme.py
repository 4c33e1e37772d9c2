"""The table in README.md, generated from a run: at most eight rows, each with what it is compared to, the raw figures
and the command that measures it.

It is written between two marks; everything outside of them stays as it is. Losses are rows like the others.
"""

from __future__ import annotations

import re
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.goals import FRUGAL
from bench.suites import SUITES, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["MARKS", "MOST_ROWS", "put", "rows"]

MARKS = ("<!-- bench: made by `make bench`, not by hand -->", "<!-- bench: end -->")
MOST_ROWS = 8
PLAIN, OURS = "rg + read", "llmc"
COMMANDS = {part.name: part.command for part in parts_of(list(SUITES))}


def rows(found: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """(question, llmc, comparison, part of the run)."""
    raw = found["raw"]
    yield from of_trials(raw.get("trials", ()))
    servers = {row["server"]: row for row in raw.get("fixed", ()) if "fixed" in row}
    if "llmc lean" in servers:
        peers = sorted((row["fixed"], name) for name, row in servers.items() if not name.startswith(OURS))
        against = ", ".join(f"{name} {tokens:,}" for tokens, name in (peers[:1] + peers[-1:])) or "no peer ran"
        own = f"{servers['llmc lean']['fixed']:,} tokens"
        yield "definitions and instructions, paid in every session", own, against, "fixed"
    yield from of_workload(found["workload"].get("A held out", {}))
    yield from of_ranking(raw.get("peers", {}).get("ranking", {}))
    yield from of_grep(raw.get("grep", {}))
    yield from of_build(raw.get("peers", {}).get("build", {}))


def of_trials(arms: list[dict[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Real agents, experienced ones with rg and sed first: the tokens read until everything was answered."""
    for arm, how in ((OURS, "commands"), ("mcp", "MCP, definitions included")):
        own = {one["trial"]: one for one in arms if one["arm"] == arm}
        plain = {one["trial"]: one for one in arms if one["arm"] == "plain" and one["trial"] in own}
        if own:
            names = ", ".join(name.split("-", 3)[3] for name in own)
            questions = sum(one["questions"] for one in plain.values())
            question = f"{questions} questions about {names}: tokens that a real agent reads ({how})"
            ours, theirs = summed(own), summed(plain)
            share = f"{ours['tokens'] / theirs['tokens']:.0%}"
            facts = ours["facts"]
            yield (
                question,
                f"{ours['tokens']:,}; {ours['facts named']:.0f} of {facts} facts named",
                f"with `rg` and `sed` {theirs['tokens']:,} (llmc {share}); {theirs['facts named']:.0f} of {facts}",
                "trials",
            )


def summed(trials: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {key: sum(one[key] for one in trials.values()) for key in ("tokens", "facts named", "facts")}


def of_workload(answers: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Scripted tasks: compared with a skilled plain arm first, then with the most frugal use of a peer."""
    if OURS not in answers:
        return
    own = answers[OURS]
    against = [
        f"{name} {one['tokens']:,}"
        for name in (PLAIN, FRUGAL)
        if (one := answers.get(name, {})).get("tasks") == own["tasks"]
    ]
    question = f"{own['tasks']} scripted tasks on a repository llmc was not developed with: tokens"
    yield question, f"{own['tokens']:,}", ", ".join(against), "workload"


def of_ranking(ranking: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    scores = {name: one["ndcg@10"] for name, one in ranking.items() if "ndcg@10" in one}
    if OURS in scores:
        against = ", ".join(f"{name} {score:.3f}" for name, score in scores.items() if name != OURS)
        question = f"{ranking[OURS]['queries']} questions (used while developing), files in the right order: NDCG@10"
        yield question, f"{scores[OURS]:.3f}", against, "peers"


def of_grep(grep: dict[str, dict[str, dict[str, Any]]]) -> Iterator[tuple[str, str, str, str]]:
    for kind, words in (("rare", "a rare word"), ("common", "a very common word")):
        if kind in grep:
            rows = list(grep[kind].values())
            own, theirs = (median(row[name] for row in rows) for name in ("llmc", "rg"))
            ratio = median(row["llmc_to_rg"] for row in rows)
            question = f"every match of {words} in Django: CPU of `llmc grep --all`"
            yield question, f"{own:.2f} s", f"`rg` {theirs:.2f} s; llmc takes {ratio:.1f} × that", "grep"


def of_build(build: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    costs = {
        name: f"{one['cpu_seconds']:,.0f} s, {one['peak_mb']:,.0f} MB"
        for name, one in build.items()
        if not one["problem"]
    }
    if OURS in costs:
        against = "; ".join(f"{name} {cost}" for name, cost in costs.items() if name != OURS)
        yield "indexing Django: CPU, peak memory", costs[OURS], against or "no peer ran", "peers"


def put(readme: Path, found: dict[str, Any], run: str) -> bool:
    """Whether README.md has the marks; if so, the table between them is replaced."""
    text = readme.read_text("utf-8")
    start, end = map(re.escape, MARKS)
    made = "\n".join((MARKS[0], "", *block(found, run), "", MARKS[1]))
    new, times = re.subn(f"{start}.*?{end}", lambda _: made, text, count=1, flags=re.DOTALL)
    if times:
        readme.write_text(new, "utf-8")
    return bool(times)


def block(found: dict[str, Any], run: str) -> Iterator[str]:
    folder = f"bench/runs/{run}"
    yield f"From [one run]({folder}/summary.md) of `make bench`; [docs/bench.md](docs/bench.md) describes it."
    yield from ("", "| question | llmc | compared to | figures, command |", "|---|---|---|---|")
    for question, own, against, part in islice(rows(found), MOST_ROWS):
        yield f"| {question} | {own} | {against} | [{part}]({folder}/raw/{part}.json), `{COMMANDS[part]}` |"
