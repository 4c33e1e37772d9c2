"""A change of embedder: the old vectors answer until the new ones are complete. Also vector tables that are lost or
damaged.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel, ValidationError
from store_world import (
    DIMENSION,
    EMBEDDER,
    ROOT,
    batch,
    document,
    filled,
    found_by_word,
    reader,
    state,
    unit_vectors,
    writer,
)

from llmc.base.errors import CorruptVectorsError, StoreFullError
from llmc.store import Batch, Embedding, Store
from llmc.store.vectors import VectorIndex, engine, vector_index
from llmc.store.vectors.lance_table import LanceTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES: dict[str, str | None] = {f"file{n}.py": f"def name{n}():\n    return {n}\n" for n in range(8)}


def other(folder: Path, *, write: bool = False) -> Store:
    return Store.open(folder, "other", 32, write=write)


def test_the_old_embedder_answers_until_the_new_one_has_every_document(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with other(tmp_path, write=True) as store:
        waiting = sorted(store.without_vectors())
        assert len(waiting) == 8
        store.put_vectors({doc: unit_vectors(f"new {doc}", 1, 32) for doc in waiting[:5]})

        assert not store.use_vectors()
        assert (store.embedding.name, store.target.name) == (EMBEDDER, "other")
        assert store.vectors.dimension == DIMENSION
        store.put_vectors({doc: unit_vectors(f"new {doc}", 1, 32) for doc in waiting})
        assert store.use_vectors()
        assert (store.embedding.name, store.vectors.dimension) == ("other", 32)
        assert store.vectors.search(unit_vectors(f"new {waiting[6]}", 1, 32)[0], 1)[0].doc == waiting[6]
        assert store.verify() == []


def test_a_reader_follows_the_switch_and_the_old_vectors_are_gone(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with reader(tmp_path) as reading:
        assert reading.vectors.docs()
        with other(tmp_path, write=True) as store:
            store.put_vectors({doc: unit_vectors(f"new {doc}", 1, 32) for doc in store.without_vectors()})
            assert reading.embedding.name == EMBEDDER
            store.use_vectors()
        reading.refresh()

        assert reading.embedding.name == "other"
        assert len(reading.vectors.docs()) == 8
    assert [path.name for path in (tmp_path / "vectors").iterdir()] == ["chunks_2.lance"]


def test_documents_that_come_during_the_change_get_vectors_of_the_new_embedder(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with other(tmp_path, write=True) as store:
        late = replace(document("late.py", "late\n"), vectors=unit_vectors("late", 1, 32))
        store.apply(Batch(ROOT, (state("late.py", late),), (), (late,)))

        assert store.catalog.doc_of(ROOT, "late.py") not in store.without_vectors()
        assert len(store.without_vectors()) == 8
        assert store.verify() == []


def test_an_embedder_that_no_one_has_used_is_replaced_at_once(tmp_path: Path) -> None:
    writer(tmp_path).close()
    with other(tmp_path, write=True) as store:
        assert store.embedding.name == "other"


def lose(store: Store) -> dict[str, Callable[[], object]]:
    """Ways to lose the vector table of a store."""
    table = store.vectors.folder
    return {
        "deleted": lambda: shutil.rmtree(table),
        "folder deleted": lambda: shutil.rmtree(table.parent),
        "truncated": lambda: cut(table / "data"),
        "half-written version": lambda: cut(table / "_versions"),
        "replaced": lambda: replace_rows(table),
    }


def cut(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-7])


def replace_rows(table: Path) -> None:
    """Another table, of another model, in the same place."""
    foreign = VectorIndex(table.parent / "spare", Embedding(1, "foreign", DIMENSION))
    foreign.add(1, unit_vectors("foreign", 3))
    foreign.commit()
    shutil.rmtree(table)
    shutil.copytree(foreign.folder, table)


@pytest.mark.parametrize("how", ["deleted", "folder deleted", "truncated", "half-written version", "replaced"])
def test_a_lost_vector_table_costs_the_vectors_only_and_is_made_again(tmp_path: Path, how: str) -> None:
    filled(tmp_path, FILES)
    with reader(tmp_path) as store:
        store.vectors.search(unit_vectors("query", 1)[0], 3)
        lose(store)[how]()
        store.refresh()

        assert store.vector_state().damaged
        assert len(found_by_word(store, "return")) == len(FILES)
        assert [str(one) for one in store.verify()] == [f"vectors: unreadable ({store.vectors.damage})"]
    with writer(tmp_path) as store:
        assert store.lost_vectors
        assert store.vectors.docs() == set()
        assert store.without_vectors() == set(store.catalog.places(ROOT))
        store.put_vectors({doc: unit_vectors(f"new {doc}", 1) for doc in store.without_vectors()})

        assert len(store.vectors.docs()) == len(FILES)
        assert store.verify() == []
    with writer(tmp_path) as store:
        assert store.lost_vectors == ""


def test_a_reader_follows_the_repair(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with reader(tmp_path) as reading:
        reading.vectors.search(unit_vectors("query", 1)[0], 3)
        shutil.rmtree(tmp_path / "vectors")
        reading.refresh()
        with writer(tmp_path) as store:
            store.put_vectors({doc: unit_vectors(f"new {doc}", 1) for doc in store.without_vectors()})
        reading.refresh()

        assert reading.vector_state().answered_by == "memory"
        doc = min(reading.catalog.places(ROOT))
        assert reading.vectors.search(unit_vectors(f"new {doc}", 1)[0], 1)[0].doc == doc


def test_a_table_that_is_found_damaged_while_writing_is_replaced_and_the_batch_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, FILES)
    with writer(tmp_path) as store:
        broken = [CorruptVectorsError("the vector table cannot be used", reason="broken")]
        add = LanceTable.add
        monkeypatch.setattr(LanceTable, "add", lambda *a: (_ for _ in ()).throw(broken.pop()) if broken else add(*a))
        store.apply(batch({"new.py": "new\n"}))

        assert store.lost_vectors == "broken"
        assert store.vectors.docs() == {store.catalog.doc_of(ROOT, "new.py")}
        assert len(store.without_vectors()) == len(FILES)
        assert store.verify() == []


def test_without_lancedb_batches_go_on_and_vectors_are_filled_in_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, FILES)
    with monkeypatch.context() as broken:
        broken.setattr(engine, "_module", None)
        broken.setattr(engine, "_failure", "")
        broken.setitem(sys.modules, "lancedb", None)
        with writer(tmp_path) as store:
            store.apply(batch({"new.py": "new\n", "file1.py": None}))
            assert store.sweep(max_age=0) == 1
            assert found_by_word(store, "new") == {"new.py"}
            assert store.without_vectors() == {store.catalog.doc_of(ROOT, "new.py")}
            assert "cannot import lancedb" in store.vector_state().reason
            assert not store.vector_state().damaged
    monkeypatch.setattr(vector_index, "MOST_VERSIONS", 0)
    with writer(tmp_path) as store:
        assert len(store.vectors.docs()) == len(FILES)  # the removed document's rows are still there
        store.put_vectors({doc: unit_vectors("new", 1) for doc in store.without_vectors()})
        assert store.optimize_vectors()
        assert store.vectors.docs() == set(store.catalog.places(ROOT))
        assert store.verify() == []


def test_optimizing_on_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, FILES)
    monkeypatch.setattr(vector_index, "MOST_VERSIONS", 0)
    with writer(tmp_path) as store:
        with monkeypatch.context() as full:
            full.setattr(LanceTable, "optimize", fail_full)
            assert store.optimize_vectors()
        assert store.verify() == []
        assert store.lost_vectors == ""
    with writer(tmp_path) as store:
        assert store.optimize_vectors()
        assert store.lost_vectors == ""
        assert store.verify() == []


def fail_full(*_: object, **__: object) -> None:
    raise StoreFullError("no space left while optimizing the vectors")


def test_vectors_that_are_deferred_follow_when_lancedb_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, FILES)
    loaded = engine.load()
    monkeypatch.setattr(engine, "_module", None)  # as while the import is under way
    with writer(tmp_path) as store:
        store.apply(batch({"new.py": "new\n"}), defer_vectors=True)
        doc = store.catalog.doc_of(ROOT, "new.py")
        assert found_by_word(store, "new") == {"new.py"}
        assert store.without_vectors() == {doc}
        monkeypatch.setattr(engine, "_module", loaded)
        store.apply(batch({"newer.py": "newer\n"}), defer_vectors=True)

        assert store.without_vectors() == set()
        assert {doc, store.catalog.doc_of(ROOT, "newer.py")} <= store.vectors.docs()
        assert store.verify() == []


def test_a_writer_that_closes_keeps_the_vectors_that_were_deferred(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.load()
    monkeypatch.setattr(engine, "_module", None)
    with writer(tmp_path) as store:
        store.apply(batch(FILES), defer_vectors=True)
        assert len(store.without_vectors()) == len(FILES)

    with reader(tmp_path) as store:
        assert store.without_vectors() == set()
        assert len(store.vectors.docs()) == len(FILES)
        assert store.verify() == []


def test_models_of_lancedb_validate_although_their_validators_are_built_late() -> None:
    engine.load()
    from lance_namespace import DescribeTableRequest

    class DefinedLater(BaseModel):
        number: int

    assert DescribeTableRequest(id=["one"]).id == ["one"]
    with pytest.raises(ValidationError):
        DescribeTableRequest.model_validate({"id": 3})
    assert DefinedLater.__pydantic_complete__
