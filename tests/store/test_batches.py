"""Batches through the whole store: added content is found, removed content is not, and all parts agree."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from store_world import (
    DIMENSION,
    EMBEDDER,
    ROOT,
    batch,
    contents,
    document,
    filled,
    found_by_substring,
    found_by_vector,
    found_by_word,
    reader,
    state,
    unit_vectors,
    writer,
)

from llmc.base.errors import StoreError
from llmc.base.model import FileStatus, Root, Stamp
from llmc.store import Batch, Store
from llmc.store.keywords import keyword_store as keywords

if TYPE_CHECKING:
    from pathlib import Path

FILES: dict[str, str | None] = {
    "src/parser.py": "class Parser:\n    def feed(self):\n        tokenize(zebra)\n",
    "src/lexer.py": "def tokenize(text):\n    return quagga\n",
    "README.md": "Zebra crossing\n",
}


def test_a_batch_is_found_by_word_by_trigram_and_by_vector(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with reader(tmp_path) as store:
        assert found_by_word(store, "zebra") == {"src/parser.py", "README.md"}
        assert found_by_substring(store, "ZEBRA CROSS") == {"README.md"}
        assert found_by_vector(store, document("src/lexer.py", FILES["src/lexer.py"] or "")) == "src/lexer.py"
        assert store.verify() == []


def test_a_reader_sees_a_batch_after_refresh_and_a_changed_file_only_in_its_new_form(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with reader(tmp_path) as reading, writer(tmp_path) as writing:
        generation = reading.refresh()
        writing.apply(batch({"src/lexer.py": "def tokenize(text):\n    return okapi\n"}))

        assert reading.refresh() == generation + 1
        assert found_by_word(reading, "okapi") == {"src/lexer.py"}
        assert found_by_word(reading, "quagga") == set()
        assert found_by_substring(reading, "quagga") == set()


def test_a_file_that_is_gone_is_found_no_more(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with writer(tmp_path) as store:
        store.apply(Batch(ROOT, gone=("README.md", "never/was.py")))

        assert found_by_word(store, "zebra") == {"src/parser.py"}
        assert store.catalog.file(ROOT, "README.md") is None
        assert store.counts().dead == 1


def test_an_empty_batch_changes_nothing(tmp_path: Path) -> None:
    with writer(tmp_path) as store:
        before = store.refresh()
        assert store.apply(Batch(ROOT)) == before


def test_a_second_work_tree_shares_the_documents_and_each_sees_only_its_own(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with writer(tmp_path) as store:
        numbers = store.catalog.numbers([document(path, text or "").key for path, text in FILES.items()])
        changed = {**FILES, "README.md": "Okapi crossing\n"}
        store.apply(replace(batch(changed, root="/work/other"), documents=(document("README.md", "Okapi crossing\n"),)))

        assert found_by_word(store, "okapi", "/work/other") == {"README.md"}
        assert found_by_word(store, "okapi") == set()
        assert found_by_word(store, "zebra", "/work/other") == {"src/parser.py"}
        assert set(store.catalog.places("/work/other")) & set(numbers.values()) == set(numbers.values()) - {
            numbers[document("README.md", FILES["README.md"] or "").key]
        }
        assert store.counts().documents == 4


def test_dropping_one_work_tree_leaves_the_other_whole(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with writer(tmp_path) as store:
        store.put_root(Root("/work/other", "other", "family"))
        store.apply(replace(batch(FILES, root="/work/other"), documents=()))
        store.drop_root(ROOT)

        assert [root.id for root in store.catalog.roots()] == ["/work/other"]
        assert found_by_word(store, "zebra", "/work/other") == {"src/parser.py", "README.md"}
        assert found_by_word(store, "zebra") == set()
        assert store.counts().dead == 0
        store.drop_root("/work/other")
        assert store.counts().dead == 3


def test_a_document_that_comes_back_keeps_its_number(tmp_path: Path) -> None:
    filled(tmp_path, {"a.py": "first\n"})
    with writer(tmp_path) as store:
        number = store.catalog.doc_of(ROOT, "a.py")
        store.apply(batch({"a.py": "second\n"}))
        assert store.catalog.doc_of(ROOT, "a.py") != number
        store.apply(Batch(ROOT, (state("a.py", document("a.py", "first\n")),)))

        assert store.catalog.doc_of(ROOT, "a.py") == number
        assert store.counts().dead == 1


def test_a_renamed_file_takes_its_vectors_along(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    moved = document("README.md", FILES["README.md"] or "")
    with reader(tmp_path) as store:
        assert store.embedded_contents([moved.content_hash, "unknown"]) == {moved.content_hash}
        kept = store.vectors_of_contents([moved.content_hash, "unknown"])

        assert kept.keys() == {moved.content_hash}
        assert float(kept[moved.content_hash][0] @ unit_vectors(moved.content_hash, 1)[0]) == pytest.approx(1, abs=0.01)


def test_a_sweep_removes_the_dead_from_every_store_and_spares_the_living(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with writer(tmp_path) as store:
        store.apply(batch({path: f"{text}\nmore\n" for path, text in FILES.items()}))
        assert store.sweep() == 0
        assert store.sweep(max_age=0) == 3

        assert store.verify() == []
        assert store.counts().dead == 0
        assert len(store.keywords.docs()) == len(store.vectors.docs()) == 3
        assert found_by_word(store, "zebra") == {"src/parser.py", "README.md"}


def test_too_many_dead_documents_are_swept_oldest_first(tmp_path: Path) -> None:
    with writer(tmp_path) as store:
        for number in range(10):
            store.apply(batch({"a.py": f"version {number}\n"}))
        newest = store.catalog.numbers([document("a.py", f"version {n}\n").key for n in (7, 8, 9)])
        assert store.sweep(max_age=1e9, max_share=0.2) == 7

        assert store.keywords.docs() == set(newest.values())


def test_a_sweep_joins_the_segments_of_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keywords, "SCATTERED_ROWS", 10)
    with writer(tmp_path) as store:
        for number in range(4):
            store.apply(batch({f"file{number}-{n}.py": f"zebra {n}\n" for n in range(5)}))
        before = found_by_word(store, "zebra")
        assert len(store.keywords.chunks.segments()) > 1
        store.sweep()

        assert len(store.keywords.chunks.segments()) == len(store.keywords.files.segments()) == 1
        assert found_by_word(store, "zebra") == found_by_substring(store, "zebra") == before
        assert len(before) == 20
        assert store.verify() == []


def test_skipped_and_failed_files_are_listed_with_their_reasons(tmp_path: Path) -> None:
    with writer(tmp_path) as store:
        skipped = state("big.bin", status=FileStatus.SKIPPED, reason="binary")
        failed = state("locked.py", status=FileStatus.FAILED, reason="permission denied")
        store.apply(Batch(ROOT, (skipped, failed)))

        assert list(store.catalog.skipped(ROOT)) == [skipped]
        assert list(store.catalog.failed(ROOT)) == [failed]
        assert store.counts().files == {"skipped": 1, "failed": 1}
        assert len(store.catalog.places(ROOT)) == 0


def test_names_that_are_not_utf8_and_large_inodes_are_preserved(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9/\xff\xfe name\n'\"\t.py")
    known = document(odd, "def here():\n    pass\n")
    stamped = replace(state(odd, known), stamp=Stamp(-1, 2**62, 2**62, 2**64 - 3))
    with writer(tmp_path) as store:
        store.apply(Batch(ROOT, (stamped,), (), (known,)))

        assert store.catalog.files(ROOT) == {odd: stamped}
        assert store.catalog.stamps(ROOT)[odd] == (-1, 2**62, 2**62, 2**64 - 3)
        assert found_by_word(store, "here") == {odd}


def test_a_batch_that_names_unknown_documents_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    with writer(tmp_path) as store:
        orphan = state("a.py", document("a.py", "text\n"))
        with pytest.raises(ValueError, match="neither"):
            store.apply(Batch(ROOT, (orphan,)))
        wrong = replace(document("b.py", "text\n"), vectors=unit_vectors("b", 3))
        with pytest.raises(ValueError, match="shape"):
            store.apply(Batch(ROOT, (state("b.py", wrong),), (), (wrong,)))

        assert contents(store) == {}
        assert store.verify() == []


def test_the_same_document_twice_in_a_batch_and_again_later_is_stored_once(tmp_path: Path) -> None:
    one = document("a.py", "apple\n")
    with writer(tmp_path) as store:
        for _ in range(2):
            store.apply(Batch(ROOT, (state("a.py", one),), (), (one, one)))

        assert len(store.keywords.docs()) == 1
        assert store.verify() == []


def test_documents_without_vectors_are_found_by_their_words(tmp_path: Path) -> None:
    plain = document("a.py", "apple\n", embed=False)
    with writer(tmp_path) as store:
        store.apply(Batch(ROOT, (state("a.py", plain),), (), (plain,)))

        assert found_by_word(store, "apple") == {"a.py"}
        assert store.without_vectors() == set(store.catalog.places(ROOT))
        assert store.verify() == []


def test_a_store_without_any_embedder_works_by_words(tmp_path: Path) -> None:
    plain = document("a.py", "apple\n", embed=False)
    with Store.open(tmp_path, write=True) as store:
        store.apply(Batch(ROOT, (state("a.py", plain),), (), (plain,)))
        assert found_by_word(store, "apple") == {"a.py"}
        assert store.vectors.search(unit_vectors("q", 1)[0], 5) == []
    filled(tmp_path, {"b.py": "banana\n"})
    with Store.open(tmp_path) as store:
        assert store.embedding.name == EMBEDDER
        assert store.verify() == []


def test_reading_a_missing_file_reports_it(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no index yet"):
        reader(tmp_path / "nowhere")
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="opening the index"):
        writer(tmp_path / "file")
    filled(tmp_path, FILES)
    with reader(tmp_path) as store, pytest.raises(StoreError, match="reading only"):
        store.apply(batch({"a.py": "x\n"}))


def test_a_second_writer_learns_which_process_is_writing(tmp_path: Path) -> None:
    with writer(tmp_path), pytest.raises(StoreError, match=f"process {os.getpid()}"):
        Store.open(tmp_path, EMBEDDER, DIMENSION, write=True)
    writer(tmp_path).close()


def test_a_rebuilt_store_is_empty_and_usable(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with reader(tmp_path) as store:
        store.rebuild()
        assert contents(store) == {}
    filled(tmp_path, FILES)
    with writer(tmp_path) as store:
        store.rebuild()
        store.apply(batch({"a.py": "apple\n"}))
        assert contents(store).keys() == {"a.py"}
        assert store.verify() == []
