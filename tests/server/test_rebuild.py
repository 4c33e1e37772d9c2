"""After a rebuild no reply comes from the index that was replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemons import CommandLine

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place


def test_a_rebuilt_index_repeats_no_reply_and_no_graph_of_the_old_one(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("def outer():\n    return inner()\n\n\ndef inner():\n    return 1\n")
    line = CommandLine(place, folder)
    line.text("index", "--once")
    assert "inner" in line.text("calls", "outer")
    assert "nothing found" in line("search", "zorgon").stdout
    (folder / "b.py").write_text("def zorgon():\n    return outer()\n")
    line.text("index", "--once", "--rebuild")
    assert "b.py" in line.text("search", "zorgon")
    assert "inner" in line.text("calls", "outer")
    assert "zorgon" in line.text("callers", "outer")
