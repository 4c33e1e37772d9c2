"""The memory of the graph is bounded over all roots of a process, reported, and released."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING

from daemons import private_place
from graph_world import GraphWorld, graph_world

from llmc.base import cache_budget
from llmc.base.cache_budget import cache_share
from llmc.graph.project import forget_projects, graph_memory

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FILES = {
    f"area{at}/part{at}.py": "".join(
        f"def step{at}_{n}():\n    return shared() + step{at}_{n - 1}()\n" for n in range(1, 30)
    )
    for at in range(12)
} | {"shared.py": "def shared():\n    return 1\n"}


def test_all_roots_together_keep_no_more_than_one_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    forget_projects()
    monkeypatch.setattr(cache_budget, "_budget", 1_000_000)

    for name in ("one", "two"):
        (tmp_path / name).mkdir()

    def learn(world: GraphWorld) -> int:
        for at in range(12):
            assert f"step{at}_19" in world.text("calls", name=f"step{at}_20")
        return graph_memory()

    most = cache_share("graph")
    with graph_world(tmp_path / "one", FILES) as one:
        alone = learn(one)
        assert 0 < alone <= most
        with graph_world(tmp_path / "two", FILES) as two:
            learn(two)
            assert learn(one) <= most
    forget_projects()
    assert graph_memory() == 0


def test_status_reports_the_memory_of_caches(tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text("def shared():\n    return 1\n\n\ndef other():\n    return shared()\n")
    with private_place() as place:
        assert place.llmc("callers", "shared", cwd=tmp_path).returncode == 0
        report = json.loads(place.llmc("status", "--json", cwd=tmp_path).stdout)
        shown = place.llmc("status", cwd=tmp_path).stdout

    (daemon,) = [one for one in report["processes"] if one["role"] == "daemon"]
    assert 0 < daemon["private"] <= daemon["rss"]
    assert report["memory"]["graph_bytes"] > 0
    kept = ("graph_bytes", "vector_bytes", "index_cache_bytes", "reply_bytes", "other_bytes", "budget_bytes")
    assert report["memory"].keys() == {"replies", *kept}
    assert report["memory"]["budget_bytes"] == 128 << 20
    assert "without files" in shown
    assert "LanceDB's caches" in shown
