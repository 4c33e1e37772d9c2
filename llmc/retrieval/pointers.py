"""Which chunks does the evidence of a query point at? Paths, stack frames, modules and identifiers, within one root.

Each chunk gets a strength between 0 and 1 and the reason that `--explain` shows. A path or module points at a file, a
stack frame at the chunk of its line, an identifier at the chunk that defines it, a message at the line that puts it
together. What many files share says little: strength falls with the number of files that a piece of evidence fits, and
beyond a dozen it says nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from llmc.base.languages import role_of
from llmc.retrieval.evidence import EvidenceKind
from llmc.retrieval.message_places import message_places
from llmc.retrieval.query import QueryRoute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.base.model import ChunkPlace
    from llmc.retrieval.evidence import Evidence
    from llmc.retrieval.query import Query
    from llmc.retrieval.scope import Scope
    from llmc.retrieval.view import View
    from llmc.store.catalog.document_paths import DocumentPaths

__all__ = ["OF_MESSAGE", "Pointer", "point"]

K = EvidenceKind
STRENGTH: Final = {K.PATH: 1.0, K.FRAME: 0.8, K.MODULE: 0.6, K.IDENTIFIER: 0.5, K.EXCEPTION: 0.25}
# Words in the order of the query, spelled as in it, outweigh any other evidence.
MESSAGE: Final = 3.0
# Of a question alone: a pasted report quotes messages that are not its subject. 1.5 and 3 rank nearly the same.
WHOLE: Final = 2.0
OF_MESSAGE: Final = "of the message"
# Frames further from the one that raised the error count less.
FRAME_STEP: Final = 0.85
MOST_FILES: Final = 12
SHORTEST_NAME: Final = 3
_JOINTS = re.compile(r"::|\.")
_INSIDE = frozenset({"code", "generated", "stub", "legacy", "vendored"})
_ENTRY = frozenset({"__init__", "index", "mod", "lib"})


class Pointer(NamedTuple):
    strength: float
    because: str
    is_file: bool = False  # whether a path or a stack frame points here, not only a name

    def shared(self, files: int) -> Pointer:
        """The strength left for each of this many files."""
        return self._replace(strength=self.strength / files**0.5)


class _Target(NamedTuple):
    doc: int
    line: int
    pointer: Pointer


def point(view: View, query: Query, scope: Scope) -> dict[tuple[int, int], Pointer]:
    """(doc, ordinal) → the strongest pointer at it."""
    targets = [one for one in _targets(view, query, scope) if scope.docs is None or one.doc in scope.docs]
    chunks = view.store.catalog.chunks_of({one.doc for one in targets})
    found: dict[tuple[int, int], Pointer] = {}
    for target in targets:
        places = chunks.get(target.doc)
        if places:
            at = (target.doc, _ordinal(places, target.line))
            if at not in found or found[at].strength < target.pointer.strength:
                found[at] = target.pointer
    return found


def _ordinal(places: Sequence[ChunkPlace], line: int) -> int:
    return min(bisect_left(places, line, key=lambda place: place.end_line), len(places) - 1) if line else 0


def _targets(view: View, query: Query, scope: Scope) -> Iterator[_Target]:
    for place in message_places(view, query, scope):
        strength = MESSAGE * (1 + place.share) * (WHOLE if place.is_whole and query.route is QueryRoute.WORDS else 1)
        yield _Target(place.doc, place.line, Pointer(strength, f"{place.share:.0%} {OF_MESSAGE}"))
    by_kind: dict[EvidenceKind, list[Evidence]] = {}
    for one in query.evidence:
        by_kind.setdefault(one.kind, []).append(one)
    for one in by_kind.get(K.PATH, ()):
        yield from _files(scope.places, one, Pointer(STRENGTH[K.PATH], f"path {one.text}", is_file=True))
    frames = by_kind.get(K.FRAME, [])
    for distance, one in enumerate(reversed(frames) if _innermost_last(frames) else frames):
        strength = STRENGTH[K.FRAME] * FRAME_STEP**distance
        yield from _files(scope.places, one, Pointer(strength, f"stack frame {one.text}:{one.line}", is_file=True))
    for one in by_kind.get(K.MODULE, ()):
        yield from _modules(view, scope, one)
    for kind in (K.IDENTIFIER, K.EXCEPTION):
        for one in by_kind.get(kind, ()):
            yield from _definitions(view, scope, one.text, Pointer(STRENGTH[kind], f"defines {one.text}"))


def _innermost_last(frames: Sequence[Evidence]) -> bool:
    """The frame that raised the error first; Python and Ruby's `from` lists have it last."""
    return any(frame.text.endswith((".py", ".pyx", ".pyi")) for frame in frames)


def _files(places: DocumentPaths, one: Evidence, pointer: Pointer) -> Iterator[_Target]:
    """The files whose paths end like the evidence, by the number of folders that agree."""
    parts = [part for part in one.text.lower().split("/") if part not in {"", ".", "~"}]
    if not parts:
        return
    docs, paths = places.holding(parts[-1])
    agreed = [(_agreement(path.lower().split("/"), parts), doc) for doc, path in zip(docs, paths, strict=True)]
    most = max((count for count, _ in agreed), default=0)
    best = [doc for count, doc in agreed if count == most]
    if most and len(best) <= MOST_FILES:
        for doc in best:
            yield _Target(doc, one.line, pointer.shared(len(best)))


def _agreement(path: Sequence[str], wanted: Sequence[str]) -> int:
    """The number of path components that agree, from the end."""
    count = 0
    for ours, theirs in zip(reversed(path), reversed(wanted), strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def _modules(view: View, scope: Scope, one: Evidence) -> Iterator[_Target]:
    """In `a.b.C.d`, the longest prefix that is a file, and the definition in it: `C.d` is d of C."""
    parts = _JOINTS.split(one.text)
    for size in range(len(parts), 1, -1):
        docs = _module_files(scope.places, parts[:size])
        if docs:
            rest = ".".join(parts[size:])
            pointer = Pointer(STRENGTH[K.MODULE], f"module {one.text}")
            defined = list(_definitions(view, scope, rest, pointer, docs)) if rest else []
            yield from defined or (_Target(doc, 0, pointer.shared(len(docs))) for doc in docs)
            return
    yield from _definitions(view, scope, ".".join(parts[-2:]), Pointer(STRENGTH[K.MODULE], f"defines {one.text}"))


def _module_files(places: DocumentPaths, parts: Sequence[str]) -> list[int]:
    wanted = "/".join(parts).lower()
    docs, paths = places.holding(wanted)
    found = []
    for doc, path in zip(docs, paths, strict=True):
        stem = path.lower().rpartition(".")[0]
        folder, _, name = stem.rpartition("/")
        module = folder if name in _ENTRY else stem
        if module == wanted or module.endswith(f"/{wanted}"):
            found.append(doc)
    return found if len(found) <= MOST_FILES else []


def _definitions(
    view: View, scope: Scope, name: str, pointer: Pointer, docs: Iterable[int] | None = None
) -> Iterator[_Target]:
    if len(name) < SHORTEST_NAME:
        return
    catalog = view.store.catalog
    defining = set(scope.keep(catalog.defining(name)))
    if docs is not None:
        defining &= set(docs)
    paths = scope.places.named(sorted(defining))
    inside = {doc for doc in defining if role_of(paths[doc]) in _INSIDE}
    if not inside or len(inside) > 4 * MOST_FILES:
        return
    found = {one.doc: one.symbol for one in reversed(catalog.symbols(name=name, docs=inside))}
    if found and len(found) <= MOST_FILES:
        for doc, symbol in found.items():
            yield _Target(doc, symbol.start_line, pointer.shared(len(found)))
