"""Which commands may run: a command line is parsed, checked against the policy and hardened before anything starts."""

from __future__ import annotations

import glob
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.base.errors import NotFoundError, QueryError
from llmc.extend.shell.command_line import parse
from llmc.extend.shell.denied import refusal_of
from llmc.extend.shell.policy import Policy, inside_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.extend.shell.command_line import Command, Pipeline, ShellWord
    from llmc.tool import ToolRequest

__all__ = ["CheckedCommand", "check", "folder_of", "with_safe_git"]

CONFIG_SECONDS = 5.0
# Programs that a repository can name in its own settings under any name it likes.
NAMED_BY_REPOSITORY = r"^(filter|diff|merge)\..*\.(clean|smudge|process|command|textconv|driver|required)$"


@dataclass(frozen=True, slots=True)
class CheckedCommand:
    """A command line that may run: as asked for, and as it will be run."""

    pipelines: tuple[dict[str, Any], ...]
    words: tuple[str, ...]  # of its one command; empty when there are several
    cwd: str


def check(asked: ToolRequest) -> CheckedCommand:
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
    for command in (command for pipeline in planned for command in pipeline["commands"]):
        if (refusal := refusal_of(asked.workspace, cwd, command["words"])) is not None:
            raise refusal
    return CheckedCommand(planned, words, cwd)


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


def with_safe_git(checked: CheckedCommand, environ: dict[str, str]) -> tuple[dict[str, Any], ...]:
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
