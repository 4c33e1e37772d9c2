"""The Claude Code plugin: server, skill, sub-agent and hooks, built from the texts that `llmc install` writes.

The plugin has no copy of llmc. `scripts/llmc` starts the installed program and says how to install it if there is none;
it never downloads a package by name. Claude Code names the tools of a plugin's server `mcp__plugin_llmc_llmc__search`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llmc.install.agents import DESCRIPTION, INSTRUCTIONS, SKILL
from llmc.install.hooks import HOOKS, TIMEOUT_SECONDS
from llmc.install.plan import READING_TOOLS

if TYPE_CHECKING:
    from distribution.project import Project

__all__ = ["plugin_files"]

AUTHOR = {"name": "The llmc contributors"}
TOOL_PREFIX = "mcp__plugin_llmc_llmc__"
LAUNCHER = '"${CLAUDE_PLUGIN_ROOT}/scripts/llmc"'
# Programs that a desktop starts often lack the shell's PATH, so the folder of pipx and uv is tried too.
LAUNCHER_SCRIPT = """#!/bin/sh
# Starts the installed llmc. `llmc hook` does nothing if there is none, so that no tool of the agent is blocked.
for program in "$LLMC_PROGRAM" "$(command -v llmc)" "$HOME/.local/bin/llmc"; do
  if [ -n "$program" ] && [ -x "$program" ]; then exec "$program" "$@"; fi
done
[ "$1" = hook ] && exit 0
echo "llmc is not installed: run pipx install . (or uv tool install .) in its repository, then restart" >&2
echo "(its distribution is llmc-index; llmc on PyPI is another project)" >&2
exit 127
"""
ALLOW_SCRIPT = """#!/bin/sh
# Lets the tools that only read be called without a question.
# Rules of the user that deny them or ask about them still apply.
cat >/dev/null
printf '%s\\n' '{answer}'
"""
README = """# llmc for Claude Code

{description}

The plugin adds the server `llmc` (tools `search`, `grep`, `read`, `llmc`), the skill `llmc`, the sub-agent
`llmc-scout`, and a hook that points the agent to llmc before its first search in the shell. Tools that only read are
called without a question.

It needs the program `llmc`: `pipx install .` or `uv tool install .` in the repository. `LLMC_PROGRAM` names another.

    claude plugin install llmc --marketplace <folder or git URL of the repository>
    claude plugin uninstall llmc

The option `mode` is `suggest` (default), `rewrite` (simple shell searches become `llmc te …`) or `off`:

    claude plugin install llmc --marketplace <folder or git URL> --config mode=rewrite
"""


def plugin_files(project: Project) -> dict[str, str]:
    """Path in the repository → text."""
    return {
        ".claude-plugin/marketplace.json": as_json(marketplace(project)),
        "plugin/.claude-plugin/plugin.json": as_json(manifest(project)),
        "plugin/.mcp.json": as_json({"mcpServers": {"llmc": server()}}),
        "plugin/hooks/hooks.json": as_json({"hooks": {"PreToolUse": [suggest_hook(), allow_hook()]}}),
        "plugin/agents/llmc-scout.md": scout(),
        "plugin/skills/llmc/SKILL.md": SKILL,
        "plugin/scripts/llmc": LAUNCHER_SCRIPT,
        "plugin/scripts/allow": ALLOW_SCRIPT.replace("{answer}", json.dumps(ALLOWED)),
        "plugin/README.md": README.replace("{description}", project.description),
    }


def manifest(project: Project) -> dict[str, Any]:
    return {
        "name": "llmc",
        "version": project.version,
        "description": project.description,
        "author": AUTHOR,
        "license": project.license,
        "keywords": list(project.keywords),
        "userConfig": {
            "mode": {
                "type": "string",
                "title": "Shell searches",
                "description": "suggest: remind the agent of llmc once per session; rewrite: run simple searches "
                "through `llmc te`; off: neither",
                "default": "suggest",
            }
        },
    }


def marketplace(project: Project) -> dict[str, Any]:
    plugin = {"name": "llmc", "source": "./plugin", "description": project.description, "category": "development"}
    return {"name": "llmc", "description": "llmc for Claude Code", "owner": AUTHOR, "plugins": [plugin]}


def server() -> dict[str, Any]:
    return {"type": "stdio", "command": "${CLAUDE_PLUGIN_ROOT}/scripts/llmc", "args": ["serve"]}


def suggest_hook() -> dict[str, Any]:
    command = f'{LAUNCHER} hook claude-code --mode "${{CLAUDE_PLUGIN_OPTION_MODE:-suggest}}"'
    run = {"type": "command", "command": command, "timeout": TIMEOUT_SECONDS}
    return {"matcher": HOOKS["claude-code"].matcher, "hooks": [run]}


ALLOWED = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "llmc tools that only read",
    }
}


def allow_hook() -> dict[str, Any]:
    run = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}/scripts/allow"', "timeout": TIMEOUT_SECONDS}
    return {"matcher": f"{TOOL_PREFIX}({'|'.join(READING_TOOLS)})", "hooks": [run]}


def scout() -> str:
    tools = ", ".join(f"{TOOL_PREFIX}{name}" for name in READING_TOOLS)
    return f"---\nname: llmc-scout\ndescription: {DESCRIPTION}\ntools: {tools}\n---\n\n{INSTRUCTIONS}\n"


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
