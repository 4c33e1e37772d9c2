"""One invalid persona, delegate or MCP server is reported and left out; everything else keeps working."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from daemons import private_place

from llmc.base.errors import ConfigError
from llmc.cli import run
from llmc.settings import Loaded, examine, load

if TYPE_CHECKING:
    from pathlib import Path

GOOD = '[agents.good]\nsystem_prompt = "p"\n[mcps.good]\ncommand = "c"\n'


def loaded(folder: Path, text: str, *flags: str, env: dict[str, str] | None = None) -> Loaded:
    path = folder / "named.toml"
    path.write_text(f"{GOOD}{text}")
    return load(folder, {"HOME": "/nonexistent", **(env or {})}, flags, path)


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ("[agents.bad]\ntools = []\n", "agents.bad", "system_prompt is missing"),
        ("[agents.bad]\nsystem_prompt = ''\n", "agents.bad.system_prompt", "must not be empty"),
        ("[agents.bad]\nsystem_promt = 'p'\n", "agents.bad.system_promt", "no such setting"),
        ("[agents.bad]\nsystem_prompt = 3\n", "agents.bad.system_prompt", "must be a string, not 3"),
        ("[agents.bad]\nsystem_prompt = 'p'\ncontext = [{limit = 3}]\n", "agents.bad.context[0]", "search is missing"),
        ("[agents.bad]\nsystem_prompt = 'p'\narguments = 3\n", "agents.bad.arguments", "must be a list of tables"),
        ("[agents]\nbad = 3\n", "agents.bad", "must be a table"),
        ("[agents.script.bad]\npath = 'x.lua'\ntimeout = 9999999999999\n", "agents.script.bad.timeout", "at most 600"),
        ("[mcps.bad]\nargs = ['x']\n", "mcps.bad", "command is missing"),
        ("[mcps.bad]\ncommand = 'c'\nenv = {A = 1}\n", "mcps.bad.env", "must be a table of strings (hidden)"),
        ("[delegates.bad]\ndescription = 'd'\n", "delegates.bad", "internal_tools is missing"),
        (
            "[delegates.bad]\ndescription='d'\nprovider='openai'\nmodel='m'\ninternal_tools={gone=['x']}\n",
            "delegates.bad.internal_tools",
            'no server is named "gone"',
        ),
    ],
)
def test_an_invalid_entry_is_left_out_with_its_reason(tmp_path: Path, text: str, key: str, reason: str) -> None:
    found = loaded(tmp_path, text)
    problem = found.skipped[0]
    assert problem.key == key
    assert reason in problem.reason
    assert problem.source.line > GOOD.count("\n")
    assert str(problem).endswith(f"{problem.entry} is skipped")
    assert "bad" not in {*found.settings.agents, *found.settings.agent_scripts, *found.settings.mcps}
    assert "bad" not in found.settings.delegates
    assert found.settings.agents["good"].system_prompt == "p"
    assert found.settings.mcps["good"].command == "c"


def test_a_delegate_of_a_skipped_server_is_skipped_too(tmp_path: Path) -> None:
    delegate = "[delegates.d]\ndescription='d'\nprovider='openai'\nmodel='m'\ninternal_tools={bad=['x']}\n"
    found = loaded(tmp_path, f"[mcps.bad]\ntransport = 'sse'\n{delegate}")
    assert {problem.entry for problem in found.skipped} == {"mcps.bad", "delegates.d"}
    assert found.settings.delegates == {}


def test_a_variable_can_complete_or_break_an_entry(tmp_path: Path) -> None:
    text = "[mcps.far]\ntransport = 'sse'\n"
    assert loaded(tmp_path, text, env={"LLMC_MCPS_FAR_URL": "http://x"}).settings.mcps["far"].url == "http://x"
    broken = loaded(tmp_path, "", env={"LLMC_MCPS_GOOD_ENABLED": "perhaps"})
    assert [problem.source.name for problem in broken.skipped] == ["LLMC_MCPS_GOOD_ENABLED"]
    assert broken.settings.mcps == {}


def test_a_wrong_flag_stops_the_command_that_it_was_typed_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be true or false"):
        loaded(tmp_path, "", "mcps.good.enabled=perhaps")


def test_variables_that_name_each_other_are_expanded_once(tmp_path: Path) -> None:
    env = {"A": "${B}", "B": "${A}"}
    found = loaded(tmp_path, "[providers.x]\napi_key = '${A}'\n", env=env)
    assert found.settings.providers["x"].api_key.reveal() == "${B}"


def test_an_unknown_setting_outside_an_entry_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"index\.exclud"):
        loaded(tmp_path, "[index]\nexclud = ['secret/']\n")


def test_a_skipped_entry_of_a_workspace_file_does_not_hide_others(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "llmc.toml").write_text('[agents.bad]\ncolour = 1\n[agents.fine]\nsystem_prompt = "p"\n')
    found = examine(tmp_path, {"HOME": "/nonexistent"})
    assert found.problems == ()
    assert set(found.settings.agents) == {"fine"}


def test_every_command_works_beside_an_invalid_persona_and_says_so(tmp_path: Path) -> None:
    """One invalid `[agents.x]` in a workspace file once made every command exit with 2."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "a.py").write_text("first = 1\n")
    (project / "llmc.toml").write_text('[agents.bad]\nsystem_promt = "p"\n[agents.fine]\nsystem_prompt = "p"\n')
    with private_place() as place:
        place.environ["XDG_CONFIG_HOME"] = str(tmp_path / "config")
        found = place.llmc("grep", "first", cwd=project)
        assert (found.returncode, "first = 1" in found.stdout) == (0, True)
        listed = place.llmc("agent", "list", cwd=project)
        assert listed.returncode == 0
        assert "fine" in listed.stdout
        assert "agents.bad is skipped" in listed.stdout + listed.stderr
        assert "did you mean agents.bad.system_prompt?" in place.llmc("status", cwd=project).stdout
        checked = place.llmc("config", "check", "--json", cwd=project)
        assert checked.returncode == 2
        (problem,) = json.loads(checked.stdout)["problems"]
        assert (problem["key"], problem["line"], problem["skipped"]) == ("agents.bad.system_promt", 2, "agents.bad")


def test_the_schema_comes_from_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    index = schema["definitions"]["Index"]["properties"]
    assert index["workers"] == {"type": "integer", "default": 0, "minimum": 0, "maximum": 64, **_described(index)}
    assert "script" in schema["properties"]["agents"]["properties"]


def _described(properties: dict[str, dict[str, object]]) -> dict[str, object]:
    return {"description": properties["workers"]["description"]}
