"""The measurements on public data: what counts as found, and what a tree under test holds."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from bench.checkouts import write_tree
from bench.citations import Reply, cited_file, figures
from bench.localisation import Instance, accuracy, sample
from bench.trees import commit

if TYPE_CHECKING:
    from pathlib import Path


def instance(number: int, repo: str, *files: str) -> Instance:
    return Instance(f"x-{number}", repo, "c", "text", frozenset(files), {})


def test_an_instance_counts_only_with_every_file_of_its_fix() -> None:
    found = [(instance(1, "r", "a", "b"), ["a", "c", "b"]), (instance(2, "r", "a"), ["a"])]
    assert accuracy(found) == {"acc@1": 0.5, "acc@5": 1.0, "acc@10": 1.0}


def test_a_sample_takes_the_same_instances_of_each_repository_every_time() -> None:
    known = [instance(number, repo, "a") for repo in ("r", "s") for number in range(9)]
    assert sample(known, 3) == sample(known, 3)
    assert [one.repo for one in sample(known, 3)].count("r") == 3


def test_a_tree_under_test_holds_the_commit_and_nothing_of_git(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.py").write_text("first = 1\n")
    commit(source)
    first = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, capture_output=True, text=True, check=True).stdout
    (source / "a.py").write_text("later = 2\n")
    commit(source)
    tree = write_tree((str(source / ".git"), first.strip()), tmp_path / "tree")
    assert [path.name for path in tree.rglob("*")] == ["a.py"]
    assert (tree / "a.py").read_text() == "first = 1\n"


def test_a_citation_means_the_file_that_ends_with_it() -> None:
    paths = ["src/flask/app.py", "src/flask/sansio/app.py"]
    assert cited_file("./sansio/app.py", paths) == "src/flask/sansio/app.py"
    assert cited_file("src/flask/app.py", paths) == "src/flask/app.py"


def test_all_cited_files_must_be_named() -> None:
    one = Reply("r", frozenset({"a", "b"}), frozenset({"a"}), 100)
    assert figures([one]) == {"questions": 1, "all cited": 0.0, "any cited": 1.0, "tokens": 100}
