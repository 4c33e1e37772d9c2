"""Two signals from uses of names: what the tests that match a query use, and how much a file is used.

A test says in words what the code that it calls does. Of the best test files in each root, the names that they use are
compared with the names that the shortlisted files define. A name counts if only one of these files defines it. The
*strength* of a file is the score of the best test that uses it, relative to the best file of any role. Its *nearness*
is how many of the tests use something in its folders: of several packages in a checkout, tests that match show which
one the question is about.

How much a file is used is the number of chunks of its root that hold one of the names that it defines. A name counts if
it is a compound (`routesReloader`, `base_model`), since a plain word may be prose, and if at most two files define it.
The most used name decides. The numbers come from the statistics of the keyword index and are kept with the layout of
the root, which is computed again when the index changes.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from llmc.base import words
from llmc.store.catalog.packing import ChunkPlaces

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llmc.base.model import ChunkPlace
    from llmc.retrieval.candidate import Candidate
    from llmc.retrieval.view import View
    from llmc.store.protocols import StoreReader

__all__ = ["DocumentNames", "Tested", "chunk_names", "compound_names", "count_uses", "with_tests"]

# Two microseconds each; 10 names rank as 24 do, since the first names of a file are its types and entry points.
MOST_NAMES = 10
MOST_DEFINING = 2


DocumentNames = dict[int, dict[str, str]]
# Each takes some 50 microseconds; 5 to 15 rank the same.
MOST_TESTS = 6
SHORTEST_NAME = 3
# A folder that no test uses counts as this share of the tests, and files as if this share used each of their folders.
UNUSED, EVERYWHERE = 0.02, 0.05


def compound_names(chunks: Mapping[int, Sequence[ChunkPlace]], known: Collection[int]) -> DocumentNames:
    """document → name → index term, of the documents that are not cached."""
    return {doc: dict(_compounds(places)) for doc, places in chunks.items() if doc not in known}


def count_uses(store: StoreReader, names: DocumentNames, known: dict[int, int]) -> None:
    """Add to `known`: document → the number of other chunks that hold its most used name."""
    terms = {name: term for of_doc in names.values() for name, term in of_doc.items()}
    defining = store.catalog.defining_each(terms) if terms else {}
    own = {name: term for name, term in terms.items() if len(defining[name]) <= MOST_DEFINING}
    held = store.keywords.frequencies(set(own.values()))[1] if own else {}
    for doc, of_doc in names.items():
        known[doc] = max((held[own[name]] - 1 for name in of_doc if name in own), default=0)


def chunk_names(chunks: Sequence[ChunkPlace]) -> Collection[str]:
    """The qualified name of each chunk, without making the chunks."""
    return chunks.names if isinstance(chunks, ChunkPlaces) else [chunk.name for chunk in chunks]


def _compounds(chunks: Sequence[ChunkPlace]) -> Iterator[tuple[str, str]]:
    """(name, index term) of the first compound names."""
    found = 0
    for name in dict.fromkeys(qualified.rpartition(".")[2] for qualified in chunk_names(chunks)):
        if term := words.compound(name):
            yield name, term
            found += 1
            if found == MOST_NAMES:
                return


class Tested(NamedTuple):
    """`strength` and `nearness` are between 0 and 1; `name` is what `test` uses of the file."""

    strength: float
    nearness: float
    test: str = ""
    name: str = ""


class _Test(NamedTuple):
    path: str
    score: float
    words: frozenset[str]


def with_tests(
    shortlist: Iterable[Candidate], files: Sequence[Candidate], views: Sequence[View]
) -> Iterator[Candidate]:
    """The shortlisted files, each with the results of the tests among all `files`."""
    best = max((_without_role(file) for file in files), default=0.0)
    listed = list(shortlist)
    for view in views:
        own = [file for file in listed if file.view is view]
        if not own:
            continue
        tests = [file for file in files if file.view is view and file.role == "test" and file.doc][:MOST_TESTS]
        words = view.store.catalog.words_of_references({file.doc for file in tests}) if tests else {}
        found = [_Test(file.path, _without_role(file) / best, words[file.doc]) for file in tests if file.doc in words]
        facts = _facts([file for file in own if file.role == "code"], found)
        yield from (file._replace(tested=facts.get(file.path)) for file in own)


def _without_role(file: Candidate) -> float:
    """Its score as if it were code."""
    effect = next((share.effect for share in file.shares if share.signal == "role"), 1.0)
    return file.score / effect


def _facts(code: Sequence[Candidate], tests: Sequence[_Test]) -> dict[str, Tested]:
    names = {file.path: _names(file) for file in code}
    defining = Counter(name for of_file in names.values() for name in of_file)
    own = {path: {name for name in of_file if defining[name] == 1} for path, of_file in names.items()}
    used: dict[str, Tested] = {}
    folders: Counter[str] = Counter()
    total = 0.0
    for test in tests:
        uses = {path: name for path, of_file in own.items() if (name := min(of_file & test.words, default=""))}
        for path, name in uses.items():
            if path not in used or used[path].strength < test.score:
                used[path] = Tested(test.score, 1.0, test.path, name)
        if uses:
            total += test.score
            folders.update(dict.fromkeys({folder for path in uses for folder in _folders(path)}, test.score))
    if not total:
        return {}
    near = {path: _nearness(path, folders, total) for path in names}
    nearest = max(near.values()) + EVERYWHERE
    return {
        path: used.get(path, Tested(0.0, 1.0))._replace(nearness=(share + EVERYWHERE) / nearest)
        for path, share in near.items()
    }


def _names(file: Candidate) -> Collection[str]:
    last = {name.rpartition(".")[2] for name in chunk_names(file.chunks)}
    return [name for name in last if len(name) >= SHORTEST_NAME]


@lru_cache(maxsize=4096)
def _folders(path: str) -> tuple[str, ...]:
    """Every folder that contains the path, the outermost first."""
    parts = path.split("/")[:-1]
    return tuple("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _nearness(path: str, folders: Mapping[str, float], total: float) -> float:
    """The share of the tests that use something in the folders of a file, as the geometric mean over the folders."""
    above = _folders(path)
    return prod(folders.get(folder, 0.0) / total + UNUSED for folder in above) ** (1 / len(above)) if above else 1.0
