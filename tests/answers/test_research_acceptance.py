"""The acceptance scenarios of the research tools, and the tests of their first phase."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import validate
from research_schemas import REPORT
from research_world import TOKEN, World, opened, write

from llmc.base.errors import ConfigError
from llmc.envelope.tokens import count
from llmc.settings import Server, Settings, load
from llmc.tools.profiles import listed
from llmc.tools.registry import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REFERENCE = re.compile(r"[^\s:]+(:\d+(:\d+)?)?")
RESEARCH = (
    "research_codebase", "locate_in_codebase", "find_patterns", "analyze_component", "create_handoff", "resume_handoff",
    "list_roots", "ping",
)  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = write(tmp_path_factory.mktemp("tree") / "depot")
    other = tmp_path_factory.mktemp("tree") / "elsewhere"
    (other / "lib").mkdir(parents=True)
    (other / "lib" / "windmill.py").write_text("def grind(corn):\n    return corn\n")
    with opened(tmp_path_factory.mktemp("home"), folder, other) as made:
        yield made


def contract(world: World, question: str, **args: Any) -> dict[str, Any]:
    """The tool definitions that a client of the research profile receives."""
    reply = world.ask("research_codebase", "research", question=question, **args)
    assert not reply.error, reply.text
    report: dict[str, Any] = json.loads(reply.text)
    validate(report, REPORT)
    return report


# ---- acceptance ----


def test_locate_only(world: World) -> None:
    report = contract(world, "Where is RetryPolicy implemented?", roots=["depot"])
    locator = report["locator"]
    assert locator["status"] == "ok"
    assert locator["value"]["references"][0] == "src/depot/retry.py:6"
    assert locator["value"]["confidence"] == "high"
    assert all(REFERENCE.fullmatch(one) for one in locator["value"]["references"])
    assert not any("\n" in finding for finding in locator["value"]["key_findings"])
    again = contract(world, "Where is RetryPolicy implemented?", roots=["depot"])
    assert again["locator"]["value"] == locator["value"]


@pytest.mark.parametrize(
    "question",
    [
        "Where is RetryPolicies2000 implemented?",
        "How does the FrobnicatingGateway class work?",
        "Where is flibbertigibbet?",
        "where are quokkas marsupially frobulated?",
    ],
)
def test_not_found(world: World, question: str) -> None:
    report = contract(world, question)
    for key in ("locator", "synthesis"):
        value = report[key]["value"]
        assert value["references"] == []
        assert "not found" in value["summary"].lower()
        assert value["confidence"] == "low"


def test_not_found_names_what_was_searched_and_the_nearest_names(world: World) -> None:
    value = contract(world, "Where is RetryPolicyy implemented?")["locator"]["value"]
    assert "RetryPolicyy" in value["notes"]
    assert "RetryPolicy" in value["key_findings"][0]


def test_scope_restriction(world: World) -> None:
    depot, elsewhere = (root_index.root.path for root_index in world.workspace.root_indexes)
    report = contract(world, "Where is RetryPolicy implemented?", roots=[elsewhere])
    assert report["rootsSearched"] == [elsewhere]
    assert report["locator"]["value"]["references"] == []
    assert depot not in json.dumps(report)
    assert "retry.py" not in json.dumps(report)
    narrowed = contract(world, "where is a customer booked?", roots=[f"{depot}/src/depot/handlers"])
    assert narrowed["rootsSearched"] == [f"{depot}/src/depot/handlers"]
    paths = [reference.rpartition(":")[0] for reference in narrowed["synthesis"]["value"]["references"]]
    assert paths
    assert all(path.startswith("src/depot/handlers/") for path in paths)


def test_budget_pressure(world: World) -> None:
    report = contract(
        world,
        "how does a courier deliver a parcel",
        constraints={"maxFilesRead": 1, "maxBytesRead": 900},
        roots=["depot"],
    )
    assert report["constraints"]["maxFilesRead"] == 1
    assert report["progress"]["filesRead"] <= 1
    assert report["progress"]["bytesRead"] <= 900
    notes = " ".join(str(report[key]["value"]["notes"]) for key in ("locator", "synthesis"))
    assert "candidate files: the limit on files or bytes was reached" in notes
    assert len(report["synthesis"]["value"]["references"]) <= 12


def test_redaction(world: World) -> None:
    for tool, args in (
        ("research_codebase", {"question": "how does the depot talk to the tracker: TRACKER_TOKEN"}),
        ("find_patterns", {"pattern": "TRACKER_TOKEN"}),
        ("analyze_component", {"component": "tracker_headers"}),
    ):
        for profile in ("research", "lean"):
            reply = world.ask(tool, profile, roots=["depot"], **args)
            assert TOKEN not in reply.text + json.dumps(reply.data)
            assert "src/depot/secrets.py:" in reply.text


# ---- phase 1: the server ----


def test_the_research_profile_registers_the_expected_tools() -> None:
    names = {tool.name for tool in listed(Settings(server=Server(profile="research")))}
    assert set(RESEARCH) <= names
    assert "web_research" not in names
    assert "web_research" in TOOLS


def test_missing_required_fields_return_a_structured_error(world: World) -> None:
    for tool in ("research_codebase", "locate_in_codebase", "find_patterns", "analyze_component", "create_handoff"):
        reply = world.ask(tool, "research")
        assert reply.error == "query"
        assert json.loads(reply.text)["error"]["message"].startswith(f"{tool} needs")


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"question": ""}, "query"),
        ({"question": "?!"}, "query"),
        ({"question": "x" * 5000}, "query"),
        ({"question": "where is it", "roots": ["/etc"]}, "outside"),
        ({"question": "where is it", "roots": ["../../.."]}, "outside"),
        ({"question": "where is RetryPolicy", "constraints": {"maxFilesRead": 0}}, "query"),
        ({"question": "where is RetryPolicy", "constraints": {"maxFilesRead": "many"}}, "query"),
        ({"question": "where is RetryPolicy", "constraints": {"deadlineMs": -5}}, "query"),
        ({"question": "where is RetryPolicy", "constraints": {"colour": 3}}, "query"),
        ({"question": "where is RetryPolicy", "constraints": [1]}, "query"),
        ({"question": "where is RetryPolicy", "nonsense": 1}, "query"),
    ],
)
def test_bad_input_is_a_structured_error(world: World, args: dict[str, Any], code: str) -> None:
    reply = world.ask("research_codebase", "research", **args)
    assert reply.error == code
    assert reply.data["error"]["message"]


def test_list_roots_returns_only_configured_roots(world: World) -> None:
    reply = world.ask("list_roots", "research")
    assert json.loads(reply.text)["roots"] == [root_index.root.path for root_index in world.workspace.root_indexes]
    assert world.ask("ping").text == world.ask("ping", "research").text == "pong"


def test_config_defaults_apply_overrides_work_and_invalid_values_are_rejected(tmp_path: Path) -> None:
    plain = Settings()
    assert (plain.limits.max_files_read, plain.limits.max_bytes_read) == (50, 1_048_576)
    assert (plain.runtime.default_deadline_ms, plain.runtime.max_concurrent_tasks) == (30_000, 4)
    config = tmp_path / "llmc.json"
    wanted = {"limits": {"maxFilesRead": 7}, "runtime": {"maxConcurrentTasks": 2, "defaultDeadlineMs": 500}}
    config.write_text(json.dumps(wanted))
    loaded = load(str(tmp_path), {"HOME": str(tmp_path)}, (), str(config)).settings
    assert (loaded.limits.max_files_read, loaded.limits.max_bytes_read) == (7, 1_048_576)
    assert (loaded.runtime.max_concurrent_tasks, loaded.runtime.default_deadline_ms) == (2, 500)
    config.write_text(json.dumps({"runtime": {"maxConcurrentTasks": 0}}))
    with pytest.raises(ConfigError, match="max_concurrent_tasks"):
        load(str(tmp_path), {"HOME": str(tmp_path)}, (), str(config))


def test_the_log_level_does_not_change_what_tools_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def timeless(report: dict[str, Any]) -> str:
        return re.sub(r'"(startedAt|elapsedMs)": \d+', "", json.dumps(report))

    before = timeless(world.report("how does a courier deliver a parcel"))
    monkeypatch.setattr("llmc.base.logs.logging.root.level", 10)
    assert timeless(world.report("how does a courier deliver a parcel")) == before


# ---- what every profile shows ----


def test_the_lean_profile_gets_a_compact_envelope_within_its_budget(world: World) -> None:
    reply = world.ask("research_codebase", "lean", question="how does a courier deliver a parcel", roots=["depot"])
    first, *rest = reply.text.split("\n")
    assert "Courier.deliver at src/depot/courier.py:11" in first
    assert count(reply.text) <= 900
    assert any("src/depot/office.py:20 hand_out" in line for line in rest)


def test_the_contract_keeps_to_the_tokens_that_it_may_take(world: World) -> None:
    reply = world.ask(
        "research_codebase", "research", question="how does a courier deliver a parcel", constraints={"maxTokens": 700}
    )
    assert count(reply.text) <= 700
    assert "left out to fit maxTokens" in reply.text
    validate(json.loads(reply.text), REPORT)
