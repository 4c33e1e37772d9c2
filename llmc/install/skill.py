"""The skill file: how to use llmc from a shell, for agents that read skills and have no MCP server configured."""

from __future__ import annotations

__all__ = ["SKILL", "SKILL_MARK"]

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
