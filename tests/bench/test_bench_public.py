"""The measurements on public data: what counts as found, and the contents of a tree under test."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bench import graph, localisation
from bench.checkouts import write_tree, write_trees
from bench.citations import Reply, cited_file, figures
from bench.judged import judged
from bench.localisation import Instance, accuracy, paired, sample
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


def test_instances_without_a_repository_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"id": "a", "repo": "some/thing", "commit": "0" * 40, "text": "x", "files": ["a.py"]}
    (tmp_path / "lite.jsonl").write_text(json.dumps(row))
    arguments = [str(tmp_path / "lite.jsonl"), "--mirror", str(tmp_path), "--cache", str(tmp_path / "cache"), "--json"]
    monkeypatch.setattr(sys, "argv", ["localisation", *arguments])
    localisation.main()
    out, err = capsys.readouterr()
    assert err == f"some/thing is left out: it is not in {tmp_path}\n"
    assert json.loads(out) == {}


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


def test_a_paired_test_counts_what_only_one_system_found() -> None:
    rows = [(Instance(f"x-{n}", "r", "c", "text", frozenset({"a"}), {"other": ["b"]}), ["a"]) for n in range(6)]
    both = Instance("x-9", "r", "c", "text", frozenset({"a"}), {"other": ["a"]})
    assert paired([*rows, (both, ["a"])], "other")["@1"] == [6, 0, 0.0312]


def test_judged_repositories_are_checked_out_of_git_directories_and_missing_ones_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "mirror/acme+depot/repo"
    source.mkdir(parents=True)
    (source / "depot.py").write_text("def weigh(): ...\n")
    commit(source)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=source, capture_output=True, text=True, check=True).stdout
    known = {
        "name": "depot",
        "language": "python",
        "repo": "acme/depot",
        "revision": head.strip(),
        "benchmark_root": None,
    }
    listed = [known, {**known, "name": "gone", "repo": "acme/gone"}]
    (tmp_path / "set/annotations").mkdir(parents=True)
    (tmp_path / "set/repos.json").write_text(json.dumps(listed))
    row = {"query": "weigh", "relevant": ["depot.py"], "secondary": [], "category": "symbol"}
    (tmp_path / "set/annotations/depot.json").write_text(json.dumps([row]))
    trees = write_trees(tmp_path / "set", tmp_path / "mirror", tmp_path / "checkouts")
    (corpus,) = judged(tmp_path / "set", trees)
    assert (corpus.name, corpus.questions[0].wanted) == ("depot", ("depot.py",))
    assert not (corpus.folder / ".git").exists()
    assert "gone" in capsys.readouterr().err


def test_a_citation_means_the_file_that_ends_with_it() -> None:
    paths = ["src/flask/app.py", "src/flask/sansio/app.py"]
    assert cited_file("./sansio/app.py", paths) == "src/flask/sansio/app.py"
    assert cited_file("src/flask/app.py", paths) == "src/flask/app.py"


def test_all_cited_files_must_be_named() -> None:
    one = Reply("r", frozenset({"a", "b"}), frozenset({"a"}), 100)
    assert figures([one]) == {"questions": 1, "all cited": 0.0, "any cited": 1.0, "tokens": 100}


def test_missing_requirements_of_the_type_checker_comparison_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match=r"repos\.json is missing"):
        graph.compare_all(tmp_path, tmp_path)
    source = tmp_path / "mirror/acme+depot/repo"
    source.mkdir(parents=True)
    (source / "depot.py").write_text("def weigh(): ...\n")
    commit(source)
    (tmp_path / "repos.json").write_text(json.dumps([{"name": "depot", "repo": "acme/depot", "commit": "HEAD"}]))
    monkeypatch.setenv("LLMC_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    found = graph.compare_all(tmp_path, tmp_path / "mirror")
    assert found["depot"]["problem"].startswith("no depot.scip; in the tree, `npx @sourcegraph/scip-python index`")
    assert found["depot"]["problem"].endswith("which needs npm: it is not installed here")
