"""shell: running commands, and deciding which may run.

`command_line` parses a command line without a shell, `policy` decides whether and how each program may run,
`supervisor` is the process that runs it and kills whatever it started, `capture` keeps both ends of its output,
`outputs` stores the output behind a handle, and `rewrite` recognizes commands that the index answers better. `llmc te`
uses the same modules without the policy, because there a person runs their own command.
"""
