"""Where may an answer come from? The filters of a query and the scope of a request, for one view."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import compress
from threading import Lock
from typing import TYPE_CHECKING

from llmc.base import languages
from llmc.base.cache_budget import register_cache
from llmc.base.errors import NotFoundError, QueryError
from llmc.retrieval.globs import PathFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

    from llmc.base.model import ChunkPlace
    from llmc.retrieval.query import Query
    from llmc.retrieval.view import View
    from llmc.store.catalog.document_paths import DocumentPaths

__all__ = ["Scope", "asked_roots", "check_paths", "forget_scopes", "scope_of"]

GLOB = frozenset("*?[")
# What a chunk may contain, and the role of a file.
KINDS = tuple(
    dict.fromkeys(
        (
            *("class", "function", "method", "constructor", "interface", "struct", "enum", "trait", "protocol", "type"),
            *("constant", "variable", "field", "property", "macro", "module", "object", "extension", "union", "record"),
            *("impl", "instance", "heading", "cell", "text", *languages.ROLES),
        )
    )
)


@dataclass(frozen=True)
class Scope:
    """`docs` is None for a whole root; then every document that the catalog places in the root is in scope."""

    places: DocumentPaths
    docs: frozenset[int] | None = None
    languages: frozenset[str] = frozenset()
    not_languages: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    not_kinds: frozenset[str] = frozenset()
    accepts_path: Callable[[str], bool] = field(default=lambda _path: True)

    def keep(self, docs: Collection[int]) -> list[int]:
        """Those in scope, ascending."""
        return self.places.keep(docs) if self.docs is None else sorted(self.docs.intersection(docs))

    @property
    def sifts_late(self) -> bool:
        """Whether filters remain that only the catalog can decide, file by file."""
        return bool(self.kinds or self.not_kinds or self.not_languages)

    def accepts_language(self, language: str) -> bool:
        return (not self.languages or language in self.languages) and language not in self.not_languages

    def accepts_chunk(self, chunks: Sequence[ChunkPlace], ordinal: int, role: str) -> bool:
        if ordinal >= len(chunks):
            return False
        if not self.kinds and not self.not_kinds:
            return True
        kinds = {chunks[ordinal].kind, role}
        return (not self.kinds or bool(kinds & self.kinds)) and not kinds & self.not_kinds


def scope_of(view: View, query: Query, paths: PathFilter, within: frozenset[str] | None) -> Scope:
    """`within` are paths of an earlier result; None means everywhere."""
    places = view.store.catalog.places(view.root.id)
    conditions = list(_conditions(query, paths, within))

    accepts_path = conditions[0] if len(conditions) == 1 else lambda path: all(each(path) for each in conditions)
    return Scope(
        places=places,
        docs=_docs(places, query, paths, within, accepts_path) if conditions else None,
        languages=_known_languages(query.values("lang")),
        not_languages=_known_languages(query.values("lang", exclude=True)),
        kinds=frozenset(map(_kind, query.values("kind"))),
        not_kinds=frozenset(map(_kind, query.values("kind", exclude=True))),
        accepts_path=accepts_path,
    )


def _docs(
    places: DocumentPaths,
    query: Query,
    paths: PathFilter,
    within: frozenset[str] | None,
    accepts: Callable[[str], bool],
) -> frozenset[int]:
    wanted, unwanted = query.values("path"), query.values("path", exclude=True)
    asked = (wanted, unwanted, paths, within)
    if len(wanted) == 1 and not GLOB & set(wanted[0]) and not unwanted and paths.is_open and within is None:
        part = wanted[0].removeprefix("./")
        return _accepted(places, asked, lambda: places.holding(part)[0])
    return _accepted(places, asked, lambda: compress(places, map(accepts, places.paths())))


# Agents query the same folder repeatedly, and 30,000 paths take some 10 ms: the last few scopes are kept, each as long
# as the catalog returns the same `places`.
MOST_SCOPES = 8
DOC_BYTES = 60  # of a document number in a set
_kept: OrderedDict[Hashable, tuple[DocumentPaths, frozenset[int]]] = OrderedDict()
_keeping = Lock()


def _accepted(places: DocumentPaths, asked: Hashable, found: Callable[[], Iterable[int]]) -> frozenset[int]:
    key = (id(places), asked)
    with _keeping:
        known = _kept.get(key)
    if known and known[0] is places:
        return known[1]
    docs = frozenset(found())
    with _keeping:
        _kept[key] = (places, docs)
        while len(_kept) > MOST_SCOPES:
            _kept.popitem(last=False)
    return docs


def forget_scopes() -> None:
    with _keeping:
        _kept.clear()


def scope_memory() -> int:
    """The approximate size in bytes."""
    with _keeping:
        return DOC_BYTES * sum(len(docs) for _, docs in _kept.values())


register_cache("scopes", scope_memory, forget_scopes)


def check_paths(scopes: Sequence[Scope], query: Query) -> None:
    """A `path:` that matches no file in any root is a mistake and raises an error."""
    wanted = query.values("path")
    if not wanted or any(scope.docs for scope in scopes):
        return
    known = {part for scope in scopes for path in scope.places.paths() for part in path.split("/")}
    near = get_close_matches(wanted[0].strip("/").rpartition("/")[2], known, 3)
    raise NotFoundError(
        f"no file has {wanted[0]!r} in its path",
        hint=f"Did you mean {', '.join(near)}?" if near else "Use a part of a path, or a glob such as *.py.",
    )


def _conditions(query: Query, paths: PathFilter, within: frozenset[str] | None) -> Iterable[Callable[[str], bool]]:
    if within is not None:
        yield within.__contains__
    if not paths.is_open:
        yield paths.accepts
    if wanted := query.values("path"):
        yield any_of(wanted)
    if unwanted := query.values("path", exclude=True):
        found = any_of(unwanted)
        yield lambda path: not found(path)


def any_of(values: Sequence[str]) -> Callable[[str], bool]:
    """A glob as in .gitignore, or a part of the path in any case."""
    globs = PathFilter(globs=tuple(value for value in values if GLOB & set(value)))
    parts = tuple(value.removeprefix("./").lower() for value in values if not GLOB & set(value))
    if len(parts) == 1 and not globs.globs:
        return lambda path, part=parts[0]: part in path.lower()  # type: ignore[misc]

    def accepts(path: str) -> bool:
        lowered = path.lower()
        return any(part in lowered for part in parts) or (bool(globs.globs) and globs.accepts(path))

    return accepts


def _known_languages(values: Sequence[str]) -> frozenset[str]:
    return frozenset(language for value in values for language in _language(value))


def _language(value: str) -> tuple[str, ...]:
    found = languages.named(value)
    if not found:
        near = get_close_matches(value.lower(), languages.NAMES, 3)
        raise QueryError(
            f"there is no language {value!r}",
            hint=f"Did you mean {', '.join(near)}?" if near else "Use a name such as python, or an ending such as py.",
        )
    return found


def _kind(value: str) -> str:
    kind = value.lower()
    if kind not in KINDS:
        near = get_close_matches(kind, KINDS, 3)
        raise QueryError(
            f"there is no kind {value!r}",
            hint=f"Did you mean {', '.join(near)}?" if near else f"Use {', '.join(KINDS)}.",
        )
    return kind


def asked_roots(views: Sequence[View], query: Query) -> list[View]:
    """The views that `root:` selects: by name, or by the end of the path."""
    wanted, unwanted = query.values("root"), query.values("root", exclude=True)
    kept = [
        view
        for view in views
        if (not wanted or any(_is_root(view, value) for value in wanted))
        and not any(_is_root(view, value) for value in unwanted)
    ]
    if views and not kept:
        names = [view.root.name for view in views]
        near = get_close_matches((wanted or unwanted)[0], names, 3) or names[:5]
        raise NotFoundError(f"no root is called {(wanted or unwanted)[0]!r}", hint=f"There is {', '.join(near)}.")
    return kept


def _is_root(view: View, value: str) -> bool:
    return (
        value in {view.root.name, view.root.family}
        or view.root.family.endswith(f"/{value}")
        or view.root.path.rstrip("/").endswith(f"/{value.strip('/')}")
        or view.root.path == value
    )
