"""Does a query cost more in a larger repository? Search, grep and find over growing parts of one tree.

    python -m bench.scale --tree DIR [--sizes 1000,4000,16000] [--svg FILE] [--json FILE]

Each size is an index of its own over the first so many files of the tree, by path; the same questions are asked of
all. CPU milliseconds of the process that answers (children included), median of the questions, best of three: the
machine is shared.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.grep import cpu
from llmc.retrieval.find import FindRequest, find
from llmc.retrieval.grep import GrepRequest, grep
from llmc.retrieval.search import SearchRequest, search
from llmc.settings import Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.retrieval.view import View

QUERIES = ("how are leases renewed", "NewController", "parse quantity string", "retry with backoff", "ObjectMeta")
PATTERNS = ("leaderElection", "func NewFake\\w+", "(?i)unauthorized", "TODO\\(")
NAMES = ("controller", "*_test.go", "types")


def questions(views: Sequence[View]) -> dict[str, list[Callable[[], object]]]:
    return {
        "search": [lambda query=query: search(views, SearchRequest(query)) for query in QUERIES],  # type: ignore[misc]
        "grep": [lambda one=one: grep(views, GrepRequest((one,), stop=200)) for one in PATTERNS],  # type: ignore[misc]
        "find": [lambda name=name: find(views, FindRequest(name)) for name in NAMES],  # type: ignore[misc]
    }


def part_of(tree: Path, size: int, target: Path) -> int:
    files = sorted(path for path in tree.rglob("*") if path.is_file() and ".git" not in path.parts)[:size]
    for path in files:
        place = target / path.relative_to(tree)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return len(files)


def measure(tree: Path, size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="llmc-scale-") as folder:
        part = Path(folder) / "tree"
        count = part_of(tree, size, part)
        with Workspace.open(str(part), home=f"{folder}/home", settings=Settings(), watch=True) as workspace:
            workspace.index()
            views = workspace.views()
            row = {"files": float(count)}
            for name, asked in questions(views).items():
                row[name] = 1000 * statistics.median(cpu(one) for one in asked)
            return row


def draw(rows: list[dict[str, float]]) -> str:
    """A plot without a library: files against milliseconds, both axes logarithmic."""
    import math

    width, height, margin = 640, 400, 50
    kinds = [name for name in rows[0] if name != "files"]
    xs = [math.log10(row["files"]) for row in rows]
    values = [max(row[kind], 0.05) for row in rows for kind in kinds]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def at(x: float, value: float) -> str:
        across = margin + (width - 2 * margin) * (x - xs[0]) / max(xs[-1] - xs[0], 1e-9)
        up = height - margin - (height - 2 * margin) * (math.log10(max(value, 0.05)) - low) / max(high - low, 1)
        return f"{across:.1f},{up:.1f}"

    style = 'font-family="sans-serif" font-size="12"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>']
    parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    for power in range(low, high + 1):
        left, y = at(xs[0], 10.0**power).split(",")
        parts.append(f'<line x1="{left}" y1="{y}" x2="{width - margin}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="5" y="{y}">{10.0**power:g} ms</text>')
    for x, row in zip(xs, rows, strict=True):
        across = at(x, 10.0**low).split(",")[0]
        parts.append(f'<text x="{across}" y="{height - 25}" text-anchor="middle">{row["files"]:,.0f} files</text>')
    for kind, colour in zip(kinds, ("#b5179e", "#2a9d8f", "#457b9d"), strict=True):
        points = " ".join(at(x, row[kind]) for x, row in zip(xs, rows, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        end, y = points.split()[-1].split(",")
        parts.append(f'<text x="{float(end) - 4}" y="{float(y) - 6}" fill="{colour}" text-anchor="end">{kind}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, required=True, help="a large repository")
    parser.add_argument("--sizes", default="1000,4000,16000", help="numbers of files")
    parser.add_argument("--svg", type=Path, help="draw the curve here")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    rows = []
    for size in map(int, arguments.sizes.split(",")):
        rows.append(measure(arguments.tree.resolve(), size))
        print("  ".join(f"{name} {value:.1f}" for name, value in rows[-1].items()), flush=True)
    growth = {name: rows[-1][name] / rows[0][name] for name in rows[0]}
    print("growth: " + ", ".join(f"{name} {value:.1f}×" for name, value in growth.items()))
    if arguments.svg:
        arguments.svg.write_text(draw(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
