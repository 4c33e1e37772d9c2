"""Several roots at once: every file is found, and none twice."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
import search_world
from tool_calls import answer

from llmc.base.home import Home
from llmc.envelope.handles import Handles
from llmc.indexer.registry import IndexRegistry
from llmc.indexer.root_index import BuildProgress
from llmc.settings import EmbedderSettings, Index, RootEntry, Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = Settings(embedder=EmbedderSettings(kind="hash"))


def found(workspace: Workspace) -> list[str]:
    """Every file that is indexed, by its full path."""
    return sorted(f"{file.root}/{file.path}" for file in workspace.find().files)


@pytest.fixture
def registry(tmp_path: Path) -> IndexRegistry:
    home = Home(str(tmp_path / "home"))
    home.make()
    return IndexRegistry(home, watching=False, processes=False)


def opened(registry: IndexRegistry, settings: Settings, *entries: RootEntry) -> Workspace:
    workspace = Workspace.within(registry, settings, entries, str(entries[0].path))
    workspace.index()
    return workspace


def make(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n")
    return sorted(str(folder / name) for name in names)


def test_a_root_that_the_outer_one_excludes_is_a_root_of_its_own(tmp_path: Path, registry: IndexRegistry) -> None:
    everything = make(tmp_path / "outer", "a.py", "inner/b.py", "inner/c.md")
    outer = RootEntry(path=tmp_path / "outer", exclude=("inner/",))
    workspace = opened(registry, PLAIN, outer, RootEntry(path=tmp_path / "outer/inner"))
    assert found(workspace) == everything
    assert workspace.notes == ()
    registry.close()


@pytest.mark.parametrize("folder", ["inner", "in[n]er *"])
def test_a_root_with_rules_of_its_own_is_left_to_itself_by_the_outer_one(
    tmp_path: Path, registry: IndexRegistry, folder: str
) -> None:
    make(tmp_path / "outer", "a.py", "b.md", f"{folder}/c.py", f"{folder}/d.md")
    outer = RootEntry(path=tmp_path / "outer", include=("*.py",))
    inner = RootEntry(path=tmp_path / "outer" / folder, include=("*.md",))
    workspace = opened(registry, PLAIN, outer, inner)
    assert found(workspace) == sorted([f"{tmp_path}/outer/a.py", f"{tmp_path}/outer/{folder}/d.md"])
    registry.close()


def test_a_root_with_the_same_rules_is_part_of_the_outer_one(tmp_path: Path, registry: IndexRegistry) -> None:
    everything = make(tmp_path / "outer", "a.py", "inner/b.py")
    settings = PLAIN.model_copy(update={"index": Index(exclude=("*.log",))})
    entries = [RootEntry(path=tmp_path / "outer"), RootEntry(path=tmp_path / "outer/inner")]
    workspace = opened(registry, settings, *entries)
    assert found(workspace) == everything
    note = f"{tmp_path}/outer/inner is inside the root {tmp_path}/outer and is indexed as part of it"
    assert workspace.notes == (note,)
    registry.close()


@pytest.fixture
def work_trees(tmp_path: Path) -> tuple[Path, Path]:
    main, second = tmp_path / "main", tmp_path / "second"
    search_world.write(main)
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    added = ["worktree", "add", "-q", str(second)]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "x"], added):
        subprocess.run(["git", *command], cwd=main, check=True, capture_output=True)
    return main, second


def test_a_text_that_two_work_trees_share_is_answered_once_and_says_both(
    work_trees: tuple[Path, Path], registry: IndexRegistry
) -> None:
    main, second = work_trees
    workspace = opened(registry, PLAIN, RootEntry(path=main), RootEntry(path=second))
    (hit, *others) = [file for file in workspace.search("RetryPolicy").files if file.path == "src/depot/retry.py"]
    assert others == []
    assert {hit.root, *hit.also} == {str(main), str(second)}
    registry.close()


def test_a_text_that_differs_between_work_trees_is_answered_from_each(
    work_trees: tuple[Path, Path], registry: IndexRegistry
) -> None:
    main, second = work_trees
    changed = second / "src/depot/retry.py"
    changed.write_text(changed.read_text().replace("with jitter", "with much jitter"))
    workspace = opened(registry, PLAIN, RootEntry(path=main), RootEntry(path=second))
    hits = [file for file in workspace.search("RetryPolicy").files if file.path == "src/depot/retry.py"]
    assert sorted((file.root, file.also) for file in hits) == [(str(main), ()), (str(second), ())]
    shutil.rmtree(second)
    registry.close()


@pytest.fixture
def pair(tmp_path: Path, registry: IndexRegistry) -> Workspace:
    make(tmp_path / "one", "src/a.py", "only/one.py")
    make(tmp_path / "two", "src/a.py", "src/b.py")
    return opened(registry, PLAIN, RootEntry(path=tmp_path / "one"), RootEntry(path=tmp_path / "two"))


def asked(workspace: Workspace, tool: str, **args: str) -> str:
    return answer(workspace, Handles(workspace.registry.home.handles), tool, args).text


def test_a_path_as_a_reply_names_it_can_be_read(pair: Workspace) -> None:
    for path in ("one:src/a.py", "two:src/a.py", "two:src/b.py"):
        assert path in asked(pair, "find", name="py")
        assert asked(pair, "read", target=f"{path}:1-1").splitlines()[1] == f"1 {path.partition(':')[2]}"
    assert "there is no" in asked(pair, "read", target="three:src/a.py")


@pytest.mark.parametrize("tool", ["grep", "find", "search", "context"])
def test_a_path_of_one_root_leaves_the_others_out(pair: Workspace, tmp_path: Path, tool: str) -> None:
    words = {"grep": {"pattern": "src"}, "find": {"name": "py"}}.get(tool, {"query": "src"})
    for scope in ("two:", "two:src", str(tmp_path / "two"), str(tmp_path / "two/src")):
        reply = asked(pair, tool, path=scope, **words)
        assert "two:src/b.py" in reply, scope
        assert "one:" not in reply, scope


def test_a_folder_that_two_roots_have_is_looked_for_in_both(pair: Workspace, tmp_path: Path) -> None:
    elsewhere = Workspace.within(
        pair.registry, PLAIN, [RootEntry(path=tmp_path / "one"), RootEntry(path=tmp_path / "two")], str(tmp_path)
    )
    reply = asked(elsewhere, "grep", pattern="a", path="src")
    assert "one:src/a.py" in reply
    assert "two:src/a.py" in reply
    assert "one:only" not in asked(elsewhere, "tree", path="src")


@pytest.mark.parametrize(("rate", "left"), [(20.0, "(about 5 s left)"), (0.5, "(about 3 min left)")])
def test_a_rebuild_says_how_long_it_takes(tmp_path: Path, rate: float, left: str) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    with Workspace.open(str(tmp_path / "project"), home=str(tmp_path / "home")) as workspace:
        workspace.index()
        (writer_thread,) = workspace.writer_threads
        writer_thread.note = "rebuilding the index: its format is 1"
        assert workspace.notes == (writer_thread.note,)
        workspace.root_indexes[0].progress = BuildProgress("parse", 10, 110, rate)
        assert workspace.notes == (f"{writer_thread.note} {left}",)
