"""What `llmc install` offers besides an entry: HTTP, permissions, links, skills, completion; and `llmc uninstall`."""

from __future__ import annotations

import base64
import json
import stat
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from install_world import FILES, User

URL = "http://127.0.0.1:7333/mcp"


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


# ---- HTTP ----


@pytest.mark.parametrize("client", [name for name in FILES if name != "claude-desktop"])
def test_an_http_entry_has_the_address_and_the_token(user: User, client: str) -> None:
    assert user.install(client, "--http", "127.0.0.1:7333").returncode == 0
    entry = user.entry(client)
    token = user.place.llmc("token", "show").stdout.strip()
    address = next(entry[key] for key in ("url", "httpUrl", "serverUrl") if key in entry)
    headers: dict[str, str] = entry.get("headers") or entry["http_headers"]
    assert (address, headers) == (URL, {"Authorization": f"Bearer {token}"})
    assert stat.S_IMODE(user.file(client).stat().st_mode) == 0o600
    assert user.install(client, "--uninstall").returncode == 0
    assert user.tree() == {}


def test_a_projects_file_names_a_variable_instead_of_the_token(user: User) -> None:
    assert user.install("claude-code", "--project", "--http", "https://code.example.org/mcp").returncode == 0
    entry = json.loads((user.project / ".mcp.json").read_text())["mcpServers"]["llmc"]
    assert entry["headers"] == {"Authorization": "Bearer ${LLMC_TOKEN}"}
    assert entry["url"] == "https://code.example.org/mcp"


def test_an_address_that_is_none_is_refused(user: User) -> None:
    for wrong in ("ftp://x", "http://"):
        assert user.install("cursor", "--http", wrong).returncode == 2
    refused = user.install("claude-desktop", "--http", "127.0.0.1:7333")
    assert "cannot use an HTTP server" in refused.stderr
    assert user.tree() == {}


# ---- permissions ----


def test_claude_code_may_call_the_reading_tools_and_nothing_else(user: User) -> None:
    settings = user.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    before = '{\n  "permissions": {"allow": ["Bash(ls:*)"], "deny": ["Read(.env)"]}\n}\n'
    settings.write_text(before)
    assert user.install("claude-code").returncode == 0
    permissions = json.loads(settings.read_text())["permissions"]
    tools = [f"mcp__llmc__{name}" for name in ("search", "grep", "read", "llmc")]
    assert permissions == {"allow": ["Bash(ls:*)", *tools], "deny": ["Read(.env)"]}
    assert user.install("claude-code", "--uninstall").returncode == 0
    assert settings.read_text() == before
    assert user.install("claude-code", "--ask").returncode == 0
    assert settings.read_text() == before


def test_gemini_gets_a_policy_for_tools_that_only_read(user: User) -> None:
    assert user.install("gemini").returncode == 0
    (rule,) = tomllib.loads((user.home / ".gemini/policies/llmc.toml").read_text())["rule"]
    assert (rule["mcpName"], rule["toolAnnotations"], rule["decision"]) == ("llmc", {"readOnlyHint": True}, "allow")


# ---- links, skills ----


def test_links_carry_the_entry(user: User) -> None:
    cursor = user.install("cursor", "--link").stdout.strip()
    query = parse_qs(urlsplit(cursor).query)
    assert cursor.startswith("cursor://anysphere.cursor-deeplink/mcp/install?")
    entry = json.loads(base64.b64decode(query["config"][0]))
    assert entry == {"command": "llmc", "args": ["serve", "--root", "${workspaceFolder}"]}
    vscode = user.install("vscode", "--link", "--profile", "full").stdout.strip()
    assert vscode.startswith("vscode:mcp/install?")
    assert json.loads(unquote(vscode.partition("?")[2]))["args"][-2:] == ["--profile", "full"]
    assert user.install("lmstudio", "--link").stdout.startswith("lmstudio://add_mcp?name=llmc&config=")
    assert user.install("zed", "--link").returncode == 2


def test_a_skill_is_written_where_the_client_looks(user: User) -> None:
    assert user.install("claude-code", "codex", "--skill").returncode == 0
    for name in (".claude/skills/llmc/SKILL.md", ".agents/skills/llmc/SKILL.md"):
        text = (user.home / name).read_text()
        assert text.startswith("---\nname: llmc\ndescription: ")
        assert "llmc search" in text


# ---- uninstall ----


def everything(user: User) -> None:
    assert user.install(*FILES, "--hooks", "rewrite", "--subagents", "--skill").returncode == 0
    assert user.install("claude-code", "--name", "second", "--project").returncode == 0
    for shell in ("bash", "zsh", "fish"):
        assert user.place.llmc("completion", "install", shell).returncode == 0


def uninstall(user: User, *arguments: str) -> Any:
    return user.place.llmc("uninstall", *arguments, cwd=user.project)


def test_uninstall_leaves_no_file_that_differs_from_before(user: User) -> None:
    (user.home / ".zshrc").write_text("alias ll='ls -l'\n")
    user.file("cursor").parent.mkdir()
    user.file("cursor").write_text('{"mcpServers": {"other": {"command": "x"}}} // mine\n')
    user.file("codex").parent.mkdir()
    user.file("codex").write_text('model = "o4"\n')
    (user.home / ".claude").mkdir()
    (user.home / ".claude" / "CLAUDE.md").write_text("Be brief.\n")
    before, project = user.tree(), sorted(user.project.rglob("*"))
    everything(user)
    assert "second" in (user.project / ".mcp.json").read_text()
    done = uninstall(user, "--yes")
    assert done.returncode == 0, done.stderr
    assert user.tree() == before
    assert sorted(user.project.rglob("*")) == project
    assert "pip uninstall llmc-index" in done.stdout
    assert "nothing was removed" in uninstall(user, "--yes").stdout


def test_uninstall_stops_the_daemon_and_deletes_the_state_only_if_asked_to(user: User) -> None:
    from llmc.base.daemon_lock import read_owner

    state = Path(user.place.home.path)
    assert user.place.llmc("index", "--once", cwd=user.project).returncode == 0
    assert read_owner(user.place.home) is not None
    assert uninstall(user, "--keep-state").returncode == 0
    assert read_owner(user.place.home) is None
    assert state.is_dir()
    assert uninstall(user).returncode == 0  # there is no terminal for a question
    assert state.is_dir()
    assert uninstall(user, "--delete-state").returncode == 0
    assert not state.exists()


def test_a_dry_run_of_uninstall_changes_nothing(user: User) -> None:
    everything(user)
    before = user.tree()
    report = json.loads(uninstall(user, "--dry-run", "--json").stdout)
    assert len(report["removed"]) > 20
    assert user.tree() == before


def test_a_dry_run_also_names_the_daemon_and_the_state(user: User) -> None:
    assert user.install("claude-code").returncode == 0
    assert user.place.llmc("index", "--once", cwd=user.project).returncode == 0
    shown = uninstall(user, "--dry-run").stdout
    assert "claude-code: would remove the server from ~/.claude.json\n" in shown
    assert "would stop the index daemon (pid " in shown
    assert f"would ask whether to delete the index, statistics and settings in {user.place.home.path} (" in shown
    assert "would keep" in uninstall(user, "--dry-run", "--yes").stdout
    assert "would delete" in uninstall(user, "--dry-run", "--delete-state").stdout
    assert "stopped" not in shown
    assert "stopped the index daemon" in uninstall(user, "--yes").stdout


def test_a_file_that_cannot_be_edited_is_reported_and_the_others_are_still_cleaned(user: User) -> None:
    everything(user)
    user.file("cursor").write_text("{ broken")
    done = uninstall(user, "--yes")
    assert done.returncode == 2
    assert "cursor" in done.stderr
    left = {name for name in user.tree() if not name.endswith(".bak")}
    assert left == {".cursor/mcp.json"}
    assert user.file("cursor").read_text() == "{ broken"


def test_what_llmc_did_not_write_stays(user: User) -> None:
    for name in (".agents/skills/llmc/SKILL.md", ".gemini/policies/llmc.toml", ".config/fish/completions/llmc.fish"):
        (user.home / name).parent.mkdir(parents=True)
        (user.home / name).write_text("mine\n")
    before = user.tree()
    assert uninstall(user, "--yes").returncode == 0
    assert user.tree() == before


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_the_shells_own_script(user: User, shell: str) -> None:
    shown = user.place.llmc("completion", "show", shell)
    assert "_LLMC_COMPLETE" in shown.stdout
    assert user.place.llmc("completion", "install", shell).returncode == 0
    assert user.place.llmc("completion", "uninstall", shell).returncode == 0
    assert user.tree() == {}


@pytest.mark.parametrize(
    "text",
    [
        '{"hooks": {"PreToolUse": {"v2": true}}}',
        '{"hooks": ["a"]}',
        '{"permissions": {"allow": {"x": 1}}}',
        '{"permissions": "all"}',
    ],
)
def test_settings_in_a_format_of_a_newer_client_are_reported_and_kept(user: User, text: str) -> None:
    file = user.home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(text)
    done = user.install("claude-code", "--hooks", "rewrite")
    assert done.returncode == 2
    assert "settings.json: " in done.stderr
    assert file.read_text() == text
    uninstall(user, "--yes")
    assert user.tree() == {".claude/settings.json": text}


def test_two_versions_side_by_side_have_an_entry_each_and_leave_together(user: User) -> None:
    other = user.home / "other" / "llmc"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 0\n")
    other.chmod(0o755)
    before = user.tree()
    assert user.install("cursor").returncode == 0
    user.place.environ["LLMC_MCP_PATH"] = str(other)
    assert user.install("cursor", "--name", "llmc-next").returncode == 0
    del user.place.environ["LLMC_MCP_PATH"]
    assert user.entry("cursor", "llmc-next")["command"] == str(other)
    assert user.entry("cursor")["command"] != str(other)
    assert uninstall(user, "--yes").returncode == 0
    assert user.tree() == before
