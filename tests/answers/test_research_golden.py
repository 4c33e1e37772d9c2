"""Compact reports, stored as files: the effect of a change to the roles shows as a diff.

After an intended change: `python -m bench.reports --write`, which also runs the questions about public packages again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bench.reports import BUDGET, DEMO, REPORTS, questions, report_text
from bench.research import DATA, judged
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from pathlib import Path


def test_the_reports_on_the_demo_are_as_the_file_in_git_says(tmp_path: Path) -> None:
    assert report_text(DEMO, questions()["demo"], tmp_path) == (REPORTS / "demo.txt").read_text("utf-8")


def test_five_public_repositories_have_compact_reports_with_references() -> None:
    packages = [name for name in questions() if name != "demo"]
    assert len(packages) == 5
    for name in packages:
        reports = (REPORTS / f"{name}.txt").read_text("utf-8").split("\n# ")
        assert len(reports) == len(questions()[name])
        for report in reports:
            assert count(report) <= BUDGET + 40  # the question is above it
            assert re.search(r"\S+:\d+", report)


def test_the_judged_questions_are_sixty_over_three_pinned_repositories() -> None:
    asked = judged()
    pinned = [line.split("\t")[0] for line in (DATA / "packages.tsv").read_text("utf-8").splitlines() if line[0] != "#"]
    assert len(asked) == len({(one.repository, one.text) for one in asked}) == 60
    assert {one.repository for one in asked} == set(pinned)
    assert {one.kind for one in asked} == {"where", "how", "example"}
    assert all(start <= end for one in asked for _, start, end in one.wanted)
