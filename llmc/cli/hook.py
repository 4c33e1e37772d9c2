"""`llmc hook`: answers a hook event of Claude Code; `install --hooks` configures the hook.

The event is JSON on stdin. Before the first shell search of a session the reply reminds the agent of llmc, once; other
events get no reply. A hook must never block the agent: on any error it prints nothing and exits with 0.
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

MAX_EVENT_BYTES = 1 << 20
MARK_SECONDS = 2 * 86_400
SEARCH = re.compile(r"(?:^|[;&(\n])\s*(?:[ef]?grep|rg|ag|ack|find|fd|git\s+grep)\s")


@click.command()
@pass_options
def command(options: Options, /) -> int:
    """Answer a hook event of Claude Code, read from stdin; `llmc install --hooks` configures the hook."""
    with contextlib.suppress(Exception):  # a hook must not fail
        event = json.loads(sys.stdin.read(MAX_EVENT_BYTES))
        if _searches(event) and _is_first(options, str(event["session_id"])):
            from llmc.install.notes import REMINDER

            output = {"hookEventName": "PreToolUse", "additionalContext": REMINDER}
            click.echo(json.dumps({"hookSpecificOutput": output}))
    return 0


def _searches(event: dict[str, Any]) -> bool:
    """Whether the agent is about to search files. A grep at the end of a pipe only filters another command's output."""
    if event.get("hook_event_name") != "PreToolUse":
        return False
    return event.get("tool_name") != "Bash" or bool(SEARCH.search(event["tool_input"]["command"]))


def _is_first(options: Options, session: str) -> bool:
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
