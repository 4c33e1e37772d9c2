"""Files for agents: a sub-agent that searches with llmc only and answers in a few lines, and a skill.

With the sub-agent, a question that takes ten calls adds only one short answer to the main conversation. The skill file
explains how to use llmc from a shell, for agents that read skills and have no MCP server configured. A file of the same
name that llmc did not write is not changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmc.install.clients import McpClient

__all__ = ["AGENT_MARK", "SKILL", "SKILL_MARK", "agent_file", "agent_name"]

AGENT_MARK = "<!-- written by llmc install --subagents -->"
DESCRIPTION = (
    "Finds and explains code with the llmc index. Use it for where, how and who-calls questions about this project."
)
INSTRUCTIONS = """Answer one question about the code of this project, using only the llmc tools.

Begin with `search` (the question in plain words, or a name). Use `grep` for exact text, and `read` for `path:10-40`,
`path::symbol` or a handle such as `h4k2`. `llmc` lists the other tools. Request little, and follow up on what you find.

Answer in at most fifteen lines: what you found, each place as `path:line`, and what you could not find. Quote at most
five lines of code. Give no advice."""
SKILL_MARK = "<!-- written by llmc install --skill -->"
SKILL = f"""---
name: llmc
description: Search, read and trace code in this repository with the llmc index. Use it instead of rg, grep, find and
  cat for questions (where, how, who calls), names, pasted errors, and for reading functions or ranges.
---

{SKILL_MARK}

# Searching code with llmc

Run these in a shell. Replies are cut to a budget; `+8 more → h4k2` at the end means more: `llmc read h4k2`.

| to find | run |
|---|---|
| code for a question, a name or a pasted error | `llmc search 'where is the session cookie set'` |
| every match of a pattern, by enclosing function | `llmc grep 'set_cookie\\(' src` (`--no-tests`, `--kind def`) |
| a file, range, symbol, or several at once | `llmc read app/auth.py:10-60 app/models.py::User.check` |
| what a function calls, who calls it | `llmc calls NAME --depth 2`, `llmc callers NAME` |
| implementations, tests that reach it | `llmc impls NAME`, `llmc tests NAME` |
| symbols of a file or folder | `llmc outline app/auth.py` |
| who changed it, when and why | `llmc history app/auth.py` |
| the output of a long command, shortened | `llmc te pytest -q` |

- Begin with `search`: it quotes the deciding lines. Read only what is missing.
- A pattern that is far too broad is answered with counts by folder; narrow it with a path.
- Results are fresh: a file saved a moment ago is searched as it is now.
- `llmc --help` lists all commands, `llmc COMMAND --help` its options. Add `--json` for data.
"""


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
