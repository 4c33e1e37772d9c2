"""shell: how is a command run, and what of it may be?

`line` reads a command line without a shell, `policy` says whether each program of it may run and how, `warden` is the
process that runs it and ends whatever it started, `capture` holds both ends of what it wrote, `outputs` keeps that
behind a handle, `enriched` knows which commands the index answers better. `llmc te` uses the same parts, without the
policy: there a person runs a command of their own.
"""
