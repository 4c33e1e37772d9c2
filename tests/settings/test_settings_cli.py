"""`llmc config show|check|schema`, driven through the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from llmc.cli import run

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "llmc").mkdir(parents=True)
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "LLMC_HOME"):
        monkeypatch.delenv(name, raising=False)
    return work


def told(capture: Capture, *arguments: str) -> str:
    """The output of a command that succeeds."""
    assert run(["config", *arguments]) == 0
    return capture.readouterr().out


def test_show_lists_settings_and_their_sources(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    (folder / "llmc.toml").write_text("[index]\nworkers = 2\n")
    monkeypatch.setenv("LLMC_INDEX_HIDDEN", "no")
    lines = told(capsys, "show", "--set", "index.max_depth=9").splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines if not line.startswith("#")}
    assert rows["roots"] == [f'["{folder}"]', "default"]
    assert rows["index.workers"] == ["2", f"{folder}/llmc.toml:2"]
    assert rows["index.hidden"] == ["false", "LLMC_INDEX_HIDDEN"]
    assert rows["index.max_depth"] == ["9", "--set", "index.max_depth"]
    assert "daemon.idle_minutes" not in rows
    assert "daemon.idle_minutes" in told(capsys, "show", "--all")


def test_show_json_holds_every_key_and_no_secret(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    user = folder.parent / "home" / ".config" / "llmc" / "llmc.toml"
    user.write_text('[providers.x]\napi_key = "${TOKEN}"\n[providers.y]\napi_key = "hunter2"\n')
    shown = told(capsys, "show", "--json")
    document = json.loads(shown)
    assert "hunter2" not in shown
    assert document["files"] == [str(user)]
    assert document["settings"]["providers.x.api_key"]["value"] == "********"
    assert document["settings"]["index.hidden"] == {"value": True, "source": "default", "layer": "default"}


def test_show_of_a_wrong_file_is_an_error(folder: Path, capsys: Capture) -> None:
    (folder / "llmc.toml").write_text("x = 1\n")
    assert run(["config", "show"]) == 2
    assert f"{folder}/llmc.toml:1: x: no such setting" in capsys.readouterr().err


def test_check_lists_every_problem_and_exits_with_2(folder: Path, capsys: Capture) -> None:
    (folder / "llmc.toml").write_text("x = 1\n[index]\nhiden = true\n[server]\nport = 1\n")
    assert run(["config", "check"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{folder}/llmc.toml:3: index.hiden: no such setting; did you mean index.hidden?\n" in err
    assert f"note: {folder}/llmc.toml:5: server.port: is not taken from a workspace file" in err
    assert err.endswith("problems: 2\n")


def test_check_json_holds_problems_and_notes(folder: Path, capsys: Capture) -> None:
    (folder / "llmc.toml").write_text("x = 1\n[server]\nport = 1\n")
    assert run(["config", "check", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert not document["ok"]
    assert [problem["line"] for problem in document["problems"]] == [1]
    assert [note["key"] for note in document["notes"]] == ["server.port"]


def test_check_of_one_file_leaves_the_others_alone(folder: Path, capsys: Capture) -> None:
    (folder.parent / "home" / ".config" / "llmc" / "llmc.toml").write_text("wrong = 1\n")
    (folder / "good.toml").write_text("[server]\nport = 1\n")
    (folder / "bad.json").write_text('{"server": {"prot": 1}}')
    assert told(capsys, "check", "good.toml") == "no problems\n"
    assert run(["config", "check", "bad.json"]) == 2
    assert "did you mean server.port?" in capsys.readouterr().err


def test_check_mentions_secrets_that_are_not_set(folder: Path, capsys: Capture) -> None:
    (folder / "named.toml").write_text('[providers.x]\napi_key = "${NO_SUCH_KEY}"\n')
    assert run(["config", "check", "named.toml"]) == 0
    assert "the environment has no NO_SUCH_KEY" in capsys.readouterr().err


def test_the_schema_accepts_valid_settings_and_refuses_invalid_ones(capsys: Capture) -> None:
    schema = json.loads(told(capsys, "schema"))
    jsonschema.Draft7Validator.check_schema(schema)
    right = {
        "$schema": "x",
        "roots": [".", {"path": "a"}],
        "index": {"hidden": False},
        "agents": {"a": {"system_prompt": "p"}, "script": {"b": {"path": "b.lua", "own": 1}}},
        "mcps": {"m": {"command": "c", "env": {"A": "${B}"}}},
    }
    jsonschema.validate(right, schema)
    sections = ['"indx": {}', '"index": {"workers": 65}', '"roots": [{}]', '"embedder": {"kind": "x"}', '"home": "x"']
    for wrong in sections:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(json.loads("{" + wrong + "}"), schema)


def test_odd_names_do_not_reach_the_terminal_as_they_are(folder: Path, capsys: Capture) -> None:
    odd = folder / "a\x1b[31m\u202eb"
    odd.mkdir()
    shown = told(capsys, "show", "--root", str(odd))
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_renamed_settings_work_for_one_release_with_a_notice(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (folder.parent / "home" / ".config" / "llmc" / "llmc.toml").write_text("[server]\nshell = true\n")
    monkeypatch.setenv("LLMC_SERVER_SHELL_SECONDS", "7")
    shown = told(capsys, "show", "--set", "server.shell_allow=make")
    rows = {line.split()[0]: line.split()[1] for line in shown.splitlines() if not line.startswith("#")}
    assert (rows["shell.enabled"], rows["shell.seconds"], rows["shell.allow"]) == ("true", "7", '["make"]')
    assert run(["config", "check"]) == 0
    assert "llmc.toml:2: server.shell: was renamed to shell.enabled" in "".join(capsys.readouterr())


def test_removed_settings_are_ignored_with_a_notice(folder: Path, capsys: Capture) -> None:
    (folder / "llmc.toml").write_text('[index]\nlanguages = ["python"]\nworkers = 2\n')
    assert run(["config", "check"]) == 0
    printed = "".join(capsys.readouterr())
    assert "index.languages: was removed" in printed
    assert "no problems" in printed


def test_a_new_name_wins_over_the_old_one(folder: Path, capsys: Capture) -> None:
    file = folder.parent / "home" / ".config" / "llmc" / "llmc.toml"
    file.write_text("[server]\nshell_seconds = 7\n[shell]\nseconds = 9\n")
    lines = told(capsys, "show").splitlines()
    assert any(line.split()[:2] == ["shell.seconds", "9"] for line in lines)
