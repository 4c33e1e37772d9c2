"""distribution: how does llmc reach users besides `pip install`?

`python -m distribution` writes the files that registries and clients read from the repository: the Claude Code plugin
(`plugin/`, `.claude-plugin/marketplace.json`) and `server.json` for the MCP registry. `python -m distribution --check`
reports those that are not current, `python -m distribution --bundle FOLDER` lays out the MCPB bundle, and
`--site FOLDER` the documentation site.
"""
