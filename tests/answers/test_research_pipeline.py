"""The whole pipeline: synthesis of the results, failing parts, budgets over everything, cancellation."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from jsonschema import validate
from research_schemas import REPORT
from research_world import World, opened, write
from tool_calls import answer

from llmc.answers.research import open_session, research
from llmc.answers.research.pipeline import merge_results
from llmc.answers.research.question import understand
from llmc.answers.research.result import Confidence, Failure, Result, ResultPlace, ResultStatus, TaskResult
from llmc.answers.research.roles import Brief
from llmc.answers.research.synthesis import synthesize
from llmc.envelope.request import ClientInfo, RunningRequest
from llmc.settings import LimitSettings, RoleEntry, Runtime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("home"), write(tmp_path_factory.mktemp("tree") / "depot")) as made:
        yield made


def ok(*references: str, findings: tuple[str, ...] = (), confidence: Confidence = Confidence.MED) -> TaskResult:
    return TaskResult(ResultStatus.OK, Result(f"at {references[0]}", references, findings, confidence))


BRIEF = Brief(understand("how does a courier deliver"))
PLACES = {
    "locator": (
        ResultPlace("/r", "a.py", 3, 9, "deliver", "function"),
        ResultPlace("/r", "b.py", 1, 2, "ring", "function"),
    ),
    "analyzer": (ResultPlace("/r", "a.py", 3, 9, "deliver", "function", "definition", "Delivers.", of="deliver"),),
}


def test_synthesis_of_given_role_results_is_compact_and_in_a_stable_order() -> None:
    wrapped = {"locator": ok("a.py:3", "b.py:1"), "analyzer": ok("a.py:3", "c.py:7", findings=("calls ring b.py:1",))}
    made = [synthesize(BRIEF, wrapped, PLACES) for _ in range(5)]
    assert len(set(made)) == 1
    assert made[0].references == ("a.py:3", "b.py:1", "c.py:7")
    assert made[0].summary == "deliver at a.py:3: Delivers. See also ring (b.py:1)."
    assert made[0].confidence is Confidence.MED


def test_identical_references_are_merged_without_losing_what_each_role_says() -> None:
    wrapped = {
        "locator": ok("a.py:3", findings=("implementation: a.py:3",)),
        "analyzer": ok("a.py:3", findings=("calls ring b.py:1",)),
        "patterns": ok("a.py:3", findings=("a.py:3 deliver\ndef deliver():",)),
    }
    made = synthesize(BRIEF, wrapped, PLACES)
    assert made.references == ("a.py:3",)
    assert set(made.key_findings) == {"calls ring b.py:1", "a.py:3 deliver\ndef deliver():", "implementation: a.py:3"}


@pytest.mark.parametrize("status", [ResultStatus.TIMEOUT, ResultStatus.ERROR, ResultStatus.CANCELED])
def test_a_role_that_fails_is_recorded_and_the_report_is_kept(status: ResultStatus) -> None:
    wrapped = {"locator": ok("a.py:3"), "analyzer": TaskResult(status, error=Failure("timeout", "too slow"))}
    made = synthesize(BRIEF, wrapped, {"locator": PLACES["locator"]})
    assert made.references == ("a.py:3",)
    assert "the analyzer role" in str(made.notes)


def test_without_the_locator_there_is_still_a_valid_answer() -> None:
    made = synthesize(BRIEF, {"locator": TaskResult(ResultStatus.TIMEOUT, error=Failure("timeout", "too slow"))}, {})
    assert made.references == ()
    assert made.confidence is Confidence.LOW
    assert "the locator role ran out of time" in str(made.notes)


def test_some_tasks_of_a_role_may_fail() -> None:
    made = merge_results([ok("a.py:3"), TaskResult(ResultStatus.TIMEOUT, error=Failure("timeout", "too slow"))])
    assert made.value is not None
    assert "1 of 2 tasks" in str(made.value.notes)


def test_the_locator_runs_first_and_is_given_the_roots_and_constraints(world: World) -> None:
    events: list[dict[str, Any]] = []
    inquiry = open_session(
        world.workspace, "how does a courier deliver", ["depot"], {"maxFilesRead": 3}, progress=events.append
    )
    report = research(inquiry)
    assert events[0]["role"] == "locator"
    assert {event["role"] for event in events[1:]} == {"analyzer"}
    assert [event["done"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["keywords"] == ["courier", "deliver"]
    assert report.roots == (world.workspace.root_indexes[0].root.path,)
    assert report.progress.files <= 3
    assert report.progress.tasks == len(events)


def test_examples_bring_the_pattern_finder_and_other_questions_do_not(world: World) -> None:
    assert "patterns" in world.report("show examples of an event handler")
    assert "patterns" not in world.report("how does an event handler work")


def test_files_and_bytes_are_limited_over_the_whole_pipeline(tmp_path: Path) -> None:
    with opened(tmp_path / "home", write(tmp_path / "depot"), limits=LimitSettings(max_files_read=2)) as world:
        report = world.report("show examples of how a courier delivers a parcel")
        validate(report, REPORT)
        assert report["progress"]["filesRead"] <= 2
        assert report["constraints"]["maxFilesRead"] == 2


def test_constraints_cannot_widen_what_the_settings_allow(world: World) -> None:
    report = world.report("how does a courier deliver", constraints={"maxFilesRead": 10_000, "deadlineMs": 10_000_000})
    assert report["constraints"]["maxFilesRead"] == 50
    assert report["constraints"]["deadlineMs"] == 30_000


def test_a_deadline_that_has_passed_gives_a_report_and_no_hang(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr("llmc.answers.research.toolbox.search", lambda *_: gate.wait(60))
    report = world.report("how does a courier deliver", constraints={"deadlineMs": 30})
    gate.set()
    validate(report, REPORT)
    assert report["locator"]["status"] == "timeout"
    assert report["progress"]["timeouts"] == ["locator"]
    assert "ran out of time" in report["synthesis"]["value"]["notes"]
    assert report["synthesis"]["value"]["summary"].startswith("No answer within the time limit: the search ran out of")


def test_a_cancelled_call_ends_with_canceled_roles(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, begun = threading.Event(), threading.Event()
    call = RunningRequest(ClientInfo(1, "s"))

    def slow(*_: object) -> bool:
        begun.set()
        return gate.wait(60)

    monkeypatch.setattr("llmc.answers.research.toolbox.search", slow)
    replies: list[Any] = []
    args = {"question": "how does a courier deliver"}
    thread = threading.Thread(
        target=lambda: replies.append(answer(world.workspace, world.handles, "research_codebase", args, call=call))
    )
    thread.start()
    assert begun.wait(60)
    call.cancel()
    thread.join(60)
    gate.set()
    assert replies[0].data["locator"]["status"] == "canceled"


def test_a_full_pool_is_mentioned_in_the_report(tmp_path: Path) -> None:
    roles = {f"extra{number}": RoleEntry(base="locator") for number in range(8)}
    runtime = Runtime(max_concurrent_tasks=1, max_queued_tasks=0)
    with opened(tmp_path / "home", write(tmp_path / "depot"), roles=roles, runtime=runtime) as world:
        report = world.report("where is RetryPolicy")
        full = [key for key, one in report.items() if isinstance(one, dict) and one.get("status") == "error"]
        assert full
        assert all(report[key]["error"]["name"] == "queue_full" for key in full)
        assert "failed" in report["synthesis"]["value"]["notes"]


def test_the_same_question_on_the_same_files_gives_the_same_report(world: World) -> None:
    def timeless(report: dict[str, Any]) -> list[object]:
        return [report[key].get("value") for key in ("locator", "analyzer", "synthesis")]

    first = timeless(world.report("how are parcels handed out"))
    assert all(timeless(world.report("how are parcels handed out")) == first for _ in range(5))


def test_a_file_made_a_moment_ago_is_in_the_report(world: World) -> None:
    root = world.workspace.root_indexes[0].root.path
    with open(f"{root}/src/depot/zeppelin.py", "w", encoding="utf-8") as file:  # noqa: PTH123 - text paths
        file.write("def moor_zeppelin(mast):\n    return mast\n")
    report = world.report("where is moor_zeppelin defined")
    assert report["locator"]["value"]["references"][0] == "src/depot/zeppelin.py:1"


def test_code_of_an_example_explains_more_than_a_table_that_says_the_word(tmp_path: Path) -> None:
    folder = write(tmp_path / "depot")
    files = {
        "examples/balloon.py": "def inflate_balloon(volume):\n    return volume * 2\n",
        "tables/balloon.tsv": "balloon\tinflate balloon\tballoon\n" * 3,
    }
    for path, text in files.items():
        (folder / path).parent.mkdir()
        (folder / path).write_text(text)
    with opened(tmp_path / "home", folder) as world:
        said = world.ask("analyze_component", component="balloon").text
        assert said.startswith("inflate_balloon at examples/balloon.py:1")
