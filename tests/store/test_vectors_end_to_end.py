"""Vectors as a user sees them: the LanceDB table of a real index, and searches while it cannot be used."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from daemons import CommandLine, private_place, until

from llmc.embed import open_embedder
from llmc.indexer import writer_thread
from llmc.settings import EmbedderSettings, Settings
from llmc.store import Store
from llmc.store.vectors import vector_index
from llmc.store.vectors.lance_table import version_count
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {
    "courier.py": "def deliver(parcel):\n    '''Bring a parcel to its door.'''\n    return parcel.door\n",
    "stable.py": "def feed(horse):\n    '''Give hay to the animal.'''\n    return horse.eat('hay')\n",
    "notes.md": "# Zebra\n\nA striped animal that eats grass.\n",
}
# `import lancedb` finds this instead of the real one.
BROKEN = "raise ImportError('libarrow.so is missing')\n"
# Waits for a file before it becomes the real module.
SLOW = """
import sys, time
from pathlib import Path
while not Path({gate!r}).exists():
    time.sleep(0.01)
sys.path.remove({folder!r})
del sys.modules["lancedb"]
import lancedb
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[CommandLine]:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, text in FILES.items():
        (tree / name).write_text(text)
    (tree / ".git").mkdir()
    with private_place() as place:
        yield CommandLine(place, tree)


def tables(here: CommandLine) -> list[Path]:
    return list(Path(here.place.home.stores).glob("*/vectors/*.lance"))


def first_line(here: CommandLine, query: str = "what does an animal eat") -> str:
    return here.text("search", query).splitlines()[0]


def vectors_of(here: CommandLine) -> dict[str, object]:
    found: dict[str, object] = here.json("status")["stores"][0]["vectors"]
    return found


def with_module(here: CommandLine, folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "lancedb.py").write_text(text)
    here.place.environ["PYTHONPATH"] = f"{folder}:{here.place.environ['PYTHONPATH']}"


def test_lancedb_searches_the_table_of_a_real_index(here: CommandLine) -> None:
    here.text("index", "--once")
    (table,) = tables(here)
    program = f"""
import json, lancedb
from llmc.embed import open_embedder
from llmc.settings import EmbedderSettings
table = lancedb.connect({str(table.parent)!r}).open_table({table.stem!r})
query = open_embedder(EmbedderSettings()).embed_query("hay for the horse")
print(json.dumps([row["doc"] for row in table.search(query).limit(3).to_list()]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env=here.place.environ, capture_output=True, check=True
    )
    assert len(json.loads(done.stdout)) == 3
    assert vectors_of(here) == {"answered_by": "memory", "rows": 3, "reason": ""}
    assert "vectors: exact search in memory · 3 rows" in here.text("status")


def test_a_deleted_table_is_noticed_reported_and_made_again(here: CommandLine) -> None:
    here.text("index", "--once")
    (before,) = tables(here)
    shutil.rmtree(before)

    said = first_line(here)
    assert "by keywords alone" in said or "rebuilding the vectors" in said
    assert "the vector table is missing" in said
    until(lambda: "keywords" not in first_line(here) and "rebuilding" not in first_line(here))

    assert vectors_of(here)["rows"] == 3
    assert tables(here) != [before]
    assert here("index", "--verify").returncode == 0


def test_a_rebuild_of_the_vectors_that_was_interrupted_is_reported_by_the_next_daemon(here: CommandLine) -> None:
    here.text("index", "--once", "--no-daemon")
    shutil.rmtree(tables(here)[0])
    (family,) = Path(here.place.home.stores).iterdir()
    embedder = open_embedder(EmbedderSettings())
    with Store.open(family, embedder.name, embedder.dimension, write=True) as store:  # as a process that dies after it
        assert store.lost_vectors

    said = here("index", "--once").stderr

    assert "rebuilding the vectors: 3 of 3 files have none" in said
    assert vectors_of(here)["rows"] == 3
    assert "rebuilding" not in first_line(here)


def test_without_a_daemon_a_deleted_table_is_made_again_before_the_answer(here: CommandLine) -> None:
    here.text("index", "--once", "--no-daemon")
    shutil.rmtree(tables(here)[0].parent)

    assert "keywords" not in here.text("search", "--no-daemon", "what does an animal eat").splitlines()[0]
    assert len(tables(here)) == 1


def test_a_warming_daemon_answers_from_keywords_says_so_and_keeps_no_such_reply(
    here: CommandLine, tmp_path: Path
) -> None:
    here.text("index", "--once", "--no-daemon")
    gate, folder = tmp_path / "gate", tmp_path / "slow"
    with_module(here, folder, SLOW.format(gate=str(gate), folder=str(folder)))

    assert first_line(here).endswith("by keywords alone, vectors are still loading")
    assert vectors_of(here)["reason"] == "vectors are still loading"
    gate.touch()
    until(lambda: vectors_of(here)["answered_by"] == "memory")
    assert "keywords" not in first_line(here)


def test_a_broken_lancedb_costs_the_vectors_and_nothing_else(here: CommandLine, tmp_path: Path) -> None:
    with_module(here, tmp_path / "broken", BROKEN)
    here.text("index", "--once")
    said = first_line(here, "animal")
    reason = "cannot import lancedb (ImportError: libarrow.so is missing)"
    assert reason in said
    assert "notes.md" in here.text("search", "striped animal")
    (here.folder / "new.py").write_text("def gallop(): pass\n")
    until(lambda: "new.py" in here.text("grep", "gallop"))
    assert reason in here.text("status")

    here.place.end()
    here.place.environ["PYTHONPATH"] = here.place.environ["PYTHONPATH"].partition(":")[2]
    here.text("index", "--once")
    assert vectors_of(here) == {"answered_by": "memory", "rows": 4, "reason": ""}
    assert "keywords" not in first_line(here)


def test_the_files_of_many_saves_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "MOST_VERSIONS", 4)
    monkeypatch.setattr(writer_thread, "OPTIMIZE_SECONDS", 0.0)
    tree = tmp_path / "tree"
    tree.mkdir()
    settings = Settings(embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(tree), home=str(tmp_path / "home"), settings=settings) as workspace:
        store = workspace.writer_threads[0].store
        for number in range(8):
            (tree / f"file{number}.py").write_text(f"def name{number}(): pass\n")
            workspace.index()
            assert version_count(store.vectors.folder) <= 5

        store.refresh()
        assert store.vector_state().rows == 8
        assert workspace.verify() == []
