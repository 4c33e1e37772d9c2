"""The contract of the pruner profile: definitions, arguments, replies, and when output is pruned.

An `Actions` does the work; this module opens no files and starts no programs. Failures of a tool are text in an
ordinary reply; only invalid arguments are protocol errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from llmc.base.errors import InvalidParamsError
from llmc.envelope.tool_definition import ToolDefinition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["NAME", "VERSION", "ActionError", "Actions", "ProgramResult", "call", "check_arguments", "definitions"]

NAME: Final = "mcp-pruner"
VERSION: Final = "1.0.0"
INVALID: Final = "Invalid params"
QUESTION: Final = "context_focus_question"
NO_OUTPUT: Final = "(no output)"
NO_MATCHES: Final = "(no matches found)"
FOUND, NOT_FOUND = 0, 1  # exit codes of grep

# tool → (description, required arguments, optional arguments); all arguments are strings
TOOLS: Final[dict[str, tuple[str, dict[str, str], dict[str, str]]]] = {
    "read": (
        "Read a file. With context_focus_question, only what answers it.",
        {"file_path": "Path of the file, absolute or relative to the working directory."},
        {},
    ),
    "bash": (
        "Run a shell command. With context_focus_question, only what answers it.",
        {"command": "The command to run."},
        {},
    ),
    "grep": (
        "Search files for a pattern. With context_focus_question, only what answers it.",
        {"pattern": "A regular expression."},
        {"path": "File or directory to search, the working directory by default."},
    ),
}


class ActionError(Exception):
    """A file cannot be read or a program cannot be started; the message is part of the reply."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The output of a program; `code` is None when a signal ended it."""

    stdout: str
    stderr: str
    code: int | None


class Actions(Protocol):
    """The actions of the tools. They return redacted text."""

    def read(self, path: str) -> str: ...

    def bash(self, command: str) -> ProgramResult: ...

    def grep(self, pattern: str, path: str) -> ProgramResult: ...

    def prune(self, code: str, query: str) -> str:
        """The pruned text, or `code` itself when pruning is off or fails."""


CONTAINED: Final = {
    "read": "Read a file inside the roots.",
    "bash": "Run permitted programs inside the roots, without pipes, variables and redirections to other folders.",
    "grep": "Search files inside the roots for a pattern.",
}


def definitions(*, contained: bool) -> tuple[ToolDefinition, ...]:
    return tuple(definition(name, contained=contained) for name in TOOLS)


def definition(name: str, *, contained: bool) -> ToolDefinition:
    description, required, optional = TOOLS[name]
    if contained:
        description = f"{CONTAINED[name]}{description[description.index('.') + 1 :]}"
    focus = {QUESTION: "A question; only what answers it is returned."}
    properties = {
        argument: {"type": "string", "description": words} for argument, words in (required | optional | focus).items()
    }
    return ToolDefinition(name, description, {"type": "object", "properties": properties, "required": list(required)})


def call(name: str, args: Mapping[str, Any], actions: Actions) -> str:
    """The text of the reply; InvalidParamsError for an unknown tool or arguments of the wrong type."""
    given = check_arguments(name, args)
    question = given.get(QUESTION, "")
    # An empty question counts as no question.
    prune = (lambda text: actions.prune(text, question)) if question else (lambda text: text)
    return ANSWERS[name](actions, given, prune)


def check_arguments(name: str, args: Mapping[str, Any]) -> dict[str, str]:
    """Check the types of the arguments; unknown arguments are ignored."""
    if name not in TOOLS:
        raise InvalidParamsError(INVALID)
    _, required, optional = TOOLS[name]
    given = {argument: args[argument] for argument in (*required, *optional, QUESTION) if argument in args}
    if not given.keys() >= required.keys() or not all(isinstance(value, str) for value in given.values()):
        raise InvalidParamsError(INVALID)
    return given


def read(actions: Actions, args: Mapping[str, str], prune: Callable[[str], str]) -> str:
    """Empty files are pruned too; errors are not."""
    try:
        text = actions.read(args["file_path"])
    except ActionError as error:
        return f"Error reading file: {error}"
    return prune(text)


def bash(actions: Actions, args: Mapping[str, str], prune: Callable[[str], str]) -> str:
    """The assembled output is pruned; the notice about empty output is added afterwards."""
    try:
        result = actions.bash(args["command"])
    except ActionError as error:
        return f"Error executing command: {error}"
    output = result.stdout
    if result.stderr:
        output += f"\n[stderr]\n{result.stderr}"
    if result.code != 0:
        output += f"\n[exit code: {'null' if result.code is None else result.code}]"
    return prune(output) or NO_OUTPUT


def grep(actions: Actions, args: Mapping[str, str], prune: Callable[[str], str]) -> str:
    """Only matches are pruned."""
    try:
        result = actions.grep(args["pattern"], args.get("path", "."))
    except ActionError as error:
        return f"Error executing grep: {error}"
    if result.code == NOT_FOUND:
        return NO_MATCHES
    if result.code != FOUND and result.stderr:
        return f"Error: {result.stderr}"
    return prune(result.stdout) if result.stdout else NO_MATCHES


ANSWERS: Final = {"read": read, "bash": bash, "grep": grep}
