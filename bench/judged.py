"""Judged queries: the repository, the query, and the relevant files. Two sources, one form.

*Golden*: `data/golden/queries.tsv` over the packages of `data/golden/packages.tsv`. *Judged*: a folder with
`repos.json` and `annotations/NAME.json`, and a checkout of each repository.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.packages import read_list, unpacked
from llmc.base.languages import language_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["GOLDEN", "Corpus", "Question", "demo", "golden", "judged", "pasted"]

GOLDEN = Path(__file__).parent.parent / "data" / "golden"


@dataclass(frozen=True, slots=True)
class Question:
    """`wanted` are paths relative to the root; all are equally relevant."""

    text: str
    kind: str
    wanted: tuple[str, ...]
    language: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """`source` is the folder that the public benchmark indexes; users have the whole checkout."""

    name: str
    folder: Path
    questions: tuple[Question, ...]
    source: str = ""


def golden(cache: Path) -> list[Corpus]:
    """The packages are fetched into `cache` once."""
    questions = _questions(GOLDEN / "queries.tsv")
    return [
        Corpus(package.name, unpacked(package, cache), tuple(questions[package.name]))
        for package in read_list(GOLDEN / "packages.tsv")
    ]


def demo(folder: Path) -> Corpus:
    """The demo workspace, for a test that needs no network."""
    return Corpus("demo", folder, tuple(_questions(GOLDEN / "demo.tsv")["demo"]))


def pasted(folder: Path) -> Corpus:
    """Issues, stack traces, logs and diffs about the demo workspace."""
    return Corpus("pasted", folder, tuple(_questions(GOLDEN / "pasted.tsv")["demo"]))


def _questions(path: Path) -> dict[str, list[Question]]:
    found: dict[str, list[Question]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, kind, text, wanted = line.split("\t")
            paths = tuple(wanted.split())
            found[name].append(Question(text.replace(r"\n", "\n"), kind, paths, language_of(paths[0])))
    return found


def judged(annotations: Path, trees: Iterable[tuple[dict[str, Any], Path]]) -> list[Corpus]:
    """The judged repositories with their checkouts (`bench.checkouts.write_trees` or `trees_in`)."""
    return [_judged_corpus(repo, annotations, tree) for repo, tree in trees]


def _judged_corpus(repo: dict[str, Any], annotations: Path, folder: Path) -> Corpus:
    rows: list[dict[str, Any]] = json.loads((annotations / "annotations" / f"{repo['name']}.json").read_text("utf-8"))
    questions = tuple(
        Question(
            row["query"],
            row["category"],
            tuple(dict.fromkeys(_path(target, repo, folder) for target in (*row["relevant"], *row["secondary"]))),
            repo["language"],
        )
        for row in rows
    )
    return Corpus(repo["name"], folder, questions, repo["benchmark_root"] or "")


def _path(target: str | dict[str, Any], repo: dict[str, Any], folder: Path) -> str:
    """A target is a path or a range in one; some are relative to the benchmark's folder instead of the repository's."""
    path = target if isinstance(target, str) else str(target["path"])
    inner = f"{repo['benchmark_root']}/{path}"
    return inner if not (folder / path).exists() and (folder / inner).exists() else path
