"""Sub-agents: a file that defines an agent which searches with llmc only and answers in a few lines.

A question that takes ten calls then adds only one short answer to the main conversation. A file of the same name that
llmc did not write is not changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmc.install.clients import McpClient

__all__ = ["AGENT_MARK", "agent_file", "agent_name"]

AGENT_MARK = "<!-- written by llmc install --subagents -->"
DESCRIPTION = (
    "Finds and explains code with the llmc index. Use it for where, how and who-calls questions about this project."
)
INSTRUCTIONS = """Answer one question about the code of this project, using only the llmc tools.

Begin with `search` (the question in plain words, or a name). Use `grep` for exact text, and `read` for `path:10-40`,
`path::symbol` or a handle such as `h4k2`. `llmc` lists the other tools. Request little, and follow up on what you find.

Answer in at most fifteen lines: what you found, each place as `path:line`, and what you could not find. Quote at most
five lines of code. Give no advice."""


def agent_name(client: McpClient) -> str:
    return "llmc-scout.agent.md" if client.name == "copilot" else "llmc-scout.md"


def agent_file(client: McpClient, server: str) -> str:
    fields = {"name": "llmc-scout", "description": DESCRIPTION, **FIELDS.get(client.name, {})}
    lines = [f"{key}: {value.format(server=server)}" for key, value in fields.items()]
    return "\n".join(["---", *lines, "---", "", AGENT_MARK, "", INSTRUCTIONS, ""])


# Fields that restrict the agent to reading; a client without a row gets only name and description.
FIELDS = {
    "claude-code": {
        "tools": "mcp__{server}__search, mcp__{server}__grep, mcp__{server}__read, mcp__{server}__llmc",
    },
    "cursor": {"readonly": "true"},
    "copilot": {"tools": '["{server}/*"]'},
    "opencode": {"mode": "subagent", "tools": "{{write: false, edit: false, bash: false}}"},
}
