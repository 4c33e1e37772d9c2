"""The contract of a vector store: on the hot tier, on LanceDB, and on their in-memory twin."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
from store_world import DIMENSION, unit_vectors

from llmc.base.errors import CorruptStoreError
from llmc.store import table
from llmc.store.lance import LanceVectors
from llmc.store.memory import MemoryVectors
from llmc.store.vectors import HotVectors

if TYPE_CHECKING:
    from pathlib import Path

    from llmc.store.protocols import VectorStore

# Half a step of 1/127 in each of 16 components, twice.
QUANTISED = 0.02


@pytest.fixture(params=["hot", "hot and sketched", "hot and large", "lance", "memory"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VectorStore:
    if request.param == "hot and large":
        monkeypatch.setattr(table, "LARGEST_HELD", 4)
        monkeypatch.setattr(table, "READ_ROWS", 50)
    if request.param == "hot and sketched":
        monkeypatch.setattr(table, "COMPARED_ROWS", 4)
        monkeypatch.setattr(table, "READ_ROWS", 50)
    if request.param == "memory":
        return MemoryVectors(DIMENSION)
    return LanceVectors(tmp_path, DIMENSION) if request.param == "lance" else HotVectors(tmp_path, DIMENSION)


def put(store: VectorStore, docs: dict[int, int]) -> None:
    """doc → number of chunks."""
    for doc, rows in docs.items():
        store.add(doc, unit_vectors(str(doc), rows))
    store.commit()


def test_a_vector_comes_back_as_it_went_in(vectors: VectorStore) -> None:
    put(vectors, {1: 3, 2: 1})

    back = vectors.vectors(1)

    assert back is not None
    np.testing.assert_allclose(back, unit_vectors("1", 3), atol=QUANTISED)
    assert vectors.vectors(9) is None


def test_the_nearest_chunk_is_the_one_that_is_asked_for(vectors: VectorStore) -> None:
    put(vectors, dict.fromkeys(range(1, 60), 4))

    for doc in (1, 17, 59):
        best = vectors.search(unit_vectors(str(doc), 4)[2], 5)[0]
        assert (best.doc, best.ordinal) == (doc, 2)
        assert best.score == pytest.approx(1.0, abs=QUANTISED)


def test_scores_are_cosines_in_descending_order(vectors: VectorStore) -> None:
    put(vectors, {1: 5, 2: 5})
    query = unit_vectors("query", 1)[0]

    hits = vectors.search(query, 10)

    assert len(hits) == 10
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.score == pytest.approx(float(unit_vectors(str(hit.doc), 5)[hit.ordinal] @ query), abs=QUANTISED)


def test_equal_scores_come_in_order_of_place(vectors: VectorStore) -> None:
    same = np.repeat(unit_vectors("same", 1), 3, axis=0)
    for doc in (5, 2, 9):
        vectors.add(doc, same)
    vectors.commit()

    assert [(hit.doc, hit.ordinal) for hit in vectors.search(same[0], 4)] == [(2, 0), (2, 1), (2, 2), (5, 0)]


def test_within_restricts_the_search(vectors: VectorStore) -> None:
    put(vectors, dict.fromkeys(range(1, 30), 2))

    hits = vectors.search(unit_vectors("3", 2)[0], 10, within=[7, 8, 1_000])

    assert {hit.doc for hit in hits} == {7, 8}
    assert vectors.search(unit_vectors("3", 2)[0], 10, within=[]) == []


def test_similarities_are_those_of_the_places_asked_for(vectors: VectorStore) -> None:
    put(vectors, {1: 2, 2: 2})
    query = unit_vectors("1", 2)[1]

    known, absent, beyond = vectors.similarities(query, [(1, 1), (3, 0), (2, 7)])

    assert known == pytest.approx(1.0, abs=QUANTISED)
    assert (absent, beyond) == (0.0, 0.0)


def test_deleted_documents_are_gone_and_unknown_ones_are_no_error(vectors: VectorStore) -> None:
    put(vectors, {1: 2, 2: 2, 3: 2})
    vectors.delete([2, 77])
    vectors.commit()

    assert vectors.docs() == {1, 3}
    assert vectors.vectors(2) is None
    assert {hit.doc for hit in vectors.search(unit_vectors("2", 2)[0], 10)} == {1, 3}


def test_nothing_is_seen_before_the_commit_and_a_rollback_forgets(vectors: VectorStore) -> None:
    put(vectors, {1: 1})
    vectors.add(2, unit_vectors("2", 1))
    vectors.delete([1])
    vectors.rollback()
    vectors.commit()

    assert vectors.docs() == {1}


def test_an_empty_store_and_a_document_without_chunks_are_no_trouble(vectors: VectorStore) -> None:
    query = unit_vectors("query", 1)[0]
    assert vectors.search(query, 5) == []
    assert vectors.similarities(query, [(1, 0)]) == [0.0]

    put(vectors, {1: 0})

    assert vectors.docs() == set()
    assert vectors.vectors(1) is None


def test_zero_and_broken_vectors_are_far_from_everything(vectors: VectorStore) -> None:
    vectors.add(1, np.zeros((1, DIMENSION), np.float32))
    vectors.add(2, np.full((1, DIMENSION), np.nan, np.float32))
    vectors.commit()

    assert [hit.score for hit in vectors.search(unit_vectors("query", 1)[0], 5)] == [0.0, 0.0]


def test_the_hot_tier_is_read_again_from_its_extent(tmp_path: Path) -> None:
    first = HotVectors(tmp_path, DIMENSION)
    put(first, {1: 3, 2: 3})
    second = HotVectors(tmp_path, DIMENSION, first.extent)
    assert second.docs() == {1, 2}

    put(first, {3: 1})
    assert second.docs() == {1, 2}
    second.reload(first.extent)
    assert second.docs() == {1, 2, 3}


def test_bytes_after_the_extent_are_written_over(tmp_path: Path) -> None:
    store = HotVectors(tmp_path, DIMENSION)
    put(store, {1: 3})
    extent = store.extent
    put(store, {2: 50})  # cut short: no catalog ever heard of this extent

    again = HotVectors(tmp_path, DIMENSION, extent)
    put(again, {3: 1})

    assert HotVectors(tmp_path, DIMENSION, again.extent).docs() == {1, 3}


def test_compaction_keeps_the_living_and_drops_the_dead(tmp_path: Path) -> None:
    store = HotVectors(tmp_path, DIMENSION)
    put(store, dict.fromkeys(range(1, 20), 2))
    before = HotVectors(tmp_path, DIMENSION, store.extent)
    kept = before.docs()
    store.delete(range(5, 15))
    store.commit()
    old = store.extent.file
    store.compact()
    (tmp_path / old).unlink()

    assert store.docs() == {1, 2, 3, 4, 15, 16, 17, 18, 19}
    assert (len(store), store.dead_rows()) == (18, 0)
    assert before.search(unit_vectors("9", 2)[0], 1)[0].doc == 9  # a reader of the old file still has it
    assert kept == set(range(1, 20))
    before.reload(store.extent)
    assert before.docs() == store.docs()


@pytest.mark.parametrize("damage", ["flip", "truncate", "zero"])
@pytest.mark.parametrize("held", [True, False])
def test_a_row_that_changed_under_a_reader_is_never_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str, held: bool
) -> None:
    monkeypatch.setattr(table, "LARGEST_HELD", 1_000 if held else 4)
    store = HotVectors(tmp_path, DIMENSION)
    put(store, {1: 20})
    right = store.search(unit_vectors("1", 20)[3], 1)
    path = tmp_path / store.extent.file
    data = bytearray(path.read_bytes())
    row = 16 + 3 * (len(data) - 16) // 20
    data[row] ^= 0xFF
    changed = {"flip": bytes(data), "truncate": bytes(data[:row]), "zero": bytes(len(data))}[damage]
    path.write_bytes(changed)

    if held:
        assert store.search(unit_vectors("1", 20)[3], 1) == right
    else:
        with pytest.raises(CorruptStoreError):
            store.search(unit_vectors("1", 20)[3], 1)
    with pytest.raises(CorruptStoreError):
        HotVectors(tmp_path, DIMENSION, store.extent).docs()


def test_a_store_that_rests_answers_the_same_and_takes_its_vectors_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "COMPARED_ROWS", 4)
    store = HotVectors(tmp_path, DIMENSION)
    put(store, dict.fromkeys(range(1, 10), 2))
    query = unit_vectors("3", 1)[0]
    awake = store.search(query, 5)

    store.rest()
    assert store.search(query, 5) == awake  # from the file
    for thread in threading.enumerate():
        if thread.name == "llmc-vectors":
            thread.join()
    assert store.search(query, 5) == awake

    store.rest()
    put(store, {10: 2})
    assert store.search(unit_vectors("10", 1)[0], 1)[0].doc == 10
    assert store.search(query, 5)[0] == awake[0]


def test_signs_find_nearly_all_of_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "LARGEST_HELD", 100)
    monkeypatch.setattr(table, "READ_ROWS", 400)
    dice = np.random.default_rng(5)
    centres = dice.standard_normal((200, 256)).astype(np.float32)
    rows = centres[dice.integers(0, 200, 8_000)] + 0.7 * dice.standard_normal((8_000, 256)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    store = HotVectors(tmp_path, 256)
    store.add(1, rows)
    store.commit()

    recalls = []
    for at in range(0, 8_000, 400):
        nearest = set(np.argsort(-(rows @ rows[at]))[:20].tolist())
        recalls.append(len(nearest & {hit.ordinal for hit in store.search(rows[at], 20)}) / 20)

    assert np.mean(recalls) > 0.95
