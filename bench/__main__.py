"""Run suites and write their report.

    python -m bench [tokens|session|quality|latency|indexing|scale|public …] [--out DIR] [--part NAME …] [--readme]
    python -m bench --report DIR [--readme]

Without a suite all of them run; `public` only where its data is. The report goes to `bench/runs/<date>-<machine>/`:
README, raw figures, summary.md, CSV and plots. A run that is part of the repository is never changed: a second one on
the same day gets a number. `--resume` leaves out the parts that an unpublished run has figures of. `--report` makes the
report again from the raw figures of a run. Programs of others are installed only with `--peers`, or when asked and
allowed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import readme, report, trees
from bench.servers import ALLOWED, PEERS, is_ready
from bench.suites import DATA, SUITES, Done, parts_of, run

if TYPE_CHECKING:
    from bench.suites import Part

HERE = Path(__file__).parent
PLOTTING = HERE.parent / ".venv-bench" / "bin" / "python"
WITH_PEERS = frozenset({"fixed", "workload", "peers"})


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="llmc bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--part", action="append", help="only these measurements of the suites")
    parser.add_argument("--out", type=Path, help="where the report goes")
    parser.add_argument("--resume", action="store_true", help="leave out parts that have figures already")
    parser.add_argument("--peers", action="store_true", help="install programs of others without asking")
    parser.add_argument("--report", type=Path, metavar="DIR", help="make the report of this run again")
    parser.add_argument("--readme", action="store_true", help="put the table into README.md")
    given = parser.parse_args()
    unknown = [name for name in given.suites if name not in SUITES]
    if unknown:
        parser.error(f"there is no suite {unknown[0]}; there are {', '.join(SUITES)}")
    target: Path = given.report or given.out or free_folder(HERE / "runs", f"{time.strftime('%Y-%m-%d')}-{machine()}")
    if given.report and not (target / "raw").is_dir():
        parser.error(f"{target} has no raw figures")
    if given.out and is_published(target):
        parser.error(f"{target} is part of the repository; choose another folder")
    failed = []
    if not given.report:
        wanted = parts_of(given.suites or every_suite())
        wanted = [part for part in wanted if not given.part or part.name in given.part]
        if given.resume:
            wanted = [part for part in wanted if not (target / "raw" / f"{part.name}.json").exists()]
        announce(wanted, target)
        allow_peers(wanted, given.peers)
        failed = measured(wanted, target)
    found = report.write(target)
    draw(target)
    if given.readme and not readme.put(HERE.parent / "README.md", found, target.name):
        print("README.md has no marks for the table", file=sys.stderr)
    print(target / "summary.md")
    return 1 if failed else 0


def free_folder(runs: Path, name: str) -> Path:
    """A published run is never changed; one that is not is continued."""
    number = 1
    while is_published(runs / (name if number == 1 else f"{name}-{number}")):
        number += 1
    return runs / (name if number == 1 else f"{name}-{number}")


def is_published(folder: Path) -> bool:
    """Whether git knows files in it."""
    if not folder.is_dir():
        return False
    listed = subprocess.run(["git", "ls-files", "."], cwd=folder, capture_output=True, text=True, check=False)
    return bool(listed.stdout.strip())


def announce(parts: list[Part], target: Path) -> None:
    minutes = sum(part.minutes for part in parts)
    print(f"{len(parts)} measurements into {target}, about {minutes:.0f} minutes on two idle cores", file=sys.stderr)
    print(f"sources and stores are kept in {trees.cache()}", file=sys.stderr)


def allow_peers(parts: list[Part], allowed: bool) -> None:
    missing = [peer for peer in PEERS if not is_ready(peer)]
    if not missing or not any(part.name in WITH_PEERS for part in parts):
        return
    names = ", ".join(f"{peer.package} ({peer.ecosystem})" for peer in missing)
    if not allowed and sys.stdin.isatty():
        print(f"to be compared with: {names}", file=sys.stderr)
        question = f"Install them in {trees.cache() / 'servers'} (about 2 GB, 7 minutes)? [y/N] "
        allowed = input(question).strip().lower() in {"y", "yes"}
    os.environ[ALLOWED] = "yes" if allowed else "no"
    if not allowed:
        print(f"without {names}: --peers installs them", file=sys.stderr)


def every_suite() -> list[str]:
    """All of them; the public one only where its data is."""
    return [name for name in SUITES if name != "public" or os.environ.get(DATA)]


def measured(parts: list[Part], target: Path) -> list[Done]:
    """Those that failed; they are in the report too. Figures of parts that do not run now stay as they are."""
    raw = target / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    done: list[Done] = []
    for number, part in enumerate(parts, 1):
        about = f"about {part.minutes:g} min" if part.minutes > 1 else "a minute or less"
        print(f"[{number}/{len(parts)}] {part.name}: {part.question} ({about})", file=sys.stderr, flush=True)
        (raw / f"{part.name}.json").unlink(missing_ok=True)
        done.append(run(part, raw))
        told = f"could not run: {done[-1].problem}" if done[-1].problem else f"{done[-1].seconds:.0f} s"
        print(f"      {told}", file=sys.stderr, flush=True)
        note(target, done)
    return [one for one in done if one.problem]


def note(target: Path, done: list[Done]) -> None:
    """Who ran what, and where; an earlier run of other parts into the same folder is kept."""
    file = target / "raw" / "run.json"
    before: list[dict[str, Any]] = json.loads(file.read_text())["done"] if file.exists() else []
    now = {one.part for one in done}
    all_done = [one for one in before if one["part"] not in now] + [asdict(one) for one in done]
    about = {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count(), "load": load()}
    file.write_text(json.dumps({**about, "done": all_done}, indent=1) + "\n")
    (target / "README.md").write_text(introduction(about, all_done), "utf-8")


def introduction(about: dict[str, Any], done: list[dict[str, Any]]) -> str:
    lines = [
        f"# Run of {time.strftime('%d %B %Y')}: {about['cores']} cores, {about['system']}, Python {about['python']}",
        "",
        f"Made by `python -m bench`; load average {about['load']} at the end. Tokens are o200k and the",
        "same everywhere; wall times are this machine's. [summary.md](summary.md) has the figures, `raw/` what each",
        "measurement wrote. `python -m bench --part NAME` runs one again; its module says why it is fair.",
        "",
        "| measurement | seconds | |",
        "|---|---:|---|",
        *(f"| `{one['part']}` | {one['seconds']:.0f} | {one['problem']} |" for one in done),
    ]
    return "\n".join(lines) + "\n"


def load() -> str:
    return ", ".join(f"{value:.1f}" for value in os.getloadavg())


def machine() -> str:
    """Not the host's name, which says nothing to others."""
    return f"{platform.system().lower()}-{os.cpu_count()}-cores"


def draw(target: Path) -> None:
    here = importlib.util.find_spec("matplotlib") is not None
    if not here and not PLOTTING.exists():
        print("no plots: matplotlib is not installed; `make bench` has an environment with it", file=sys.stderr)
        return
    python = sys.executable if here else str(PLOTTING)
    done = subprocess.run([python, str(HERE / "plots.py"), str(target)], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"no plots: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
