"""Every file of a store, damaged in every way: a clear error or the right answer, never a wrong one."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from store_world import (
    DIMENSION,
    EMBEDDER,
    batch,
    contents,
    document,
    filled,
    found_by_substring,
    found_by_word,
    reader,
    until_quiet,
    writer,
)

from llmc.base import words
from llmc.base.errors import CorruptStoreError, NewerFormatError, StoreError
from llmc.store import Store
from llmc.store.catalog import schema
from llmc.store.integrity.main_file import MAIN, SEAL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES: dict[str, str | None] = {
    f"src/file{n}.py": f"def name{n}():\n    return {'zebra' if n % 2 else 'quagga'}\n" for n in range(30)
}
ZEBRAS = {path for path, text in FILES.items() if "zebra" in (text or "")}
DICE = random.Random(11)


def flip(data: bytes) -> bytes:
    at = DICE.randrange(len(data)) if data else 0
    return data[:at] + bytes([data[at] ^ (1 << DICE.randrange(8))]) + data[at + 1 :] if data else data


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "flipped": flip,
    "truncated": lambda data: data[: len(data) // 2],
    "emptied": lambda _: b"",
    "zeroed": lambda data: bytes(len(data)),
    "lengthened": lambda data: data + b"\1" * 100,
    "deleted": lambda _: None,
}


def damage(path: Path, how: str) -> bool:
    """False when that changes nothing."""
    before = path.read_bytes()
    after = DAMAGES[how](before)
    if after is None:
        path.unlink()
    else:
        path.write_bytes(after)
    return after != before


def vectors_right(store: Store) -> bool:
    """The nearest chunk is the right one, or the store reports that it has no vectors."""
    one = document("src/file1.py", FILES["src/file1.py"] or "")
    assert one.vectors is not None
    if store.vector_state().damaged:
        return store.verify() != []
    return store.vectors.search(one.vectors[0], 1)[0].doc == store.catalog.doc_of("/work/tree", "src/file1.py")


def refill(store: Store) -> None:
    """What the indexer does after a vector table was dropped."""
    paths = store.catalog.places("/work/tree")
    vectors = {doc: document(paths[doc], FILES[paths[doc]] or "").vectors for doc in store.without_vectors()}
    store.put_vectors({doc: rows for doc, rows in vectors.items() if rows is not None})


def right(store: Store) -> bool:
    """Every kind of query is answered correctly."""
    return (
        contents(store) == {path: document(path, text or "").key for path, text in FILES.items()}
        and found_by_word(store, "zebra") == ZEBRAS
        and found_by_substring(store, "zebra") == ZEBRAS
        and vectors_right(store)
        and [one.symbol.name for one in store.catalog.symbols(name="name1")] == ["name1"]
    )


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("lock"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of several segments, with a log that is not yet merged into the main file."""
    folder = tmp_path_factory.mktemp("whole")
    names = list(FILES)
    filled(folder, {name: FILES[name] for name in names[:20]})
    holder = reader(folder)  # while it is connected, SQLite does not clean up
    holder.refresh()
    filled(folder, {name: FILES[name] for name in names[20:]})
    shutil.copytree(folder, folder.parent / "copy")
    holder.close()
    return folder.parent / "copy"


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_is_noticed_at_opening_or_does_no_harm(whole: Path, tmp_path: Path, how: str) -> None:
    for number, original in enumerate(files_of(whole)):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        damage(folder / original.relative_to(whole), how)

        try:
            with reader(folder) as store:
                assert right(store), (original.name, how)
            with writer(folder) as store:
                if store.lost_vectors:
                    refill(store)
                assert right(store), (original.name, how)
                assert store.verify() == [], (original.name, how)
        except CorruptStoreError:
            filled_again(folder)


def filled_again(folder: Path) -> None:
    """The recovery of the caller: as it is, or from scratch."""
    with rebuilt_if_needed(folder) as store:
        store.apply(batch(FILES))
        refill(store)
        assert right(store)
        assert store.verify() == []


def rebuilt_if_needed(folder: Path) -> Store:
    try:
        return writer(folder)
    except CorruptStoreError:
        return Store.open(folder, EMBEDDER, DIMENSION, write=True, rebuild=True)


@pytest.mark.parametrize("how", [how for how in DAMAGES if how != "lengthened"])
def test_a_file_damaged_under_a_reader_is_noticed_or_does_no_harm(whole: Path, tmp_path: Path, how: str) -> None:
    for number, original in enumerate(files_of(whole)):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        with reader(folder) as store:
            store.refresh()
            until_quiet()
            damage(folder / original.relative_to(whole), how)
            with suppress(CorruptStoreError):
                store.refresh()
                assert right(store), (original.name, how)


def test_a_log_that_is_lost_with_all_it_held_is_noticed(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(whole, folder)
    (folder / f"{MAIN}-wal").unlink()

    with pytest.raises(CorruptStoreError):
        reader(folder)


def test_a_touched_file_does_not_count_as_damage(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(whole, folder)
    with reader(folder) as store:
        store.refresh()
        for path in files_of(folder):
            path.touch()
        store.refresh()
        assert right(store)


def test_a_missing_seal_is_made_again(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(whole, folder)
    (folder / SEAL).unlink()

    with reader(folder) as store:
        assert right(store)
    with writer(folder) as store:
        assert right(store)
    assert (folder / SEAL).exists()


def test_a_newer_store_is_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(schema, "FORMAT", schema.FORMAT + 1)
        filled(tmp_path, FILES)
    before = {path: path.read_bytes() for path in files_of(tmp_path)}

    for attempt in ({}, {"write": True}, {"write": True, "rebuild": True}):
        with pytest.raises(NewerFormatError, match="newer llmc"):
            Store.open(tmp_path, EMBEDDER, DIMENSION, **attempt)
    assert {path: path.read_bytes() for path in files_of(tmp_path)} == before


def test_an_older_store_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(schema, "FORMAT", schema.FORMAT - 1)
        filled(tmp_path, FILES)
    with pytest.raises(CorruptStoreError, match=f"format {schema.FORMAT - 1}"):
        reader(tmp_path)
    filled_again(tmp_path)


def test_words_of_another_analysis_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, FILES)
    with monkeypatch.context() as later:
        later.setattr(words, "ANALYSIS", words.ANALYSIS + 1)
        with pytest.raises(CorruptStoreError, match="word analysis"):
            reader(tmp_path)
    with monkeypatch.context() as earlier:
        earlier.setattr(words, "ANALYSIS", words.ANALYSIS - 1)
        with pytest.raises(NewerFormatError):
            writer(tmp_path)


def test_a_making_that_was_cut_short_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / MAIN).write_bytes(b"")
    (tmp_path / "chunks").mkdir()
    with pytest.raises(StoreError):
        reader(tmp_path)
    filled_again(tmp_path)
