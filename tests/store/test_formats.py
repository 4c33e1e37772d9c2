"""An index written by another version: read if the format is current, rebuilt with a message if it is older."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import threading
from typing import TYPE_CHECKING

import pytest
from locations import FORMATS
from store_world import DIMENSION, EMBEDDER, ROOT
from tool_calls import answer

from llmc.base.errors import CorruptStoreError
from llmc.base.roots import make_root
from llmc.envelope.handles import Handles
from llmc.indexer import registry
from llmc.indexer.root_index import RootIndex
from llmc.settings import EmbedderSettings, Settings
from llmc.store import Store
from llmc.store.catalog.schema import FORMAT
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

OLDER = sorted(number for path in FORMATS.glob("*.tar.gz") if (number := int(path.name.partition(".")[0])) < FORMAT)


def unpack(number: int, folder: Path) -> Path:
    with tarfile.open(FORMATS / f"{number}.tar.gz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has no filters yet
        archive.extractall(folder)
    return folder


def test_an_index_of_this_format_is_read_as_it_is(tmp_path: Path) -> None:
    with Store.open(unpack(FORMAT, tmp_path), EMBEDDER, DIMENSION) as store:
        assert store.verify() == []
        assert list(store.catalog.places(ROOT).values()) == ["parcel.py"]
        assert [found.symbol.name for found in store.catalog.symbols(name="deliver")] == ["deliver"]


def test_there_is_an_index_of_an_older_format() -> None:
    assert OLDER


@pytest.mark.parametrize("number", OLDER)
def test_an_index_of_an_older_format_is_never_served(tmp_path: Path, number: int) -> None:
    with pytest.raises(CorruptStoreError, match="the index must be rebuilt"):
        Store.open(unpack(number, tmp_path), EMBEDDER, DIMENSION)


@pytest.mark.parametrize("number", OLDER)
def test_an_index_of_an_older_format_is_rebuilt_with_a_message(tmp_path: Path, number: int) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "courier.py").write_text("def ring(door):\n    return door\n")
    unpack(number, tmp_path / "home" / "stores" / make_root(tree).family)
    environment = {**os.environ, "LLMC_HOME": str(tmp_path / "home"), "LLMC_EMBEDDER_KIND": "hash"}
    done = subprocess.run(
        [sys.executable, "-m", "llmc", "index", "--once", "--no-daemon", str(tree)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    said = f"rebuilding the index: it was built by an older version (format {number}, this llmc uses {FORMAT})"
    assert said in done.stdout + done.stderr
    assert "1 file indexed" in done.stdout + done.stderr


def test_replies_say_why_an_index_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, home, walked = tmp_path / "tree", tmp_path / "home", threading.Event()
    tree.mkdir()
    (tree / "courier.py").write_text("def ring(door):\n    return door\n")
    unpack(OLDER[-1], home / "stores" / make_root(tree).family)
    walk = RootIndex.walk

    def late_walk(self: RootIndex, *args: Any) -> Any:
        walked.wait()
        return walk(self, *args)

    monkeypatch.setattr(RootIndex, "walk", late_walk)
    monkeypatch.setattr(registry, "FIRST_BUILD_SECONDS", 0.0)
    settings, handles = Settings(embedder=EmbedderSettings(kind="hash")), Handles(str(home / "handles"))
    with Workspace.open(str(tree), home=str(home), settings=settings) as workspace:
        meanwhile = [
            answer(workspace, handles, *call).text.splitlines()[0]
            for call in (("search", {"query": "a door"}), ("grep", {"pattern": "door"}), ("outline", {}))
        ]
        walked.set()
        workspace.index()
        afterwards = answer(workspace, handles, "search", {"query": "a door"}).text

    reason = f"rebuilding the index: it was built by an older version (format {OLDER[-1]}, this llmc uses {FORMAT})"
    assert [reason in line and "indexing, 0% done" in line for line in meanwhile] == [True, True, True]
    assert "rebuilding" not in afterwards
