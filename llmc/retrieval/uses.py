"""How much is a file used? The chunks of its root that hold one of the names that it defines.

A name counts if it is a compound (`routesReloader`, `base_model`), since a plain word may be prose, and if at most two
files define it. The most used name decides. The numbers come from the statistics of the keyword index and are kept
with the layout of the root, which is made again when the index changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.base import words
from llmc.store.catalog.packing import ChunkPlaces

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from llmc.base.model import ChunkPlace
    from llmc.store.protocols import StoreReader

__all__ = ["DocumentNames", "chunk_names", "compound_names", "count_uses"]

# Two microseconds each; 10 names rank as 24 do, since the first names of a file are its types and entry points.
MOST_NAMES = 10
MOST_DEFINING = 2


DocumentNames = dict[int, dict[str, str]]


def compound_names(chunks: Mapping[int, Sequence[ChunkPlace]], known: Collection[int]) -> DocumentNames:
    """document → name → index term, of those that are not known yet."""
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
        parts = words.name(name).split()
        if len(parts) > 1:
            yield name, parts[0]
            found += 1
            if found == MOST_NAMES:
                return
