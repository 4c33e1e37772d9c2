"""globbing: does this path match? Ignore rules and `-g` globs, with ripgrep's semantics.

`globs` parses one glob, `patterns` parses a file of rules and applies them. Both the indexer and retrieval use this
package.
"""

from __future__ import annotations

from llmc.base.globbing.patterns import MAX_BYTES, Layer, Patterns, read_patterns

__all__ = ["MAX_BYTES", "Layer", "Patterns", "read_patterns"]
