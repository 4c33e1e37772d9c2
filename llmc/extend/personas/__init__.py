"""personas: prompts with a set of tools and context from the user's index (called agents in settings and APIs).

    registry.py   lists and resolves personas: AgentRegistry.from_settings(settings).resolve(workspace, name, args)
    inline.py     [agents.NAME] of the settings; script.py: [agents.script.NAME], Lua in a process of its own
                  (lua_script.py, sandbox.py, worker.py, prelude.lua); plugins.py: Python classes
    context.py    the index queries available to a persona
    builtin/      the built-in personas

MCP offers them as prompts (`server.mcp.prompts`), HTTP at /agents (`server.http.agents`); `llmc.agents` is the public
API for personas in Python. A resolution keeps no state.
"""
