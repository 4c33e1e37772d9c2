"""Queries to the catalog: files, chunks, symbols, references, counts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_world import ROOT, batch, document, filled, reader, state, writer

from llmc.base.model import Chunk, ChunkPlace, Document, FileStatus, Parsed, Reference, Root, Symbol
from llmc.store import Batch, DocumentPaths
from llmc.store.catalog.packing import (
    pack_chunks,
    pack_references,
    pack_symbols,
    unpack_chunks,
    unpack_reference_words,
    unpack_references,
    unpack_symbols,
)

if TYPE_CHECKING:
    from pathlib import Path

SYMBOLS = (
    Symbol("Parser", "class", "", 1, 9, "class Parser:"),
    Symbol("feed", "method", "Parser", 2, 4, "def feed(self, text)"),
    Symbol("feed_all", "method", "Parser.Inner", 5, 8, "def feed_all(self)"),
    Symbol("1.2 Install it", "heading", "", 9, 9, "1.2 Install it"),
)
REFERENCES = (Reference("tokenize", "call", 3, "Parser.feed"), Reference("os", "import", 1, ""))


def symbolic() -> Document:
    chunks = (Chunk(0, 1, 4, "method", "Parser.feed", "text one"), Chunk(1, 5, 9, "text", "", "text two"))
    parsed = Parsed("python", 9, chunks, SYMBOLS, REFERENCES)
    return Document("key", "src/parser.py", "hash", 16, "text one\ntext two", parsed)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with writer(tmp_path) as store:
        store.apply(Batch(ROOT, (state("src/parser.py", symbolic()),), (), (symbolic(),)))
        store.apply(batch({"src/other.py": "def feed():\n    pass\n", "src.py": "x\n", "src0/a.py": "y\n"}))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "containers"),
    [
        ("feed", ["Parser", ""]),
        ("FEED", ["Parser", ""]),
        ("Parser.feed", ["Parser"]),
        ("parser::feed", ["Parser"]),
        ("Parser#feed", ["Parser"]),
        ("Inner.feed_all", ["Parser.Inner"]),
        ("Other.feed", []),
        ("1.2 Install it", [""]),
        ("absent", []),
        ("", []),
    ],
)
def test_a_symbol_is_found_by_its_plain_or_qualified_name(folder: Path, name: str, containers: list[str]) -> None:
    with reader(folder) as store:
        assert [one.symbol.container for one in store.catalog.symbols(name=name)] == containers


def test_symbols_are_found_by_prefix_kind_and_document(folder: Path) -> None:
    with reader(folder) as store:
        catalog = store.catalog
        doc = catalog.doc_of(ROOT, "src/parser.py")
        assert [one.symbol.name for one in catalog.symbols(prefix="fee")] == ["feed", "feed_all", "feed"]
        assert [one.symbol.name for one in catalog.symbols(prefix="fee", kind="method")] == ["feed", "feed_all"]
        assert tuple(one.symbol for one in catalog.symbols(doc=doc)) == SYMBOLS
        assert catalog.symbols(name="feed", doc=10_000) == []
        assert catalog.names("fee") == ["feed", "feed_all"]
        assert catalog.names(limit=2) == ["1.2 install it", "feed"]


def test_chunks_and_references_come_back_as_they_were_parsed(folder: Path) -> None:
    with reader(folder) as store:
        doc = store.catalog.doc_of(ROOT, "src/parser.py")
        assert doc is not None
        assert store.catalog.chunks(doc) == (
            ChunkPlace(doc, 0, 1, 4, "method", "Parser.feed"),
            ChunkPlace(doc, 1, 5, 9, "text", ""),
        )
        assert store.catalog.chunk(doc, 1) == store.catalog.chunks(doc)[1]
        assert store.catalog.chunk(doc, 2) is None
        assert store.catalog.references(doc) == REFERENCES
        assert (store.catalog.language(doc), store.catalog.lines(doc)) == ("python", 9)


def test_an_unknown_document_and_an_unknown_root_hold_nothing(folder: Path) -> None:
    with reader(folder) as store:
        assert store.catalog.chunks(999) == ()
        assert store.catalog.references(999) == ()
        assert store.catalog.language(999) == ""
        assert store.catalog.files("/nowhere") == {}
        assert len(store.catalog.places("/nowhere")) == 0
        assert store.catalog.doc_of("/nowhere", "src.py") is None


def test_below_takes_a_folder_and_not_its_neighbours(folder: Path) -> None:
    with reader(folder) as store:
        assert [one.path for one in store.catalog.below(ROOT, "src")] == ["src/other.py", "src/parser.py"]
        assert [one.path for one in store.catalog.below(ROOT, "src/")] == ["src/other.py", "src/parser.py"]
        assert store.catalog.below(ROOT, "sr") == []


def test_places_follow_the_generation(folder: Path) -> None:
    with writer(folder) as store:
        before = store.catalog.places(ROOT)
        assert store.catalog.places(ROOT) is before
        store.apply(Batch(ROOT, gone=("src.py",)))
        after = store.catalog.places(ROOT)
        assert sorted(before.values()) == ["src.py", "src/other.py", "src/parser.py", "src0/a.py"]
        assert sorted(after.values()) == ["src/other.py", "src/parser.py", "src0/a.py"]


def test_roots_keep_their_names_and_counts_are_by_root(folder: Path) -> None:
    with writer(folder) as store:
        store.put_root(Root(ROOT, "tree", "family"))
        store.apply(Batch("/other", (state("bad.py", status=FileStatus.FAILED, reason="no"),)))

        assert store.catalog.roots() == [Root("/other", "other", ""), Root(ROOT, "tree", "family")]
        assert store.counts(ROOT).files == {"indexed": 4}
        assert store.counts("/other").files == {"failed": 1}
        assert store.counts("/other").documents == 0
        whole = store.counts()
        assert (whole.documents, whole.symbols, whole.languages) == (4, 5, {"python": 4})
        assert whole.disk_bytes.keys() == {"catalog", "chunks", "files", "vectors"}
        assert all(size > 0 for size in whole.disk_bytes.values())


def test_files_and_stamps_tell_the_same(tmp_path: Path) -> None:
    filled(tmp_path, {"a.py": "apple\n"})
    with reader(tmp_path) as store:
        known = store.catalog.files(ROOT)["a.py"]
        assert known == state("a.py", document("a.py", "apple\n"))
        stamp = known.stamp
        assert store.catalog.stamps(ROOT) == {"a.py": (stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode)}
        assert store.catalog.file(ROOT, "a.py") == known


names = st.text(max_size=12)
lines = st.integers(1, 10_000)


@given(st.lists(st.builds(Symbol, names, names, names, lines, lines, names), max_size=8))
def test_symbols_survive_packing(symbols: list[Symbol]) -> None:
    assert unpack_symbols(pack_symbols(symbols)) == tuple(symbols)


@given(st.lists(st.builds(Reference, names, names, lines, names), max_size=8))
def test_references_survive_packing(references: list[Reference]) -> None:
    assert unpack_references(pack_references(references)) == tuple(references)


@given(st.lists(st.sampled_from(["run", 'x"],["y', "]", '"', ""]), max_size=4))
def test_the_words_of_references_are_those_of_all_columns(used: list[str]) -> None:
    references = [Reference(name, "call", 1, "Parser.feed") for name in used]
    expected = {*used, "call", "Parser.feed", ""} if used else set()
    assert unpack_reference_words(pack_references(references)) == expected


@given(st.lists(st.tuples(lines, lines, names, names), max_size=8))
def test_chunks_survive_packing(spans: list[tuple[int, int, str, str]]) -> None:
    chunks = [Chunk(n, start, end, kind, name, "") for n, (start, end, kind, name) in enumerate(spans)]
    places = tuple(ChunkPlace(7, n, start, end, kind, name) for n, (start, end, kind, name) in enumerate(spans))
    assert tuple(unpack_chunks(7, pack_chunks(chunks))) == places


def test_half_a_surrogate_pair_is_replaced_and_breaks_nothing() -> None:
    (symbol,) = unpack_symbols(pack_symbols([Symbol("a\ud800b", "function", "", 1, 1, "")]))
    assert symbol.name == "a?b"


# No file name holds a NUL byte.
PATHS = st.binary(min_size=1, max_size=20).filter(lambda path: b"\0" not in path)


@given(st.dictionaries(st.integers(1, 10**9), PATHS, max_size=30), st.integers(1, 10**9))
def test_places_are_a_mapping_like_any_other(rows: dict[int, bytes], other: int) -> None:
    places = DocumentPaths(rows.items())

    assert dict(places) == {doc: os.fsdecode(path) for doc, path in rows.items()}
    assert (other in places) == (other in rows)
    assert places.keep([other, *rows]) == sorted({other, *rows} & rows.keys())
    assert places.paths() == list(places.values())
    assert places.paths_of([other, *rows]) == [places[doc] for doc in sorted({other, *rows} & rows.keys())]


NAMED = st.text(st.sampled_from("aAbéİ/"), min_size=1, max_size=6).map(str.encode)


@given(
    st.dictionaries(st.integers(1, 99), NAMED | PATHS, max_size=12),
    st.text(st.sampled_from("aAé/İ"), min_size=1, max_size=2),
)
def test_the_paths_that_hold_a_part_are_those_that_a_look_at_each_finds(rows: dict[int, bytes], part: str) -> None:
    places = DocumentPaths(rows.items())
    expected = [(doc, path) for doc, path in places.items() if part.lower() in path.lower()]

    assert list(zip(*places.holding(part), strict=True)) == expected


@given(
    st.dictionaries(st.integers(1, 40), NAMED | PATHS, max_size=12),
    st.dictionaries(st.integers(41, 99), NAMED | PATHS, max_size=3),
    st.sets(st.integers(1, 40)),
    st.text(st.sampled_from("aAbéİ/_"), min_size=1, max_size=3),
)
def test_parts_of_paths_are_counted_alike_before_and_after_a_save(
    rows: dict[int, bytes], added: dict[int, bytes], removed: set[int], part: str
) -> None:
    before = DocumentPaths(rows.items())
    left = {doc: path for doc, path in rows.items() if doc not in removed} | added
    after = DocumentPaths(left.items(), before)
    assert after.mentions(part) == "\0".join(after.paths()).lower().count(part.lower())

    assert before.mentions(part) == "\0".join(before.paths()).lower().count(part.lower())
    assert DocumentPaths(left.items(), before).mentions(part) == after.mentions(part)


@given(st.dictionaries(st.integers(1, 99), NAMED | PATHS, max_size=12), st.sampled_from(["", "a/", "a/b/", "é/"]))
def test_the_paths_below_a_folder_begin_with_it(rows: dict[int, bytes], folder: str) -> None:
    inside = sorted(path for path in rows.values() if path.startswith(os.fsencode(folder)))

    assert DocumentPaths(rows.items()).below(folder) == [os.fsdecode(path) for path in inside]


@given(
    st.dictionaries(st.integers(1, 99), NAMED | PATHS, max_size=12),
    st.text(st.sampled_from("ab^]\\é/"), min_size=1, max_size=4),
)
def test_the_paths_that_spell_letters_have_them_in_order(rows: dict[int, bytes], letters: str) -> None:
    places = DocumentPaths(rows.items())

    def spells(path: str) -> bool:
        left = iter(path.lower())
        return all(letter in left for letter in letters)

    assert places.with_letters(letters) == [path for path in places.paths() if spells(path)]
