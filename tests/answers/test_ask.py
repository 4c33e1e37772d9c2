"""`ask` and its four roles: with a scripted model over real HTTP, and without a model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from research_world import TOKEN, World, opened, write
from scripted_crew import role_of, serving_crew

from llmc.answers.ask.router import command_of, kind_of
from llmc.settings import Crew, Provider, RoleEntry, Secret, Shell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from model_server import ModelServer

QUESTION = "how does a courier deliver a parcel"
SAID = "The model says: see src/depot/courier.py:11."


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serving_crew() as made:
        yield made


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with opened(tmp_path_factory.mktemp("home"), write(tmp_path_factory.mktemp("tree") / "depot")) as made:
        yield made


def with_settings(plain: World, **changes: Any) -> World:
    settings = plain.workspace.settings.model_copy(update=changes)
    return World(dataclasses.replace(plain.workspace, settings=settings, owned=False), plain.handles)


def with_model(plain: World, server: ModelServer, model: str, **changes: Any) -> World:
    provider = Provider(
        base_url=server.url, api_key=Secret("k3y"), model=model, timeout_ms=changes.pop("timeout_ms", 20_000)
    )
    crew = Crew(provider="local", **changes.pop("crew", {}))
    return with_settings(plain, providers={"local": provider}, crew=crew, **changes)


def asked(world: World, question: str = QUESTION, **args: Any) -> dict[str, Any]:
    reply = world.ask("ask", question=question, **args)
    assert not reply.error, reply.text
    return reply.data


def sent(server: ModelServer, model: str) -> list[dict[str, Any]]:
    return [one for one in server.requests() if one["model"] == model]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("where is RetryPolicy defined?", "code"),
        ("which function parses the header", "code"),
        ("what does the README say about prices", "docs"),
        ("how do I install it", "docs"),
        ("how do I configure RetryPolicy", "mixed"),
        ("how does a courier deliver a parcel", "mixed"),
        ("run `make test`", "command"),
        ("please execute git status", "command"),
        ("how do I run the tests", "mixed"),
    ],
)
def test_the_router_names_the_type_of_a_question(question: str, kind: str) -> None:
    assert kind_of(question) == kind


def test_a_command_is_only_what_the_question_spells_out() -> None:
    assert command_of("run `make test` for me") == "make test"
    assert command_of("Execute git status.") == "git status"
    assert command_of("run the tests") == ""
    assert command_of("how is the loop run") == ""


def test_without_a_model_research_answers_with_places_that_exist(plain: World) -> None:
    found = asked(plain)
    assert found["answer"]["references"][0] == "src/depot/courier.py:11"
    assert "Courier.deliver at src/depot/courier.py:11" in found["answer"]["summary"]
    assert not found["worded"]
    assert found["costs"] == []
    assert [one["call"] for one in found["steps"]] == ["research:locator", "research:analyzer"]


def test_a_question_about_documents_is_answered_from_documents(plain: World) -> None:
    found = asked(plain, "why was it decided how often a courier tries")
    assert found["kind"] == "docs"
    assert found["answer"]["references"] == ["thoughts/2026-01-retries.md:5"]
    assert "because customers complained" in found["answer"]["summary"]


def test_a_missing_definition_is_not_found_and_cites_nothing(plain: World) -> None:
    found = asked(plain, "where is ZorglubFactory defined")
    assert found["answer"]["summary"].startswith("Not found")
    assert found["answer"]["references"] == []


def test_a_command_runs_only_where_commands_may_run(plain: World) -> None:
    refused = asked(plain, "run `ls docs`")
    assert "`ls docs` was not run: commands are not run because" in refused["answer"]["summary"]
    assert refused["answer"]["references"] == []  # a refused command is no reason for an unrelated answer
    allowed = with_settings(plain, shell=Shell(enabled=True))
    assert "returns.md" in asked(allowed, "run `ls docs`")["command_output"]
    forbidden = asked(allowed, "run `rm -rf docs`")
    assert "was not run" in forbidden["answer"]["summary"]
    assert forbidden["command_output"] == ""


def test_one_model_plays_all_four_and_each_sees_its_own_slice(plain: World, server: ModelServer) -> None:
    found = asked(with_model(plain, server, "good"))
    assert found["worded"]
    assert found["answer"]["summary"] == SAID
    prompts = {role_of(one): json.dumps(one["messages"]) for one in sent(server, "good")}
    assert list(prompts) == ["beatrice", "otto", "rem", "grace"]
    assert "Tools:" in prompts["beatrice"]
    assert "def deliver" not in prompts["beatrice"] + prompts["rem"]
    assert "Step 1: search" in prompts["otto"]
    assert "Tools used so far" in prompts["rem"]
    assert "def deliver" in prompts["grace"]
    assert "Tools" not in prompts["grace"].partition("Evidence:")[0]
    assert [one["role"] for one in found["costs"]] == ["beatrice", "otto", "rem", "grace"]
    assert [one["by"] for one in found["steps"][2:]] == ["beatrice", "rem"]


def test_each_role_may_have_a_model_of_its_own(plain: World, server: ModelServer) -> None:
    provider = Provider(base_url=server.url, api_key=Secret("k3y"))
    roles = {name: RoleEntry(provider="local", model=f"{name}:good") for name in ("beatrice", "otto", "rem", "grace")}
    found = asked(with_settings(plain, providers={"local": provider}, roles=roles))
    assert {one["role"]: one["model"] for one in found["costs"]} == {name: f"{name}:good" for name in roles}


def test_the_model_of_one_role_serves_the_others(plain: World, server: ModelServer) -> None:
    provider = Provider(base_url=server.url)
    world = with_settings(
        plain, providers={"local": provider}, roles={"grace": RoleEntry(provider="local", model="grace:good+x")}
    )
    assert {one["model"] for one in asked(world)["costs"]} == {"grace:good+x"}


def test_invented_places_are_dropped(plain: World, server: ModelServer) -> None:
    answer = asked(with_model(plain, server, "lying"))["answer"]
    assert answer["references"][0] == "src/depot/courier.py:11"
    assert set(answer["references"]) <= set(asked(plain)["answer"]["references"])
    assert "cited places that it was not shown" in answer["notes"]
    assert "invented" not in json.dumps(answer["key_findings"])


def test_a_forbidden_tool_is_refused_and_reported(plain: World, server: ModelServer) -> None:
    found = asked(with_model(plain, server, "forbidden"))
    assert "Beatrice requested shell, rm_rf, which was rejected." in found["answer"]["notes"]
    assert not any(one["call"].startswith(("shell", "rm_rf")) for one in found["steps"])
    assert found["worded"]


def test_a_plan_of_nothing_is_replaced_by_our_own(plain: World, server: ModelServer) -> None:
    found = asked(with_model(plain, server, "hollow"))
    assert "which was rejected" in found["answer"]["notes"]
    assert any(one["call"].startswith("search query=") for one in found["steps"])


@pytest.mark.parametrize("model", ["prose", "empty", "loop", "unknown", "broken", "refused", "busy", "garbage"])
def test_whatever_a_model_does_the_answer_without_it_is_kept(plain: World, server: ModelServer, model: str) -> None:
    own = asked(plain)["answer"]
    found = asked(with_model(plain, server, model))
    assert found["answer"]["summary"] == own["summary"]
    assert not found["worded"]
    assert found["answer"]["notes"].count("The model did not answer (") == 1, "one sentence for the four roles"
    assert set(found["answer"]["references"]) <= set(own["references"])
    assert len(sent(server, model)) <= 4 * 6


def test_a_model_may_use_the_tools_of_the_route_and_is_bounded(plain: World, server: ModelServer) -> None:
    found = asked(with_model(plain, server, "otto:loop", crew={"max_steps": 3}))
    assert len([one for one in found["steps"] if not one["call"].startswith("research:")]) <= 3
    assert found["worded"]


def test_time_and_tokens_are_bounded(plain: World, server: ModelServer) -> None:
    late = asked(with_model(plain, server, "slow", timeout_ms=200))
    assert "The model did not answer (it was too slow for the 0.2 s it had)" in late["answer"]["notes"]
    spent = asked(with_model(plain, server, "good+spent", crew={"max_tokens": 100}))
    assert spent["answer"]["references"]


def test_a_models_prompt_has_no_secrets(plain: World, server: ModelServer) -> None:
    world = with_model(plain, server, "good+tracker")
    asked(world, f"how does tracker_headers use the token {TOKEN}")
    requests = sent(server, "good+tracker")
    assert requests
    assert TOKEN not in json.dumps(requests)


def test_earlier_questions_are_remembered_and_passed_to_the_planner(plain: World, server: ModelServer) -> None:
    name = asked(plain, "where is RetryPolicy defined?")["session"]
    shown = plain.ask("session", action="show", name=name)
    assert "classification" in shown.text
    kept = plain.ask("session", action="get", key="log", name=name).data["entries"]
    assert [one["act"] for one in kept] == ["asked", "answer"]
    assert kept[1]["data"]["references"][0] == "src/depot/retry.py:6"
    world = with_model(plain, server, "good+again")
    asked(world, "what was said about RetryPolicy", name=name)
    planner = next(one for one in sent(server, "good+again") if role_of(one) == "beatrice")
    assert "Known from earlier" in json.dumps(planner["messages"])
    costs = plain.ask("session", action="get", key="log", name=name).data["entries"][-1]["data"]["costs"]
    assert [one["role"] for one in costs] == ["beatrice", "otto", "rem", "grace"]


def test_with_several_roots_every_reference_can_be_opened(tmp_path: Path, server: ModelServer) -> None:
    first, second = write(tmp_path / "depot"), tmp_path / "notes"
    second.mkdir()
    (second / "wishes.md").write_text("# Wishes\n\nA courier should sing while it delivers.\n")
    with opened(tmp_path / "home", first, second) as world:
        found = asked(with_model(world, server, "good+several"))
        references = found["answer"]["references"]
        assert references
        assert all(Path(one.rpartition(":")[0]).is_file() for one in references)
        assert any(one["places"] for one in found["steps"] if one["call"].startswith("search"))
