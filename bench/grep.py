"""What does a pattern cost, from the index and from a scan?

    python -m bench.grep [--tree DIR] [--json FILE]

CPU seconds (user and system, children included) of both, all matches, warm page cache, best of three: CPU and not
wall time, since ripgrep uses every core and the machine is shared. Every answer is compared line by line with
ripgrep's before it counts. The first page is what an agent sees: wall time, inside the process that holds the index.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench import trees
from llmc.retrieval.grep import ripgrep
from llmc.retrieval.grep.grep import GrepRequest, grep
from llmc.settings import EmbedderSettings, Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

CLASSES = {
    "rare": ["bulk_create_with", "SECURE_SSL_REDIRECT", "getOrCreateEndpoint", "deprecated_since", "unhashable type"],
    "medium": ["ForeignKey", "ObjectMeta", "ValidationError", "context.Background", "as_sql"],
    "alternation": [
        "(TODO|FIXME|XXX)\\b",
        "(connect|reconnect)_timeout",
        "(Marshal|Unmarshal)JSON",
        "(get|set)_cookie",
    ],
    "wildcard": ["def .*_cache\\(", "class \\w+Middleware", "func \\(.*\\) Validate", "import .*json"],
    "ignore case": ["(?i)csrf_token", "(?i)unauthorized", "(?i)leaderelection"],
    "common": ["request", "return", "import", "name"],
    "no trigram": ["^\\s*$", "[A-Z]{3}", "\\d\\d"],
}


def cpu(act: Callable[[], object], times: int = 3) -> float:
    """Seconds of this process and its children."""
    return min(once(act) for _ in range(times))


def once(act: Callable[[], object]) -> float:
    before = used()
    act()
    return used() - before


def used() -> float:
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


def scan(tree: Path, pattern: str) -> list[bytes]:
    command = [ripgrep.program() or "rg", "--no-config", "--hidden", "--no-require-git", "--no-ignore-global"]
    command += [
        "--no-ignore-parent",
        "-g",
        "!.git",
        "--no-heading",
        "--with-filename",
        "-n",
        "--null",
        "-e",
        pattern,
        "./",
    ]
    return subprocess.run(command, cwd=tree, capture_output=True, check=False).stdout.split(b"\n")


def theirs(tree: Path, pattern: str) -> list[str]:
    rows = (row.removeprefix(b"./").removesuffix(b"\r") for row in scan(tree, pattern) if b"\0" in row)
    return sorted(row.decode("utf-8", "replace") for row in rows)


def ours(workspace: Workspace, pattern: str) -> list[str]:
    result = grep(workspace.views(), GrepRequest((pattern,), seconds=120))
    return sorted(f"{file.path}\0{line.number}:{line.text}" for file in result.files for line in file.lines)


def measure(workspace: Workspace, tree: Path, pattern: str) -> dict[str, float | bool]:
    views = workspace.views()
    indexed = cpu(lambda: grep(views, GrepRequest((pattern,), seconds=120)))
    scanned = cpu(lambda: scan(tree, pattern))
    page = min(wall(lambda: grep(views, GrepRequest((pattern,), stop=200))) for _ in range(3))
    equal = ours(workspace, pattern) == theirs(tree, pattern)
    return {"index": indexed, "rg": scanned, "times": scanned / max(indexed, 1e-4), "first_page": page, "equal": equal}


def wall(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, help="what to search (default: a pinned source archive of Django)")
    parser.add_argument("--home", help="an index to use again")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    tree = (arguments.tree or trees.sdist("django", "5.2.7")).resolve()
    figures: dict[str, dict[str, dict[str, float | bool]]] = {}
    with tempfile.TemporaryDirectory(prefix="llmc-bench-") as folder:
        plain = Settings(embedder=EmbedderSettings(kind="hash"))
        with Workspace.open(str(tree), home=arguments.home or folder, settings=plain, watch=True) as workspace:
            workspace.index()
            for name, patterns in CLASSES.items():
                figures[name] = {pattern: measure(workspace, tree, pattern) for pattern in patterns}
                show(name, figures[name])
    pages = [row["first_page"] for rows in figures.values() for row in rows.values()]
    print(f"first page p50 {1000 * statistics.median(pages):.1f} ms, max {1000 * max(pages):.1f} ms")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def show(name: str, rows: dict[str, dict[str, float | bool]]) -> None:
    times = [row["times"] for row in rows.values()]
    print(f"{name:<12} less CPU than rg: p50 {statistics.median(times):.1f}×, least {min(times):.2f}×", end="")
    different = [pattern for pattern, row in rows.items() if not row["equal"]]
    print(f"  DIFFERENT: {different}" if different else "  all equal", flush=True)


if __name__ == "__main__":
    main()
