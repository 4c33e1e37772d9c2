"""Research from the command line: the real CLI and the real daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from daemons import CommandLine, private_place
from jsonschema import validate
from research_schemas import REPORT
from research_world import TOKEN, write

from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def depot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    folder = write(tmp_path_factory.mktemp("work") / "depot")
    (folder / "llmc.toml").write_text('roots = ["."]\n')
    with private_place() as place:
        asked = CommandLine(place, folder)
        asked.text("index", "--once")
        yield asked


def test_research_answers_a_question_in_few_tokens(depot: CommandLine) -> None:
    shown = depot.text("research", "how", "does", "a", "courier", "deliver", "a", "parcel")
    assert shown.startswith("Courier.deliver at src/depot/courier.py:11")
    assert count(shown) <= 900


def test_research_json_is_the_contract(depot: CommandLine) -> None:
    report = depot.json("research", "how does a courier deliver a parcel?")
    validate(report, REPORT)
    assert report["rootsSearched"] == [str(depot.folder)]


def test_research_writes_an_artifact_on_request_and_says_where(depot: CommandLine) -> None:
    path = depot.json("research", "how does the tracker work", "--artifact")["artifactPath"]
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as text
        text = file.read()
    assert text.startswith("# Research Handoff")
    assert TOKEN not in text


def test_nothing_found_has_its_own_exit_code_and_says_so(depot: CommandLine) -> None:
    done = depot("research", "where is FlibberGibbet implemented?")
    assert done.returncode == 1
    assert "Not found" in done.stdout


def test_locate_patterns_and_analyze_answer_their_part(depot: CommandLine) -> None:
    assert "src/depot/retry.py:6 RetryPolicy" in depot.text("locate", "RetryPolicy")
    assert "handlers/" in depot.text("patterns", "event", "handler")
    analyzed = depot.text("analyze", "src/depot/office.py::hand_out")
    assert "hand_out at src/depot/office.py:16" in analyzed
    assert "src/depot/courier.py:11 Courier.deliver" in analyzed


def test_limits_are_checked_and_kept(depot: CommandLine) -> None:
    report = depot.json("research", "how does a courier deliver", "--max-files", "2", "--in", "src")
    assert report["progress"]["filesRead"] <= 2
    assert report["rootsSearched"] == [f"{depot.folder}/src"]
    for command in ("research", "locate", "ask"):
        text = depot.text(command, "how does a courier deliver", "--in", "src")
        assert " src/depot/courier.py:" in text  # as `read` opens it, not relative to the folder
    done = depot("research", "how does a courier deliver", "--max-files", "0")
    assert done.returncode == 2
    assert "at least 1" in done.stderr


def test_a_handoff_is_created_listed_and_resumed(depot: CommandLine) -> None:
    made = depot.json("handoff", "create", "courier", "retries", "--open", "who rings twice?", "--name", "today")
    assert made["name"] == "today.md"
    assert "today.md" in depot.text("handoff", "list")
    assert "who rings twice?" in depot.text("handoff", "resume", "today")
    assert depot("handoff", "resume", "../today").returncode == 2


def test_without_a_daemon_it_answers_the_same(depot: CommandLine, tmp_path: Path) -> None:
    with private_place() as place:
        done = place.llmc("research", "--no-daemon", "where is RetryPolicy implemented?", cwd=depot.folder)
        assert "src/depot/retry.py:6" in done.stdout, done.stderr
