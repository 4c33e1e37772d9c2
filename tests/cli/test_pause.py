"""`llmc index --pause` and `--resume`: a build stops, queries still see everything, and the build continues."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from llmc.cli._progress import Bars

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place

FILES = 400


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"module_{number}.py").write_text(f"def function_{number}() -> int:\n    return {number}\n")
    return folder


def root_of(place: Place, project: Path) -> dict[str, Any]:
    done = place.llmc("status", "--json", cwd=project)
    assert done.returncode == 0, (done.stdout, done.stderr)
    (root,) = json.loads(done.stdout)["roots"]
    found: dict[str, Any] = root
    return found


def test_a_paused_build_stops_and_continues_where_it_was(place: Place, project: Path) -> None:
    paused = place.llmc("index", "--pause", cwd=project)
    assert paused.returncode == 0, paused.stderr
    assert "paused" in paused.stdout
    before = root_of(place, project)
    assert before["state"] == "paused"
    assert before["indexed"] < FILES
    assert "paused: `llmc index --resume` continues" in place.llmc("status", cwd=project).stdout
    again = root_of(place, project)
    assert (again["indexed"], again["state"]) == (before["indexed"], "paused")
    assert "resumed" in place.llmc("index", "--resume", cwd=project).stdout
    assert place.llmc("index", "--once", cwd=project).returncode == 0
    after = root_of(place, project)
    assert (after["indexed"], after["state"], after["error"]) == (FILES, "ready", "")


def test_a_root_has_one_bar_with_its_current_stage() -> None:
    bars = Bars()
    for event in (
        {"stage": "scan", "root": "/a", "done": 0},
        {"stage": "index", "root": "/a", "done": 896, "total": 5174, "rate": 45.2, "eta": 95.0},
        {"stage": "paused", "root": "/a", "done": 0},
        {"stage": "index", "root": "/a", "done": 1200, "total": 5174, "rate": 45.2, "eta": 88.0},
        {"stage": "scan", "root": "/b", "done": 0},
    ):
        bars.show(event)
    shown = [(task.description, task.total, task.fields["counts"]) for task in bars.tasks]
    bars.close()
    assert shown == [("index", 5174, "1,200/5,174 · 45/s · 1 min left"), ("scan", None, "")]


def test_while_paused_queries_read_files_that_are_not_indexed(place: Place, project: Path) -> None:
    place.llmc("index", "--pause", cwd=project)
    found = place.llmc("grep", f"def function_{FILES - 1}\\b", cwd=project)
    assert f"module_{FILES - 1}.py" in found.stdout
    (project / "late.py").write_text("def saved_while_paused() -> None: ...\n")
    assert "late.py" in place.llmc("grep", "saved_while_paused", cwd=project).stdout


def test_while_paused_files_that_an_ignore_file_hides_are_gone(place: Place, project: Path) -> None:
    (project / "build").mkdir()
    (project / "build" / "made.py").write_text("def compiled_once() -> None: ...\n\n\ncompiled_once()\n")
    assert place.llmc("index", "--once", cwd=project).returncode == 0
    assert "made.py" in place.llmc("grep", "compiled_once", cwd=project).stdout
    place.llmc("index", "--pause", cwd=project)
    (project / ".gitignore").write_text("build/\n")
    (project / ".ignore").write_text("build/\n")
    for command in (
        ("grep", "compiled_once"),
        ("grep", "compiled_o[n]ce", "--all"),
        ("find", "made.py"),
        ("search", "compiled_once"),
        ("refs", "compiled_once"),
        ("outline",),
    ):
        assert "made.py" not in place.llmc(*command, cwd=project).stdout, command
    place.llmc("index", "--resume", cwd=project)


def test_indexing_a_paused_root_says_how_to_resume(place: Place, project: Path) -> None:
    place.llmc("index", "--pause", cwd=project)
    refused = place.llmc("index", "--once", cwd=project)
    assert refused.returncode == 3
    assert "is paused" in refused.stderr
    assert "llmc index --resume" in refused.stderr


@pytest.mark.parametrize("others", [("--resume",), ("--once",), ("--no-daemon",)])
def test_pause_is_used_alone(place: Place, project: Path, others: tuple[str, ...]) -> None:
    refused = place.llmc("index", "--pause", *others, cwd=project)
    assert refused.returncode == 2
    assert "used alone" in refused.stderr
