"""Which function, class or handler contains a line? Symbols come from the catalog; a file that is not indexed, or has
changed since, is parsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError
from llmc.base.languages import language_of
from llmc.base.text import Binary, decode
from llmc.retrieval.line_kinds import FileText, chain_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.view import View

__all__ = ["LARGEST_TEXT", "FileSymbols", "naming_line", "symbols_of", "symbols_of_files"]

LARGEST_TEXT = 8 << 20
# Keys of data files and headings enclose text, not code; naming each would only repeat the line.
_NO_SCOPE = frozenset({"key", "section", "target"})


@dataclass(frozen=True)
class FileSymbols:
    """`text` is None for a file that no longer exists or is not text."""

    path: str
    language: str
    symbols: Sequence[Symbol]
    text: FileText | None

    def around(self, line: int) -> list[Symbol]:
        """The symbols that contain a line, from the outermost to the innermost. A one-line definition contains
        nothing."""
        chain = chain_of(self.symbols, line)
        return [one for one in chain if one.end_line > one.start_line and one.kind not in _NO_SCOPE]

    def defined_at(self, line: int) -> list[Symbol]:
        """The symbols named on this line."""
        near = [one for one in self.symbols if one.start_line <= line <= one.start_line + _MOST_DECORATORS]
        return [one for one in near if line <= one.end_line and self.naming_line(one) == line]

    def naming_line(self, symbol: Symbol) -> int:
        """Decorators and attributes above a definition belong to it, so its first line may not be the one that names
        it."""
        return symbol.start_line if self.text is None else naming_line(symbol, self.text.line)


def naming_line(symbol: Symbol, line_at: Callable[[int], str]) -> int:
    """The first line of a symbol below its decorators and attributes."""
    depth = 0
    for number in range(symbol.start_line, min(symbol.end_line, symbol.start_line + _MOST_DECORATORS) + 1):
        line = line_at(number)
        if depth <= 0 and not line.lstrip().startswith(("@", "[", "#[")):
            return number
        depth += line.count("(") - line.count(")")
    return symbol.start_line


_MOST_DECORATORS = 60  # lines; the description of a route for OpenAPI can be this long


def symbols_of_files(view: View, paths: Collection[str]) -> dict[str, FileSymbols]:
    """The symbols and the current text of each file."""
    known = [path for path in paths if path not in view.pending]
    docs = view.store.catalog.docs_of(view.root.id, known)
    by_doc: dict[int, list[Symbol]] = {}
    for definition in view.store.catalog.symbols(docs=set(docs.values())) if docs else ():
        by_doc.setdefault(definition.doc, []).append(definition.symbol)
    return {path: _file(view, path, by_doc.get(docs[path], []) if path in docs else None) for path in paths}


def symbols_of(view: View, path: str) -> FileSymbols:
    return symbols_of_files(view, [path])[path]


def _file(view: View, path: str, indexed: list[Symbol] | None) -> FileSymbols:
    """`indexed` is None if the catalog has no symbols of the file, or those of an older version."""
    text = _text_of(view, path)
    language = language_of(path, text[:1_000]) if text is not None else language_of(path)
    symbols: Sequence[Symbol] = indexed or ()
    if indexed is None and text is not None and view.parse is not None:
        symbols = view.parse(path, text)
    return FileSymbols(path, language, symbols, None if text is None else FileText(text, language))


def _text_of(view: View, path: str) -> str | None:
    try:
        text = decode(view.root_fs.read(path, LARGEST_TEXT)[0])
    except (LlmcError, OSError):
        return None
    return None if isinstance(text, Binary) else text.text
