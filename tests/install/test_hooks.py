"""Hooks: what `install --hooks` writes into each client, and what `llmc hook` answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from install_world import User

from llmc.install.hooks import HOOKS

if TYPE_CHECKING:
    from pathlib import Path

HOOK_FILES = {
    "claude-code": (".claude/settings.json", "PreToolUse", "PreToolUse"),
    "codex": (".codex/hooks.json", "PreToolUse", "PreToolUse"),
    "gemini": (".gemini/settings.json", "AfterTool", "BeforeTool"),
    "cursor": (".cursor/hooks.json", "postToolUse", "preToolUse"),
}
SEARCH = "rg -n total src"


@pytest.fixture
def user(tmp_path: Path) -> User:
    made = User(tmp_path)
    (made.project / "src").mkdir()
    (made.project / "src" / "price.py").write_text("def total():\n    return 1\n" * 20)
    return made


def event(user: User, command: str = SEARCH, **fields: Any) -> str:
    given = {"session_id": "s1", "cwd": str(user.project), "tool_name": "Bash", "tool_input": {"command": command}}
    return json.dumps({**given, **fields})


def answer(user: User, client: str, mode: str, given: str) -> dict[str, Any]:
    done = user.place.llmc("hook", client, "--mode", mode, input=given)
    assert done.returncode == 0
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return found


def test_every_client_with_hooks_is_tested_here() -> None:
    assert set(HOOKS) == {*HOOK_FILES, "opencode"}


@pytest.mark.parametrize("client", HOOK_FILES)
def test_a_mode_replaces_the_other_and_off_reverts(user: User, client: str) -> None:
    name, suggest, rewrite = HOOK_FILES[client]
    assert user.install(client).returncode == 0
    before = user.tree()

    def hooks() -> dict[str, Any]:
        found: dict[str, Any] = json.loads((user.home / name).read_text()).get("hooks", {})
        return found

    assert user.install(client, "--hooks").returncode == 0
    assert "--mode suggest" in json.dumps(hooks()[suggest])
    assert user.install(client, "--hooks", "rewrite").returncode == 0
    assert "--mode rewrite" in json.dumps(hooks()[rewrite])
    assert list(hooks()) == [rewrite]
    assert len(hooks()[rewrite]) == 1
    assert user.install(client, "--hooks", "off").returncode == 0
    assert {file: text for file, text in user.tree().items() if not file.endswith(".bak")} == before


def test_opencode_gets_a_plugin(user: User) -> None:
    plugin = user.home / ".config/opencode/plugin/llmc.js"
    assert user.install("opencode", "--hooks", "rewrite").returncode == 0
    assert '"hook", "opencode", "--mode", "rewrite"]' in plugin.read_text()
    assert user.install("opencode", "--hooks", "off").returncode == 0
    assert not plugin.parent.exists()
    plugin.parent.mkdir()
    plugin.write_text("// mine\n")
    refused = user.install("opencode", "--hooks", "rewrite")
    assert refused.returncode == 2
    assert "was not written by llmc" in refused.stderr
    assert plugin.read_text() == "// mine\n"


def test_the_users_own_hooks_stay(user: User) -> None:
    settings = user.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    own = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}
    before = json.dumps({"hooks": {"PreToolUse": [own]}, "model": "x"}, indent=4)
    settings.write_text(before)
    assert user.install("claude-code", "--hooks").returncode == 0
    hooks = json.loads(settings.read_text())["hooks"]["PreToolUse"]
    assert hooks[0] == own
    assert hooks[1]["matcher"] == "Grep|Glob|Bash"
    assert user.install("claude-code", "--uninstall").returncode == 0
    assert settings.read_text() == before


def test_a_mode_that_does_not_exist_is_refused_with_the_right_order(user: User) -> None:
    done = user.install("--hooks", "claude-code")
    assert done.returncode == 2
    assert "--hooks comes after the clients and takes off, suggest, rewrite" in done.stderr


# ---- answers ----


def test_the_agent_is_reminded_once_per_session(user: User) -> None:
    first = answer(user, "claude-code", "suggest", event(user))
    assert "search for a question" in first["hookSpecificOutput"]["additionalContext"]
    assert answer(user, "claude-code", "suggest", event(user)) == {}
    assert answer(user, "gemini", "suggest", event(user, session_id="s2"))["hookSpecificOutput"]["hookEventName"]
    assert answer(user, "cursor", "suggest", event(user, session_id="", conversation_id="c"))["additional_context"]
    assert answer(user, "opencode", "suggest", event(user, session_id="s3"))["reminder"]


@pytest.mark.parametrize(
    ("command", "reminded"),
    [
        ("grep -rn arrival .", True),
        ("cd src && rg -l arrival", True),
        ("git grep arrival", True),
        ("find . -name '*.py' | head", True),
        ("pytest -q 2>&1 | grep FAILED", False),
        ("git log --grep arrival", False),
        ("make find", False),
    ],
)
def test_only_a_search_in_the_shell_brings_the_reminder(user: User, command: str, reminded: bool) -> None:
    assert bool(answer(user, "claude-code", "suggest", event(user, command))) is reminded


def test_a_search_is_rewritten_in_the_format_of_each_client(user: User) -> None:
    assert user.place.llmc("index", "--once", cwd=user.project).returncode == 0
    answers = {client: answer(user, client, "rewrite", event(user, timeout=9)) for client in HOOKS}
    for client in ("claude-code", "codex"):
        decided = answers[client]["hookSpecificOutput"]
        assert decided["permissionDecision"] == "allow"
        assert decided["updatedInput"]["command"].endswith(f" te --no-start {SEARCH}")
    assert answers["gemini"]["hookSpecificOutput"]["tool_input"]["command"].endswith(SEARCH)
    assert answers["cursor"]["permission"] == "allow"
    assert answers["cursor"]["updated_input"]["command"].endswith(SEARCH)
    assert answers["opencode"]["command"].endswith(SEARCH)
    assert answer(user, "claude-code", "rewrite", event(user, f"{SEARCH} | head")) == {}
    assert answer(user, "claude-code", "rewrite", event(user, "cat src/price.py")) == {}


def test_without_a_daemon_the_command_runs_as_it_is_and_one_is_started(user: User) -> None:
    from daemons import until

    from llmc.base.daemon_lock import read_owner

    assert answer(user, "claude-code", "rewrite", event(user)) == {}
    until(lambda: read_owner(user.place.home) is not None)
    until(lambda: bool(answer(user, "claude-code", "rewrite", event(user))))
    assert user.place.llmc("stop").returncode == 0


@pytest.mark.parametrize(
    ("rules", "rewritten"),
    [
        ({"deny": ["Bash(rg:*)"]}, False),
        ({"ask": ["Bash(rg -n secret)"]}, False),
        ({"deny": ["Bash"]}, False),
        ({"deny": ["Read(./src/**)"]}, False),
        ({"deny": ["Bash(curl:*)", "WebFetch"]}, True),
        ({"allow": ["Bash(rg:*)"]}, True),
    ],
)
@pytest.mark.parametrize("file", ["home/.claude/settings.json", "project/.claude/settings.local.json"])
def test_a_rule_about_the_command_leaves_the_decision_to_claude_code(
    user: User, file: str, rules: dict[str, list[str]], rewritten: bool
) -> None:
    assert user.place.llmc("index", "--once", cwd=user.project).returncode == 0
    path = user.home.parent / file
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"permissions": rules}))
    assert bool(answer(user, "claude-code", "rewrite", event(user))) is rewritten
    path.write_text("{ broken")
    assert answer(user, "claude-code", "rewrite", event(user)) == {}
    assert user.place.llmc("stop").returncode == 0


@pytest.mark.parametrize("mode", ["suggest", "rewrite"])
@pytest.mark.parametrize(
    "given", ["", "{", "[]", "null", "{}", '{"session_id": "s", "tool_input": 3}', "\0", '{"a":' * 9]
)
def test_an_event_that_is_not_understood_gets_no_answer(user: User, mode: str, given: str) -> None:
    for client in HOOKS:
        done = user.place.llmc("hook", client, "--mode", mode, input=given)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
