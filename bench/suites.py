"""Which measurements belong to which suite, and how to run one: as its own process, whose figures are a JSON file.

A measurement that fails is a `Done` with the reason; the others run anyway. Its output goes to the terminal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import trees
from bench.homes import HOMES
from bench.servers import ALLOWED, replaced

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DATA", "SUITES", "Done", "Part", "minutes_of", "parts_of", "run"]

# What measurements write to stderr about a repository or commit that is missing.
LEFT_OUT = " is left out: "
SAMPLE = "10"  # instances of each repository, always the same ones


@dataclass(frozen=True, slots=True)
class Part:
    """`printed`: it writes its JSON to stdout. `{cache}`, `{data}` and `{mirror}` in arguments are folders, `{sample}`
    the options that draw a sample. `module` is what runs, if it is not called as the part is. `timed`: its
    figures are times, so nothing else runs beside it. `minutes` is what it takes on two idle cores when everything is
    fetched, `peer_minutes` what other programs add."""

    name: str
    question: str
    arguments: tuple[str, ...] = ()
    printed: bool = False
    module: str = ""
    minutes: float = 0.5
    peer_minutes: float = 0.0
    timed: bool = False

    @property
    def command(self) -> str:
        actions = [word for word in self.arguments if word.isalpha()]
        return " ".join([f"python -m bench.{self.module or self.name}", *actions])


@dataclass(frozen=True, slots=True)
class Done:
    """`left_out`: what a measurement that ran could not take in, each with its reason."""

    part: str
    seconds: float
    problem: str = ""
    left_out: tuple[str, ...] = ()


# The folder with the public data sets, and that with git directories, which is `mirror` in it if not given.
DATA, MIRROR = "LLMC_BENCH_DATA", "LLMC_BENCH_MIRROR"
# If set: all instances of the public data sets instead of the fixed sample.
FULL = "LLMC_BENCH_FULL"

SUITES: dict[str, tuple[Part, ...]] = {
    "tokens": (
        Part("trials", "What does a real agent read, with rg and sed and with llmc?", ("table",), minutes=0.1),
        Part("fixed", "What does a session pay before anything is asked?", peer_minutes=1),
        Part("workload", "How many tokens until the answer is there?", minutes=4, peer_minutes=4),
        Part("frame", "How much of a reply is not content?", timed=True),
        Part("focus", "Does a focus question keep the function that answers it?", ("{cache}/packages",), minutes=1),
        Part("logs", "What does a failing test run cost to read?", ("--json",), printed=True, minutes=0.1),
    ),
    "session": (
        Part("session", "What does llmc add to a whole session?", minutes=1),
        Part("sessions", "Is a kept session right after twelve hours, restarts and kills?"),
    ),
    "quality": (
        Part("quality", "How good is the ranking?", ("--golden", "--demo", "--json"), printed=True, minutes=1),
        Part(
            "excerpts",
            "Is the answer in what a search quotes?",
            ("--cache", "{cache}/packages", "--json"),
            printed=True,
            minutes=1,
        ),
        Part(
            "research", "Does a report name the right place?", ("--cache", "{cache}/packages", "--json"), printed=True
        ),
    ),
    # On public data outside the repository: docs/bench.md says where it comes from.
    "public": (
        Part(
            "localisation",
            "Does a pasted issue lead to the files of its fix?",
            ("{data}/localisation/lite.jsonl", "--mirror", "{mirror}", "{sample}", "--json"),
            printed=True,
            minutes=15,
        ),
        Part(
            "ranking",
            "How good is the ranking on whole checkouts?",
            ("--judged", "{data}/ranking-dev", "--mirror", "{mirror}", "--cache", "{cache}", "--keep", "--json"),
            printed=True,
            module="quality",
            minutes=25,
        ),
        Part(
            "citations",
            "Does the first reply name every file that an answer cites?",
            ("{data}/swe-qa", "--mirror", "{mirror}", "--json"),
            printed=True,
            minutes=15,
        ),
        Part(
            "graph",
            "Are callers and implementations those of a type checker?",
            ("{data}/scip", "--mirror", "{mirror}"),
            minutes=3,
        ),
    ),
    "latency": (
        Part("server", "What does an MCP client wait for?", minutes=2, timed=True),
        Part("grep", "What does a pattern cost, with `llmc grep --all` and with `rg`?", minutes=1.5, timed=True),
        Part(
            "delegates",
            "What does a step of a delegate take besides the model and the servers?",
            minutes=0.1,
            timed=True,
        ),
        Part("ledger", "What does writing a call down take?", minutes=0.1, timed=True),
    ),
    "indexing": (
        Part("indexing", "How fast does a folder become searchable?", minutes=2, timed=True),
        Part(
            "peers",
            "What does indexing cost others, and who finds the right file?",
            minutes=2,
            peer_minutes=13,
            timed=True,
        ),
    ),
    "scale": (Part("scale", "How does cost grow with the number of files and of roots?", minutes=4, timed=True),),
}


def parts_of(suites: Sequence[str]) -> list[Part]:
    return [part for suite in suites for part in SUITES[suite]]


def minutes_of(parts: Sequence[Part], *, peers: bool) -> float:
    """Two at a time, except timed ones."""
    spent = {part: part.minutes + (part.peer_minutes if peers else 0.0) for part in parts}
    together = [minutes for part, minutes in spent.items() if not part.timed]
    longest = max(together, default=0.0)
    return max(sum(together) / 2, longest) + sum(minutes for part, minutes in spent.items() if part.timed)


def run(part: Part, raw: Path) -> Done:
    """On success the figures are in `raw/<part>.json`."""
    target, printed = raw / f"{part.name}.json", raw / f"{part.name}.txt"
    data = os.environ.get(DATA, "")
    folders = {
        "{cache}": str(trees.cache()),
        "{data}": data,
        "{mirror}": os.environ.get(MIRROR) or f"{data}/mirror",
    }
    sample = [] if os.environ.get(FULL) else ["--sample", SAMPLE]
    arguments = [word for one in part.arguments for word in (sample if one == "{sample}" else [replaced(one, folders)])]
    command = [sys.executable, "-m", f"bench.{part.module or part.name}", *arguments]
    if not part.printed:
        command += ["--json", str(target)]
    if missing := lacks(part, folders):
        return Done(part.name, 0.0, missing)
    began = time.monotonic()
    try:
        code, said = watched(part.name, command, printed)
    except OSError as error:
        return Done(part.name, time.monotonic() - began, str(error))
    if part.printed and is_json(printed.read_text()):
        printed.rename(target)
    problem = "" if target.exists() else (said[-1] if said else f"it ended with {code}")
    left_out = [line.replace(folders["{mirror}"], "the mirror") for line in said if LEFT_OUT in line]
    return Done(part.name, round(time.monotonic() - began, 1), problem, tuple(left_out))


def lacks(part: Part, folders: dict[str, str]) -> str:
    """The required public data that is missing."""
    wanted = [replaced(one, folders) for one in part.arguments if one.startswith("{data}")]
    if wanted and not folders["{data}"]:
        return f"{DATA} (make bench DATA=DIR) is not set: docs/bench.md says what the folder contains"
    missing = [one for one in wanted if not Path(one).exists()]
    return f"{missing[0]} is missing: docs/bench.md says where it comes from" if missing else ""


def watched(name: str, command: list[str], printed: Path) -> tuple[int, list[str]]:
    """(exit code, the lines it wrote to stderr), which are passed on at once; what it prints goes into the file."""
    said: list[str] = []
    with (
        printed.open("w") as out,
        subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True, env=environ()) as process,
    ):
        assert process.stderr is not None
        for line in process.stderr:
            sys.stderr.write(f"      {name}: {line.lstrip()}")
            said += [line.strip()[:300]] if line.strip() else []
    return process.returncode, said


def environ() -> dict[str, str]:
    """A user's own home and settings are neither read nor changed: each measurement creates its own."""
    kept = ("LLMC_BENCH_CACHE", HOMES, ALLOWED, DATA, MIRROR)
    return {name: value for name, value in os.environ.items() if not name.startswith("LLMC_") or name in kept}


def is_json(text: str) -> bool:
    try:
        found: Any = json.loads(text)
    except ValueError:
        return False
    return bool(found)
