"""Compact research reports over public packages of five languages, kept as files: a change of a role shows as a diff.

    python -m bench.reports [--cache DIR] [--write] [NAME …]

The questions stand in `data/research/smoke.tsv`, the reports in `data/research/reports/`. The packages are those of the
golden suite, pinned by hash; the demo workspace needs no network, and a test holds its report. Vectors come from
hashing, so that the files are the same on every machine and with every model.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.judged import GOLDEN
from bench.packages import read_list, unpacked
from llmc.answers.research import envelope_of, open_session, research
from llmc.envelope import fit, render
from llmc.settings import EmbedderSettings, Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DEMO", "REPORTS", "questions", "report_text"]

DATA = Path(__file__).parent.parent / "data"
REPORTS = DATA / "research" / "reports"
DEMO = DATA / "demo"
BUDGET = 900


def questions() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (DATA / "research" / "smoke.tsv").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, question = line.split("\t")
            found.setdefault(name, []).append(question)
    return found


def report_text(folder: Path, asked: Sequence[str], home: Path) -> str:
    settings = Settings(embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(folder), home=str(home), settings=settings) as workspace:
        workspace.index()
        return "\n".join(f"# {question}\n{compact(workspace, question)}\n" for question in asked)


def compact(workspace: Workspace, question: str) -> str:
    fitted = fit(envelope_of("research_codebase", research(open_session(workspace, question)), {}), BUDGET)
    return render(fitted.envelope, fitted.shown, fitted.total)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cache", type=Path, default=Path("build/corpora"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    packages = {package.name: package for package in read_list(GOLDEN / "packages.tsv")}
    changed = 0
    for name, asked in questions().items():
        if given.names and name not in given.names:
            continue
        folder = DEMO if name == "demo" else unpacked(packages[name], given.cache)
        with tempfile.TemporaryDirectory() as home:
            text = report_text(folder, asked, Path(home))
        file = REPORTS / f"{name}.txt"
        if given.write:
            REPORTS.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
        known = file.read_text("utf-8") if file.exists() else ""
        difference = list(difflib.unified_diff(known.splitlines(), text.splitlines(), name, "now", lineterm=""))
        changed += bool(difference)
        print("\n".join(difference) or f"{name}: as it was")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
