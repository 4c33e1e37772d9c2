"""Does a query cost more in a larger repository? Search, grep and find over growing parts of one tree.

    python -m bench.scale --tree DIR [DIR …] [--sizes 1000,4000,16000,80000] [--svg FILE] [--json FILE]

The corpus is a sample of real files from all the trees, each cut at two kilobytes so that 80,000 of them are built in
minutes; what is measured grows with files, chunks and terms, and those are real. The same questions are asked at every
size. CPU milliseconds of the process that answers (children included), median of the questions, best of three: the
machine is shared. The dashed line is what linear growth would be.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import tempfile
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from bench.grep import cpu
from llmc.retrieval.find import FindRequest, find
from llmc.retrieval.grep.grep import GrepRequest, grep
from llmc.retrieval.search import SearchRequest, search
from llmc.settings import Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.retrieval.view import View

QUERIES = ("how are leases renewed", "NewController", "parse quantity string", "retry with backoff", "ObjectMeta")
PATTERNS = ("leaderElection", "func NewFake\\w+", "(?i)unauthorized", "TODO\\(")
NAMES = ("controller", "*_test.go", "types")
CLIP_BYTES = 2_000


def questions(views: Sequence[View]) -> dict[str, list[Callable[[], object]]]:
    return {
        "search": [lambda query=query: search(views, SearchRequest(query)) for query in QUERIES],  # type: ignore[misc]
        "grep": [lambda one=one: grep(views, GrepRequest((one,), stop=200)) for one in PATTERNS],  # type: ignore[misc]
        "find": [lambda name=name: find(views, FindRequest(name)) for name in NAMES],  # type: ignore[misc]
    }


def sample(trees: Sequence[Path]) -> list[tuple[Path, str]]:
    """(file, its path in the corpus), in an order that has nothing to do with folders: each size is a fair part."""
    files = [
        (path, f"{tree.name}/{path.relative_to(tree)}")
        for tree in trees
        for path in tree.rglob("*")
        if ".git" not in path.parts and path.is_file() and not path.is_symlink()
    ]
    return sorted(files, key=lambda file: blake2b(os.fsencode(file[1]), digest_size=8).digest())


def grow(target: Path, files: Sequence[tuple[Path, str]], start: int, end: int) -> None:
    """Files `start` to `end` of an endless corpus: after the last one it begins again, each with a line of its own."""
    for number in range(start, end):
        source, name = files[number % len(files)]
        lap = number // len(files)
        place = target / (f"again{lap}/{name}" if lap else name)
        place.parent.mkdir(parents=True, exist_ok=True)
        data = source.read_bytes()[:CLIP_BYTES]
        clipped = data[: data.rfind(b"\n") + 1] or data
        place.write_bytes(clipped + (f"lap {lap}\n".encode() if lap else b""))


def measure(trees: Sequence[Path], sizes: Sequence[int]) -> Iterator[dict[str, float]]:
    """One index that grows: every size is measured on the way, and no file is indexed twice."""
    files = sample(trees)
    with tempfile.TemporaryDirectory(prefix="llmc-scale-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        with Workspace.open(str(tree), home=f"{folder}/home", settings=Settings(), watch=True) as workspace:
            for before, size in pairwise((0, *sizes)):
                grow(tree, files, before, size)
                workspace.index()
                views = workspace.views()
                row = {"files": float(size)}
                for name, asked in questions(views).items():
                    row[name] = 1000 * statistics.median(cpu(one) for one in asked)
                yield row


def draw(rows: list[dict[str, float]]) -> str:
    """A plot without a library: files against milliseconds, both axes logarithmic."""
    width, height, margin, right = 720, 400, 50, 130
    kinds = [name for name in rows[0] if name != "files"]
    xs = [math.log10(row["files"]) for row in rows]
    linear = [rows[0]["search"] * row["files"] / rows[0]["files"] for row in rows]
    values = [max(row[kind], 0.05) for row in rows for kind in kinds] + linear
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def at(x: float, value: float) -> str:
        across = margin + (width - margin - right) * (x - xs[0]) / max(xs[-1] - xs[0], 1e-9)
        up = height - margin - (height - 2 * margin) * (math.log10(max(value, 0.05)) - low) / max(high - low, 1)
        return f"{across:.1f},{up:.1f}"

    style = 'font-family="sans-serif" font-size="12"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>']
    parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    parts.append(f'<text x="{margin}" y="20">CPU of a query, median, against the number of files</text>')
    for power in range(low, high + 1):
        left, y = at(xs[0], 10.0**power).split(",")
        parts.append(f'<line x1="{left}" y1="{y}" x2="{width - right}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="5" y="{y}">{10.0**power:g} ms</text>')
    for x, row in zip(xs, rows, strict=True):
        across = at(x, 10.0**low).split(",")[0]
        parts.append(f'<text x="{across}" y="{height - 25}" text-anchor="middle">{row["files"]:,.0f} files</text>')
    curves = {"linear": linear, **{kind: [row[kind] for row in rows] for kind in kinds}}
    looks = ('stroke="#999" stroke-dasharray="4 4"', 'stroke="#b5179e"', 'stroke="#2a9d8f"', 'stroke="#457b9d"')
    lowest = float(height)
    for (name, curve), look in sorted(zip(curves.items(), looks, strict=True), key=lambda one: one[0][1][-1]):
        points = " ".join(at(x, value) for x, value in zip(xs, curve, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" {look} stroke-width="2"/>')
        beside = float(points.rpartition(",")[2]) + 4
        lowest = min(beside, lowest - 15)  # labels from below, none upon another
        parts.append(f'<text x="{width - right + 6}" y="{lowest:.1f}">{name} {curve[-1]:.0f} ms</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, nargs="+", required=True, help="large repositories")
    parser.add_argument("--sizes", default="1000,4000,16000,80000", help="numbers of files")
    parser.add_argument("--svg", type=Path, help="draw the curve here")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    rows = []
    for row in measure([tree.resolve() for tree in arguments.tree], [int(size) for size in arguments.sizes.split(",")]):
        rows.append(row)
        print("  ".join(f"{name} {value:.1f}" for name, value in rows[-1].items()), flush=True)
    growth = {name: rows[-1][name] / rows[0][name] for name in rows[0]}
    print("growth: " + ", ".join(f"{name} {value:.1f}×" for name, value in growth.items()))
    if arguments.svg:
        arguments.svg.write_text(draw(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
