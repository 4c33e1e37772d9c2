"""Run suites and write their report.

    python -m bench [tokens|session|quality|latency|indexing|scale|public …] [--peers] [--out DIR] [--part NAME …]
    python -m bench --fetch [--peers]
    python -m bench --resume
    python -m bench --report DIR [--readme]

Without a suite all of them run; `public` only where its data is. What is not timed runs two at a time, then the timed
measurements one after the other. The report goes to `bench/runs/<date>-<machine>/`: README, raw figures, summary.md,
CSV and plots. A run that is part of the repository is never changed: a second one on the same day gets a number.
`--fetch` only fetches sources (and with `--peers` installs other programs), so that a later run needs no network.
`--resume` continues the last run that was stopped. `--report` makes the report again from the raw figures of a run.
Other programs are installed and measured only with `--peers`, which asks first on a terminal. `--readme` puts the
table of the run into README.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import readme, report, trees
from bench.fetch import fetch
from bench.homes import HOMES
from bench.servers import ALLOWED, PEERS, is_ready
from bench.suites import DATA, SUITES, Done, minutes_of, parts_of, run

if TYPE_CHECKING:
    from bench.suites import Part

HERE = Path(__file__).parent
PLOTTING = HERE.parent / ".venv-bench" / "bin" / "python"
AT_ONCE = 2  # measurements that are not timed


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="llmc bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--part", action="append", help="only these measurements of the suites")
    parser.add_argument("--out", type=Path, help="where the report goes")
    parser.add_argument("--resume", action="store_true", help="continue the last run that was stopped")
    parser.add_argument("--fetch", action="store_true", help="only fetch and install what the measurements need")
    parser.add_argument("--peers", action="store_true", help="install and measure other programs, too")
    parser.add_argument("--report", type=Path, metavar="DIR", help="make the report of this run again")
    parser.add_argument("--readme", action="store_true", help="put the table into README.md")
    given = parser.parse_args()
    unknown = [name for name in given.suites if name not in SUITES]
    if unknown:
        parser.error(f"there is no suite {unknown[0]}; there are {', '.join(SUITES)}")
    if given.fetch:
        os.environ[ALLOWED] = "yes" if given.peers else "no"
        return 0 if (not given.peers or may_install()) and fetch(peers=given.peers) else 1
    target: Path = given.report or given.out or folder_for(HERE / "runs", resume=given.resume)
    if given.report and not (target / "raw").is_dir():
        parser.error(f"{target} has no raw figures")
    if given.out and is_published(target):
        parser.error(f"{target} is part of the repository; choose another folder")
    failed = []
    if not given.report:
        wanted = parts_of(given.suites or every_suite())
        wanted = [part for part in wanted if not given.part or part.name in given.part]
        done = [part for part in wanted if given.resume and (target / "raw" / f"{part.name}.json").exists()]
        os.environ[ALLOWED] = "yes" if given.peers else "no"
        os.environ[HOMES] = str(trees.cache() / "homes" / target.name)
        left = [part for part in wanted if part not in done]
        announce(left, done, target, peers=given.peers)
        if given.peers and not may_install():
            return 1
        failed = measured(left, target)
        shutil.rmtree(os.environ[HOMES], ignore_errors=True)
    found = report.write(target)
    draw(target)
    if given.readme and not readme.put(HERE.parent / "README.md", found, target.name):
        print("README.md has no marks for the table", file=sys.stderr)
    print(target / "summary.md")
    return 1 if failed else 0


def folder_for(runs: Path, *, resume: bool) -> Path:
    """A new folder of today, or that of the last run that is not published yet."""
    if resume:
        unpublished = [path for path in runs.glob("20*") if (path / "raw").is_dir() and not is_published(path)]
        if unpublished:
            return max(unpublished, key=lambda path: path.stat().st_mtime)
    return free_folder(runs, f"{time.strftime('%Y-%m-%d')}-{machine()}")


def free_folder(runs: Path, name: str) -> Path:
    """A published run is never changed; an unpublished one is continued."""
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


def announce(parts: list[Part], done: list[Part], target: Path, *, peers: bool) -> None:
    """Prints the parts that will run, and for how long."""
    say(
        f"{len(parts)} measurements into {target}: about {minutes_of(parts, peers=peers):.0f} minutes on two idle cores"
    )
    for timed, how in ((False, f"{AT_ONCE} at a time"), (True, "timed, one after the other")):
        if some := [part.name for part in parts if part.timed == timed]:
            say(f"  {how}: {', '.join(some)}")
    if done:
        say(f"  done already: {', '.join(part.name for part in done)}")
    if not peers:
        say("  without other programs: --peers (make bench PEERS=1) installs and measures them")
    say(f"  sources are fetched once into {trees.cache()}; a run that was stopped goes on with --resume (RESUME=1)")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def may_install() -> bool:
    missing = [f"{peer.package} ({peer.ecosystem})" for peer in PEERS if not is_ready(peer)]
    if not missing or not sys.stdin.isatty():
        return True
    say(f"to be installed in {trees.cache() / 'servers'} (about 2 GB, 7 minutes): {', '.join(missing)}")
    return input("Install them? [y/N] ").strip().lower() in {"y", "yes"}


def every_suite() -> list[str]:
    """All suites; the public one only if its data is available."""
    return [name for name in SUITES if name != "public" or os.environ.get(DATA)]


def measured(parts: list[Part], target: Path) -> list[Done]:
    """The parts that failed, which the report names. Figures of parts that do not run now are kept."""
    raw = target / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    done: list[Done] = []
    for timed, workers in ((False, AT_ONCE), (True, 1)):
        with ThreadPoolExecutor(workers) as pool:
            running = [pool.submit(one, part, raw) for part in parts if part.timed == timed]
            try:
                for future in as_completed(running):
                    done.append(future.result())
                    note(target, done)
                    say(f"[{len(done)}/{len(parts)}] {outcome(done[-1])}")
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                say(f"stopped with {len(done)} of {len(parts)} done; --resume (make bench RESUME=1) goes on")
                raise SystemExit(130) from None
    return [one for one in done if one.problem]


def one(part: Part, raw: Path) -> Done:
    say(f"{part.name}: {part.question}")
    (raw / f"{part.name}.json").unlink(missing_ok=True)
    return run(part, raw)


def outcome(done: Done) -> str:
    return f"{done.part}: could not run: {done.problem}" if done.problem else f"{done.part}: {done.seconds:.0f} s"


def note(target: Path, done: list[Done]) -> None:
    """Records machine and arguments; the record of an earlier run of other parts in the same folder is kept."""
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
    """Without the host's name, which means nothing to others."""
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
