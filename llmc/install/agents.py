"""Sub-agents: a file that gives a client an agent which looks things up with llmc alone and answers in a few lines.

A question that takes ten calls then costs the main conversation one short answer. A file of the same name that llmc did
not write is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.install.files import Edit
from llmc.install.jsonc import BrokenError

if TYPE_CHECKING:
    from llmc.install.clients import McpClient

__all__ = ["agent_file", "agent_name", "remove_agent", "write_agent"]

MARK = "<!-- written by llmc install --subagents -->"
WHEN = "Finds and explains code with the llmc index. Use it for where, how and who-calls questions about this project."
TASK = """You answer one question about the code of this project, from the llmc tools alone.

Begin with `search` (the question in plain words, or a name); `grep` for exact text; `read` for `path:10-40`,
`path::symbol` or a handle such as `h4k2`; `llmc` lists what else there is. Ask for little and follow what you find.

Answer in at most fifteen lines: what you found, each place as `path:line`, and what you could not find. No code longer
than five lines, no advice."""


def agent_name(client: McpClient) -> str:
    return "llmc-scout.agent.md" if client.name == "copilot" else "llmc-scout.md"


def agent_file(client: McpClient, server: str) -> str:
    fields = {"name": "llmc-scout", "description": WHEN, **FIELDS.get(client.name, {})}
    lines = [f"{key}: {value.format(server=server)}" for key, value in fields.items()]
    return "\n".join(["---", *lines, "---", "", MARK, "", TASK, ""])


# What keeps each client's agent to reading; a client without a row takes the name and the description.
FIELDS = {
    "claude-code": {
        "tools": "mcp__{server}__search, mcp__{server}__grep, mcp__{server}__read, mcp__{server}__llmc",
    },
    "cursor": {"readonly": "true"},
    "copilot": {"tools": '["{server}/*"]'},
    "opencode": {"mode": "subagent", "tools": "{{write: false, edit: false, bash: false}}"},
}


def write_agent(text: str) -> Edit:
    def apply(present: str | None, _old: str | None) -> str | None:
        if present is not None and MARK not in present:
            raise BrokenError("it is there already, and llmc did not write it")
        return text

    return Edit(apply, lambda present: MARK in present)


def remove_agent() -> Edit:
    def apply(present: str | None, _old: str | None) -> str | None:
        return None if present is not None and MARK in present else present

    return Edit(apply, lambda present: MARK in present)
