"""What does a pattern cost, with `llmc grep --all` and with `rg`?

    python -m bench.grep [--tree DIR] [--json FILE]

Both are commands as a user types them, every match is printed into a pipe, the page cache is warm. CPU seconds (user
and system) of the client, the daemon and all that they start, redaction included, best of three: CPU and not wall time,
since ripgrep uses every core and the machine may be busy. `equal` is whether both print the same lines; files on the
denylist, which llmc does not show, are left out of both. `first_line` is the time until the first line can be read.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from bench import trees
from bench.daemon import Daemon, children_cpu, first_line
from bench.homes import home_of
from llmc.base.denylist import Denylist
from llmc.retrieval.grep import ripgrep

CLASSES = {
    "rare": ["bulk_create_with", "SECURE_SSL_REDIRECT", "getOrCreateEndpoint", "deprecated_since", "unhashable type"],
    "medium": ["ForeignKey", "ObjectMeta", "ValidationError", "context.Background", "as_sql"],
    "alternation": ["(TODO|FIXME|XXX)\\b", "(connect|reconnect)_timeout", "(get|set)_cookie"],
    "wildcard": ["def .*_cache\\(", "class \\w+Middleware", "func \\(.*\\) Validate"],
    "ignore case": ["(?i)csrf_token", "(?i)unauthorized", "(?i)leaderelection"],
    "common": ["request", "return", "import", "name"],
    "no trigram": ["^\\s*$", "[A-Z]{3}"],
}
RG_OPTIONS = ("--no-config", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-parent", "-g", "!.git")
TIMES = 3
# Text that redaction and the marking of hidden characters leave in a line.
CHANGED = (b"[redacted:", b"\\u", b"\\x", b"\\0", b"\\e")
# Messages that ripgrep prints in place of a line.
OF_BINARY = re.compile(rb": (?:WARNING: stopped searching binary file|binary file matches)")


def rg(pattern: str) -> list[str]:
    return [ripgrep.program() or "rg", *RG_OPTIONS, "--no-heading", "--with-filename", "-n", "-e", pattern, "./"]


def lines_of(command: list[str], daemon: Daemon) -> Counter[bytes]:
    done = subprocess.run(command, cwd=daemon.roots[0], env=daemon.environ, capture_output=True, check=False)
    return Counter(row.removeprefix(b"./").removesuffix(b"\r") for row in done.stdout.split(b"\n") if row)


def is_equal(ours: Counter[bytes], theirs: Counter[bytes]) -> bool:
    """Whether both print the same lines, except those that llmc redacts, marks or denies."""
    changed = {place_of(line) for line in ours - theirs}
    missing = [line for line in theirs - ours if place_of(line) not in changed and not OF_BINARY.search(line)]
    return all(Denylist().denies(line.partition(b":")[0].decode("utf-8", "replace")) for line in missing) and all(
        any(mark in line for mark in CHANGED) for line in ours - theirs
    )


def place_of(line: bytes) -> bytes:
    return b":".join(line.split(b":", 2)[:2])


def measure(daemon: Daemon, pattern: str) -> dict[str, Any]:
    ours, theirs = daemon.command("grep", "--all", "-e", pattern), rg(pattern)
    found: dict[str, Any] = {"llmc": [], "rg": [], "first_line_ms": [], "rg_first_line_ms": []}

    def llmc() -> None:
        seconds, found["lines"] = first_line(ours, daemon.roots[0], daemon.environ)
        found["first_line_ms"].append(1000 * seconds)

    for _ in range(TIMES):
        found["llmc"].append(daemon.spent(llmc))
        before = children_cpu()
        found["rg_first_line_ms"].append(1000 * first_line(theirs, daemon.roots[0], daemon.environ)[0])
        found["rg"].append(children_cpu() - before)
    row = {name: min(values) if isinstance(values, list) else values for name, values in found.items()}
    equal = is_equal(lines_of(ours, daemon), lines_of(theirs, daemon))
    return {**row, "llmc_to_rg": row["llmc"] / max(row["rg"], 1e-3), "equal": equal}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, help="what to search (default: a pinned source archive of Django)")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    tree = (arguments.tree or trees.sdist("django", "5.2.7")).resolve()
    figures: dict[str, dict[str, Any]] = {}
    with home_of(tree) as home:
        daemon = Daemon(home, [tree])
        daemon.run("index", "--once")
        try:
            for name, patterns in CLASSES.items():
                figures[name] = {pattern: measure(daemon, pattern) for pattern in patterns}
                show(name, figures[name])
            figures["memory"] = {"daemon": {"anonymous_mb": daemon.anonymous_mb()}}
        finally:
            daemon.stop()
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def show(name: str, rows: dict[str, dict[str, Any]]) -> None:
    ratios = [row["llmc_to_rg"] for row in rows.values()]
    print(f"{name:<12} CPU of rg: p50 {statistics.median(ratios):.2f} ×, most {max(ratios):.2f} ×", end="")
    different = [pattern for pattern, row in rows.items() if not row["equal"]]
    print(f"  DIFFERENT: {different}" if different else "  all equal", flush=True)


if __name__ == "__main__":
    main()
