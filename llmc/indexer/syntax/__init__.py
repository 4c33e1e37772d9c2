"""syntax: what does a file define and use, and where may it be split?

`outline` parses a file in its language and returns an `Outline`: definitions, references, imports. Most languages
come from tree-sitter grammars and the query files beside this module; headings, notebooks, YAML and SQL have small
readers of their own. A file that no reader supports has an empty outline and is split by lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.base.languages import GRAMMARS
from llmc.indexer.syntax.markup import read_component, read_html
from llmc.indexer.syntax.notebook import read_notebook
from llmc.indexer.syntax.outline import EMPTY, Mark, Outline
from llmc.indexer.syntax.sections import read_asciidoc, read_ini, read_markdown, read_org, read_rst, read_yaml
from llmc.indexer.syntax.sql import read_sql
from llmc.indexer.syntax.tree import read_tree

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EMPTY", "Mark", "Outline", "outline"]

_READERS: dict[str, Callable[[str], Outline]] = {
    "asciidoc": read_asciidoc,
    "astro": read_component,
    "html": read_html,
    "ini": read_ini,
    "markdown": read_markdown,
    "notebook": read_notebook,
    "org": read_org,
    "rst": read_rst,
    "sql": read_sql,
    "svelte": read_component,
    "text": read_rst,  # titles in plain text are underlined too
    "vue": read_component,
    "yaml": read_yaml,
}


_SMALL = 4_000
_LONG_LINES = 500
_VAL = re.compile(r"^val ", re.MULTILINE)
_LET = re.compile(r"^let ", re.MULTILINE)


def outline(language: str, text: str) -> Outline:
    if _is_minified(text) and language != "notebook":
        return EMPTY
    if reader := _READERS.get(language):
        return reader(text)
    grammar = GRAMMARS.get(language)
    if grammar is None:
        return EMPTY
    if language == "ocaml" and _VAL.search(text) and not _LET.search(text):
        grammar = "ocaml_interface"
    return read_tree(grammar, text.encode("utf-8", "replace"))


def _is_minified(text: str) -> bool:
    """Whether the lines are too long to be shown, as in bundles and data. Such files stay searchable as text."""
    return len(text) > _SMALL and len(text) > _LONG_LINES * (text.count("\n") + 1)
