"""Roots: what can be one, its family, and how several of them relate to each other."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from llmc.base.errors import RootError
from llmc.base.model import Root
from llmc.base.root_fs import RootFs
from llmc.base.roots import Checkout, checkout, cover, disambiguate, make_root

if TYPE_CHECKING:
    from pathlib import Path


def git(*words: str, at: Path) -> None:
    alone = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": os.environ["PATH"]}
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *who, *words], cwd=at, check=True, capture_output=True, env=alone)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "main"
    path.mkdir()
    git("init", at=path)
    git("commit", "--allow-empty", "-m", "one", at=path)
    return path


def test_a_root_is_the_real_folder_behind_what_was_named(tmp_path: Path) -> None:
    (tmp_path / "my project").mkdir()
    (tmp_path / "alias").symlink_to("my project")
    root = make_root(f"{tmp_path}/alias/../alias/")
    assert root.path == str(tmp_path / "my project")
    assert root.name == "my_project"
    assert make_root(tmp_path / "alias", "given") == Root(root.path, "given", root.family)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("none", "does not exist"),
        ("file", "not a folder"),
        ("loop", "not a folder"),
        ("dangling", "does not exist"),
        ("x" * 5000, "does not exist"),
        ("nul\0", "it is not a valid folder name"),
        ("half\ud83d", "it is not a valid folder name"),
    ],
)
def test_what_cannot_be_a_root_is_refused_with_the_reason_and_a_hint(tmp_path: Path, path: str, reason: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(RootError, match=reason) as caught:
        make_root(f"{tmp_path}/{path}")
    assert caught.value.hint


@pytest.mark.parametrize("path", ["", "/", "/proc", "/proc/self", "/sys", "/dev"])
def test_system_folders_cannot_be_roots(path: str) -> None:
    with pytest.raises(RootError):
        make_root(path)


def test_work_trees_of_one_repository_are_one_family_and_clones_are_not(repository: Path, tmp_path: Path) -> None:
    git("worktree", "add", "../second", at=repository)
    git("clone", "main", "clone", at=tmp_path)
    (tmp_path / "plain").mkdir()
    main, second, clone, plain = (make_root(tmp_path / name).family for name in ("main", "second", "clone", "plain"))
    assert main == second
    assert len({main, clone, plain}) == 3


def test_a_work_tree_may_name_its_repository_by_a_relative_path(repository: Path, tmp_path: Path) -> None:
    git("worktree", "add", "../second", at=repository)
    (tmp_path / "second" / ".git").write_text("gitdir: ../main/.git/worktrees/second\n", encoding="utf-8")
    assert make_root(tmp_path / "second").family == make_root(repository).family


def test_a_submodule_has_a_repository_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: ../.git/modules/sub\r\n", encoding="utf-8")
    with RootFs(str(tmp_path)) as root_fs:
        assert checkout(root_fs) == Checkout(f"{tmp_path.parent}/.git/modules/sub")


@pytest.mark.parametrize("hostile", ["huge", "binary", "fifo", "link", "empty", "other text", "nul", "worktrees only"])
def test_a_hostile_git_file_makes_no_family_and_no_harm(tmp_path: Path, hostile: str) -> None:
    root, at = tmp_path / "root", tmp_path / "root" / ".git"
    root.mkdir()
    (tmp_path / "secret").write_text("gitdir: /etc/.git/worktrees/x\n", encoding="utf-8")
    plain = make_root(root).family
    if hostile == "fifo":
        os.mkfifo(at)
    elif hostile == "link":
        at.symlink_to("../secret")
    else:
        content = {"huge": b"gitdir: /" + b"x" * 50_000_000, "binary": bytes(range(256)), "empty": b""}
        content |= {"other text": b"hello", "nul": b"gitdir: /a\0b\n", "worktrees only": b"gitdir: \n"}
        at.write_bytes(content[hostile])
    assert make_root(root).family == plain


def test_roots_of_one_name_are_distinguished_by_the_folders_above_them() -> None:
    roots = [
        Root(path, path.rpartition("/")[2], "") for path in ("/work/app", "/home/app", "/a/x/lib", "/b/x/lib", "/c")
    ]
    assert [root.name for root in disambiguate(roots)] == ["app@work", "app@home", "lib@x", "lib@b.x", "c"]
    same = disambiguate([Root("/a/b", "n", ""), Root("/a/b", "n", ""), Root("/a/b", "n", ""), Root("/a/b", "n", "")])
    assert len({root.name for root in same}) == 4


def test_a_root_inside_another_is_part_of_it_unless_that_one_passes_over_it(repository: Path) -> None:
    (repository / ".gitignore").write_text("/generated/\n", encoding="utf-8")
    (repository / "generated" / "api").mkdir(parents=True)
    (repository / "src").mkdir()
    (repository.parent / "main-2").mkdir()
    git("worktree", "add", "trees/second", at=repository)
    names = ("src", "generated/api", "", "../main-2", "trees/second", "src")
    covered = cover([make_root(repository / name) for name in names])
    kept = ["main", "main/generated/api", "main-2", "main/trees/second"]
    assert sorted(root.path for root in covered.roots) == sorted(f"{repository.parent}/{name}" for name in kept)
    assert covered.notes == (f"{repository}/src is inside the root {repository} and is indexed as part of it",)


def test_settings_can_say_what_the_outer_root_passes_over(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    outer, inner = make_root(tmp_path), make_root(tmp_path / "inner")
    assert cover([inner, outer], lambda _outer, folder: folder == "inner").roots == (outer, inner)
    assert cover([inner, outer], lambda _outer, _folder: False).roots == (outer,)
