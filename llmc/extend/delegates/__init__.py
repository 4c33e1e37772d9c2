"""delegates: who works behind one call? Downstream MCP servers, and a cheap model that uses them.

    fleet.py       which servers run, for whom (`Fleet.hold`); `downstream` is one of them, `link` one connection to it,
                   `transport` the ways there, `pins` what its tools were when the user allowed them
    offer.py       what all this adds to the tools of a client: `Offer`, of its settings and of the servers as they are
    delegate.py    a tool of the user's own: arguments in, the last words of a model out; `loop` is the conversation,
                   `inside` the tools in it
    passthrough.py a downstream tool itself, behind the gateway

Nothing is imported here: most daemons have no servers, and `mcp` and `pydantic_ai` take most of a second each.
"""
