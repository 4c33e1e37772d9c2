"""What does a real agent pay, with llmc and with rg and sed?

    python -m bench.trials table [--json FILE]       all trials: medians and ranges of both arms
    python -m bench.trials questions TRIAL           one trial, question by question
    python -m bench.trials replay TRIAL CHECKOUT     the commands of the llmc arm again, on the llmc of this environment

A trial is a folder `<date>-<repository>` with `questions.json` (questions and ground truth, committed before the first
run), and the logs of its runs: `plain-1.jsonl`, `llmc-1.jsonl`, … with each command and the tokens that it printed
(o200k; a row with `mark` names the question). `score.json` has the facts that each run named.

A replay has no agent: it runs the recorded commands again and says how many tokens their replies have now, and which
facts of the ground truth they contain. It shows what a change of format does to real work, within limits: an agent
that reads other replies asks other questions next. Fair to rg because nothing is compared with it here.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from llmc.envelope.tokens import count

HERE = Path(__file__).parent
ARMS = ("plain", "llmc")
SECONDS = 120.0


class Cost(NamedTuple):
    calls: int
    tokens: int


class Run(NamedTuple):
    """One log: what each question cost, in the order of the questions."""

    name: str
    questions: dict[str, Cost]

    @property
    def total(self) -> Cost:
        costs = list(self.questions.values())
        return Cost(sum(one.calls for one in costs), sum(one.tokens for one in costs))


def rows_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def read_run(log: Path) -> Run:
    spent: dict[str, list[int]] = defaultdict(list)
    question = ""
    for row in rows_of(log):
        question = row.get("mark", question)
        if "command" in row:
            spent[question].append(row["tokens_out"])
    return Run(log.stem, {name: Cost(len(tokens), sum(tokens)) for name, tokens in spent.items()})


def runs_of(trial: Path, arm: str) -> list[Run]:
    return [read_run(log) for log in sorted(trial.glob(f"{arm}-*.jsonl"))]


def spread(values: list[int]) -> str:
    middle = f"{round(median(values)):,}"
    return middle if len(values) == 1 else f"{middle} ({min(values):,} to {max(values):,})"


def facts_of(trial: Path, arm: str) -> str:
    score = trial / "score.json"
    if not score.exists():
        return ""
    named = [facts for name, facts in json.loads(score.read_text()).items() if name.startswith(arm)]
    return ", ".join(dict.fromkeys(named))


def table() -> list[str]:
    """Every trial that has runs of both arms, as Markdown."""
    lines = ["| trial | arm | runs | calls | tokens read | share | facts named |", "|---|---|---:|---:|---:|---:|---|"]
    for trial in sorted(path for path in HERE.iterdir() if path.is_dir()):
        runs = {arm: runs_of(trial, arm) for arm in ARMS}
        if not all(runs.values()):
            continue
        base = median(run.total.tokens for run in runs["plain"])
        for arm in ARMS:
            totals = [run.total for run in runs[arm]]
            share = median(total.tokens for total in totals) / base
            calls, tokens = spread([one.calls for one in totals]), spread([one.tokens for one in totals])
            facts = facts_of(trial, arm)
            lines.append(f"| {trial.name} | {arm} | {len(totals)} | {calls} | {tokens} | {share:.0%} | {facts} |")
    return lines


def figures() -> list[dict[str, Any]]:
    """One row for each trial: medians of both arms."""
    found = []
    for trial in sorted(path for path in HERE.iterdir() if path.is_dir()):
        runs = {arm: runs_of(trial, arm) for arm in ARMS}
        if not all(runs.values()):
            continue
        row: dict[str, Any] = {
            "trial": trial.name,
            "questions": len({q for run in runs["plain"] for q in run.questions}),
        }
        for arm in ARMS:
            totals = [run.total for run in runs[arm]]
            row |= {
                f"{arm} runs": len(totals),
                f"{arm} calls": round(median(one.calls for one in totals)),
                f"{arm} tokens": round(median(one.tokens for one in totals)),
                f"{arm} facts": facts_of(trial, arm),
            }
        found.append({**row, "share": round(row["llmc tokens"] / row["plain tokens"], 3)})
    return found


def by_question(trial: Path) -> list[str]:
    """Medians of each question. Agents may return to a question; its parts are added up."""
    runs = {arm: runs_of(trial, arm) for arm in ARMS}
    names = sorted({name for arm in ARMS for run in runs[arm] for name in run.questions})
    lines = ["| question | plain | llmc | share |", "|---|---:|---:|---:|"]
    for name in names:
        plain, llmc = (
            median(run.questions.get(name, Cost(0, 0)).tokens for run in runs[arm]) if runs[arm] else 0 for arm in ARMS
        )
        share = f"{llmc / plain:.0%}" if plain else ""
        lines.append(f"| {name} | {round(plain):,} | {round(llmc):,} | {share} |")
    return lines


def is_named(alternatives: list[str], text: str) -> bool:
    """Whether one of the spellings of a fact is in the text: `path`, `path::symbol` or a literal value."""
    for one in alternatives:
        path, _, symbol = one.partition("::")
        if symbol:
            short = symbol.rpartition(".")[2]
            if path.rpartition("/")[2] in text and re.search(rf"\b{re.escape(short)}\b", text):
                return True
        elif "/" in one:
            file = one.partition(":")[0]
            if file in text or "/".join(file.split("/")[-2:]) in text:
                return True
        elif re.search(rf"(?<![\w.]){re.escape(one)}(?!\w)", text):
            return True
    return False


def replay(trial: Path, checkout: Path) -> list[str]:
    """Each run of the llmc arm again: tokens then and now, and the facts that its replies contain now."""
    truth = {one["id"]: one["truth"]["must"] for one in json.loads((trial / "questions.json").read_text("utf-8"))}
    lines = ["| run | tokens then | tokens now | facts in the replies |", "|---|---:|---:|---:|"]
    with tempfile.TemporaryDirectory(prefix="llmc-bench-") as home:
        programs = Path(sys.executable).parent
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        environ = {**os.environ, "LLMC_HOME": home, "XDG_CONFIG_HOME": home, "PATH": path}
        subprocess.run(["llmc", "index", "--once", "--quiet"], cwd=checkout, env=environ, check=True)
        for log in sorted(trial.glob("llmc-*.jsonl")):
            replies: dict[str, str] = defaultdict(str)
            now = 0
            question = ""
            for row in rows_of(log):
                question = row.get("mark", question)
                if "command" in row:
                    printed = run_again(row["command"], checkout, environ)
                    replies[question] += printed
                    now += count(printed)
            found = sum(is_named(must, replies[name]) for name, musts in truth.items() for must in musts)
            wanted = sum(map(len, truth.values()))
            lines.append(f"| {log.stem} | {read_run(log).total.tokens:,} | {now:,} | {found} of {wanted} |")
        subprocess.run(["llmc", "stop", "--quiet"], cwd=checkout, env=environ, check=False)
    return lines


def run_again(command: str, checkout: Path, environ: dict[str, str]) -> str:
    """A log may come from anywhere, so only `llmc` is run, one command after the other and without a shell."""
    printed = []
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word and set(word) <= set(";&|"):
            if words and words[0] == "llmc":
                done = subprocess.run(
                    words, cwd=checkout, env=environ, capture_output=True, text=True, timeout=SECONDS, check=False
                )
                printed.append(done.stdout + (done.stderr if done.returncode else ""))
            words = []
        else:
            words.append(word)
    return "".join(printed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("table").add_argument("--json", type=Path, help="write the medians here")
    actions.add_parser("questions").add_argument("trial")
    again = actions.add_parser("replay")
    again.add_argument("trial")
    again.add_argument("checkout", type=Path)
    given = parser.parse_args()
    if given.action == "table":
        lines = table()
        if given.json:
            given.json.write_text(json.dumps(figures(), indent=1) + "\n", "utf-8")
    elif given.action == "questions":
        lines = by_question(HERE / given.trial)
    else:
        lines = replay(HERE / given.trial, given.checkout.resolve())
    print("\n".join(lines))


if __name__ == "__main__":
    main()
