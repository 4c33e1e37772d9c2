"""install: how does a client learn of llmc?

`clients` is the table: file, key and shape for each client. `record` makes the command that starts llmc, also for
programs that start agents themselves (`mcp_servers_config`, `codex_overrides`). `jsonc` (by `jsontree`) and `toml` edit
text and keep all of it but one entry; `files` reads and writes; `notes` and `agents` are what `--hooks` and
`--subagents` add; `plan` puts the steps together. `llmc.cli.install` is the command.
"""

from __future__ import annotations

from llmc.install.record import ServerRecord, codex_overrides, mcp_servers_config, why_not

__all__ = ["ServerRecord", "codex_overrides", "mcp_servers_config", "why_not"]
