"""`llmc hook`: answers the hook event of an agent; `install --hooks` configures the hook.

The event is JSON on stdin, the answer JSON on stdout, both in the client's format. In mode `suggest` the agent is
reminded of llmc before the first search of a session. In mode `rewrite` a simple search becomes `llmc te …`; the daemon
is started here if necessary, since the command itself may run in a sandbox. A hook must never block the agent: whatever
is not understood gets no answer, and the command runs as it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from llmc.cli._options import Options, pass_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLIENTS = ("claude-code", "codex", "gemini", "cursor", "opencode")
MAX_EVENT_BYTES = 1 << 20
MARK_SECONDS = 2 * 86_400
SEARCH = re.compile(r"(?:^|[;&(\n])\s*(?:[ef]?grep|rg|ag|ack|find|fd|git\s+grep)\s")
MANAGED_SETTINGS = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)


class ShellEvent(NamedTuple):
    """A tool that is about to run: a shell `command`, or empty for a search tool of the client's own."""

    command: str
    cwd: str
    session: str
    input: dict[str, Any]


@click.command()
@click.argument("client", type=click.Choice(CLIENTS), default="claude-code")
@click.option("--mode", type=click.Choice(("off", "suggest", "rewrite")), default="suggest", help="What to answer.")
@pass_options
def command(options: Options, /, *, client: str, mode: str) -> int:
    """Answer a hook event of an agent, read from stdin; `llmc install --hooks` configures the hook."""
    if mode == "off":
        return 0
    with contextlib.suppress(Exception):  # a hook must not fail
        event = event_of(json.loads(sys.stdin.read(MAX_EVENT_BYTES)))
        answer = rewrite(options, client, event) if mode == "rewrite" else suggest(options, client, event)
        if answer:
            click.echo(json.dumps(answer))
    return 0


def event_of(event: dict[str, Any]) -> ShellEvent:
    """The fields that clients name alike, or nearly so."""
    given = event.get("tool_input") or {}
    if isinstance(given, str):
        given = json.loads(given)
    folders = event.get("workspace_roots") or [""]
    cwd = given.get("working_directory") or given.get("dir_path") or event.get("cwd") or folders[0]
    session = event.get("session_id") or event["conversation_id"]
    return ShellEvent(str(given.get("command", "")), str(cwd), str(session), given)


# ---- suggest ----


def suggest(options: Options, client: str, event: ShellEvent) -> dict[str, Any]:
    """Remind the agent of llmc at its first search. A grep at the end of a pipe is not one: it filters output."""
    if event.command and not SEARCH.search(event.command):
        return {}
    if not is_first(options, event.session):
        return {}
    from llmc.install.hooks import REMINDER

    return REMINDERS[client](REMINDER)


REMINDERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "claude-code": lambda text: {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": text}},
    "codex": lambda text: {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": text}},
    "gemini": lambda text: {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": text}},
    "cursor": lambda text: {"additional_context": text},
    "opencode": lambda text: {"reminder": text},
}


def is_first(options: Options, session: str) -> bool:
    """Whether this is the session's first search. A marker file for each session is kept for two days."""
    folder = Path(options.home.path) / "hooks"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark = folder / blake2b(session.encode(), digest_size=16).hexdigest()
    try:
        mark.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return False
    for other in folder.iterdir():
        if time.time() - other.stat().st_mtime > MARK_SECONDS:
            other.unlink(missing_ok=True)
    return True


# ---- rewrite ----


def rewrite(options: Options, client: str, event: ShellEvent) -> dict[str, Any]:
    from llmc.extend.shell.agent_commands import rewritten
    from llmc.install.record import program

    llmc = program(os.environ)
    new = rewritten(event.command, event.cwd, program=llmc)
    if new is None or (client == "claude-code" and is_restricted(event.command, event.cwd)):
        return {}
    if not daemon_runs(options, llmc):
        return {}
    return REWRITES[client]({**event.input, "command": new})


def _allowed(given: dict[str, Any]) -> dict[str, Any]:
    """Allow the rewritten command, since the client would not have asked about the original one either."""
    answer = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": given}
    return {"hookSpecificOutput": {**answer, "permissionDecisionReason": "reads files of this folder through llmc"}}


REWRITES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "claude-code": _allowed,
    "codex": _allowed,
    "gemini": lambda given: {"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": given}},
    "cursor": lambda given: {"permission": "allow", "updated_input": given},
    "opencode": lambda given: {"command": given["command"]},
}


def daemon_runs(options: Options, llmc: list[str]) -> bool:
    """Whether a daemon is running; if not, one is started, and the next command is rewritten."""
    from llmc.client.connection import dial

    if (connection := dial(options.home)) is not None:
        connection.close()
        return True
    null = subprocess.DEVNULL
    subprocess.Popen([*llmc, "status"], stdin=null, stdout=null, stderr=null, start_new_session=True)
    return False


def is_restricted(command: str, cwd: str) -> bool:
    """Whether a rule of the user may deny the command. Claude Code does not apply rules to a command that a hook
    allows, so a command that may match a rule is not rewritten."""
    import shlex

    program, *words = shlex.split(command)
    name = program.rpartition("/")[2]
    paths = [word for word in words if not word.startswith("-") and os.path.lexists(os.path.join(cwd, word))]  # noqa: PTH118 - text
    for rule in rules(cwd):
        tool, _, about = rule.partition("(")
        first = about.split(" ")[0].rstrip(":*)")
        if tool == "Bash" and (not first or first.rpartition("/")[2] == name):
            return True
        if tool in ("Read", "Grep", "Glob") and (name in ("cat", "sed") or paths not in ([], ["."])):
            return True
    return False


def rules(cwd: str) -> Iterator[str]:
    """The deny and ask rules in the user's, the project's and the organisation's settings of Claude Code."""
    user = os.environ.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    project = os.environ.get("CLAUDE_PROJECT_DIR") or cwd
    names = ("settings.json", "settings.local.json")
    files = [Path(user, "settings.json"), *(Path(project, ".claude", name) for name in names)]
    for file in (*files, *map(Path, MANAGED_SETTINGS)):
        if file.is_file():
            permissions = json.loads(file.read_text()).get("permissions") or {}
            yield from (*permissions.get("deny", ()), *permissions.get("ask", ()))
