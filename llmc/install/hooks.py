"""Hooks: what `llmc install --hooks` writes into each client, so that an agent's shell searches reach llmc.

    suggest   before the first search of a session, the agent is reminded of llmc, once
    rewrite   a simple rg, grep -r, find, ls, tree (or an oversized cat, sed -n) becomes `llmc te …`

The clients differ in file, event and format, which `HOOKS` lists. All of them run `llmc hook CLIENT`, implemented in
`llmc.cli.hook`.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmc.install.edits import add_items, own_file, remove_file, remove_items

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.install.edits import Edit

__all__ = ["HOOKS", "MODES", "REMINDER", "Hook", "hook_edits"]

MODES = ("off", "suggest", "rewrite")
REMINDER = (
    "The llmc server answers this from its index for fewer tokens: its tool grep for a pattern, search for a question, "
    "a name or a pasted error, read for a file, a range or a symbol."
)
PLUGIN_MARK = "// written by llmc install --hooks"
# opencode loads JavaScript, which passes every decision to `llmc hook`.
PLUGIN = """{mark}
import {{ spawnSync }} from "node:child_process"

function ask(event) {{
  const [program, ...args] = {command}
  const done = spawnSync(program, args, {{ input: JSON.stringify(event), timeout: 5000, encoding: "utf8" }})
  try {{ return JSON.parse(done.stdout) }} catch {{ return {{}} }}
}}

export const llmc = async ({{ directory }}) => ({{
  "tool.execute.before": async (input, output) => {{
    if (input.tool !== "bash") return
    const cwd = output.args.workdir ?? directory
    const answer = ask({{ tool_input: {{ command: output.args.command }}, cwd, session_id: input.sessionID }})
    if (answer.command) output.args.command = answer.command
    if (answer.reminder) reminders.set(input.callID, answer.reminder)
  }},
  "tool.execute.after": async (input, output) => {{
    const reminder = reminders.get(input.callID)
    if (reminder) output.output += "\\n" + reminder
    reminders.delete(input.callID)
  }},
}})

const reminders = new Map()
"""


@dataclass(frozen=True, slots=True)
class Hook:
    """`file` is below the client's folder. `events` maps a mode to the event; `seconds` is the unit of its timeout.

    `nested`: the command is in a list `hooks` of the entry, beside its `matcher`. `base` are keys of a new file.
    """

    file: str
    events: Mapping[str, str] = field(default_factory=dict)
    matcher: str = ""
    nested: bool = True
    seconds: int = 1
    base: dict[str, Any] = field(default_factory=dict)
    next_step: str = ""


CLAUDE = {"suggest": "PreToolUse", "rewrite": "PreToolUse"}
HOOKS = {
    # Current versions of Claude Code search with Bash only; earlier versions also have Grep and Glob.
    "claude-code": Hook("settings.json", CLAUDE, "Grep|Glob|Bash"),
    "codex": Hook("hooks.json", CLAUDE, "Bash", next_step="Start Codex once and accept the hook that it asks about."),
    "gemini": Hook(
        "settings.json", {"suggest": "AfterTool", "rewrite": "BeforeTool"}, "run_shell_command", seconds=1000
    ),
    "cursor": Hook(
        "hooks.json", {"suggest": "postToolUse", "rewrite": "preToolUse"}, "Shell", nested=False, base={"version": 1}
    ),
    "opencode": Hook("plugin/llmc.js"),
}
TIMEOUT_SECONDS = 5


def hook_edits(client: str, mode: str, program: Sequence[str]) -> list[Edit]:
    """The edits of the hook's file that set this mode; `off` removes the hook."""
    hook = HOOKS[client]
    if not hook.events:
        command = json.dumps([*program, "hook", client, "--mode", mode])
        text = PLUGIN.format(mark=PLUGIN_MARK, command=command)
        return [remove_file(PLUGIN_MARK) if mode == "off" else own_file(text, PLUGIN_MARK)]
    wanted = hook.events.get(mode, "")
    edits = [
        remove_items(("hooks", event), is_llmc_hook, hook.base)
        for event in dict.fromkeys(hook.events.values())
        if event != wanted
    ]
    if wanted:
        edits.append(add_items(("hooks", wanted), [entry(hook, client, mode, program)], is_llmc_hook, hook.base))
    return edits


def entry(hook: Hook, client: str, mode: str, program: Sequence[str]) -> dict[str, Any]:
    command = shlex.join([*program, "hook", client, "--mode", mode])
    if not hook.nested:
        return {"command": command, "matcher": hook.matcher, "timeout": TIMEOUT_SECONDS}
    run = {"type": "command", "command": command, "timeout": TIMEOUT_SECONDS * hook.seconds}
    return {"matcher": hook.matcher, "hooks": [{"name": "llmc", **run} if client == "gemini" else run]}


def is_llmc_hook(item: Any) -> bool:
    return bool(re.search(r'llmc"?(?:\\"|\'| )*hook\b', json.dumps(item)))
