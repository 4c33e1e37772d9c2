"""The record for programs that start agents themselves: switch, path, pruner, Codex flags."""

from __future__ import annotations

import sys
import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.base.errors import ConfigError
from llmc.install import ServerRecord, codex_overrides, mcp_servers_config, why_not

if TYPE_CHECKING:
    from pathlib import Path


def test_it_is_on_unless_switched_off() -> None:
    assert list(mcp_servers_config({})) == ["llmc"]
    for word in ("0", "false", "off", "no", "", "nonsense"):
        assert mcp_servers_config({"LLMC_MCP_ENABLED": word}) == {}
    for word in ("1", "true", "YES", " on "):
        assert mcp_servers_config({"LLMC_MCP_ENABLED": word})
    assert mcp_servers_config({"LLMC_MCP_ENABLED": "0"}, enabled=True)
    assert mcp_servers_config({}, enabled=False) == {}


def test_a_runner_switches_the_pruner_with_its_own_variables(tmp_path: Path) -> None:
    assert mcp_servers_config({}, profile="pruner") == {}
    environ = {"JEEVES_PRUNER_ENABLED": "true"}
    record = mcp_servers_config(environ, profile="pruner", cwd=str(tmp_path))["pruner"]
    assert record["env"] == {"PRUNER_URL": "http://localhost:8000/prune", "MCP_PRUNER_CWD": str(tmp_path)}
    assert record["args"][-5:] == ["serve", "--root", str(tmp_path), "--profile", "pruner"]
    off = mcp_servers_config({**environ, "JEEVES_PRUNER_URL": ""}, profile="pruner", cwd=str(tmp_path))
    assert off["pruner"]["env"]["PRUNER_URL"] == ""


def test_what_cannot_be_used_switches_it_off_and_says_why(tmp_path: Path) -> None:
    missing = {"LLMC_MCP_PATH": str(tmp_path / "none"), "JEEVES_PRUNER_ENABLED": "1"}
    assert mcp_servers_config(missing) == {}
    assert str(tmp_path) in why_not(missing)
    address = {"JEEVES_PRUNER_ENABLED": "1", "JEEVES_PRUNER_URL": "ftp://x"}
    assert mcp_servers_config(address, profile="pruner") == {}
    assert "ftp://x" in why_not(address, profile="pruner")
    named = {"LLMC_MCP_PATH": sys.executable}
    assert mcp_servers_config(named)["llmc"]["command"] == sys.executable


def test_why_not_says_that_it_is_switched_off() -> None:
    assert why_not({"LLMC_MCP_ENABLED": "0"}) == "LLMC_MCP_ENABLED is '0'"
    assert why_not({}, profile="pruner") == "JEEVES_PRUNER_ENABLED is not set"
    assert why_not({"JEEVES_PRUNER_ENABLED": "no"}, profile="pruner") == "JEEVES_PRUNER_ENABLED is 'no'"
    assert not why_not({})


def test_roots_are_absolute_and_default_to_the_folder_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    args = mcp_servers_config({}, roots=["a", "/b"])["llmc"]["args"]
    assert args[-4:] == ["--root", str(tmp_path / "a"), "--root", "/b"]
    assert mcp_servers_config({}, cwd="/c")["llmc"]["args"][-2:] == ["--root", "/c"]


def test_codex_gets_command_args_and_env_as_flags() -> None:
    record = ServerRecord(command="/bin/llmc", args=["serve", "a b"], env={"K": 'v"1'})
    flags = codex_overrides({"llmc": record})
    assert flags[::2] == ["--config"] * 3
    assert flags[1::2] == [
        'mcp_servers.llmc.command="/bin/llmc"',
        'mcp_servers.llmc.args=["serve","a b"]',
        'mcp_servers.llmc.env.K="v\\"1"',
    ]
    assert codex_overrides({}) == []
    with pytest.raises(ConfigError):
        codex_overrides({"a.b": record})


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))), st.text(st.characters(exclude_categories=["Cs"])))
def test_flags_read_back_as_toml(args: list[str], value: str) -> None:
    record = ServerRecord(command="x", args=args, env={"K": value})
    read = tomllib.loads("\n".join(codex_overrides({"s": record})[1::2]))["mcp_servers"]["s"]
    assert read.get("args", []) == args
    assert read["env"]["K"] == value
