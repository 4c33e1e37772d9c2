"""The contract of the pruner profile: definitions, arguments, the texts that come back, and when pruning is tried.

What is done behind it is an `Actions`; nothing here opens a file or starts a program. Whatever goes wrong in a tool is
a text in an ordinary reply; only arguments of the wrong shape are refused by the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from llmc.base.errors import InvalidParamsError
from llmc.envelope.tool_definition import ToolDefinition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["NAME", "VERSION", "ActionError", "Actions", "ProgramResult", "call", "checked", "definitions"]

NAME: Final = "mcp-pruner"
VERSION: Final = "1.0.0"
INVALID: Final = "Invalid params"
QUESTION: Final = "context_focus_question"
NO_OUTPUT: Final = "(no output)"
NO_MATCHES: Final = "(no matches found)"
FOUND, NOT_FOUND = 0, 1  # exit codes of grep

# tool → (what it does, required arguments, optional arguments), each argument a text
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
    """A file that cannot be read, or a program that cannot be started; the message is for the reply."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What a program wrote; `code` is None when a signal ended it."""

    stdout: str
    stderr: str
    code: int | None


class Actions(Protocol):
    """What the tools do. Texts are free of secrets when they come from here."""

    def read(self, path: str) -> str: ...

    def bash(self, command: str) -> ProgramResult: ...

    def grep(self, pattern: str, path: str) -> ProgramResult: ...

    def prune(self, code: str, query: str) -> str:
        """The pruned text, or `code` itself when pruning is off or fails."""


def definitions() -> tuple[ToolDefinition, ...]:
    return tuple(definition(name) for name in TOOLS)


def definition(name: str) -> ToolDefinition:
    description, required, optional = TOOLS[name]
    asked = {QUESTION: "A question; only what answers it is returned."}
    properties = {
        argument: {"type": "string", "description": words} for argument, words in (required | optional | asked).items()
    }
    return ToolDefinition(name, description, {"type": "object", "properties": properties, "required": list(required)})


def call(name: str, args: Mapping[str, Any], actions: Actions) -> str:
    """The text of the reply; InvalidParamsError for an unknown tool or arguments of the wrong type."""
    given = checked(name, args)
    question = given.get(QUESTION, "")
    # An empty question is none.
    prune = (lambda text: actions.prune(text, question)) if question else (lambda text: text)
    return ANSWERS[name](actions, given, prune)


def checked(name: str, args: Mapping[str, Any]) -> dict[str, str]:
    """Types and nothing else; what the contract does not name is passed by."""
    if name not in TOOLS:
        raise InvalidParamsError(INVALID)
    _, required, optional = TOOLS[name]
    given = {argument: args[argument] for argument in (*required, *optional, QUESTION) if argument in args}
    if not given.keys() >= required.keys() or not all(isinstance(value, str) for value in given.values()):
        raise InvalidParamsError(INVALID)
    return given


def read(actions: Actions, args: Mapping[str, str], prune: Callable[[str], str]) -> str:
    """An empty file is pruned too; an error never."""
    try:
        text = actions.read(args["file_path"])
    except ActionError as error:
        return f"Error reading file: {error}"
    return prune(text)


def bash(actions: Actions, args: Mapping[str, str], prune: Callable[[str], str]) -> str:
    """What is pruned is the assembled output; that there was none is said afterwards."""
    try:
        ran = actions.bash(args["command"])
    except ActionError as error:
        return f"Error executing command: {error}"
    output = ran.stdout
    if ran.stderr:
        output += f"\n[stderr]\n{ran.stderr}"
    if ran.code != 0:
        output += f"\n[exit code: {'null' if ran.code is None else ran.code}]"
    return prune(output) or NO_OUTPUT


def grep(actions: Actions, args: Mapping[str, str], prune: Callable[[str], str]) -> str:
    """Only matches are pruned."""
    try:
        ran = actions.grep(args["pattern"], args.get("path", "."))
    except ActionError as error:
        return f"Error executing grep: {error}"
    if ran.code == NOT_FOUND:
        return NO_MATCHES
    if ran.code != FOUND and ran.stderr:
        return f"Error: {ran.stderr}"
    return prune(ran.stdout) if ran.stdout else NO_MATCHES


ANSWERS: Final = {"read": read, "bash": bash, "grep": grep}
