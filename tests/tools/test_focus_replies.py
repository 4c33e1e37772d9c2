"""`context_focus_question` from outside: every tool, the handle behind it, and pruners that fail in every way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from daemons import private_place
from pruner_world import FAILING, Pruner, running_pruner
from tool_calls import answer

from llmc.envelope.handles import Handles
from llmc.envelope.tokens import count
from llmc.settings import EmbedderSettings, EnvelopeSettings, LimitSettings, Settings
from llmc.tool_schema import definition_of, signature
from llmc.tools.registry import TOOLS, tool
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.envelope.reply import Reply

KEY = "AKIA" + "IOSFODNN7Q2XYZAB"
QUESTION = "how is a wanted refund encrypted"


def module() -> str:
    lines = ["import os", ""]
    for number in range(60):
        what = "wanted_refund" if number == 40 else f"step_{number}"
        lines += [
            f"def encrypt_{what}(item):" if number == 40 else f"def do_{what}(item):",
            f"    key = '{KEY}'  # wanted" if number == 40 else f"    label = 'box {number}'",
            f"    return item.{what}()",
            f"    # the end of {what}",
            "",
        ]
    return "\n".join(lines)


class World:
    def __init__(self, workspace: Workspace, handles: Handles) -> None:
        self.workspace = workspace
        self.handles = handles

    def ask(self, name: str, **args: Any) -> Reply:
        return answer(self.workspace, self.handles, name, args)

    def with_pruner(self, url: str, milliseconds: int = 60_000) -> None:
        envelope = EnvelopeSettings(pruner_url=url, pruner_timeout_ms=milliseconds)
        self.workspace.settings = self.workspace.settings.model_copy(update={"envelope": envelope})


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("tree")
    (folder / "steps.py").write_text(module())
    (folder / "notes.md").write_text("\n\n".join(f"# Part {n}\n\nAbout shelf {n} and its boxes." for n in range(200)))
    for number in range(60):
        lines = [f"password_{number}_{line} = stored" for line in range(40)]
        answer_of = ["if len(password) < MINIMUM_LENGTH:", "    raise TooShort"] if number == 59 else []
        (folder / f"accounts_{number:02}.py").write_text("\n".join([*lines, *answer_of]))
    home = tmp_path_factory.mktemp("home")
    plain = Settings(embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(folder), home=str(home), settings=plain, watch=True) as workspace:
        workspace.index()
        yield World(workspace, Handles(str(home / "handles")))


@pytest.fixture
def world(opened: World) -> World:
    opened.with_pruner("")
    return opened


@pytest.fixture(scope="module")
def pruner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pruner]:
    with running_pruner(tmp_path_factory.mktemp("pruner")) as running:
        yield running


def test_a_long_file_is_answered_by_its_function_and_not_by_head_and_outline(world: World) -> None:
    reply = world.ask("read", target="steps.py", context_focus_question=QUESTION)
    assert "def encrypt_wanted_refund(item):" in reply.text
    assert "# the end of wanted_refund" in reply.text
    assert " …\n" in reply.text
    assert count(reply.text) < 0.3 * count(module())
    assert reply.text.endswith(f"→ {reply.handle}")
    assert KEY not in reply.text


def test_the_handle_leads_to_everything_that_was_left_out(world: World) -> None:
    reply = world.ask("read", target="steps.py", context_focus_question=QUESTION)
    rest = world.ask("read", target=reply.handle, all=True)
    shown = set(reply.text.split("\n")) | {line.partition(" ")[2] for line in reply.text.split("\n")}
    for line in module().split("\n"):
        assert not line or KEY in line or line in rest.text or any(line in one for one in shown)
    left = int(reply.text.rsplit("+", 1)[1].split(" ")[0])
    assert left == sum(len(item.rows) for item in world.handles.open(reply.handle, "local").rest.items())


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_takes_a_focus_question(name: str) -> None:
    wanted = tool(name)
    values: dict[str, Any] = {"object": {}, "integer": 1, "boolean": True}
    args = {one.name: values.get(one.kind, "box") for one in wanted.arguments if one.required}
    checked = wanted.check({**args, "context_focus_question": "which box"}, LimitSettings())
    assert checked["context_focus_question"] == "which box"
    assert "context_focus_question" in signature(wanted)


def test_read_and_grep_list_the_argument_in_their_schema() -> None:
    for name in ("read", "grep"):
        assert "context_focus_question" in definition_of(tool(name)).schema["properties"]


def test_matches_that_answer_stay_and_the_others_are_counted(world: World) -> None:
    reply = world.ask("grep", pattern="item", context_focus_question=QUESTION)
    assert "encrypt_wanted_refund" in reply.text
    assert "\n+118 more → " in reply.text
    assert reply.shown < reply.total


def test_a_machine_gets_what_was_kept_and_nothing_else(world: World) -> None:
    reply = world.ask("read", target="steps.py", context_focus_question=QUESTION)
    assert "text" not in reply.data
    assert any("encrypt_wanted_refund" in run["text"] for run in reply.data["kept"])
    assert KEY not in json.dumps(reply.data)


def test_an_empty_question_is_none_and_a_wrong_one_is_refused(world: World) -> None:
    assert "outline" in world.ask("read", target="steps.py", context_focus_question="").text
    assert world.ask("read", target="steps.py", context_focus_question=["a"]).error == "query"
    assert not world.ask("read", target="steps.py", context_focus_question="why does it wait\n" * 900).error


def test_a_good_endpoint_decides_and_is_given_no_secret(world: World, pruner: Pruner) -> None:
    world.with_pruner(pruner.url("good"))
    reply = world.ask("read", target="steps.py", context_focus_question=QUESTION)
    assert "def encrypt_wanted_refund(item):" in reply.text
    assert "do_step_3" not in reply.text
    assert "\n204 " in reply.text or "\n203 " in reply.text
    (asked,) = [one for one in pruner.asked() if one["path"] == "/good"]
    assert asked["body"]["query"] == QUESTION
    assert asked["type"] == "application/json"
    assert KEY not in asked["body"]["code"]
    assert "redacted" in asked["body"]["code"]


def test_what_an_endpoint_adds_of_its_own_is_not_shown_as_text_of_the_file(world: World, pruner: Pruner) -> None:
    world.with_pruner(pruner.url("marked"))
    reply = world.ask("read", target="steps.py", context_focus_question=QUESTION)
    assert "encrypt_wanted_refund" in reply.text
    assert "filtered" not in reply.text


WITHOUT_USE = [("liar", "answered with another text"), ("empty", "kept no line")]


@pytest.mark.parametrize(("kind", "words"), [*FAILING.items(), *WITHOUT_USE])
def test_a_pruner_that_fails_leaves_the_text_unpruned_and_says_why(
    world: World, pruner: Pruner, kind: str, words: str
) -> None:
    world.with_pruner(pruner.url(kind), 400 if kind in {"hanging", "dripping"} else 60_000)
    reply = world.ask("read", target="steps.py:1-30", context_focus_question=QUESTION)
    assert not reply.error
    assert reply.text.startswith("steps.py:1-30")
    assert f"unpruned: the pruner {words}" in reply.text.split("\n")[0]
    assert "    return item.step_5()" in reply.text
    assert "everything" not in reply.text
    assert not any(one["path"] == "followed" for one in pruner.asked())


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/prune", "ftp://x/", "nonsense", "http://[::1", "http://"])
def test_an_address_that_leads_nowhere_leaves_the_text_unpruned(world: World, url: str) -> None:
    world.with_pruner(url)
    reply = world.ask("read", target="steps.py:1-30", context_focus_question=QUESTION)
    assert "unpruned: the pruner" in reply.text
    assert "item.step_5()" in reply.text


def test_the_command_line_asks_with_focus_and_honours_the_variables(tmp_path: Path, pruner: Pruner) -> None:
    (tmp_path / "steps.py").write_text(module())
    with private_place() as place:
        kept = place.llmc("read", "steps.py", "--focus", QUESTION, "--plain", cwd=tmp_path)
        assert "encrypt_wanted_refund" in kept.stdout
        assert "lines → h" in kept.stdout
        place.environ |= {"PRUNER_URL": pruner.url("hanging"), "PRUNER_TIMEOUT_MS": "7"}
        failed = place.llmc("read", "steps.py", "--focus", QUESTION, "--plain", cwd=tmp_path)
        assert "unpruned: the pruner did not respond within 0.1 s" in failed.stdout
        place.environ |= {"PRUNER_URL": ""}
        again = place.llmc("read", "steps.py", "--focus", QUESTION, "--plain", cwd=tmp_path)
        assert again.stdout == kept.stdout


def test_a_focus_question_about_matches_chooses_among_all_of_them(world: World) -> None:
    reply = world.ask("grep", pattern="password", context_focus_question="where is the minimum length checked?")
    assert reply.text.startswith("2,401 matches in 60 files")
    assert "41 if len(password) < MINIMUM_LENGTH:" in reply.text
    assert "unread" not in reply.text
    assert count(reply.text) < 1_500


def test_a_reply_names_what_it_left_out_and_says_when_it_is_unsure(world: World) -> None:
    wanted = "where are step_17 and step_23 and step_31 and step_44 done"
    assert "also: " in world.ask("read", target="steps.py", context_focus_question=wanted).text.split("\n")[0]
    unsure = world.ask("read", target="steps.py", context_focus_question="why does the purple elephant dance")
    assert "unsure: no part stands out" in unsure.text.split("\n")[0]
