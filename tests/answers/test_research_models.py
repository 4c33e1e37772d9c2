"""Roles played by a model over real HTTP: a scripted one for every rule, and a small real one."""

from __future__ import annotations

import dataclasses
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import validate
from model_server import ModelServer, serving
from research_schemas import REPORT
from research_world import TOKEN, World, opened, write

from llmc.answers.research import open_session, research
from llmc.settings import LimitSettings, Provider, Research, RoleEntry, Runtime, Secret, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

QUESTION = "how does a courier deliver a parcel"
SAID = "The model says: see src/depot/courier.py:11."
NOT_ANSWERED = "The model did not answer"


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serving() as made:
        yield made


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("home"), write(tmp_path_factory.mktemp("tree") / "depot")) as made:
        yield made


def with_model(plain: World, server: ModelServer, model: str, **changes: Any) -> World:
    """The same workspace with settings that let this model play the locator."""
    provider = Provider(
        base_url=server.url, api_key=Secret("k3y-of-the-test"), timeout_ms=changes.pop("timeout_ms", 20_000)
    )
    settings = plain.workspace.settings.model_copy(
        update={
            "providers": {"local": provider},
            "roles": {"locator": RoleEntry(provider="local", model=model)},
            **changes,
        }
    )
    workspace = dataclasses.replace(plain.workspace, settings=settings, owned=False)
    return World(workspace, plain.handles)


def located(world: World, **args: Any) -> dict[str, Any]:
    report = world.report(QUESTION, **args)
    validate(report, REPORT)
    found: dict[str, Any] = report["locator"]
    return found


def test_a_role_with_a_provider_answers_in_the_models_words(plain: World, server: ModelServer) -> None:
    value = located(with_model(plain, server, "good"))["value"]
    assert value["summary"] == SAID
    assert value["references"][0] == "src/depot/courier.py:11"
    sent = next(one for one in server.requests() if one["model"] == "good")
    assert sent["key"] == "Bearer k3y-of-the-test"
    assert sent["path"] == "/v1/chat/completions"


def test_the_prompt_is_the_role_the_question_and_redacted_evidence(plain: World, server: ModelServer) -> None:
    world = with_model(plain, server, "good+tracker")
    world.report(f"how does tracker_headers use the token {TOKEN}")
    sent = next(one for one in server.requests() if one["model"] == "good+tracker")
    text = json.dumps(sent)
    assert "You find where things are" in text
    assert "src/depot/secrets.py" in text
    assert TOKEN not in text
    assert {tool["function"]["name"] for tool in sent["tools"]} == {
        "search", "grep", "find", "read", "symbols", "refs", "calls",
    }  # fmt: skip


def test_invented_references_are_dropped_and_counted(plain: World, server: ModelServer) -> None:
    value = located(with_model(plain, server, "lying"))["value"]
    assert value["references"][0] == "src/depot/courier.py:11"
    assert set(value["references"]) <= set(plain.report(QUESTION)["locator"]["value"]["references"])
    assert not any("invented" in finding for finding in value["key_findings"])
    assert "4 statements of the model cited places that it was not shown" in value["notes"]


def test_a_line_that_exists_and_was_not_shown_cannot_be_cited(plain: World, server: ModelServer) -> None:
    value = located(with_model(plain, server, "unseen"))["value"]
    assert value["summary"] == SAID
    assert "src/depot/handlers/damage.py:1" not in value["references"]
    assert "1 statements" not in value["notes"]
    assert "cited a place that it was not shown" in value["notes"]


def test_an_answer_that_does_not_fit_the_schema_is_repaired_once(plain: World, server: ModelServer) -> None:
    assert located(with_model(plain, server, "partial+good"))["value"]["summary"] == SAID
    assert sum(one["model"] == "partial+good" for one in server.requests()) == 2


@pytest.mark.parametrize(
    "model", ["prose", "partial", "empty", "loop", "unknown", "broken", "huge", "refused", "busy", "moved", "garbage"]
)
def test_whatever_a_model_does_the_roles_own_answer_is_kept_with_a_note(
    plain: World, server: ModelServer, model: str
) -> None:
    own = plain.report(QUESTION)["locator"]["value"]
    value = located(with_model(plain, server, model))["value"]
    assert value["references"] == own["references"]
    assert value["summary"] == own["summary"]
    assert NOT_ANSWERED in value["notes"]
    assert sum(one["model"] == model for one in server.requests()) <= 6


def test_a_model_may_use_the_tools_of_its_role(plain: World, server: ModelServer) -> None:
    assert located(with_model(plain, server, "call+good"))["value"]["summary"] == SAID
    second = [one for one in server.requests() if one["model"] == "call+good"][1]
    (result,) = [one for one in second["messages"] if one["role"] == "tool"]
    assert "src/depot/retry.py" in result["content"]


@pytest.mark.parametrize("model", ["slow", "endless"])
def test_a_model_that_never_ends_is_left_in_time(plain: World, server: ModelServer, model: str) -> None:
    assert NOT_ANSWERED in located(with_model(plain, server, model, timeout_ms=300))["value"]["notes"]
    own = plain.report(QUESTION)["locator"]["value"]
    late = located(with_model(plain, server, model), constraints={"deadlineMs": 2_000})
    assert late["status"] == "ok"
    assert late["value"]["references"] == own["references"]
    assert late["value"]["summary"] == own["summary"]
    assert "it was too slow" in late["value"]["notes"]


def test_a_model_keeps_what_was_found_without_it_and_never_raises_the_confidence(
    plain: World, server: ModelServer
) -> None:
    own = plain.report(QUESTION)["locator"]["value"]
    value = located(with_model(plain, server, "good"))["value"]
    assert set(own["references"]) <= set(value["references"])
    assert set(own["key_findings"]) <= set(value["key_findings"])
    assert own["summary"] in {value["summary"], *value["key_findings"]}
    assert value["confidence"] == own["confidence"]


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ('use:search:{"query": "retry policy"}', "src/depot/retry.py:"),
        ('use:grep:{"pattern": "class [A-Z][a-z]*Handler"}', "src/depot/handlers/damage.py:6 class DamageHandler"),
        ('use:find:{"name": "handlers/*.py"}', "src/depot/handlers/base.py"),
        ('use:read:{"path": "src/depot/office.py", "line": 10, "lines": 2}', '11     """Open the office'),
        ('use:symbols:{"name": "hand_out"}', "src/depot/office.py:16 def hand_out"),
        ('use:refs:{"name": "deliver"}', "src/depot/office.py:20 call"),
        ('use:calls:{"name": "open_office"}', "src/depot/courier.py:"),
        ('use:read:{"path": "../etc/passwd"}', "there is no file"),
        ("use:grep:{}", "'pattern' must be a string"),
    ],
)
def test_a_models_tools_read_the_index_of_the_question(
    plain: World, server: ModelServer, call: str, found: str
) -> None:
    model = f"{call}+good"
    assert located(with_model(plain, server, model))["status"] == "ok"
    sent = [one for one in server.requests() if one["model"] == model][1]
    (result,) = [one["content"] for one in sent["messages"] if one["role"] == "tool"]
    assert found in result


def test_what_a_model_finds_beyond_the_evidence_can_be_cited_and_opened(plain: World, server: ModelServer) -> None:
    model = 'use:read:{"path": "src/depot/handlers/damage.py"}+unseen'
    report = with_model(plain, server, model).ask("research_codebase", question=QUESTION)
    assert "src/depot/handlers/damage.py:1" in report.data["locator"]["value"]["references"]
    assert "src/depot/handlers/damage.py:1" in report.text


def test_a_models_reads_count_against_the_budget(plain: World, server: ModelServer) -> None:
    reads = "&".join(f'use:read:{{"path": "src/depot/handlers/{name}.py"}}' for name in ("damage", "refund", "pickup"))
    model = f"{reads}+good"
    report = with_model(plain, server, model).report(QUESTION, constraints={"maxFilesRead": 4})
    sent = [one for one in server.requests() if one["model"] == model][1]
    results = [one["content"] for one in sent["messages"] if one["role"] == "tool"]
    assert any("limit on files or bytes is reached" in text for text in results)
    assert report["progress"]["filesRead"] <= 4


def test_a_dead_endpoint_costs_nothing_but_the_note(plain: World) -> None:
    world = with_model(plain, ModelServer("http://127.0.0.1:9/v1"), "good")
    assert NOT_ANSWERED in located(world)["value"]["notes"]


def test_a_cancelled_question_leaves_its_model(plain: World, server: ModelServer) -> None:
    told = threading.Event()
    timer = threading.Timer(0.3, told.set)
    timer.start()
    world = with_model(plain, server, "slow")
    report = research(open_session(world.workspace, QUESTION, cancelled=told.is_set))
    timer.join()
    assert report.roles["locator"].status == "canceled"


def test_one_model_may_play_all_roles_and_word_the_answer(plain: World, server: ModelServer) -> None:
    settings = plain.workspace.settings.model_copy(
        update={
            "providers": {"local": Provider(base_url=server.url, model="good+all", max_concurrent=1)},
            "research": Research(provider="local"),
        }
    )
    world = World(dataclasses.replace(plain.workspace, settings=settings, owned=False), plain.handles)
    report = world.report(QUESTION)
    validate(report, REPORT)
    assert report["synthesis"]["value"]["summary"].startswith("The model says: see src/depot/")
    prompts = [json.dumps(one["messages"]) for one in server.requests() if one["model"] == "good+all"]
    assert any("You explain how something works" in text for text in prompts)
    assert any("You answer the question directly" in text for text in prompts)


@pytest.mark.parametrize("most", [1, 2])
def test_a_provider_gets_no_more_requests_at_once_than_it_takes(plain: World, server: ModelServer, most: int) -> None:
    model = "+".join(["lazy"] * (most + 1))
    settings = plain.workspace.settings.model_copy(
        update={
            "providers": {"local": Provider(base_url=server.url, model=model, max_concurrent=most)},
            "roles": {f"extra{number}": RoleEntry(base="locator") for number in range(4)},
            "research": Research(provider="local"),
        }
    )
    world = World(dataclasses.replace(plain.workspace, settings=settings, owned=False), plain.handles)
    world.report(QUESTION)
    asked = [one["at_once"] for one in server.requests() if one["model"] == model]
    assert len(asked) >= 5
    assert max(asked) <= most


def test_no_model_is_asked_where_nothing_was_found(plain: World, server: ModelServer) -> None:
    before = len(server.requests())
    report = with_model(plain, server, "good").report("where is FlibberGibbet implemented?")
    assert report["locator"]["value"]["references"] == []
    assert len(server.requests()) == before


def test_without_a_provider_no_request_leaves_and_no_library_is_loaded() -> None:
    settings = Settings()
    assert not settings.providers
    assert (settings.limits, settings.runtime) == (LimitSettings(), Runtime())
    assert settings.research.provider == ""


def test_the_scripted_model_streams_where_it_is_asked_to(server: ModelServer) -> None:
    import httpx

    request = {"model": "good", "stream": True, "messages": [{"role": "user", "content": "see a/b.py:3"}]}
    with httpx.stream("POST", f"{server.url}/chat/completions", json=request, trust_env=False) as reply:
        events = [line.removeprefix("data: ") for line in reply.iter_lines() if line]
    assert events[-1] == "[DONE]"
    said = "".join(json.loads(event)["choices"][0]["delta"].get("content", "") for event in events[:-1])
    assert json.loads(said)["references"] == ["a/b.py:3"]
