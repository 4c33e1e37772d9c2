"""What `llmc te` sends: a command that has run in the user's terminal, and its output, in the message or in a file.

The file (`spool`) is in LLMC_HOME or the system's folder for temporary files. It is opened without following links,
must belong to the user, and is deleted by the client.
"""

from __future__ import annotations

import os
import stat
from base64 import b64decode
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llmc.base import logs
from llmc.base.errors import QueryError
from llmc.envelope.clean import clean_text
from llmc.envelope.redact.redactor import redactor_for
from llmc.extend.shell.capture import Captured
from llmc.extend.shell.summarize import FinishedCommand, summarize_command
from llmc.tool import BUDGET, FOCUS, Argument, Tool, ToolRequest

if TYPE_CHECKING:
    from llmc.envelope import Envelope
    from llmc.envelope.handles import Handles
    from llmc.envelope.request import RunningRequest
    from llmc.workspace import Workspace

__all__ = ["te_request"]

log = logs.get("te")

LARGEST_SPOOL = 1 << 30
LONGEST_LOGGED = 200
LONGEST_AGENT = 64


def te_request(workspace: Workspace, handles: Handles, params: dict[str, Any], call: RunningRequest) -> ToolRequest:
    """The call that summarises a command: a tool of its own, whose result has been read already."""
    given = {name: params.get(name) for name in ("budget", "all", FOCUS.name)}
    done = FinishedCommand(
        words=[str(word) for word in params["words"]],
        cwd=str(params["cwd"]),
        output=spooled(params),
        code=params.get("code"),
        signal=int(params.get("signal") or 0),
        stopped=str(params.get("stopped") or ""),
        seconds=float(params.get("seconds") or 0.0),
        agent=agent_of(str(params.get("agent") or "")),
    )
    words = clean_text(" ".join(done.words)[:LONGEST_LOGGED], redactor_for(workspace.settings.redaction))
    log.info("te", command=words, agent=done.agent, exit=done.code, seconds=done.seconds, bytes=done.output.size)
    tool = replace(TOOL, run=lambda request: summarize_command(request, TOOL, done))
    args = {name: value for name, value in given.items() if value is not None}
    return ToolRequest("te", args, workspace, handles, call=call, tool=tool)


def agent_of(named: str) -> str:
    """The value of TE_AGENT_ID, as far as it is a valid name."""
    return "".join(character for character in named if character.isprintable())[:LONGEST_AGENT]


def spooled(params: dict[str, Any]) -> Captured:
    """The output, from the message itself or from the file that it names."""
    if "content" in params:
        return captured(params, b64decode(str(params["content"])))
    try:
        fd = os.open(str(params["spool"]), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise QueryError("the output cannot be read", reason=error.strerror or str(error)) from error
    with os.fdopen(fd, "rb") as file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_size > LARGEST_SPOOL:
            raise QueryError("the output cannot be read", reason="it is no file of this user")
        return captured(params, file.read())


def captured(params: dict[str, Any], data: bytes) -> Captured:
    at = int(params["head"])
    return Captured(data[:at], data[at:], int(params.get("dropped") or 0), int(params.get("dropped_lines") or 0))


def _never(request: ToolRequest) -> Envelope:
    raise QueryError(f"te is a command of the terminal, not a tool for {request.owner}")


TOOL = Tool(
    name="te",
    summary="A command that ran in the user's terminal.",
    run=_never,
    arguments=(
        BUDGET,
        Argument("all", "boolean", "The whole output, without a budget."),
    ),
    budget="shell_budget",
)
