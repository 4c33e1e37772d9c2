"""pruner: the tools `read`, `bash` and `grep` of an MCP server called mcp-pruner, to the letter of its contract.

A client that was written against that server is served by `llmc serve --profile pruner` without a change: the same
names, arguments, texts and errors. `contract` is what can be seen from outside, `config` the variables that it reads,
`acting` what is done inside the roots (the default) or anywhere (`server.pruner.contained = false`), `surface` how a
client reaches it.
"""

from __future__ import annotations
