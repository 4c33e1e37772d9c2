"""What does a real agent pay, with llmc and with rg and sed?

    python -m bench.trials table [--json FILE]              all trials: medians and ranges of the arms
    python -m bench.trials questions TRIAL                  one trial, question by question
    python -m bench.trials score TRIAL RUN ANSWERS.json     facts that a run named, written to score.json
    python -m bench.trials replay TRIAL CHECKOUT            the recorded commands again, on the llmc of this environment

A trial is a folder `<date>-<repository>` with `questions.json` (questions and ground truth, committed before the first
run), and the logs of its runs: `plain-1.jsonl`, `llmc-1.jsonl`, `mcp-1.jsonl`, … with each command and the tokens that
it printed (o200k; a row with `mark` names the question). `score.json` has the facts that each run named.

A replay has no agent: it runs the recorded commands of the arms `llmc` and `mcp` again and reports how many tokens
their replies have now, and how many facts of the ground truth they contain. It shows what a change of format does to
real work, within limits: an agent that reads other replies asks other questions next. Fair to rg because nothing is
compared with it here.
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
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.trials.mcp_session import DEFINITIONS, called, cut, definitions, server_in
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.stdio import Server

HERE = Path(__file__).parent
PLAIN = "plain"
ARMS = (PLAIN, "llmc", "mcp")  # rg and sed; llmc's commands; llmc's lean profile through an MCP client
BEFORE = "before the first question"
SECONDS = 120.0


class Cost(NamedTuple):
    calls: int
    tokens: int


class Run(NamedTuple):
    """One log: the cost of each question, in the order of the questions."""

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
    question = BEFORE
    for row in rows_of(log):
        question = row.get("mark", question)
        if "command" in row:
            spent[question].append(row["tokens_out"])
    return Run(log.stem, {name: Cost(len(tokens), sum(tokens)) for name, tokens in spent.items()})


def by_arm(trial: Path) -> dict[str, list[Run]]:
    runs = {arm: [read_run(log) for log in sorted(trial.glob(f"{arm}-*.jsonl"))] for arm in ARMS}
    return {arm: found for arm, found in runs.items() if found}


def spread(values: list[int]) -> str:
    middle = f"{round(median(values)):,}"
    return middle if len(values) == 1 else f"{middle} ({min(values):,} to {max(values):,})"


def facts_of(trial: Path, arm: str) -> tuple[list[int], int]:
    """(facts that each run named, all facts)."""
    file = trial / "score.json"
    scores = json.loads(file.read_text("utf-8")) if file.exists() else {}
    named = [facts.split(" of ") for name, facts in scores.items() if name.startswith(arm)]
    return [int(found) for found, _ in named], max((int(wanted) for _, wanted in named), default=0)


def told(named: list[int], wanted: int) -> str:
    """`71, 68, 70 of 71`; one number if they are equal."""
    if not named:
        return ""
    return f"{named[0] if len(set(named)) == 1 else ', '.join(map(str, named))} of {wanted}"


def folders() -> list[Path]:
    return sorted(path for path in HERE.glob("20*") if path.is_dir())


def trials() -> Iterator[tuple[Path, dict[str, list[Run]]]]:
    """Every trial with runs both with and without llmc, by arm."""
    for trial in folders():
        runs = by_arm(trial)
        if PLAIN in runs and len(runs) > 1:
            yield trial, runs


def table() -> list[str]:
    """As Markdown."""
    lines = ["| trial | arm | runs | calls | tokens read | share | facts named |", "|---|---|---:|---:|---:|---:|---|"]
    for trial, arms in trials():
        base = median(run.total.tokens for run in arms[PLAIN])
        for arm, runs in arms.items():
            totals = [run.total for run in runs]
            share = median(total.tokens for total in totals) / base
            calls, tokens = spread([one.calls for one in totals]), spread([one.tokens for one in totals])
            facts = told(*facts_of(trial, arm))
            lines.append(f"| {trial.name} | {arm} | {len(totals)} | {calls} | {tokens} | {share:.0%} | {facts} |")
    return lines


def figures() -> list[dict[str, Any]]:
    """One row for each trial and arm: medians, and the share of what the arm with rg and sed reads."""
    found = []
    for trial, arms in trials():
        base = median(run.total.tokens for run in arms[PLAIN])
        for arm, runs in arms.items():
            tokens = round(median(run.total.tokens for run in runs))
            named, wanted = facts_of(trial, arm)
            found.append(
                {
                    "trial": trial.name,
                    "arm": arm,
                    "questions": len({name for run in runs for name in run.questions if name != BEFORE}),
                    "runs": len(runs),
                    "calls": round(median(run.total.calls for run in runs)),
                    "tokens": tokens,
                    "share": round(tokens / base, 3),
                    "facts named": median(named) if named else 0,
                    "facts": wanted,
                }
            )
    return found


def by_question(trial: Path) -> list[str]:
    """Medians of each question. Agents may return to a question; its parts are added up."""
    arms = by_arm(trial)
    names = sorted({name for runs in arms.values() for run in runs for name in run.questions})
    lines = [f"| question | {' | '.join(arms)} |", f"|---|{'---:|' * len(arms)}"]
    for name in names:
        medians = [median(run.questions.get(name, Cost(0, 0)).tokens for run in runs) for runs in arms.values()]
        lines.append(f"| {name} | {' | '.join(f'{round(tokens):,}' for tokens in medians)} |")
    return lines


def truth_of(trial: Path) -> dict[str, list[list[str]]]:
    """The facts of each question; none if the questions are not part of the repository."""
    file = trial / "questions.json"
    if not file.exists():
        return {}
    return {one["id"]: one["truth"]["must"] for one in json.loads(file.read_text("utf-8"))}


def score(trial: Path, run: str, answers: dict[str, dict[str, Any]]) -> list[str]:
    """Prints the facts missing from the answers of a run; the total goes into score.json."""
    truth, lines = truth_of(trial), []
    found = 0
    for name, musts in truth.items():
        answer = answers.get(name, {})
        text = "\n".join([str(answer.get("answer", "")), *map(str, answer.get("places", ()))])
        missing = [must[0] for must in musts if not is_named(must, text)]
        found += len(musts) - len(missing)
        lines.append(f"{name}: {f'missing {missing}' if missing else 'complete'}")
    total = f"{found} of {sum(map(len, truth.values()))}"
    file = trial / "score.json"
    scores = json.loads(file.read_text("utf-8")) if file.exists() else {}
    file.write_text(json.dumps({**scores, run: total}, indent=1) + "\n", "utf-8")
    return [*lines, total]


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


def replay(trial: Path, checkout: Path) -> Iterator[str]:
    """Each run of the arms with llmc again: tokens then and now, and the facts that its replies contain now."""
    truth = truth_of(trial)
    wanted = sum(map(len, truth.values()))
    with tempfile.TemporaryDirectory(prefix="llmc-bench-") as home:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environ = {**os.environ, "LLMC_HOME": home, "XDG_CONFIG_HOME": home, "PATH": path}
        subprocess.run(["llmc", "index", "--once", "--quiet"], cwd=checkout, env=environ, check=True)
        try:
            for log in [log for arm in ARMS[1:] for log in sorted(trial.glob(f"{arm}-*.jsonl"))]:
                replies: dict[str, str] = defaultdict(str)
                now = 0
                for question, reply in replies_to(log, checkout, environ):
                    replies[question] += reply
                    now += count(reply)
                found = sum(is_named(must, replies[name]) for name, musts in truth.items() for must in musts)
                facts = f"{found} of {wanted}" if truth else "no ground truth in the repository"
                yield f"| {trial.name} | {log.stem} | {read_run(log).total.tokens:,} | {now:,} | {facts} |"
        finally:
            subprocess.run(["llmc", "stop", "--quiet"], cwd=checkout, env=environ, check=False)


def replies_to(log: Path, checkout: Path, environ: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(question, reply) of each recorded command."""
    question = BEFORE
    with ExitStack() as stack:
        answer: Callable[[str], str] = partial(run_again, checkout=checkout, environ=environ)
        if log.stem.startswith("mcp"):  # one session, as the agent had
            server = stack.enter_context(server_in(checkout, environ))
            answer = partial(ask_again, server)
        for row in rows_of(log):
            question = row.get("mark", question)
            if "command" in row:
                yield question, answer(row["command"])


def ask_again(server: Server, line: str) -> str:
    return definitions(server) if line == DEFINITIONS else called(server, line)[0]


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
    return cut("".join(printed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("table").add_argument("--json", type=Path, help="write the medians here")
    actions.add_parser("questions").add_argument("trial")
    scoring = actions.add_parser("score")
    scoring.add_argument("trial")
    scoring.add_argument("run")
    scoring.add_argument("answers", type=Path)
    again = actions.add_parser("replay")
    again.add_argument("trial")
    again.add_argument("checkout", type=Path)
    given = parser.parse_args()
    trial = HERE / getattr(given, "trial", "")
    if not trial.is_dir():
        parser.error(f"there is no trial {given.trial}; there are {', '.join(folder.name for folder in folders())}")
    if given.action == "table":
        print("\n".join(table()))
        if given.json:
            given.json.write_text(json.dumps(figures(), indent=1) + "\n", "utf-8")
    elif given.action == "questions":
        print("\n".join(by_question(trial)))
    elif given.action == "score":
        print("\n".join(score(trial, given.run, json.loads(given.answers.read_text("utf-8")))))
    else:
        print("| trial | run | tokens then | tokens now | facts in the replies |\n|---|---|---:|---:|---:|")
        for line in replay(trial, given.checkout.resolve()):
            print(line, flush=True)


if __name__ == "__main__":
    main()
