"""Whole checkouts of public repositories, as a user has them, without any trace of later commits.

`write_tree` copies the files of one commit out of a git directory; the target holds no `.git`. `write_trees` does so
for all repositories of a `repos.json`. `indexed_at` gives the
view of a tree whose store is kept between runs: it may start from the store of a neighbouring commit, so that only
what differs is digested.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import closing
from typing import IO, TYPE_CHECKING, Any

from llmc.base.model import Root
from llmc.base.root_fs import RootFs
from llmc.indexer import scan
from llmc.indexer.pipeline import BatchLimits, index_paths
from llmc.indexer.pool import Inline
from llmc.retrieval.view import View
from llmc.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.embed import Embedder

__all__ = ["Recipe", "indexed_at", "trees_in", "write_tree", "write_trees"]

# Larger files are not indexed anyway, and snapshots of repositories may lack such objects.
LARGEST_BLOB = 3_000_000
REGULAR = (b"100644", b"100755")
READY = "ready"  # marks a store or a tree that is complete

Recipe = tuple[str, str]  # (git directory, commit)


def write_tree(recipe: Recipe, target: Path, neighbour: Path | None = None) -> Path:
    """The files of a commit; a complete tree is reused. Missing objects are skipped. Files with the same content in
    `neighbour`, the tree of another commit, become hard links to it: nothing ever writes into these trees."""
    mark = _mark(target)
    if mark.exists():
        return target
    shutil.rmtree(target, ignore_errors=True)
    git = ["git", "-c", "safe.directory=*", "-C", recipe[0]]
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", "-l", recipe[1]], capture_output=True, check=True).stdout
    wanted = {path: sha for sha, path in filter(None, map(_entry, listed.split(b"\0")))}
    shared = _listed(neighbour) if neighbour else {}
    for path, sha in wanted.items():
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if neighbour and shared.get(path) == sha and (neighbour / path).exists():
            os.link(neighbour / path, place)
    missing = {path: sha for path, sha in wanted.items() if not (target / path).exists()}
    for path, data in _blobs(git, missing):
        (target / path).write_bytes(data)
    mark.write_bytes(b"\0".join(b"%s %s" % (sha, os.fsencode(path)) for path, sha in wanted.items()))
    return target


def listed(folder: Path) -> list[dict[str, Any]]:
    file = folder / "repos.json"
    if not file.is_file():
        raise SystemExit(f"{file} is missing: docs/bench.md describes it")
    rows: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return rows


def trees_in(folder: Path, repositories: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """(row, tree) for each row of `folder/repos.json` with a checkout of this name in `repositories`."""
    for row in listed(folder):
        if (repositories / row["name"]).is_dir():
            yield row, repositories / row["name"]
        else:
            print(f"{row['name']} is left out: no checkout in {repositories}", file=sys.stderr)


def write_trees(folder: Path, mirror: Path, target: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """(row, tree) for each row of `folder/repos.json` (`name`, `repo`, and `commit` or `revision`), from the git
    directories `owner+name/repo` below `mirror`; complete trees are reused. Missing repositories are reported on
    stderr."""
    for row in listed(folder):
        git, commit = mirror / row["repo"].replace("/", "+") / "repo", row.get("commit") or row["revision"]
        try:
            yield row, write_tree((str(git), commit), target / f"{row['name']}-{commit[:12]}")
        except (OSError, subprocess.CalledProcessError):
            print(f"{row['name']} is left out: {git} has no commit {commit[:12]}", file=sys.stderr)


def _mark(tree: Path) -> Path:
    return tree.parent / f"{tree.name}.{READY}"


def _listed(tree: Path) -> dict[str, bytes]:
    """Path → object name of a complete tree."""
    rows = _mark(tree).read_bytes().split(b"\0") if _mark(tree).exists() else []
    return {os.fsdecode(path): sha for sha, _, path in (row.partition(b" ") for row in rows)}


def _blobs(git: list[str], wanted: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    with subprocess.Popen([*git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        threading.Thread(target=_feed, args=(process.stdin, list(wanted.values())), daemon=True).start()
        for path in wanted:
            if (data := _blob(process.stdout)) is not None:
                yield path, data


def _entry(row: bytes) -> tuple[bytes, str] | None:
    if not row:
        return None
    about, path = row.split(b"\t", 1)
    mode, _, sha, size = about.split()
    return (sha, os.fsdecode(path)) if mode in REGULAR and size.isdigit() and int(size) <= LARGEST_BLOB else None


def _feed(pipe: IO[bytes], names: list[bytes]) -> None:
    with closing(pipe):
        for name in names:
            pipe.write(name + b"\n")


def _blob(pipe: IO[bytes]) -> bytes | None:
    head = pipe.readline().split()
    if not head or not head[-1].isdigit():
        return None
    data = pipe.read(int(head[-1]))
    pipe.read(1)
    return data


def indexed_at(
    tree: Path, place: Path, embedder: Embedder | None, *, label: str, start: Path | None = None, under: str = ""
) -> View:
    """The view of `tree`, or of its folder `under`; its store at `place` is reused if complete. `start` is the store of
    another commit with the same `label` to begin with."""
    name, dimension = (embedder.name, embedder.dimension) if embedder else (None, 0)
    root_fs = RootFs(str(tree.resolve()))
    if not (place / READY).exists():
        shutil.rmtree(place, ignore_errors=True)
        if start is not None and (start / READY).exists():
            shutil.copytree(start, place, ignore=shutil.ignore_patterns("lock", READY))
        _index(root_fs, place, embedder, label, under)
        (place / READY).touch()
    return View(Root(label, label, place.name), root_fs, Store.open(place, name, dimension), embedder)


def _index(root_fs: RootFs, place: Path, embedder: Embedder | None, label: str, under: str) -> None:
    name, dimension = (embedder.name, embedder.dimension) if embedder else (None, 0)
    inside = f"{under}/" if under else ""
    with Store.open(place, name, dimension, write=True) as store:
        rules = scan.Rules(root_fs)
        here = [path for listing in scan.scan(root_fs, rules, scan.ScanLimits()) for path in listing.files]
        kept = [path for path in here if path.startswith(inside)]
        known = store.catalog.files(label).keys() - set(kept)
        index_paths(
            label, [*kept, *known], root_fs=root_fs, store=store, digester=Inline(embedder), limits=BatchLimits()
        )
        store.sweep(0.0, 0.0)
        store.optimize_vectors()  # a store that starts as a copy of another's would keep all its old versions
