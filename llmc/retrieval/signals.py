"""Why does this file rank before that one? Small signals, each a factor that explains itself.

A signal gets the query and a file and gives a `Share`, or None when it has nothing to say. There are three stages, by
what a file must have cost already: its path alone; its chunks, looked up in the catalog; its text, read from disk.
Constants are round and few: on the judged repositories each of them is flat around its value.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from llmc.base.languages import ROLES, looks_generated
from llmc.retrieval.layout import naming
from llmc.retrieval.passages.lazy_lines import lowered_passage, passage
from llmc.retrieval.query import QueryRoute
from llmc.retrieval.query_features import spelled
from llmc.retrieval.results import Share
from llmc.retrieval.tested import chunk_names
from llmc.retrieval.verbatim import verbatim
from llmc.store.catalog.packing import ChunkPlaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llmc.retrieval.candidate import Candidate
    from llmc.retrieval.query_features import QueryFeatures

__all__ = ["PATH_STAGE", "READ_STAGE", "SIGNALS", "TABLE_STAGE", "TYPES", "Signal", "apply"]


@dataclass(frozen=True, slots=True)
class Signal:
    name: str
    says: str
    of: Callable[[QueryFeatures, Candidate], Share | None]


def apply(signals: Iterable[Signal], asked: QueryFeatures, candidate: Candidate) -> Candidate:
    shares = [share for signal in signals if (share := signal.of(asked, candidate))]
    if not shares:
        return candidate
    score = candidate.score * prod(share.effect for share in shares)
    return candidate._replace(score=score, shares=(*candidate.shares, *shares))


# What is left of a score when the query does not ask for such files, and when it only hints at them. Tests keep more:
# .35 ranks ranking-dev the same, but some questions are answered nowhere else (SWE-QA: .013 fewer with all files).
NOISE, TESTS, HINTED = 0.3, 0.4, 0.6
# An older version of an API beside the current one, and internals of a package.
SUPERSEDED, INNER = 0.5, 0.9
NOISY = frozenset(ROLES) - {"code"}
NAMED = 0.5


def role(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    found = candidate.role
    if found == "code" and candidate.layout and candidate.layout.is_bundle(candidate.path):
        found = "generated"
    if found not in NOISY or found in asked.roles:
        return None
    return Share("role", HINTED if found in asked.hinted else TESTS if found == "test" else NOISE, found)


def version(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """Of parallel versions of an API the current one comes first, unless a version is asked for."""
    if candidate.layout is None or asked.has_version:
        return None
    current = candidate.layout.current_version(candidate.path)
    return Share("version", SUPERSEDED, f"current in {current}") if current else None


def platform(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """Of the same file for several platforms, that for Windows comes behind, unless the query is about Windows."""
    other = candidate.layout.other_platform(candidate.path) if candidate.layout else ""
    if not other or any(word.text.lower() in _WINDOWS_WORDS for word in asked.query.words):
        return None
    return Share("platform", SUPERSEDED, f"beside {other}")


_WINDOWS_WORDS = frozenset({"windows", "win32", "win64", "win", "winapi", "iocp", "nt"})


def inner(_asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """What a package keeps to itself answers less often than what it shows."""
    return Share("inner", INNER, "internal") if naming(candidate.path).inner else None


def file_name(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """The words of its name that the query has, less for a word that many paths have, such as the project's name."""
    named = naming(candidate.path)
    said = [part for part in named.parts if part in asked.forms]
    if not said:
        return None
    rarity = max(candidate.layout.rarity(part) for part in said) if candidate.layout else 1.0
    return Share("file name", 1 + NAMED * len(said) / len(named.parts) * rarity**0.7, named.name)


def exact_path(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """The query is a path, and this is it: the whole, or its end."""
    if asked.query.route is not QueryRoute.PATH:
        return None
    wanted, path = asked.query.text.strip("/").lower(), candidate.path.lower()
    if path == wanted:
        return Share("path", 8.0, "the path asked for")
    return Share("path", 4.0, "ends as asked") if path.endswith(f"/{wanted}") else None


TYPES = frozenset({"class", "struct", "interface", "enum", "trait", "protocol", "module", "object", "type", "record",
                   "union", "namespace", "impl", "instance"})  # fmt: skip


def definition(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """It defines what the query names."""
    # Most files have none of them, and then their names, hundreds in a long one, need not be looked at one by one.
    together = spelled("\n".join([*chunk_names(candidate.chunks), *(symbol.qualified for symbol in candidate.defines)]))
    if asked.names.keys().isdisjoint([name.rpartition(".")[2] for name in together.split("\n")]):
        return None
    stem = spelled(naming(candidate.path).name)
    best, name = 0.0, ""
    for qualified, kind in named(candidate):
        container, _, last = qualified.rpartition(".")
        called = spelled(last)
        if called and called in asked.names:
            weight = asked.names[called] * defines(asked, container, kind) * (1.5 if called == stem else 1.0)
            if weight > best:
                best, name = weight, qualified
    return Share("definition", 1 + 0.5 * best, name) if best else None


def named(candidate: Candidate) -> Iterator[tuple[str, str]]:
    """(qualified name, kind) of what its chunks hold, and of the symbols sought by name."""
    chunks = candidate.chunks
    if isinstance(chunks, ChunkPlaces):
        yield from zip(chunks.names, chunks.kinds, strict=True)
    else:
        yield from ((chunk.name, chunk.kind) for chunk in chunks)
    yield from ((symbol.qualified, symbol.kind) for symbol in candidate.defines)


def defines(asked: QueryFeatures, container: str, kind: str) -> float:
    weight = 1.0 if kind in TYPES else 0.5
    return weight * 0.5 if container and not said_container(asked, container) else weight


def said_container(asked: QueryFeatures, container: str) -> bool:
    """The query names `Session.get`, and this `get` is in `Session`."""
    return len(asked.query.words) > 1 and spelled(asked.query.words[-2].text) == spelled(container.rpartition(".")[2])


# At most an eighth more, for 19 places and beyond: .03 to .06 and 8 to 60 places rank the same.
USED, MOST_USES = 0.037, 19


def used(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """What the rest of the checkout uses answers more often than what is not used. A name has one right place."""
    uses = 0 if asked.query.route is QueryRoute.SYMBOL else min(candidate.uses, MOST_USES)
    return Share("used", (1 + uses) ** USED, f"{candidate.uses} places") if uses > 0 else None


# (1 + strength) ** .3 to .5 and nearness ** .1 to .3 rank the same.
TESTED, NEAR_TESTED = 0.4, 0.2


def tested(_asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """A test that matches the query uses it."""
    found = candidate.tested
    if found is None or not found.strength:
        return None
    return Share("tested", (1 + found.strength) ** TESTED, f"{found.test} uses {found.name}")


def package(_asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """Tests that match the query use other folders than its own."""
    found = candidate.tested
    if found is None or found.nearness >= 1:
        return None
    return Share("package", found.nearness**NEAR_TESTED, "matching tests use other folders")


def coverage(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """How many of the words occur in its chunks, however often."""
    if candidate.text is None or not asked.terms:
        return None
    lines = candidate.text
    text = "\n".join([lowered_passage(lines, candidate.chunks[ordinal]) for ordinal, _ in candidate.found])
    met = sum(term in text for term in asked.terms)
    return Share("coverage", 1 + 0.4 * met / len(asked.terms), f"{met} of {len(asked.terms)} words")


AGREEING, AGREEMENT_CHUNKS = 0.2, 4


def agreement(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """How much of the query, by the rarity of its words, one chunk has by itself: several words in one definition
    outweigh a rare one that is there by chance."""
    total = sum(asked.weights.values())
    if candidate.text is None or not total:
        return None
    best = 0.0
    for ordinal, _ in candidate.found[:AGREEMENT_CHUNKS]:
        text = lowered_passage(candidate.text, candidate.chunks[ordinal])
        best = max(best, sum(weight for term, weight in asked.weights.items() if term in text))
    return Share("agreement", 1 + AGREEING * best / total, f"{best / total:.0%} in one place")


def written_by_program(asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """A note at the top says that the file is generated."""
    if candidate.role != "code" or candidate.text is None or "generated" in asked.roles:
        return None
    head = "\n".join(candidate.text[:HEAD_LINES])
    return Share("generated", NOISE, "by its first lines") if looks_generated(head) else None


HEAD_LINES = 20


def found_text(candidate: Candidate) -> str:
    lines = candidate.text or ()
    return "\n".join([passage(lines, candidate.chunks[ordinal]) for ordinal, _ in candidate.found])


# Lines, and how many words they may have between them.
LISTED, SINGLE = 20, 1.1


def word_list(_asked: QueryFeatures, candidate: Candidate) -> Share | None:
    """A vocabulary, or a list of bad passwords or of files, has every word and says nothing about any."""
    if candidate.role not in {"doc", "data"}:
        return None
    text = found_text(candidate)
    lines = text.count("\n") + 1
    return Share("list", 0.3, "of words") if lines >= LISTED and len(text.split()) <= SINGLE * lines else None


PATH_STAGE = (
    Signal("role", "tests, docs, examples, copies and generated code rank behind code unless asked for", role),
    Signal("version", "older versions of an API rank behind the current one", version),
    Signal("platform", "code for Windows ranks behind the same file for other platforms", platform),
    Signal("inner", "what a package keeps internal ranks behind what it shows", inner),
    Signal("file name", "the query says the words of the file's name", file_name),
    Signal("path", "the query is this path", exact_path),
)
TABLE_STAGE = (
    Signal("definition", "it defines a name of the query", definition),
    Signal("used", "other places use the names that it defines", used),
    Signal("tested", "a test that matches the query uses it", tested),
    Signal("package", "tests that match the query use the folder that it is in", package),
)
READ_STAGE = (
    Signal("coverage", "more of the query's words are met", coverage),
    Signal("agreement", "one place has many of the query's words", agreement),
    Signal("verbatim", "it has text that the query quotes", verbatim),
    Signal("generated", "a note at its top says that a program wrote it", written_by_program),
    Signal("list", "a list of words has every word and says nothing of it", word_list),
)
SIGNALS = (*PATH_STAGE, *TABLE_STAGE, *READ_STAGE)
