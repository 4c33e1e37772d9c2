"""http: how does a client ask over the network?

`listener` runs in the daemon for as long as the `llmc serve --http` that asked for it; `guard` decides who may come in
(`token`, Host, Origin, sizes, times) before anything else sees a request; `rest`, `openapi` and `metrics` are what
there is besides `/mcp`. uvicorn, starlette and the MCP SDK are imported when a listener starts, not before.
"""
