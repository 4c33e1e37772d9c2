"""delegates: downstream MCP servers, and cheap models that use them on behalf of one call.

    fleet.py       which servers run, and for whom (`Fleet.hold`); `downstream` is one server, `link` its connection,
                   `transport` its transports, `pins` the descriptions of its tools when the user allowed them
    offer.py       the tools that delegates and servers add for a client: `Offer`, from settings and server state
    delegate.py    a delegate as a tool: arguments in, the final answer of a model out; `loop` is the conversation,
                   `toolbox` the tools of its model
    script_tool.py a tool written in Lua, in the sandbox of persona scripts
    passthrough.py a downstream tool offered directly, through the gateway

Nothing is imported here: most daemons have no servers, and `mcp` and `pydantic_ai` take almost a second each.
"""
