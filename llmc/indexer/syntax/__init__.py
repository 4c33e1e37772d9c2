"""syntax: what does a text define and use, and where may it be cut?

`outline` reads a text in its language and gives an `Outline`: definitions, references, imports in use. Most languages
come from tree-sitter grammars and the query files beside this module; headings, notebooks, YAML and SQL have small
readers of their own. A text that cannot be read so has an empty outline: `chunk` then cuts it by lines.
"""

from __future__ import annotations

from llmc.indexer.syntax.outline import EMPTY, Mark, Outline
from llmc.indexer.syntax.readers import outline

__all__ = ["EMPTY", "Mark", "Outline", "outline"]
