"""Providers on loopback that fail in every way, as a user of the command line sees it: the answer without a model
remains, and one phrase explains the failure.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from research_world import write

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place
    from model_server import ModelServer

QUESTION = "how does a courier deliver a parcel"
PHRASES = {
    "slow": "it was too slow",
    "endless": "it was too slow",
    "limited": "the provider limits requests, status 429",
    "failing": "the provider failed, status 500",
    "refused": "the provider refused the key, status 401",
    "garbage": "the reply is not one of a model",
    "broken": "the connection failed: peer closed connection",
    "huge": "the connection failed: the reply is larger than 8 MB",
    "partial": "its answer did not have the requested form",
    "cut": "the reply is not one of a model",
    "choiceless": "the reply is not one of a model",
    "prose": "its answer did not have the requested form",
    "empty": "its replies were empty",
    "loop": "it kept calling tools in 6 rounds",
    "inventing": "it cited no place that it was shown",
}
# The others fail by themselves, which may take time on a busy machine.
SLOW = frozenset({"slow", "endless"})


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tree") / "depot")


def settings(folder: Path, model: ModelServer, name: str, **more: Any) -> str:
    path = folder / "settings.json"
    provider = {"base_url": model.url, "model": name, "timeout_ms": 1_500 if name in SLOW else 20_000}
    path.write_text(json.dumps({"providers": {"local": provider}, **more}))
    return str(path)


def answer(shared_place: Place, root: Path, command: str, *options: str) -> tuple[str, dict[str, Any]]:
    """The reply as text and as data."""
    shown = shared_place.llmc(command, QUESTION, *options, cwd=root)
    data = shared_place.llmc(command, QUESTION, "--json", *options, cwd=root)
    assert shown.returncode == data.returncode == 0, shown.stderr + data.stderr
    found: dict[str, Any] = json.loads(data.stdout)
    return shown.stdout, found.get("data", found)


@pytest.mark.parametrize("name", PHRASES)
def test_research_answers_without_a_model_that_fails(
    shared_place: Place, root: Path, model: ModelServer, tmp_path: Path, name: str
) -> None:
    _, plain = answer(shared_place, root, "research")
    config = settings(tmp_path, model, name, research={"provider": "local"})
    text, found = answer(shared_place, root, "research", "--config", config)
    for role in ("locator", "analyzer", "synthesis"):
        own, value = plain[role]["value"], found[role]["value"]
        assert found[role]["status"] == "ok"
        assert value["references"] == own["references"]
        assert value["summary"] == own["summary"]
        assert value["confidence"] == own["confidence"]
        assert PHRASES[name] in value["notes"]
    assert text.count("The model did not answer") == 1
    assert PHRASES[name] in text


@pytest.mark.parametrize("name", ["slow", "limited", "garbage", "loop", "inventing"])
def test_ask_answers_without_a_model_that_fails(
    shared_place: Place, root: Path, model: ModelServer, tmp_path: Path, name: str
) -> None:
    _, plain = answer(shared_place, root, "ask")
    config = settings(tmp_path, model, name, crew={"provider": "local", "seconds": 12})
    text, found = answer(shared_place, root, "ask", "--config", config)
    assert found["answer"]["summary"] == plain["answer"]["summary"]
    assert not found["worded"]
    assert text.count("did not answer") == 1
    assert PHRASES[name].partition(" in ")[0] in text, "the number of rounds is that of an ask role"


def test_a_model_that_is_too_slow_is_asked_once_for_a_question(
    shared_place: Place, root: Path, model: ModelServer, tmp_path: Path
) -> None:
    config = settings(tmp_path, model, "slow", crew={"provider": "local"}, research={"provider": "local"})
    before = len(model.requests())
    shared_place.llmc("ask", QUESTION, "--config", config, cwd=root)
    assert len(model.requests()) - before == 1, "each of the four roles would wait as long"
    shared_place.llmc("research", QUESTION, "--config", config, cwd=root)
    assert len(model.requests()) - before == 3, "the locator and the analyzer at the same time; no synthesizer"


def test_ask_names_in_one_sentence_the_roles_whose_model_failed(
    shared_place: Place, root: Path, model: ModelServer, tmp_path: Path
) -> None:
    crew = {"provider": "local", "seconds": 12}
    grace = {"provider": "local", "model": "good"}
    config = settings(tmp_path, model, "prose", crew=crew, roles={"grace": grace})
    text, found = answer(shared_place, root, "ask", "--config", config)
    assert found["worded"]
    assert text.count("did not answer") == 1
    assert "The models of Beatrice, Otto, Rem did not answer (its answer did not have the requested form)" in text


def test_a_model_slower_than_the_deadline_leaves_the_whole_report(
    shared_place: Place, root: Path, model: ModelServer, tmp_path: Path
) -> None:
    """The provider's time limit is longer than the deadline of the call, as it is by default."""
    path = tmp_path / "settings.json"
    provider = {"base_url": model.url, "model": "slow"}
    made = {
        "providers": {"local": provider},
        "research": {"provider": "local"},
        "runtime": {"default_deadline_ms": 4_000},
    }
    path.write_text(json.dumps(made))
    text, found = answer(shared_place, root, "research", "--config", str(path))
    assert found["locator"]["value"]["references"]
    assert found["locator"]["status"] == "ok"
    assert "it was too slow" in text
