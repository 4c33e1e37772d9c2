"""`llmc hook`: the answer to a hook of Claude Code, as `install --hooks` wires it.

The event comes as JSON on stdin. Before the first search by hand of a session the agent is told of llmc, once; all else
is passed in silence. A hook must never be in the way: whatever goes wrong, it says nothing and succeeds.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

import click

from llmc.cli._options import Options, pass_options

LARGEST_EVENT = 1 << 20
KEPT_SECONDS = 2 * 86_400
SEARCH = re.compile(r"(?:^|[;&(\n])\s*(?:[ef]?grep|rg|ag|ack|find|fd|git\s+grep)\s")


@click.command()
@pass_options
def command(options: Options, /) -> int:
    """Answer a hook of Claude Code, whose event is on stdin; `llmc install --hooks` wires it."""
    with contextlib.suppress(Exception):  # see above
        event = json.loads(sys.stdin.read(LARGEST_EVENT))
        if _searches(event) and _is_first(options, str(event["session_id"])):
            from llmc.install.notes import REMINDER

            output = {"hookEventName": "PreToolUse", "additionalContext": REMINDER}
            click.echo(json.dumps({"hookSpecificOutput": output}))
    return 0


def _searches(event: dict[str, Any]) -> bool:
    """Whether it is about to look for files or in files; what reads a pipe only filters some other output."""
    if event.get("hook_event_name") != "PreToolUse":
        return False
    return event.get("tool_name") != "Bash" or bool(SEARCH.search(event["tool_input"]["command"]))


def _is_first(options: Options, session: str) -> bool:
    """A file for each session of the last days remembers."""
    folder = Path(options.home.path) / "hooks"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark = folder / blake2b(session.encode(), digest_size=16).hexdigest()
    try:
        mark.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return False
    for other in folder.iterdir():
        if time.time() - other.stat().st_mtime > KEPT_SECONDS:
            other.unlink(missing_ok=True)
    return True
