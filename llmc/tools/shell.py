"""`shell`: run a command in a root, under the user's policy, and tell what matters of its output."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.base import logs
from llmc.base.errors import NotFoundError, QueryError
from llmc.envelope.clean import clean_text
from llmc.extend.shell.command_line import parse
from llmc.extend.shell.landlock import fence_of, shell_home
from llmc.extend.shell.policy import Policy, environment, inside_of
from llmc.extend.shell.rewrite import enriched
from llmc.extend.shell.run import CommandPlan, run
from llmc.extend.shell.summarize import FinishedCommand, tell
from llmc.tool import FOCUS, Argument, Tool, ToolRequest
from llmc.tools.reply import redactor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.envelope import Envelope
    from llmc.extend.shell.command_line import Command, Pipeline, ShellWord
    from llmc.extend.shell.run import CommandOutcome

log = logs.get("shell")

LONGEST_LOGGED = 200
CONFIG_SECONDS = 5.0
# Programs that a repository can name in its own settings under any name it likes.
NAMED_BY_REPOSITORY = r"^(filter|diff|merge)\..*\.(clean|smudge|process|command|textconv|driver|required)$"


@dataclass(frozen=True, slots=True)
class Checked:
    """A command line that may run: as asked for, and as it will be run."""

    pipelines: tuple[dict[str, Any], ...]
    words: tuple[str, ...]  # of its one command; empty when there are several
    cwd: str


def run_command(asked: ToolRequest) -> Envelope:
    require_enabled(asked)
    checked = check(asked)
    agent = agent_of(asked)
    outcome = in_its_folders(asked, checked, agent)
    words = checked.words or (asked.text("command"),)
    log.info(
        "shell",
        command=clean_text(" ".join(words)[:LONGEST_LOGGED], redactor(asked.workspace.settings.redaction)),
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
    return tell(asked, TOOL, done)


def answered_by(asked: ToolRequest) -> tuple[str, dict[str, Any]] | None:
    """The tool that answers this command better than running it would; nothing then is run."""
    require_enabled(asked)
    if asked.text("cwd"):
        return None
    checked = check(asked)
    other = enriched(checked.words) if checked.words else None
    return (other[0], {**other[1], **kept_arguments(asked)}) if other else None


def kept_arguments(asked: ToolRequest) -> dict[str, Any]:
    return {name: asked.args[name] for name in ("budget", "all", FOCUS.name) if name in asked.args}


def require_enabled(asked: ToolRequest) -> None:
    if not asked.workspace.settings.shell.enabled:
        hint = "The user turns it on with `enabled = true` below [shell] in their own llmc.toml."
        raise QueryError("the shell tool is switched off", hint=hint)


def agent_of(asked: ToolRequest) -> str:
    session = asked.session
    return (session.agent or session.client or session.id)[:64] if session else ""


def check(asked: ToolRequest) -> Checked:
    settings = asked.workspace.settings.shell
    cwd = folder_of(asked)
    roots = [root_index.root.path for root_index in asked.workspace.root_indexes]
    policy = Policy(settings.allow, settings.builtin, inside_of(roots, cwd))
    pipelines = parse(asked.text("command"))
    if not settings.allow_shell_syntax:
        refuse_syntax(pipelines)
    planned = tuple(planned_pipeline(pipeline, policy, cwd) for pipeline in pipelines)
    single = len(pipelines) == 1 and len(pipelines[0].commands) == 1
    words = tuple(expanded(pipelines[0].commands[0].words, cwd)) if single else ()
    return Checked(planned, words, cwd)


def folder_of(asked: ToolRequest) -> str:
    """Where the command runs: the folder that is asked for, else the client's, if it lies in a root."""
    workspace = asked.workspace
    inside = any(f"{workspace.cwd}/".startswith(f"{root_index.root.path}/") for root_index in workspace.root_indexes)
    typed = asked.text("cwd") or (workspace.cwd if inside else workspace.root_indexes[0].root.path)
    root_index, path = workspace.locate(typed)
    seen = root_index.root_fs.stat(path) if path else None
    if seen is not None and str(seen.kind) != "folder":
        raise NotFoundError(f"{typed} is not a folder", hint="Name a folder inside the root.")
    return os.path.join(root_index.root.path, path) if path else root_index.root.path  # noqa: PTH118 - text, as in `paths`


def refuse_syntax(pipelines: Sequence[Pipeline]) -> None:
    commands = [command for pipeline in pipelines for command in pipeline.commands]
    writes = any(each.target for command in commands for each in command.redirects if each.target != os.devnull)
    if len(commands) > 1 or writes:
        raise QueryError(
            "one command at a time",
            reason="there is no shell behind this, so pipes, lists and redirections are off",
            hint="Run the commands one by one; the output is summarised anyway. The user allows more with "
            "`allow_shell_syntax = true` below [shell].",
        )


def planned_pipeline(pipeline: Pipeline, policy: Policy, cwd: str) -> dict[str, Any]:
    return {"join": str(pipeline.join), "commands": [planned(command, policy, cwd) for command in pipeline.commands]}


def planned(command: Command, policy: Policy, cwd: str) -> dict[str, Any]:
    redirects = []
    for each in command.redirects:
        policy.inside(each.target) if each.target else None
        target = os.path.join(cwd, each.target) if each.target else ""  # noqa: PTH118 - likewise
        redirects.append({"fd": each.fd, "target": target, "append": each.append})
    return {"words": policy.command(list(expanded(command.words, cwd))), "redirects": redirects}


def expanded(words: Sequence[ShellWord], cwd: str) -> Iterator[str]:
    """Globs as a shell has them: sorted, and the word itself when nothing matches. A file cannot be named a flag."""
    for word in words:
        found = sorted(glob.glob(word.pattern, root_dir=cwd)) if word.glob else []  # noqa: PTH207 - names, not paths
        yield from (f"./{name}" if name.startswith("-") else name for name in found) if found else (word.text,)


def in_its_folders(asked: ToolRequest, checked: Checked, agent: str) -> CommandOutcome:
    """With a home and a folder for temporary files of its own."""
    settings = asked.workspace.settings.shell
    top = shell_home(asked.workspace.registry.home)
    home = os.path.join(top, "home") if settings.contained else os.path.expanduser("~")  # noqa: PTH111, PTH118
    for folder in (top, home):
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - strings, as in Home
    temporary = tempfile.mkdtemp(prefix="run-", dir=top)
    # rustup's programs are links to one that looks for the toolchain below the home.
    toolchains = os.path.expanduser("~/.rustup")  # noqa: PTH111 - strings, as in Home
    own = {"RUSTUP_HOME": toolchains} if os.path.isdir(toolchains) else {}  # noqa: PTH112 - likewise
    environ = {**environment(dict(os.environ), settings.environ, home, temporary, agent), **own}
    fence = fence_of(asked.workspace, environ, (home, temporary), [str(path) for path in settings.writable])
    try:
        plan = CommandPlan(
            with_safe_git(checked, environ),
            checked.cwd,
            environ,
            min(asked.number("seconds", settings.seconds), settings.seconds),
            settings.output_bytes,
            settings.contained,
            fence.readable,
            fence.writable,
        )
        return run(plan, lambda: asked.cancelled)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def with_safe_git(checked: Checked, environ: dict[str, str]) -> tuple[dict[str, Any], ...]:
    """Programs that the repository named in its settings are switched off by their names."""
    commands = [command for pipeline in checked.pipelines for command in pipeline["commands"]]
    calls = [command for command in commands if command["words"][0] == "git"]
    if calls:
        names = named_by_repository(checked.cwd, environ)
        off = [part for name in names for part in ("-c", f"{name}={'false' if name.endswith('required') else ''}")]
        for command in calls:
            command["words"][1:1] = off
    return checked.pipelines


def named_by_repository(cwd: str, environ: dict[str, str]) -> list[str]:
    """`git config` reads and runs nothing."""
    try:
        listed = subprocess.run(
            ["git", "config", "--null", "--name-only", "--get-regexp", NAMED_BY_REPOSITORY],
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CONFIG_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [name for name in listed.stdout.decode("utf-8", "surrogateescape").split("\0") if name]


TOOL = Tool(
    name="shell",
    summary="Run an allowed command in a root: failing tests and errors first, the whole output behind a handle.",
    run=run_command,
    arguments=(
        Argument("command", "string", "A command line, such as `pytest -q tests`.", required=True),
        Argument("cwd", "string", "A folder inside a root; without one, the client's."),
        Argument("seconds", "integer", "A shorter time limit than the user's."),
        Argument("budget", "integer", "Tokens that the reply may take."),
        Argument("all", "boolean", "The whole output, without a budget."),
    ),
    budget="shell_budget",
    brief="Run an allowed command; errors first, the rest behind a handle.",
    schema=("command",),
    topics=frozenset({"shell", "tests", "history"}),
    needs="shell.enabled",
    repeatable=False,
    acts=True,
    forward=answered_by,
    examples=("shell 'pytest -q'", "shell 'git log -5'"),
)
