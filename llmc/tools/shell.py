"""`shell`: runs a command in a root, under the user's policy, and summarises its output."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

from llmc.base import logs
from llmc.envelope.clean import clean_text
from llmc.envelope.redact.redactor import redactor_for
from llmc.extend.shell.checking import CheckedCommand, check, with_safe_git
from llmc.extend.shell.landlock import fence_of, shell_home
from llmc.extend.shell.policy import environment
from llmc.extend.shell.rewrite import enriched
from llmc.extend.shell.run import CommandPlan, run
from llmc.extend.shell.summarize import FinishedCommand, summarize_command
from llmc.tool import BUDGET, FOCUS, Argument, Tool, ToolRequest

if TYPE_CHECKING:
    from llmc.envelope import Envelope
    from llmc.extend.shell.run import CommandOutcome

log = logs.get("shell")

LONGEST_LOGGED = 200


def run_command(request: ToolRequest) -> Envelope:
    checked = check(request)
    agent = agent_of(request)
    outcome = in_its_folders(request, checked, agent)
    words = checked.words or (request.text("command"),)
    log.info(
        "shell",
        command=clean_text(" ".join(words)[:LONGEST_LOGGED], redactor_for(request.workspace.settings.redaction)),
        agent=agent,
        exit=outcome.code,
        stopped=outcome.stopped,
        seconds=round(outcome.seconds, 3),
        bytes=outcome.output.size,
    )
    done = FinishedCommand(
        words,
        checked.cwd,
        outcome.output,
        outcome.code,
        outcome.signal,
        outcome.stopped,
        outcome.left,
        outcome.seconds,
        agent,
    )
    return summarize_command(request, TOOL, done)


def answered_by(request: ToolRequest) -> tuple[str, dict[str, Any]] | None:
    """The tool that answers this command better than running it would; nothing then is run."""
    if request.text("cwd"):
        return None
    checked = check(request)
    other = enriched(checked.words) if checked.words else None
    return (other[0], {**other[1], **kept_arguments(request)}) if other else None


def kept_arguments(request: ToolRequest) -> dict[str, Any]:
    return {name: request.args[name] for name in ("budget", "all", FOCUS.name) if name in request.args}


def agent_of(request: ToolRequest) -> str:
    session = request.session
    return (session.agent or session.client or session.id)[:64] if session else ""


def in_its_folders(request: ToolRequest, checked: CheckedCommand, agent: str) -> CommandOutcome:
    """With a home and a folder for temporary files of its own."""
    settings = request.workspace.settings.shell
    top = shell_home(request.workspace.registry.home)
    home = os.path.join(top, "home") if settings.contained else os.path.expanduser("~")  # noqa: PTH111, PTH118
    for folder in (top, home):
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - strings, as in Home
    temporary = tempfile.mkdtemp(prefix="run-", dir=top)
    # rustup's programs are links to one that looks for the toolchain below the home.
    toolchains = os.path.expanduser("~/.rustup")  # noqa: PTH111 - strings, as in Home
    own = {"RUSTUP_HOME": toolchains} if os.path.isdir(toolchains) else {}  # noqa: PTH112 - as above
    environ = {**environment(dict(os.environ), settings.environ, home, temporary, agent), **own}
    fence = fence_of(request.workspace, environ, (home, temporary), [str(path) for path in settings.writable])
    try:
        plan = CommandPlan(
            with_safe_git(checked, environ),
            checked.cwd,
            environ,
            min(request.number("seconds", settings.seconds), settings.seconds),
            settings.output_bytes,
            settings.contained,
            fence.readable,
            fence.writable,
        )
        return run(plan, lambda: request.cancelled)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


TOOL = Tool(
    name="shell",
    summary="Run an allowed command in a root: failing tests and errors first, the whole output behind a handle.",
    run=run_command,
    own_seconds=lambda settings: settings.shell.seconds,
    arguments=(
        Argument("command", "string", "A command line, such as `pytest -q tests`.", required=True, text="foreign"),
        Argument("cwd", "string", "A folder inside a root; without one, the client's.", text="path"),
        Argument("seconds", "integer", "A shorter time limit than the user's."),
        BUDGET,
        Argument("all", "boolean", "The whole output, without a budget."),
    ),
    budget="shell_budget",
    brief="Run an allowed command; errors first, the rest behind a handle.",
    schema=("command",),
    topics=frozenset({"shell", "tests", "history"}),
    requires_setting="shell.enabled",
    repeatable=False,
    has_side_effects=True,
    forward=answered_by,
    examples=("shell 'pytest -q'", "shell 'git log -5'"),
)
