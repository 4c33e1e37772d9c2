"""cli: which commands can a person, or an agent without MCP, run?

`COMMANDS` lists every command with one line of help. The module `llmc.cli.<name>` defines its `command` and is imported
only when that command runs, which keeps `--help` and short commands fast. `_group` has the commands as click sees them,
`_options` the global options; errors are printed here and nowhere else.
"""

from __future__ import annotations

import io
import os
import sys
from typing import NoReturn

from llmc.base.errors import LlmcError

__all__ = ["COMMANDS", "main", "main_pruner", "run"]

COMMANDS = {
    "search": "Best places for words, a question or a pasted error.",
    "grep": "Every match, as ripgrep finds it, by enclosing symbol.",
    "read": "Files, lines, symbols, several at once; --code is shortest.",
    "find": "Files by name.",
    "outline": "Symbols of a file, a folder or the repository.",
    "match": "Code of a given shape, or calls with an argument.",
    "refs": "Where a name is defined and used, by name.",
    "calls": "What a function calls, 2 levels deep.",
    "callers": "Every caller of a function or user of a type, resolved.",
    "impls": "Implementations, subclasses, overrides, registrations.",
    "tests": "Tests that reach a definition, or mock it.",
    "path": "A chain of calls between two definitions.",
    "impact": "Uses and overrides that a changed signature touches.",
    "history": "Commits that touched a path or symbol, or mention a topic.",
    "context": "Passages for a question, ready for a prompt.",
    "tree": "Folders with file counts and sizes.",
    "ls": "Contents of a folder.",
    "over": "Count, group, filter or join the items of a handle.",
    "handle": "Results left out of replies: list, show, drop.",
    "te": "Run a command and summarize its output.",
    "research": "Research a question about the code; report with path and line.",
    "locate": "Find the files and lines of a feature, by category.",
    "patterns": "Find existing examples of a pattern.",
    "analyze": "Explain a component: callers, calls, data, configuration.",
    "handoff": "Write a handoff for the next session, or resume from one.",
    "agent": "Personas: list, test, show, init.",
    "ask": "Answer a question: plan, look up, verify, cite path and line.",
    "session": "Shared session memory: list, show, resume, drop.",
    "index": "Build the index of the roots and keep it up to date.",
    "roots": "List the folders that have an index.",
    "forget": "Remove a root and its index.",
    "status": "Show what is indexed, how fresh it is, and what failed.",
    "stats": "Tokens and time spent and saved, by tool and session.",
    "ui": "Open search, index and statistics in a browser.",
    "publish": "Publish a commit to a shared index in object storage.",
    "shared": "The shared index: status, list, drop, optimize, verify.",
    "serve": "Serve MCP on stdin and stdout, or over HTTP.",
    "delegate": "Delegates and downstream MCP servers: list, test, trust.",
    "stop": "Stop the index daemon.",
    "config": "Show and check the settings.",
    "redact": "Print files with secrets removed, or list the secrets.",
    "install": "Add llmc to the configuration of an agent or editor.",
    "uninstall": "Remove llmc from all clients, stop the daemon, delete its state.",
    "completion": "Complete commands and options in bash, zsh or fish.",
    "token": "Print or rotate the token of the HTTP server.",
    "hook": "Answer an agent's hook event (see `install --hooks`).",
    "service": "Start the daemon at login.",
    "bench": "Compare llmc with other tools; needs a source checkout.",
    "doctor": "Check the installation and suggest fixes.",
}

# The commands for agents. The help only lists the names of the others, unless --all is given.
FIRST_COMMANDS = list(COMMANDS).index("te") + 1
INTERRUPTED = 130  # a shell's exit code for a process that SIGINT ended
BROKEN_PIPE = 141  # a shell's exit code for a process that SIGPIPE ended


def main_pruner() -> NoReturn:
    """The `mcp-pruner` command, required by the contract of the pruner profile: `llmc serve --profile pruner`."""
    sys.argv[1:1] = ["serve", "--profile", "pruner"]
    main()


def main() -> NoReturn:
    """The `llmc` command."""
    if isinstance(sys.stdout.buffer, io.RawIOBase):
        # PYTHONUNBUFFERED: a raw stream may write only a part, and report a closed pipe as a part that was written.
        sys.stdout = open(sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, closefd=False)  # noqa: SIM115 - a descriptor
    for stream in (sys.stdout, sys.stderr):
        # A file name that is not valid UTF-8 is printed escaped instead of raising an error.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if "_LLMC_COMPLETE" in os.environ:
        from llmc.cli._group import cli

        cli.main(prog_name="llmc")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _close_pipe()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code. All errors are reported here."""
    try:
        from llmc.cli._grep_all import run_grep_all

        code = run_grep_all(arguments)
        if code is None:
            from llmc.cli._group import run_command

            code = run_command(arguments)
    except LlmcError as error:
        return _report(error, arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _close_pipe()
    return code


def _report(error: LlmcError, arguments: list[str]) -> int:
    if "--json" in arguments:
        print_json(error.as_dict())
    else:
        text = f"llmc: {error.message}"
        if error.reason:
            text += f": {error.reason}"
        sys.stderr.write(f"{text}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
    return error.exit_code


def print_json(error: dict[str, object]) -> None:
    import json

    sys.stdout.write(json.dumps({"error": error}) + "\n")


def _close_pipe() -> int:
    """The reader of stdout is gone, as with `| head`. Redirect the final flush at exit to /dev/null."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE
