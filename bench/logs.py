"""What a failing test run costs to read: a real log of 5,000 lines and more, against the summary of it.

    python -m bench.logs [--json]

The logs are made here and now by the runners themselves (unittest and pytest, verbose), on generated projects with 16
failures among 5,000 tests whose names and reasons all differ. Fair because every failing test's name, its assertion
and its place are looked for in the summary before any figure is given; one that is missing is a failure of the bench.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from llmc.envelope import Envelope, render
from llmc.envelope.logs import as_shown, summarise
from llmc.envelope.tokens import count

TESTS, FAILURES = 5_000, 16
RUNNERS = {"unittest": ("unittest", "-v"), "pytest": ("pytest", "-v", "-p", "no:cacheprovider", "--color=yes")}


@dataclass(frozen=True, slots=True)
class Figure:
    runner: str
    lines: int
    raw_tokens: int
    tokens: int
    milliseconds: float
    missing: int


def main(arguments: list[str]) -> int:
    figures = [measure(runner) for runner in RUNNERS]
    if "--json" in arguments:
        print(json.dumps([asdict(figure) for figure in figures]))
    else:
        for one in figures:
            print(
                f"{one.runner}: {one.lines:,} lines, {one.raw_tokens:,} tokens → {one.tokens} tokens"
                f" ({one.raw_tokens / one.tokens:,.0f}x) in {one.milliseconds:.0f} ms; {one.missing} failures missing"
            )
    return int(any(one.missing or one.tokens > 600 for one in figures))


def measure(runner: str) -> Figure:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = make_project(folder)
        done = subprocess.run(
            [sys.executable, "-m", *RUNNERS[runner]], cwd=folder, capture_output=True, text=True, check=False
        )
        output = done.stdout + done.stderr
        started = time.perf_counter()
        text = told(output, folder)
        spent = (time.perf_counter() - started) * 1000
        missing = sum(not all(part in text for part in parts) for parts in wanted)
        return Figure(runner, output.count("\n"), count(output), count(text), spent, missing)


def told(output: str, folder: Path) -> str:
    """The summary that `te` shows, without the line of the handle."""
    lines = as_shown(output)
    summary = summarise(lines, exit_code=1, relative=lambda path: path.removeprefix(f"{folder}/"))
    return render(Envelope("te", " · ".join(("exit 1", *summary.words)), summary.groups))


def make_project(folder: Path) -> list[tuple[str, ...]]:
    """(name, assertion, file, line) of every test that will fail."""
    words = ("parcel", "route", "courier", "depot", "invoice", "address", "label", "refund")
    files = [["import unittest", "", "", f"class Case{number}(unittest.TestCase):"] for number in range(8)]
    wanted: list[tuple[str, ...]] = []
    for at in range(TESTS):
        lines = files[at % 8]
        name = f"test_{words[at % 7]}_{at}_keeps_its_{words[(at // 7) % 8]}"
        fails = at % (TESTS // FAILURES) == 0 and at // (TESTS // FAILURES) < FAILURES
        lines += [f"    def {name}(self):", f"        self.assertEqual({at * 3}, {at * 3 + fails})", ""]
        if fails:
            wanted.append((f"{name}: ", f"{at * 3} != {at * 3 + 1}", f"test_part_{at % 8}.py", f"\n{len(lines) - 1} "))
    for number, lines in enumerate(files):
        (folder / f"test_part_{number}.py").write_text("\n".join(lines))
    return wanted


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
