"""The store stays open for writing from one save to the next, and no other process has to wait for it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from daemons import until

from llmc.base.errors import StoreError
from llmc.indexer import tasks
from llmc.settings import EmbedderSettings, Settings
from llmc.store import Store
from llmc.store.lock import WriterLock
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from llmc.embed import Embedder

PLAIN = Settings(embedder=EmbedderSettings(kind="hash"))
FOREVER = 3_600.0

SAVING = """
import sys, time
from pathlib import Path
from llmc.settings import EmbedderSettings, Settings
from llmc.workspace import Workspace
tree, home = sys.argv[1:]
plain = Settings(embedder=EmbedderSettings(kind="hash"))
with Workspace.open(tree, home=home, settings=plain, watch=True) as workspace:
    workspace.index()
    Path(tree, "parcel.py").write_text("def deliver_zeppelin(): ...")
    workspace.index()
    print("saved", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders opened for writing; none is closed for being idle."""
    folders: list[str] = []
    open_store = tasks.open_store

    def noted(folder: str, embedder: Embedder | None) -> Store:
        folders.append(folder)
        return open_store(folder, embedder)

    monkeypatch.setattr(tasks, "IDLE_SECONDS", FOREVER)
    monkeypatch.setattr(tasks, "open_store", noted)
    return folders


def save(workspace: Workspace, number: int) -> None:
    """Write a file, and return when the index holds it."""
    (root_index,) = workspace.root_indexes
    before = root_index.last_commit
    Path(root_index.root.path, "parcel.py").write_text(f"def deliver{number}_zeppelin():\n    return {number}\n")
    until(lambda: root_index.last_commit != before and not root_index.pending)


def words(workspace: Workspace) -> list[str]:
    return [line.text for file in workspace.grep("zeppelin").files for line in file.lines]


def test_saves_share_one_opening_of_the_store(opened: list[str], watched: Workspace) -> None:
    for number in range(5):
        save(watched, number)
    assert len(opened) == 1
    assert words(watched) == ["def deliver4_zeppelin():"]


def test_another_writer_gets_the_lock_between_two_saves(opened: list[str], watched: Workspace) -> None:
    save(watched, 1)
    with Store.open(opened[0], write=True, wait=20) as other:
        assert other.verify() == []
    save(watched, 2)
    assert len(opened) == 2
    assert words(watched) == ["def deliver2_zeppelin():"]


def test_an_idle_store_is_closed(watched: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "IDLE_SECONDS", 0.1)
    save(watched, 1)
    folder = Path(watched.writer_threads[0].folder)
    until(lambda: is_free(folder))
    assert watched.writer_threads[0].store.catalog.moment().moving is False  # closed in order


def is_free(folder: Path) -> bool:
    try:
        WriterLock(folder).release()
    except StoreError:
        return False
    return True


def test_a_store_that_was_removed_while_it_was_open_is_built_again(opened: list[str], watched: Workspace) -> None:
    save(watched, 1)
    Path(opened[0], "catalog.db").unlink()
    save(watched, 2)
    until(lambda: words(watched) == ["def deliver2_zeppelin():"] and watched.root_indexes[0].built)
    assert watched.verify() == []


def test_a_process_killed_between_two_saves_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    command = [sys.executable, "-c", SAVING, str(tmp_path / "tree"), str(tmp_path / "home")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "saved"
        process.send_signal(signal.SIGKILL)
    with Workspace.open(str(tmp_path / "tree"), home=str(tmp_path / "home"), settings=PLAIN) as workspace:
        assert workspace.notes == ()
        assert words(workspace) == ["def deliver_zeppelin(): ..."]
        assert workspace.verify() == []


def test_the_holder_of_a_lock_sees_that_another_waits(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path)
    assert not lock.is_awaited()
    waiting = threading.Thread(target=lambda: WriterLock(tmp_path, wait=20).release())
    waiting.start()
    until(lock.is_awaited)
    with pytest.raises(StoreError, match="another process"):
        WriterLock(tmp_path)
    lock.release()
    waiting.join()
    assert is_free(tmp_path)


def test_a_lock_whose_folder_was_replaced_is_noticed(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path)
    assert lock.is_in_place()
    (tmp_path / "lock").unlink()
    assert not lock.is_in_place()
    (tmp_path / "lock").touch()
    assert not lock.is_in_place()
    lock.release()
