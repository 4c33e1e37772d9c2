"""Do rewritten commands print the same in fewer tokens? `python -m bench.rewriting TRANSCRIPTS CHECKOUT [--count 200]`.

TRANSCRIPTS is a trial (`bench/trials/…`: the commands of agents without llmc), a JSON list of commands that agents ran
in a checkout of the same repository, or a folder of `*.md` files in which each command is `Tool: Bash`,
`Input: {"command": …}`. Only single simple commands of the programs that the hook rewrites count; of those a random
sample is drawn, repetitions included, as agents repeat themselves. Each runs as it is and as the hook rewrites it. A
line counts as shown if its text is in the reply and, for a match, its path and number. A cut line must have a mark and
the reply a handle; a reply that omits lines or texts must say so. Tokens are o200k, of what clients show (30,000
characters). `floor` is the share of the texts alone, each once, without any path or number.
"""

from __future__ import annotations

import json
import random
import re
import shlex
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from llmc.base.listing_programs import TEXTS, program_of
from llmc.envelope.tokens import count
from llmc.extend.shell.agent_commands import is_simple, rewritten

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN_CHARS = 30_000
SECONDS = 60
LONG = 100
LLMC = [sys.executable, "-P", "-m", "llmc"]
CALL = re.compile(r"Tool: Bash\nInput: (\{.*?\n\})", re.DOTALL)
OMITTED = re.compile(r"\+[\d,]+ (?:more|lines?) → h|omitted|… [\d,]+ more characters")
CUT_TEXT = re.compile(r"^\+cut text → h", re.MULTILINE)
PLACE = re.compile(r"(?:[^:\s]*?[:-])?\d+[:-]")
MATCH = re.compile(r"(?:\./)?(?:(?P<path>[^:]+):)?(?P<number>\d+):(?P<text>.*)")


@dataclass(frozen=True)
class CommandResult:
    command: str
    rewritten: bool
    codes: tuple[int, int]
    missing: int  # lines that the reply neither shows nor reports as omitted
    identical: bool
    tokens: tuple[int, int]
    floor: float = 1.0

    @property
    def ratio(self) -> float:
        return self.tokens[1] / self.tokens[0]


def commands(source: Path) -> list[str]:
    if source.is_file():
        return [str(command) for command in json.loads(source.read_text())]
    if logs := sorted(source.glob("plain-*.jsonl")):
        rows = [json.loads(line) for log in logs for line in log.read_text("utf-8").splitlines()]
        return [row["command"] for row in rows if "command" in row]
    texts = (path.read_text("utf-8", "replace") for path in sorted(source.rglob("*.md")))
    found = [json.loads(call[1]).get("command", "") for text in texts for call in CALL.finditer(text)]
    return [unwrapped(command) for command in found]


def unwrapped(command: str) -> str:
    """Codex runs everything as `/bin/zsh -lc '…'`."""
    shell = re.fullmatch(r"/bin/(?:ba|z)sh -lc (.*)", command, re.DOTALL)
    try:
        words = shlex.split(shell[1]) if shell else []
    except ValueError:
        return command
    return words[0] if len(words) == 1 else command


def compare(command: str, checkout: Path) -> CommandResult:
    new = rewritten(command, str(checkout), program=LLMC)
    before = run(command, checkout)
    after = run(new, checkout) if new else before
    lines = before.stdout[:SHOWN_CHARS].splitlines()
    missing = 0 if OMITTED.search(after.stdout) else sum(not is_shown(line, after.stdout) for line in lines)
    tokens = (count(before.stdout[:SHOWN_CHARS]), count(after.stdout[:SHOWN_CHARS]))
    same = before.stdout == after.stdout
    floor = count("\n".join(dict.fromkeys(map(text_of, lines)))) / max(tokens[0], 1)
    return CommandResult(command, bool(new), (before.returncode, after.returncode), missing, same, tokens, floor)


def text_of(line: str) -> str:
    """A printed line without its place."""
    match = PLACE.match(line)
    return line[match.end() :].strip() if match else line


def run(command: str, checkout: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", "-c", command], cwd=checkout, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
        check=False, encoding="utf-8", errors="replace",
    )  # fmt: skip


def is_shown(line: str, reply: str) -> bool:
    match = MATCH.fullmatch(line)
    name = (match["path"] or "").rpartition("/")[2] if match else ""
    if match and name in reply:
        return match["number"] in reply and (match["text"].strip() in reply or is_cut(match["text"], reply))
    if line == "--" or (PLACE.match(line) and text_of(line) in reply):  # around a match; numbered from the first on
        return True
    last = line.rstrip("/:").rpartition("/")[2].removeprefix("├── ").removeprefix("└── ").strip()
    return line in reply or last in reply or bool(re.match(r"total \d|\d+ director", line))


def is_cut(text: str, reply: str) -> bool:
    """Whether the reply has a part of the text with a mark, and a handle for the whole."""
    rows = re.findall(r"^(?:[\d,]+ | (?:.*? )?)(…?.*…|…[^…\n]*)$", reply, re.MULTILINE)
    return bool(CUT_TEXT.search(reply)) and any(row.strip("…") in text for row in rows)


def summary(results: Iterable[CommandResult]) -> dict[str, object]:
    every = list(results)
    lists = [one for one in every if program_of(one.command.split()) not in TEXTS and one.tokens[0]]
    texts = [one for one in every if program_of(one.command.split()) in TEXTS]
    long = [one for one in lists if one.tokens[0] >= LONG]
    done = [one for one in lists if one.rewritten]
    return {
        "commands": len(every),
        "rewritten": sum(one.rewritten for one in every),
        "exit codes differ": sum(one.codes[0] != one.codes[1] for one in every),
        "lines neither shown nor reported": sum(one.missing for one in every),
        "texts (cat, sed, head, tail)": len(texts),
        "texts not byte-identical": sum(not one.identical for one in texts),
        "lists with output": len(lists),
        "lists, median floor": round(statistics.median(one.floor for one in lists), 3),
        "lists, median ratio of tokens": round(statistics.median(one.ratio for one in lists), 3),
        "rewritten lists, median ratio": round(statistics.median(one.ratio for one in done), 3) if done else None,
        "lists of 100 tokens or more": len(long),
        "lists of 100 tokens or more, median ratio": round(statistics.median(one.ratio for one in long), 3),
        "lists, tokens before": sum(one.tokens[0] for one in lists),
        "lists, tokens after": sum(one.tokens[1] for one in lists),
    }


@click.command()
@click.argument("transcripts", type=click.Path(exists=True, path_type=Path))
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--count", "number", default=200)
@click.option("--seed", default=25)
@click.option("--details", type=click.Path(path_type=Path), help="Write one JSON line per command here.")
def main(transcripts: Path, checkout: Path, number: int, seed: int, details: Path | None) -> None:

    simple = [command for command in commands(transcripts) if is_simple(command)]
    drawn = random.Random(seed).sample(simple, min(number, len(simple)))
    results = [compare(command, checkout.resolve()) for command in drawn]
    if details:
        rows = ({**asdict(one), "ratio": one.ratio if one.tokens[0] else None} for one in results)
        details.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    click.echo(json.dumps({"drawn from": len(simple), **summary(results)}, indent=2))


if __name__ == "__main__":
    main()
