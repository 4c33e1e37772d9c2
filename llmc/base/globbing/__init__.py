"""globbing: does this path match? Ignore rules and `-g` globs, as ripgrep reads them.

`globs` is one glob, `table` looks many of them up at once, `patterns` is a file full of rules. The indexer asks which
files belong to a root, retrieval which files a person means; both get the same answer, so it lies outside of either.
"""

from __future__ import annotations

from llmc.base.globbing.patterns import MAX_BYTES, Layer, Patterns, read_patterns

__all__ = ["MAX_BYTES", "Layer", "Patterns", "read_patterns"]
