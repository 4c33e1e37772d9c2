"""The contract of a vector store: on LanceDB with its exact copy, on LanceDB alone, on the tables of a
shared index, and in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from shared_world import shared_vectors
from store_world import DIMENSION, unit_vectors

from llmc.base.errors import CorruptVectorsError
from llmc.store.memory import MemoryVectors
from llmc.store.values import Embedding
from llmc.store.vectors import VectorIndex, engine, lance_table, vector_index

if TYPE_CHECKING:
    from pathlib import Path

    from llmc.store.protocols import VectorStore

# Half a step of 1/127 in each of 16 components, twice.
QUANTISED = 0.02
MODEL = Embedding(1, "test", DIMENSION)


@pytest.fixture(params=["exact copy", "lancedb", "shared", "memory"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VectorStore:
    if request.param == "lancedb":
        monkeypatch.setattr(vector_index, "EXACT_ROWS", -1)
    if request.param == "shared":
        return shared_vectors(tmp_path)
    return MemoryVectors(DIMENSION) if request.param == "memory" else VectorIndex(tmp_path, MODEL)


def put(store: VectorStore, docs: dict[int, int]) -> None:
    """doc → number of chunks."""
    for doc, rows in docs.items():
        store.add(doc, unit_vectors(str(doc), rows))
    store.commit()


def test_a_vector_comes_back_as_it_went_in(vectors: VectorStore) -> None:
    put(vectors, {1: 3, 2: 1})

    back = vectors.vectors([2, 1, 9])

    assert back.keys() == {1, 2}
    np.testing.assert_allclose(back[1], unit_vectors("1", 3), atol=0.001)


def test_a_chunk_is_the_nearest_to_its_own_vector(vectors: VectorStore) -> None:
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


def test_deleted_documents_are_gone_and_unknown_ones_are_ignored(vectors: VectorStore) -> None:
    put(vectors, {1: 2, 2: 2, 3: 2})
    vectors.delete([2, 77])
    vectors.commit()

    assert vectors.docs() == {1, 3}
    assert vectors.vectors([2]) == {}
    assert {hit.doc for hit in vectors.search(unit_vectors("2", 2)[0], 10)} == {1, 3}


def test_nothing_is_seen_before_the_commit_and_a_rollback_forgets(vectors: VectorStore) -> None:
    put(vectors, {1: 1})
    vectors.add(2, unit_vectors("2", 1))
    vectors.delete([1])
    vectors.rollback()
    vectors.commit()

    assert vectors.docs() == {1}


def test_an_empty_store_and_a_document_without_chunks_are_valid(vectors: VectorStore) -> None:
    query = unit_vectors("query", 1)[0]
    assert vectors.search(query, 5) == []

    put(vectors, {1: 0})

    assert vectors.docs() == set()
    assert vectors.vectors([1]) == {}


def test_zero_and_broken_vectors_are_far_from_everything(vectors: VectorStore) -> None:
    vectors.add(1, np.zeros((1, DIMENSION), np.float32))
    vectors.add(2, np.full((1, DIMENSION), np.nan, np.float32))
    vectors.commit()

    assert [hit.score for hit in vectors.search(unit_vectors("query", 1)[0], 5)] == [0.0, 0.0]


def traced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The limits of the searches that reach LanceDB from now on."""
    from lancedb.table import AsyncTable

    limits: list[int] = []
    search = AsyncTable.vector_search

    def spy(self: Any, query: Any) -> Any:
        limits.append(len(query))
        return search(self, query)

    monkeypatch.setattr(AsyncTable, "vector_search", spy)
    return limits


def test_above_the_threshold_every_query_is_a_search_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "EXACT_ROWS", 10)
    store = VectorIndex(tmp_path, MODEL)
    put(store, {1: 4, 2: 6})
    searches = traced(monkeypatch)
    store.search(unit_vectors("1", 1)[0], 3)
    assert (store.state().answered_by, searches) == ("memory", [])

    put(store, {3: 1})
    store.search(unit_vectors("1", 1)[0], 3)
    store.search(unit_vectors("1", 1)[0], 3, within=[1, 3])

    assert (store.state().answered_by, searches) == ("lancedb", [DIMENSION, DIMENSION])


def test_the_table_can_be_searched_by_lancedb_itself(tmp_path: Path) -> None:
    import lancedb

    put(VectorIndex(tmp_path, MODEL), {1: 3, 2: 3})
    table = lancedb.connect(str(tmp_path / "vectors")).open_table("chunks_1")
    (best,) = table.search(unit_vectors("2", 3)[1]).limit(1).to_list()

    assert (best["doc"], best["ordinal"]) == (2, 1)
    assert table.schema.metadata[b"llmc.base.model"] == b"test"


def test_a_reader_follows_what_another_one_writes(tmp_path: Path) -> None:
    writing, reading = VectorIndex(tmp_path, MODEL), VectorIndex(tmp_path, MODEL)
    assert reading.docs() == set()
    put(writing, {1: 3, 5: 2})
    reading.reload(writing.manifest())
    assert reading.search(unit_vectors("5", 2)[1], 1)[0].doc == 5

    put(writing, {3: 2})  # older than the last one that the reader has
    writing.delete([1])
    writing.commit()
    reading.reload(writing.manifest())

    assert reading.docs() == {3, 5}
    assert reading.search(unit_vectors("3", 2)[1], 1)[0].doc == 3
    assert {hit.doc for hit in reading.search(unit_vectors("1", 3)[0], 10)} == {3, 5}


@pytest.mark.parametrize("exact_rows", [vector_index.EXACT_ROWS, -1])
def test_released_vectors_are_loaded_again_by_the_next_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact_rows: int
) -> None:
    monkeypatch.setattr(vector_index, "EXACT_ROWS", exact_rows)
    index, query = VectorIndex(tmp_path, MODEL), unit_vectors("2", 3)[1]
    put(index, {1: 3, 2: 3})
    before, state = index.search(query, 4), index.state(wait=False)

    index.release()
    engine.release()

    assert index.memory == 0
    assert engine.cache_bytes() < 1_000
    assert index.state(wait=False) == state  # a search that must not wait uses vectors nevertheless
    assert index.memory == 0
    assert index.search(query, 4) == before
    index.release()
    put(index, {3: 1})
    assert index.state(wait=False).rows == 7


def test_many_saves_are_joined_and_a_large_table_is_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "EXACT_ROWS", 300)
    monkeypatch.setattr(vector_index, "MOST_VERSIONS", 5)
    store = VectorIndex(tmp_path, MODEL)
    for doc in range(1, 5):
        put(store, {doc: 50})
    assert not store.needs_optimize(lambda: 200)
    put(store, {5: 50, 6: 50, 7: 50})
    assert store.needs_optimize(lambda: 350)
    reading = VectorIndex(tmp_path, MODEL)
    before = reading.search(unit_vectors("3", 50)[7], 20)
    store.optimize()

    assert lance_table.version_count(store.folder) == 1
    assert not store.needs_optimize(lambda: 350)
    assert lance_table.LanceTable(store.folder, MODEL).is_indexed()
    assert store.search(unit_vectors("3", 50)[7], 20) == before
    assert reading.search(unit_vectors("3", 50)[7], 20) == before  # although its version is gone


def test_saves_after_the_index_was_built_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything added or deleted since, for a reader that follows and for one that opens later."""
    monkeypatch.setattr(vector_index, "EXACT_ROWS", 300)
    store, follower = VectorIndex(tmp_path, MODEL), VectorIndex(tmp_path, MODEL)
    put(store, dict.fromkeys(range(1, 8), 50))
    store.optimize()
    living = {3: 50, 2: 50}
    steps: list[tuple[dict[int, int], list[int]]] = [
        *[({100: 3}, []), ({101: 3}, []), ({102: 3}, [101]), ({}, [2])],
        *[({50: 3}, []), ({103: 3}, [102]), ({104: 3, 49: 3}, [103, 50])],
    ]
    seen = set(living)
    for added, deleted in steps:
        store.delete(deleted)
        put(store, added)
        living = {doc: rows for doc, rows in (living | added).items() if doc not in deleted}
        seen |= set(living)
        for reader in (follower, VectorIndex(tmp_path, MODEL)):
            reader.reload(store.manifest())
            for doc in seen:
                hits = reader.search(unit_vectors(str(doc), living.get(doc, 50 if doc < 8 else 3))[1], 20)
                assert (hits[0].doc == doc) == (doc in living)
                assert doc in living or doc not in {hit.doc for hit in hits}


def test_the_index_finds_nearly_all_of_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "EXACT_ROWS", 100)
    dice = np.random.default_rng(5)
    centres = dice.standard_normal((200, 256)).astype(np.float32)
    rows = centres[dice.integers(0, 200, 8_000)] + 0.7 * dice.standard_normal((8_000, 256)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    store = VectorIndex(tmp_path, Embedding(1, "test", 256))
    store.add(1, rows)
    store.commit()
    store.optimize()

    recalls = []
    for at in range(0, 8_000, 400):
        nearest = set(np.argsort(-(rows @ rows[at]))[:20].tolist())
        recalls.append(len(nearest & {hit.ordinal for hit in store.search(rows[at], 20)}) / 20)

    assert np.mean(recalls) >= 0.98


def test_a_wide_filter_is_applied_after_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "EXACT_ROWS", -1)
    store = VectorIndex(tmp_path, MODEL)
    put(store, dict.fromkeys(range(1, 60), 2))
    narrow = store.search(unit_vectors("3", 2)[0], 5, within=range(20, 60))
    monkeypatch.setattr(vector_index, "FILTERED_DOCS", 3)

    assert store.search(unit_vectors("3", 2)[0], 5, within=range(20, 60)) == narrow
    assert {hit.doc for hit in store.search(unit_vectors("3", 2)[0], 5, within=range(50, 55))} <= set(range(50, 55))


@pytest.mark.parametrize(
    ("other", "reason"), [(Embedding(1, "other", DIMENSION), "made by other"), (Embedding(1, "test", 8), "made by")]
)
def test_a_table_of_another_model_is_never_searched(tmp_path: Path, other: Embedding, reason: str) -> None:
    foreign = VectorIndex(tmp_path, other)
    foreign.add(1, unit_vectors("1", 2, other.dimension))
    foreign.commit()

    state = VectorIndex(tmp_path, MODEL).state()

    assert (state.answered_by, state.damaged) == ("", True)
    assert reason in state.reason
    with pytest.raises(CorruptVectorsError, match="cannot be used"):
        put(VectorIndex(tmp_path, MODEL), {2: 1})


def test_a_table_of_a_newer_format_is_never_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from llmc.store.vectors import lance_table

    with monkeypatch.context() as newer:
        newer.setattr(lance_table, "FORMAT", 2)
        put(VectorIndex(tmp_path, MODEL), {1: 2})

    state = VectorIndex(tmp_path, MODEL).state()
    assert state.damaged
    assert "its format is 2, not 1" in state.reason


def test_a_table_that_is_half_there_is_reported(tmp_path: Path) -> None:
    store = VectorIndex(tmp_path, MODEL)
    put(store, {1: 2})
    for path in (store.folder / "_versions").iterdir():
        path.write_bytes(path.read_bytes()[:20])

    state = VectorIndex(tmp_path, MODEL).state()

    assert state.damaged
    assert state.reason
