"""What is in this file, folder or repository? Its symbols, from the catalog: a map, broadest first.

The envelope decides how much of the map fits. A few files that are not indexed yet are parsed; if there are many,
those that the catalog knows are marked, and their lines may have moved.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmc.base.languages import role_of
from llmc.retrieval.enclosing import symbols_of
from llmc.retrieval.globs import PathFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.view import View

__all__ = ["FEW_FILES", "FileOutline", "OutlineRequest", "OutlineResult", "outline"]

# What a reader of a repository needs least.
ROLES = ("code", "config", "doc", "example", "test", "stub", "legacy", "data", "generated", "vendored")

MOST_PARSED = 20  # files that are not indexed yet, at some 4 ms each


@dataclass(frozen=True)
class OutlineRequest:
    """`deep`: members as well as top-level definitions. A few files are always shown deep, and so are `files`, which
    are given by path. `names`: only these definitions and their contents."""

    paths: PathFilter = field(default_factory=PathFilter)
    deep: bool = False
    names: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()


FEW_FILES = 3


@dataclass(frozen=True, slots=True)
class FileOutline:
    root: str
    path: str
    language: str
    role: str
    lines: int
    symbols: tuple[Symbol, ...]
    hidden: int = 0  # members that a deep outline would show
    pending: bool = False


@dataclass(frozen=True, slots=True)
class OutlineResult:
    """`folders` counts the files of each folder directly below the scope."""

    files: tuple[FileOutline, ...]
    languages: dict[str, int]
    pending: int = 0
    share: float = 1.0


def outline(views: Sequence[View], request: OutlineRequest) -> OutlineResult:
    files = [file for view in views for file in outlined(view, request)]
    files.sort(key=importance)
    return OutlineResult(
        files=tuple(files),
        languages=dict(Counter(file.language for file in files).most_common()),
        pending=sum(len(view.pending) for view in views),
        share=min((view.share for view in views), default=1.0),
    )


def outlined(view: View, request: OutlineRequest) -> list[FileOutline]:
    catalog = view.store.catalog
    places = catalog.places(view.root.id)
    accepts = request.paths.of(view.root.id).accepts
    unindexed = sorted(filter(accepts, view.pending))
    parsed = unindexed if view.parse and len(unindexed) <= MOST_PARSED else []
    wanted = {
        doc: path
        for doc, path in zip(places, places.paths(), strict=True)
        if accepts(path) and path not in view.hidden and not (parsed and path in view.pending)
    }
    symbols: dict[int, list[Symbol]] = {}
    for definition in catalog.symbols(docs=wanted):
        if not request.names or is_within(definition.symbol, request.names):
            symbols.setdefault(definition.doc, []).append(definition.symbol)
    languages = catalog.languages(wanted)
    deep = request.deep or len(wanted) + len(parsed) <= FEW_FILES or bool(request.names)
    found = [parsed_outline(view, path, request.names, deep=deep or path in request.files) for path in parsed]
    return [
        *(one for one in found if one is not None),
        *(
            file_outline(
                view,
                path,
                languages.get(doc, ""),
                catalog.lines(doc) if deep else 0,
                symbols.get(doc, []),
                deep=deep or path in request.files,
            )
            for doc, path in wanted.items()
        ),
    ]


def parsed_outline(view: View, path: str, names: Iterable[str], *, deep: bool) -> FileOutline | None:
    """None for a file that no longer exists or is not text."""
    known = symbols_of(view, path)
    if known.text is None:
        return None
    symbols = [one for one in known.symbols if not names or is_within(one, names)]
    return file_outline(view, path, known.language, known.text.line_count if deep else 0, symbols, deep=deep)


def is_within(symbol: Symbol, names: Iterable[str]) -> bool:
    """Whether it has the name or is inside a definition with that name; `Parser` also matches `io.Parser`."""
    qualified = f".{symbol.qualified}."
    return any(f".{name}." in qualified for name in names)


def file_outline(view: View, path: str, language: str, lines: int, symbols: list[Symbol], *, deep: bool) -> FileOutline:
    shown = symbols if deep else [symbol for symbol in symbols if not symbol.container]
    return FileOutline(
        root=view.root.id,
        path=path,
        language=language,
        role=role_of(path),
        lines=lines,
        symbols=tuple(shown),
        hidden=len(symbols) - len(shown),
        pending=path in view.pending,
    )


def importance(file: FileOutline) -> tuple[int, int, int, str]:
    """Code before the rest, then files higher in the tree, then files that define more."""
    role = ROLES.index(file.role) if file.role in ROLES else len(ROLES)
    return role, file.path.count("/"), -len(file.symbols) - file.hidden, file.path
