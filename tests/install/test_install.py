"""`llmc install` adds an entry to the client's file, leaves everything else in it unchanged, and can be reverted."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tomllib
from typing import TYPE_CHECKING

import pytest
from install_world import FILES, User

from llmc.install.clients import CLIENTS

if TYPE_CHECKING:
    from pathlib import Path

JSONC = """// my settings
{
    "theme": "dark", // never light
    /* servers */
    "KEY": {
        "other": {"command": "x", "args": ["-y"],},
        // "old": {},
    },
}
"""


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_every_client_of_the_table_is_tried_here() -> None:
    assert set(FILES) == set(CLIENTS)


def test_the_entry_of_every_client_starts_llmc(user: User) -> None:
    """The command is run as a GUI program would: from `/`, with hardly any variables."""
    done = user.install(*FILES)
    assert done.returncode == 0, done.stderr
    for client in FILES:
        entry = user.entry(client)
        command = entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": user.place.environ["PYTHONPATH"]}
        environment |= entry.get("env") or entry.get("environment") or {}
        assert environment["LLMC_HOME"] == user.place.home.path
        version = [*command[: command.index("serve")], "--version"]
        shown = subprocess.run(version, cwd="/", env=environment, capture_output=True, text=True, check=False)
        assert shown.stdout.startswith("llmc "), (client, shown.stderr)


def test_the_shapes_are_those_that_the_clients_read(user: User) -> None:
    assert user.install(*FILES, "--profile", "full", "--agent", "scout").returncode == 0
    assert user.entry("claude-code")["type"] == "stdio"
    assert user.entry("vscode")["type"] == "stdio"
    assert user.entry("copilot")["tools"] == ["*"]
    assert user.entry("opencode")["command"][-5:] == ["serve", "--profile", "full", "--agent", "scout"]
    assert user.entry("cursor")["args"][-6:-4] == ["--root", "${workspaceFolder}"]
    assert user.entry("lmstudio")["args"][-6:-4] == ["--root", str(user.project.resolve())]
    assert "--root" not in user.entry("codex")["args"]


@pytest.mark.parametrize("client", FILES)
def test_doing_it_twice_changes_nothing_and_undoing_leaves_no_trace(user: User, client: str) -> None:
    assert user.install(client, "--hooks", "--subagents").returncode == 0
    once = user.tree()
    again = user.install(client, "--hooks", "--subagents")
    assert "already" in again.stdout
    assert user.tree() == once
    assert user.install(client, "--uninstall").returncode == 0
    assert user.tree() == {}


@pytest.mark.parametrize("client", [name for name in FILES if name != "codex"])
def test_comments_commas_and_other_entries_stay_byte_for_byte(user: User, client: str) -> None:
    before = JSONC.replace("KEY", FILES[client][1])
    file = user.file(client)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(before)
    file.chmod(0o640)
    assert user.install(client).returncode == 0
    after = file.read_text()
    kept = [line for line in before.splitlines() if line in after.splitlines()]
    assert kept == before.splitlines()
    assert '"llmc": {' in after
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert file.with_name(file.name + ".llmc.bak").read_text() == before
    file.write_text(after + "// written since\n")
    assert user.install(client, "--uninstall").returncode == 0
    assert file.read_text() == before + "// written since\n"


def test_toml_keeps_its_comments_and_order(user: User) -> None:
    before = (
        '# mine\nmodel = "o4" # fast\n\n[mcp_servers.other]\ncommand = "x"\n\n# about profiles\n[profiles.a]\nx = """\n'
        '[mcp_servers.llmc]\n"""\n'
    )
    file = user.file("codex")
    file.parent.mkdir()
    file.write_text(before)
    assert user.install("codex").returncode == 0
    assert file.read_text().startswith(before)
    file.write_text(file.read_text() + "\n# the last one\n[tui]\ntheme = 'x'\n")
    assert user.install("codex", "--profile", "full").returncode == 0
    assert user.entry("codex")["args"][-2:] == ["--profile", "full"]
    assert user.install("codex", "--uninstall").returncode == 0
    assert file.read_text() == before + "\n# the last one\n[tui]\ntheme = 'x'\n"


def test_an_entry_written_inline_by_hand_is_replaced(user: User) -> None:
    file = user.file("codex")
    file.parent.mkdir()
    file.write_text('mcp_servers = { llmc = { command = "old" }, other = { command = "x" } }\n')
    assert user.install("codex").returncode == 0
    assert user.entry("codex")["command"] != "old"
    assert user.entry("codex", "other") == {"command": "x"}
    assert user.install("codex", "--uninstall").returncode == 0
    assert tomllib.loads(file.read_text()) == {"mcp_servers": {"other": {"command": "x"}}}


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", "{"),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": "x"}'),
        ("cursor", "[]"),
        ("cursor", '{"a": 1 "b": 2}'),
        ("cursor", "{'a': 1}"),
        ("cursor", "[" * 100_000),
        ("cursor", '{"mcpServers": {"x": {"command": "a" // no end'),
        ("zed", '{"a": 1} }'),
        ("codex", "a = \n"),
        ("codex", "mcp_servers = 3\n"),
    ],
)
def test_a_broken_file_is_left_as_it_is(user: User, client: str, text: str) -> None:
    file = user.file(client)
    file.parent.mkdir(parents=True)
    file.write_text(text)
    done = user.install(client)
    assert done.returncode == 2
    assert str(file) in done.stderr
    assert user.tree() == {FILES[client][0]: text}


def test_a_file_that_is_not_plain_text_is_refused(user: User) -> None:
    folder = user.file("cursor").parent
    folder.mkdir()
    user.file("cursor").write_bytes(b'{"a": "\xff\xfe"}')
    assert user.install("cursor").returncode == 2
    user.file("cursor").unlink()
    os.mkfifo(user.file("cursor"))
    assert user.install("cursor").returncode == 2
    user.file("cursor").unlink()
    user.file("cursor").mkdir()
    assert user.install("cursor").returncode == 2
    user.file("cursor").rmdir()
    user.file("cursor").symlink_to("mcp.json")
    assert user.install("cursor").returncode == 2


def test_a_read_only_file_is_reported_and_left_alone(user: User) -> None:
    user.file("cursor").parent.mkdir()
    user.file("cursor").write_text("{}\n")
    user.file("cursor").chmod(0o444)
    refused = user.install("cursor")
    assert refused.returncode == 2
    assert "it is read-only" in refused.stderr
    assert user.tree() == {".cursor/mcp.json": "{}\n"}


def test_an_entry_of_another_llmc_is_updated_and_that_is_reported(user: User) -> None:
    assert user.install("cursor").returncode == 0
    old = user.file("cursor").read_text().replace(user.entry("cursor")["command"], "/opt/older/bin/llmc")
    user.file("cursor").write_text(old)
    assert "updated the server llmc in" in user.install("cursor").stdout
    assert user.entry("cursor")["command"] != "/opt/older/bin/llmc"


def test_a_linked_file_stays_a_link(user: User, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles" / "mcp.json"
    dotfiles.parent.mkdir()
    dotfiles.write_text("{}\n")
    user.file("cursor").parent.mkdir()
    user.file("cursor").symlink_to(dotfiles)
    assert user.install("cursor").returncode == 0
    assert user.file("cursor").is_symlink()
    assert "llmc" in dotfiles.read_text()
    assert user.install("cursor", "--uninstall").returncode == 0
    assert dotfiles.read_text() == "{}\n"


@pytest.mark.parametrize(
    "text",
    ["", "\ufeff{}", "// nothing yet\n", '{"n": %s}' % ("9" * 9000), '{"mcpServers": null}', '{\r\n\t"a": 1\r\n}\r\n'],
)
def test_odd_but_sound_files_are_understood_and_come_back(user: User, text: str) -> None:
    file = user.file("cursor")
    file.parent.mkdir()
    file.write_bytes(text.encode())
    assert user.install("cursor").returncode == 0
    after = file.read_bytes().decode()
    assert "llmc" in after
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert "\r\n" not in text or after.count("\n") == after.count("\r\n")
    assert user.install("cursor", "--uninstall").returncode == 0
    assert file.read_bytes().decode() == text


def test_a_dry_run_shows_the_change_without_other_peoples_keys(user: User) -> None:
    file = user.file("cursor")
    file.parent.mkdir()
    key = "ghp_" + "a1B2" * 9
    file.write_text(json.dumps({"mcpServers": {"other": {"env": {"GITHUB_TOKEN": key}}}}, indent=1))
    before = user.tree()
    done = user.install("cursor", "--dry-run")
    assert '+  "llmc": {' in done.stdout
    assert key not in done.stdout
    assert user.tree() == before


@pytest.mark.parametrize("client", FILES)
def test_print_shows_the_entry_and_nothing_else(user: User, client: str) -> None:
    done = user.install(client, "--print")
    whole = tomllib.loads(done.stdout) if client == "codex" else json.loads(done.stdout)
    assert list(whole) == [FILES[client][1]]
    assert list(whole[FILES[client][1]]) == ["llmc"]
    assert user.tree() == {}


def test_all_installs_for_the_clients_found_and_reports_the_others(user: User) -> None:
    (user.home / ".cursor").mkdir()
    (user.home / ".codex").mkdir()
    done = user.install("--all")
    assert done.returncode == 0
    assert set(user.tree()) == {".cursor/mcp.json", ".codex/config.toml"}
    assert "zed" in done.stdout.splitlines()[0]
    assert user.install("--all", "--uninstall").returncode == 0
    assert user.tree() == {}


def test_a_client_without_a_project_takes_the_current_folder_but_never_the_home(user: User, tmp_path: Path) -> None:
    refused = user.install("claude-desktop", cwd=user.home)
    assert refused.returncode == 2
    assert "--root" in refused.stderr
    assert user.install("claude-desktop", "--root", str(user.project), cwd=user.home).returncode == 0
    assert user.entry("claude-desktop")["args"][-2:] == ["--root", str(user.project.resolve())]
    plain = tmp_path / "plain"
    plain.mkdir()
    assert user.install("claude-desktop", cwd=plain).returncode == 0
    assert user.entry("claude-desktop")["args"][-2:] == ["--root", str(plain.resolve())]


def test_project_files_are_written_only_when_asked(user: User) -> None:
    assert user.install("claude-code", "cursor", "--hooks", "--subagents").returncode == 0
    made = {str(path.relative_to(user.project)) for path in user.project.rglob("*") if path.is_file()}
    assert made == {"AGENTS.md"}  # Cursor has no user instructions, and --hooks requires some
    assert user.install("claude-code", "--project", "--hooks", "--subagents").returncode == 0
    made = {str(path.relative_to(user.project)) for path in user.project.rglob("*") if path.is_file()}
    project = {".mcp.json", "CLAUDE.md", ".claude/settings.json", ".claude/agents/llmc-scout.md"}
    assert made == {"AGENTS.md", *project}
    assert user.install("windsurf", "--project").returncode == 2


def test_lines_for_agents_stand_between_marks_and_leave_again(user: User) -> None:
    notes = user.home / ".claude" / "CLAUDE.md"
    notes.parent.mkdir()
    notes.write_text("# Mine\n\nBe brief.\n")
    assert user.install("claude-code", "--hooks").returncode == 0
    text = notes.read_text()
    assert text.startswith("# Mine\n\nBe brief.\n")
    assert text.count("<!-- llmc begin -->") == text.count("<!-- llmc end -->") == 1
    notes.write_text(text + "\nMore of mine.\n")
    assert user.install("claude-code", "--uninstall").returncode == 0
    assert notes.read_text() == "# Mine\n\nBe brief.\n\nMore of mine.\n"
    notes.write_text("<!-- llmc begin -->\nhalf\n")
    assert user.install("claude-code", "--hooks").returncode == 2
    assert notes.read_text() == "<!-- llmc begin -->\nhalf\n"


def test_a_sub_agent_that_llmc_did_not_write_is_not_changed(user: User) -> None:
    theirs = user.home / ".claude" / "agents" / "llmc-scout.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("my own")
    assert user.install("claude-code", "--subagents").returncode == 2
    assert user.install("claude-code", "--uninstall").returncode == 0
    assert theirs.read_text() == "my own"


def test_an_error_about_a_wrong_name_suggests_the_right_one(user: User) -> None:
    assert "claude-code" in user.install("claude-cod").stderr
    assert user.install().returncode == 2
    assert user.install("cursor", "--all").returncode == 2
    assert user.install("cursor", "--name", "a b").returncode == 2
    assert user.install("cursor", "--root", "/no/such/folder").returncode == 2
    assert user.tree() == {}


def test_one_broken_client_does_not_keep_the_others_from_being_done(user: User) -> None:
    user.file("cursor").parent.mkdir()
    user.file("cursor").write_text("{")
    done = user.install("cursor", "gemini", "--json")
    assert done.returncode == 2
    first, second = json.loads(done.stdout)["clients"]
    assert first["error"]["code"] == "config"
    assert second["files"][0]["action"] == "added"
