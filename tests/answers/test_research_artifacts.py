"""Reports on disk and handoffs: only on request, only in their folder, without secrets; and read back."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from research_world import TOKEN, World, opened, write

from llmc.answers.research.artifact import ArtifactFolder, file_name
from llmc.answers.research.handoff import parse_handoff
from llmc.base.errors import LlmcError, QueryError
from llmc.settings import ArtifactSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTIONS = ["## Question", "## Summary", "## Key Findings", "## References", "## Constraints / Budgets"]
ESCAPES = ["../x", "/etc/x", "a/b", "..", ".hidden", "x\0y", "", "a\nb", "..md", "x" * 300, "%2e%2e", "a\\..\\b/.."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("artifacts") / "reports"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[World]:
    place = tmp_path_factory.mktemp("world")
    with opened(place / "home", write(place / "depot"), artifacts=ArtifactSettings(folder=folder)) as made:
        yield made


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.parent.rglob("*")}


def test_an_artifact_is_written_only_on_request(world: World, folder: Path) -> None:
    before = files(folder)
    assert "artifactPath" not in world.report("where is RetryPolicy implemented?")
    assert files(folder) == before
    report = world.report("where is RetryPolicy implemented?", artifact=True)
    path = Path(report["artifactPath"])
    assert path.parent == folder
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_artifact_has_the_specified_sections_and_says_what_the_reply_says(world: World) -> None:
    report = world.report("how does a courier deliver a parcel?", artifact=True)
    text = Path(report["artifactPath"]).read_text()
    lines = text.split("\n")
    assert lines[0] == "# Research Handoff"
    assert [line for line in lines if line.startswith("## ")][:5] == SECTIONS
    assert "how does a courier deliver a parcel?" in lines
    found = parse_handoff(text)
    assert found is not None
    assert found.summary == report["synthesis"]["value"]["summary"]
    assert list(found.references) == report["synthesis"]["value"]["references"]


def test_an_artifact_has_no_secret_and_keeps_the_reference(world: World) -> None:
    report = world.report(f"how does the depot talk to the tracker with {TOKEN} or tracker_headers?", artifact=True)
    text = Path(report["artifactPath"]).read_text()
    assert TOKEN not in text
    assert "src/depot/secrets.py:" in text


@pytest.mark.parametrize("name", ESCAPES)
def test_a_name_that_leads_out_is_refused(world: World, folder: Path, name: str) -> None:
    before = files(folder)
    reply = world.ask("create_handoff", question="where is RetryPolicy", name=name or "..")
    assert reply.error == "query"
    assert files(folder) == before
    assert world.ask("resume_handoff", name=name or "..").error in {"query", "not_found"}


def test_links_in_the_artifact_folder_are_not_followed(tmp_path: Path) -> None:
    artifacts = ArtifactFolder(str(tmp_path / "reports"))
    secret = tmp_path / "secret.md"
    secret.write_text("# Research Handoff\n")
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "link.md").symlink_to(secret)
    with pytest.raises(LlmcError, match="not found"):
        artifacts.read("link.md")
    path = artifacts.write("link.md", "# Research Handoff\n\nmine\n")
    assert path.endswith("link-2.md")
    assert secret.read_text() == "# Research Handoff\n"
    assert [one.name for one in artifacts.all()] == ["link-2.md"]


def test_an_artifact_folder_that_is_a_link_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "reports").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LlmcError, match="not usable"):
        ArtifactFolder(str(tmp_path / "reports")).write("a.md", "x")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_existing_files_are_never_overwritten(tmp_path: Path) -> None:
    artifacts = ArtifactFolder(str(tmp_path / "reports"))
    paths = [artifacts.write("same.md", text) for text in "abc"]
    assert [Path(path).read_text() for path in paths] == ["a", "b", "c"]


@given(st.text(max_size=80))
def test_every_question_gives_a_name_that_is_one(title: str) -> None:
    assert "/" not in file_name("research", title)
    assert file_name("research", title, 0).startswith("research-19")


@given(st.text(max_size=40))
def test_no_name_writes_outside_the_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    place = tmp_path_factory.mktemp("names")
    try:
        path = ArtifactFolder(str(place / "reports")).write(f"{name}.md", "x")
    except QueryError:
        assert not list(place.iterdir())
    else:
        assert os.path.dirname(os.path.realpath(path)) == str(place / "reports")  # noqa: PTH120 - as text


def test_a_handoff_keeps_state_open_questions_and_living_handles_and_comes_back(world: World) -> None:
    cut = world.ask("grep", pattern="e", budget=60)
    assert cut.handle
    made = world.ask(
        "create_handoff",
        question="session of today",
        summary="The retries are understood.",
        open_questions=["who rings twice?", "## Summary"],
        notes="Ask the depot.\n# not a heading",
    )
    text = Path(made.data["path"]).read_text()
    assert "## Open Questions" in text
    assert f"- {cut.handle} " in text
    back = world.ask("resume_handoff", name=made.data["name"])
    ours = [line for line in back.text.split("\n") if not line.startswith(" ")]
    assert ours[0].startswith("a handoff with ")
    assert not any("today" in line or "retries" in line for line in ours)
    assert back.data["summary"] == "The retries are understood."
    assert back.data["open_questions"] == ["who rings twice?", "## Summary"]
    assert back.data["handles"][0].startswith(f"{cut.handle} grep")
    assert "who rings twice?" in back.text
    assert not world.ask("read", target=cut.handle).error


def test_a_handoff_has_no_handles_of_other_workspaces(world: World, tmp_path: Path) -> None:
    theirs = world.ask("grep", pattern="e", budget=60)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mill.py").write_text("def grind(corn):\n    return corn\n")
    with opened(tmp_path / "home", tmp_path / "other") as elsewhere:
        other = World(elsewhere.workspace, world.handles)  # all workspaces of a user share one store of handles
        assert theirs.handle not in other.ask("create_handoff", question="how is corn ground").data["handles"]


def test_an_expired_handle_is_reported_as_such(world: World) -> None:
    cut = world.ask("grep", pattern="e", budget=60)
    made = world.ask("create_handoff", question="RetryPolicy")
    world.handles.drop(cut.handle, "local")
    assert world.ask("resume_handoff", name=made.data["path"]).data["expired"][0].startswith(cut.handle)


def test_without_a_name_the_handoffs_are_listed_newest_first(world: World) -> None:
    names = [world.ask("create_handoff", question="RetryPolicy", name=name).data["name"] for name in ("one", "two")]
    assert sorted(names) == ["one.md", "two.md"]
    listed = world.ask("resume_handoff").data["handoffs"]
    assert {"one.md", "two.md"} <= {one["name"] for one in listed}
    assert listed == sorted(listed, key=lambda one: (-one["written"], one["name"]))


def test_a_file_that_is_not_a_handoff_is_refused(world: World, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "other.md").write_text("# Something else\n")
    assert world.ask("resume_handoff", name="other").error == "query"


def test_the_research_profile_gets_a_handoff_as_json(world: World) -> None:
    made = json.loads(world.ask("create_handoff", "research", question="RetryPolicy").text)
    assert set(made) == {"path", "name", "handles"}
    assert json.loads(world.ask("resume_handoff", "research", name=made["name"]).text)["question"] == "RetryPolicy"
