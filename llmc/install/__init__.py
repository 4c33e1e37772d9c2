"""install: how is llmc added to a client's configuration?

`clients` is a table of file, key and entry format for each client. `record` builds the command that starts llmc, also
for programs that start agents themselves (`mcp_servers_config`, `codex_overrides`). `jsonc` (with `jsontree`) and
`toml` change one entry of a file and preserve the rest; `files` reads and writes; `notes` and `agents` provide what
`--hooks` and `--subagents` add; `plan` assembles the steps. `llmc.cli.install` is the command.
"""

from __future__ import annotations

from llmc.install.record import ServerRecord, codex_overrides, mcp_servers_config, why_not

__all__ = ["ServerRecord", "codex_overrides", "mcp_servers_config", "why_not"]
