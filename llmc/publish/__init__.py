"""publish: how does a commit get into the shared index?

`tree.py` lists what belongs to a commit, or to a work tree, `redacted.py` takes secrets out of a file's bytes, and
`pipeline.py` is the flow: list, recognise, read, redact, digest, write, commit. What is written and how it becomes
visible is the business of `llmc.store.shared`.
"""
