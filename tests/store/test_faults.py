"""Power loss, a full disk, a dying writer: nothing is lost, duplicated or left half done."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from locations import SUPPORT
from store_world import ROOT, batch, contents, document, filled, found_by_word, reader, writer

from llmc.base.errors import StoreFullError
from llmc.store.catalog.writer import CatalogWriter
from llmc.store.keywords.tantivy_index import TantivyIndex
from llmc.store.vectors.lance_table import LanceTable

if TYPE_CHECKING:
    from collections.abc import Callable

BEFORE: dict[str, str | None] = {f"old{n}.py": f"def old{n}():\n    return zebra\n" for n in range(6)}
CHANGE: dict[str, str | None] = {"old0.py": "def changed():\n    return okapi\n", "old1.py": None, "new.py": "okapi\n"}
AFTER: dict[str, str | None] = {path: text for path, text in {**BEFORE, **CHANGE}.items() if text is not None}

# Steps at which a batch, a removal or a close can be interrupted.
STEPS = ["reserved", "buffered", "keywords", "vectors", "settled", "merged", "unsealed", "checkpointed", "closed"]
SWEEP_STEPS = ["condemned", "keywords purged", "vectors purged", "gathered"]
OPTIMIZE_STEPS = ["vectors unsealed", "vectors optimized"]


def keys(files: dict[str, str | None]) -> dict[str, str | None]:
    return {path: document(path, text).key for path, text in files.items() if text is not None}


def run_until(step: str, folder: Path, what: str) -> None:
    """Runs `what` in a process that kills itself with kill -9 when it reaches `step`; some steps are never reached."""
    program = f"""
import os, signal
from llmc.store import writer as module
from llmc.store.integrity import main_file
from llmc.store.keywords import keyword_store as keywords
from llmc.store.vectors import vector_index
from store_world import batch, writer
from test_faults import CHANGE
main_file.CHECKPOINT_BYTES = 0
keywords.SCATTERED_ROWS, vector_index.MOST_VERSIONS = 1, 0
module.Writer.reached = staticmethod(lambda step: os.kill(os.getpid(), signal.SIGKILL) if step == {step!r} else None)
with writer({str(folder)!r}) as store:
    {what}
"""
    env = {**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{SUPPORT}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", program], env=env, check=False)
    assert done.returncode in {0, -signal.SIGKILL}


@pytest.mark.parametrize("step", STEPS)
def test_a_batch_that_is_killed_at_any_step_happens_wholly_or_not_at_all(tmp_path: Path, step: str) -> None:
    filled(tmp_path, BEFORE)
    run_until(step, tmp_path, "store.apply(batch(CHANGE))")

    with reader(tmp_path) as store:
        seen = contents(store)
        assert seen in (keys(BEFORE), keys(AFTER))
        assert len(found_by_word(store, "okapi")) == (2 if seen == keys(AFTER) else 0)
    with writer(tmp_path) as store:
        assert contents(store) == seen
        assert store.verify() == []
        store.apply(batch(CHANGE))
        assert contents(store) == keys(AFTER)
        assert found_by_word(store, "okapi") == {"old0.py", "new.py"}
        assert store.verify() == []


@pytest.mark.parametrize("step", SWEEP_STEPS)
def test_a_sweep_that_is_killed_is_finished_by_the_next_writer(tmp_path: Path, step: str) -> None:
    filled(tmp_path, BEFORE)
    filled(tmp_path, CHANGE)
    run_until(step, tmp_path, "store.sweep(max_age=0)")

    with writer(tmp_path) as store:
        assert contents(store) == keys(AFTER)
        assert store.verify() == []
        store.sweep(max_age=0)
        assert len(store.keywords.docs()) == len(AFTER)
        assert store.verify() == []


@pytest.mark.parametrize("step", OPTIMIZE_STEPS)
def test_optimizing_that_is_killed_loses_no_vector(tmp_path: Path, step: str) -> None:
    filled(tmp_path, BEFORE)
    filled(tmp_path, CHANGE)
    run_until(step, tmp_path, "store.optimize_vectors()")

    with reader(tmp_path) as store:
        assert len(store.vectors.docs()) == len(BEFORE) + 2
    with writer(tmp_path) as store:
        assert store.lost_vectors == ""
        assert store.without_vectors() == set()
        assert store.verify() == []
        store.apply(batch({"more.py": "more\n"}))
        assert store.verify() == []


def test_dropping_a_damaged_table_that_is_killed_is_finished_by_the_next_writer(tmp_path: Path) -> None:
    filled(tmp_path, BEFORE)
    run_until("vectors forgotten", tmp_path, "store.drop_vectors('a test')")

    with writer(tmp_path) as store:
        assert store.vectors.docs() == set()
        assert len(store.without_vectors()) == len(BEFORE)
        assert [path.name for path in (tmp_path / "vectors").iterdir()] == []
        assert contents(store) == keys(BEFORE)
        assert store.verify() == []


@pytest.mark.parametrize("step", ["reserved", "keywords", "condemned", "vectors purged"])
def test_a_repair_that_is_killed_is_repaired(tmp_path: Path, step: str) -> None:
    filled(tmp_path, BEFORE)
    run_until("vectors", tmp_path, "store.apply(batch(CHANGE))")
    run_until(step, tmp_path, "pass")

    with writer(tmp_path) as store:
        assert contents(store) == keys(BEFORE)
        assert store.verify() == []


def test_a_batch_after_a_kill_never_takes_a_number_that_a_store_has_seen(tmp_path: Path) -> None:
    filled(tmp_path, BEFORE)
    run_until("vectors", tmp_path, "store.apply(batch(CHANGE))")

    with writer(tmp_path) as store:
        store.apply(batch(CHANGE))
        doc = store.catalog.doc_of(ROOT, "new.py")
        assert doc is not None
        assert doc > len(BEFORE) + 2


def fail_with(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("owner", "name", "error"),
    [
        (TantivyIndex, "add", StoreFullError("no space left")),
        (TantivyIndex, "commit", StoreFullError("no space left")),
        (LanceTable, "add", StoreFullError("no space left")),
        (os, "fsync", OSError(errno.EDQUOT, "Disk quota exceeded")),
    ],
)
def test_a_full_disk_undoes_the_batch_and_the_next_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: Exception
) -> None:
    filled(tmp_path, BEFORE)
    with writer(tmp_path) as store:
        with monkeypatch.context() as full:
            full.setattr(owner, name, fail_with(error))
            with pytest.raises(StoreFullError):
                store.apply(batch(CHANGE))
        store.refresh()
        assert contents(store) == keys(BEFORE)
        assert found_by_word(store, "zebra") == set(BEFORE)
        store.apply(batch(CHANGE))
        assert contents(store) == keys(AFTER)
        assert store.verify() == []


def test_a_catalog_that_cannot_grow_undoes_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, BEFORE)
    with writer(tmp_path) as store:
        db = store._writing.catalog_writer.db
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count={pages}")
        large = {f"large{n}.py": "".join(f"def name_{n}_{k}():\n    pass\n" for k in range(300)) for n in range(20)}
        with pytest.raises(StoreFullError):
            store.apply(batch({**large}))
        store.refresh()
        assert contents(store) == keys(BEFORE)
        db.execute("PRAGMA max_page_count=100000")
        store.apply(batch({**large}))
        assert store.verify() == []


@pytest.mark.parametrize("limit", [4_096, 16_384, 65_536, 262_144])
def test_a_limit_on_file_sizes_is_a_full_disk_and_heals(tmp_path: Path, limit: int) -> None:
    """Real failures of every layer without filling a disk: no file may grow beyond `limit`."""
    filled(tmp_path, BEFORE)
    dice = random.Random(limit)
    large: dict[str, str | None] = {
        f"large{n}.py": "".join(f"def f{dice.getrandbits(64):x}(): okapi\n" for _ in range(400)) for n in range(12)
    }
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with writer(tmp_path) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(StoreFullError):
                store.apply(batch(large))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        store.refresh()
        assert contents(store) == keys(BEFORE)
        assert found_by_word(store, "zebra") == set(BEFORE)
        store.apply(batch(large))
        assert contents(store) == keys({**BEFORE, **large})
        assert store.verify() == []


def test_a_writer_can_close_on_a_full_disk_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, BEFORE)
    store = writer(tmp_path)
    store.apply(batch(CHANGE))
    with monkeypatch.context() as full:
        for step in ("rest", "checkpoint"):
            full.setattr(CatalogWriter, step, fail_with(StoreFullError("no space left")))
        store.close()

    with reader(tmp_path) as reading:
        assert contents(reading) == keys(AFTER)
    with writer(tmp_path) as again:
        assert contents(again) == keys(AFTER)
        assert again.verify() == []
