"""http: the HTTP interface: MCP, REST and the page.

`listener` runs in the daemon as long as the `llmc serve --http` that requested it; `guard` checks every request first
(`token`, Host, Origin, sizes, timeouts); `rest`, `prometheus` and `page` are served besides `/mcp`. uvicorn,
starlette and the MCP SDK are imported when a listener starts.
"""
