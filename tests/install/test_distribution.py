"""Files in the repository for registries and clients: the Claude Code plugin, `server.json` and the MCPB bundle."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from distribution.__main__ import generated
from distribution.bundle import bundle_manifest, write_bundle
from distribution.plugin import TOOL_PREFIX
from distribution.project import ROOT, load_project
from distribution.registry import SCHEMA_URL
from distribution.site import LINK, write_site
from llmc.install.plan import READING_TOOLS

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place

PLUGIN = ROOT / "plugin"
SCRIPTS = PLUGIN / "scripts"

# The registry's schema for the keys in server.json; the whole schema is checked when it changes.
TEXT = {"type": "string", "minLength": 1}
SERVER_JSON = {
    "type": "object",
    "required": ["$schema", "name", "title", "description", "version", "packages"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": SCHEMA_URL},
        "name": {"type": "string", "maxLength": 200, "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        "title": {**TEXT, "maxLength": 100},
        "description": {**TEXT, "maxLength": 100},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
        "packages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["registryType", "identifier", "version", "transport"],
                "properties": {
                    "registryType": {"enum": ["pypi"]},
                    "transport": {"type": "object", "required": ["type"], "properties": {"type": {"const": "stdio"}}},
                    "packageArguments": {
                        "items": {
                            "oneOf": [
                                {"required": ["value"], "properties": {"type": {"const": "positional"}}},
                                {"required": ["name"], "properties": {"type": {"const": "named"}}},
                            ]
                        }
                    },
                },
            },
        },
    },
}


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for PATH with an `llmc` in it."""
    folder = tmp_path / "programs"
    folder.mkdir()
    script = folder / "llmc"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m llmc "$@"\n')
    script.chmod(0o755)
    return folder


def launch(
    shared_place: Place, *arguments: str, path: str, home: Path, stdin: str = "", script: str = "llmc"
) -> subprocess.CompletedProcess[str]:
    environ = {**shared_place.environ, "PATH": path, "HOME": str(home)}
    command = [str(SCRIPTS / script), *arguments]
    return subprocess.run(command, env=environ, input=stdin, capture_output=True, text=True, check=False)


def test_the_files_in_the_repository_are_current() -> None:
    files = generated(load_project())
    assert [name for name, text in files.items() if (ROOT / name).read_text("utf-8") != text] == []
    assert all(os.access(path, os.X_OK) for path in SCRIPTS.iterdir())


def test_server_json_has_what_the_registry_demands() -> None:
    data = json.loads((ROOT / "server.json").read_text("utf-8"))
    jsonschema.validate(data, SERVER_JSON)
    assert f"mcp-name: {data['name']}" in (ROOT / "README.md").read_text("utf-8")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "name": "llmc"}, SERVER_JSON)


def test_the_plugins_server_answers_over_mcp(shared_place: Place, programs: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "a.py").write_text("def estimate() -> int:\n    return 7\n")
    (entry,) = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"].values()
    command = entry["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(PLUGIN))
    environ = {**shared_place.environ, "PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path)}
    server = StdioServerParameters(command=command, args=entry["args"], env=environ, cwd=str(project))

    async def ask() -> tuple[list[str], str]:
        async with Client(stdio_client(server)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            reply = await client.call_tool("grep", {"pattern": "estimate"})
            return tools, "\n".join(block.text for block in reply.content if block.type == "text")

    tools, reply = asyncio.run(ask())
    assert tools == list(READING_TOOLS)
    assert "def estimate" in reply


def test_without_the_program_the_plugin_says_how_to_install_it_and_blocks_nothing(
    shared_place: Place, tmp_path: Path
) -> None:
    served = launch(shared_place, "serve", path="/usr/bin:/bin", home=tmp_path)
    assert served.returncode == 127
    assert "pipx install" in served.stderr
    hooked = launch(shared_place, "hook", "claude-code", path="/usr/bin:/bin", home=tmp_path)
    assert (hooked.returncode, hooked.stdout, hooked.stderr) == (0, "", "")


@pytest.mark.parametrize(("mode", "reminds"), [("suggest", True), ("off", False)])
def test_the_option_of_the_plugin_sets_the_mode_of_its_hook(
    shared_place: Place, programs: Path, tmp_path: Path, mode: str, *, reminds: bool
) -> None:
    event = {"session_id": f"plugin-{mode}", "cwd": "/", "tool_input": {"command": "rg -n arrival ."}}
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text("utf-8"))["hooks"]["PreToolUse"]
    command = hooks[0]["hooks"][0]["command"]
    environ = {**shared_place.environ, "PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path)}
    environ |= {"CLAUDE_PLUGIN_ROOT": str(PLUGIN), "CLAUDE_PLUGIN_OPTION_MODE": mode}
    given = json.dumps(event)
    done = subprocess.run(["sh", "-c", command], env=environ, input=given, capture_output=True, text=True, check=True)
    assert ("llmc server" in done.stdout) is reminds


def test_only_tools_that_read_are_allowed_by_the_plugin(shared_place: Place, tmp_path: Path) -> None:
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text("utf-8"))["hooks"]["PreToolUse"]
    assert hooks[1]["matcher"] == f"{TOOL_PREFIX}(search|grep|read|llmc)"
    done = launch(shared_place, path="/usr/bin:/bin", home=tmp_path, stdin="{}", script="allow")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "allow"


def test_the_bundle_has_the_package_and_starts_it(shared_place: Place, tmp_path: Path) -> None:
    write_bundle(tmp_path / "bundle", load_project())
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text("utf-8"))
    assert manifest == bundle_manifest(load_project())
    assert (tmp_path / "bundle" / manifest["server"]["entry_point"]).is_file()
    assert not list((tmp_path / "bundle").rglob("*.pyc"))
    args: list[str] = manifest["server"]["mcp_config"]["args"]
    ours = args[args.index("llmc") + 1 :]
    assert ours == ["serve", "--root", "${user_config.folder}"]
    command = [sys.executable, "-m", "llmc", *ours[:-1], str(tmp_path), "--help"]
    environ = {**shared_place.environ, "PYTHONPATH": str(tmp_path / "bundle")}
    assert subprocess.run(command, env=environ, capture_output=True, check=False).returncode == 0


def test_the_bundle_names_the_tools_that_are_listed() -> None:
    named: list[dict[str, Any]] = bundle_manifest(load_project())["tools"]
    assert [one["name"] for one in named] == list(READING_TOOLS)


def test_an_isolated_installation_needs_nothing_but_the_package(shared_place: Place) -> None:
    """`uvx` and `pipx` use the console script; `python -m llmc` is the same program."""
    (script,) = [one for one in entry_points(group="console_scripts") if one.name == "llmc"]
    assert script.value == "llmc.cli:main"
    assert shared_place.llmc("--version").stdout.startswith("llmc ")


def test_the_pages_of_the_site_link_to_each_other(tmp_path: Path) -> None:
    write_site(tmp_path / "site", load_project())
    source = tmp_path / "site" / "source"
    written = {str(path.relative_to(source)) for path in source.rglob("*.md")}
    assert {"README.md", "reference/cli.md", "project/architecture.md", "project/changelog.md"} <= written
    assert "](project/architecture.md)" in (source / "README.md").read_text("utf-8")
    assert "](../install.md" not in (source / "README.md").read_text("utf-8")
    for page in source.rglob("*.md"):
        for _, link, _ in LINK.findall(re.sub(r"`[^`\n]*`", "", page.read_text("utf-8"))):
            assert re.match(r"[a-z]+:", link) or (page.parent / link).exists(), (page, link)


def test_versions_that_were_built_before_stay_selectable(tmp_path: Path) -> None:
    (tmp_path / "html" / "0.0.9").mkdir(parents=True)
    write_site(tmp_path, load_project())
    versions = json.loads((tmp_path / "html" / "versions.json").read_text("utf-8"))
    assert [one["version"] for one in versions] == [load_project().version, "0.0.9"]
