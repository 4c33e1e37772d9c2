"""publish: how does a commit get into the shared index?

`tree.py` lists the files of a commit or a work tree, `redacted.py` removes secrets from the bytes of a file, and
`pipeline.py` is the flow: list, recognise, read, redact, digest, write, commit. `llmc.store.shared` writes the data and
makes it visible.
"""
