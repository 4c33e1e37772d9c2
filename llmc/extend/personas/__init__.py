"""agents: who should a model be? Personas: a prompt, the tools that go with it, and context from the user's index.

    registry.py   what there is, what one says: AgentRegistry.from_settings(settings).resolve(workspace, name, args)
    inline.py     [agents.NAME] of the settings; script.py: [agents.script.NAME], Lua in a process of its own
                  (sandbox.py, worker.py, prelude.lua); plugins.py: Python classes
    context.py    what a persona may ask of the index meanwhile
    builtin/      those that are there without settings

MCP shows them as prompts (`server.mcp.prompts`), HTTP at /agents (`server.http.agents`); `llmc.agents` is the public
name for those who write one in Python. Nothing is kept from one resolution to the next.
"""
