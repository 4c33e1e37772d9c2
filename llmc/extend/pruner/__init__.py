"""pruner: the tools `read`, `bash` and `grep`, compatible with the MCP server mcp-pruner.

A client written for that server works unchanged with `llmc serve --profile pruner`: the same names, arguments, replies
and errors. `contract` is the observable behaviour, `config` reads its environment variables, and `actions` works inside
the roots (the default) or anywhere (`server.pruner.contained = false`). `server/pruner_surface.py` connects it to
clients.
"""

from __future__ import annotations
