"""Parses a command line, checks it against the policy and hardens it before anything starts."""

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
# Git settings that name programs, under any key that a repository chooses.
REPOSITORY_PROGRAMS = r"^(filter|diff|merge)\..*\.(clean|smudge|process|command|textconv|driver|required)$"


@dataclass(frozen=True, slots=True)
class CheckedCommand:
    """A command line that may run: as requested (`words`), and as it will be run (`pipelines`)."""

    pipelines: tuple[dict[str, Any], ...]
    words: tuple[str, ...]  # of its one command; empty when there are several
    cwd: str


def check(request: ToolRequest) -> CheckedCommand:
    settings = request.workspace.settings.shell
    cwd = folder_of(request)
    roots = [root_index.root.path for root_index in request.workspace.root_indexes]
    policy = Policy(settings.allow, settings.builtin, inside_of(roots, cwd))
    pipelines = parse(request.text("command"))
    if not settings.allow_shell_syntax:
        refuse_syntax(pipelines)
    plan_command = tuple(plan_pipeline(pipeline, policy, cwd) for pipeline in pipelines)
    single = len(pipelines) == 1 and len(pipelines[0].commands) == 1
    words = tuple(expand_globs(pipelines[0].commands[0].words, cwd)) if single else ()
    for command in (command for pipeline in plan_command for command in pipeline["commands"]):
        if (refusal := refusal_of(request.workspace, cwd, command["words"])) is not None:
            raise refusal
    return CheckedCommand(plan_command, words, cwd)


def folder_of(request: ToolRequest) -> str:
    """Where the command runs: the requested folder, else that of the client if it is in a root, else the first root."""
    workspace = request.workspace
    inside = any(f"{workspace.cwd}/".startswith(f"{root_index.root.path}/") for root_index in workspace.root_indexes)
    typed = request.text("cwd") or (workspace.cwd if inside else workspace.root_indexes[0].root.path)
    root_index, path = workspace.locate(typed)
    seen = root_index.root_fs.stat(path) if path else None
    if seen is not None and str(seen.kind) != "folder":
        raise NotFoundError(f"{typed} is not a folder", hint="Give a folder inside the root.")
    return os.path.join(root_index.root.path, path) if path else root_index.root.path  # noqa: PTH118 - text, as in `paths`


def refuse_syntax(pipelines: Sequence[Pipeline]) -> None:
    commands = [command for pipeline in pipelines for command in pipeline.commands]
    writes = any(each.target for command in commands for each in command.redirects if each.target != os.devnull)
    if len(commands) > 1 or writes:
        raise QueryError(
            "only a single command is allowed",
            reason="no shell is used, and pipes, lists and redirections are switched off",
            hint="Run the commands one by one; the output is summarised anyway. The user can allow more with "
            "`allow_shell_syntax = true` below [shell].",
        )


def plan_pipeline(pipeline: Pipeline, policy: Policy, cwd: str) -> dict[str, Any]:
    return {
        "join": str(pipeline.join),
        "commands": [plan_command(command, policy, cwd) for command in pipeline.commands],
    }


def plan_command(command: Command, policy: Policy, cwd: str) -> dict[str, Any]:
    redirects = []
    for each in command.redirects:
        policy.inside(each.target) if each.target else None
        target = os.path.join(cwd, each.target) if each.target else ""  # noqa: PTH118 - strings, as in Home
        redirects.append({"fd": each.fd, "target": target, "append": each.append})
    return {"words": policy.command(list(expand_globs(command.words, cwd))), "redirects": redirects}


def expand_globs(words: Sequence[ShellWord], cwd: str) -> Iterator[str]:
    """Expand globs like a shell: sorted, or the word itself without a match. File names cannot become flags."""
    for word in words:
        found = sorted(glob.glob(word.pattern, root_dir=cwd)) if word.glob else []  # noqa: PTH207 - names, not paths
        yield from (f"./{name}" if name.startswith("-") else name for name in found) if found else (word.text,)


def with_safe_git(checked: CheckedCommand, environ: dict[str, str]) -> tuple[dict[str, Any], ...]:
    """Override the settings through which the repository makes git run programs."""
    commands = [command for pipeline in checked.pipelines for command in pipeline["commands"]]
    calls = [command for command in commands if command["words"][0] == "git"]
    if calls:
        names = repository_programs(checked.cwd, environ)
        off = [part for name in names for part in ("-c", f"{name}={'false' if name.endswith('required') else ''}")]
        for command in calls:
            command["words"][1:1] = off
    return checked.pipelines


def repository_programs(cwd: str, environ: dict[str, str]) -> list[str]:
    """The names of these settings; `git config` itself runs no programs."""
    try:
        listed = subprocess.run(
            ["git", "config", "--null", "--name-only", "--get-regexp", REPOSITORY_PROGRAMS],
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
