"""Another embedder: the old one answers until the new one is complete. And LanceDB, the table of record behind both."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from store_world import DIMENSION, EMBEDDER, ROOT, batch, document, filled, reader, state, unit_vectors, writer

from llmc.store import Batch, Store

if TYPE_CHECKING:
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
    assert [path.name for path in (tmp_path / "vectors").iterdir()] == ["2"]


def test_documents_that_come_during_the_change_get_vectors_of_the_new_embedder(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with other(tmp_path, write=True) as store:
        late = replace(document("late.py", "late\n"), vectors=unit_vectors("late", 1, 32))
        store.apply(Batch(ROOT, (state("late.py", late),), (), (late,)))

        assert store.catalog.doc_of(ROOT, "late.py") not in store.without_vectors()
        assert len(store.without_vectors()) == 8
        assert store.verify() == []


def test_an_embedder_that_nobody_has_used_is_replaced_at_once(tmp_path: Path) -> None:
    writer(tmp_path).close()
    with other(tmp_path, write=True) as store:
        assert store.embedding.name == "other"


def test_folding_brings_every_vector_into_lancedb_once(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with writer(tmp_path) as store:
        assert store.fold() == 0  # too few rows to be worth a version
        assert store.fold(everything=True) == 8
        assert store.fold(everything=True) == 0
        store.apply(batch({"file0.py": "changed\n", "file1.py": None}))
        assert store.fold(everything=True) == 1
        assert store.verify() == []
        store.sweep(max_age=0)
        assert store.verify() == []
        store.fold(everything=True)
        assert store.verify() == []


def test_folding_that_was_cut_short_doubles_nothing(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with writer(tmp_path) as store:
        store.fold(everything=True)
        store._writing.ledger.db.execute("UPDATE embeddings SET folded = 0")

        assert store.fold(everything=True) == 8
        assert store.verify() == []


def test_a_damaged_table_of_record_is_folded_anew(tmp_path: Path) -> None:
    filled(tmp_path, FILES)
    with writer(tmp_path) as store:
        store.fold(everything=True)
        for path in (tmp_path / "lance").rglob("*.lance"):
            if path.is_file():
                path.write_bytes(path.read_bytes()[:-7])
        store.apply(batch({"new.py": "new\n"}))

        assert store.fold(everything=True) == 9
        assert store.verify() == []
        shutil.rmtree(tmp_path / "lance")
        store.apply(batch({"new.py": "newer\n"}))
        assert store.fold(everything=True) == 10
        assert store.verify() == []
