"""Ranking, kept as a file: a change of code that moves a wanted place shows as a diff of `data/golden/demo-ranks.tsv`.

After a wanted change: `python -m bench.quality --demo --write`.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import pytest
from locations import DEMO

from bench.checkouts import indexed_at
from bench.judged import GOLDEN, demo, pasted
from bench.packages import read_list
from bench.quality import Answer, ask, ndcg, rank_rows

if TYPE_CHECKING:
    from pathlib import Path

    from bench.judged import Corpus


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return demo(DEMO)


@pytest.fixture(scope="module")
def answers(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> list[Answer]:
    """By keywords alone: the same on every machine and with every model."""
    return ask(corpus, indexed_at(corpus.folder, tmp_path_factory.mktemp("stores") / "demo", None, label="demo"))


def test_wanted_places_rank_where_the_file_in_git_says(answers: list[Answer]) -> None:
    assert rank_rows(answers) == (GOLDEN / "demo-ranks.tsv").read_text("utf-8").splitlines()


def test_pasted_text_ranks_where_the_file_in_git_says(tmp_path: Path) -> None:
    corpus = pasted(DEMO)
    answers = ask(corpus, indexed_at(corpus.folder, tmp_path / "demo", None, label="demo"))
    assert rank_rows(answers) == (GOLDEN / "pasted-ranks.tsv").read_text("utf-8").splitlines()
    assert fmean(map(ndcg, answers)) >= 0.9


def test_every_symbol_of_the_demo_is_found_first(answers: list[Answer]) -> None:
    assert {answer.question.text: answer.first for answer in answers if answer.question.kind == "symbol"} == {
        answer.question.text: 1 for answer in answers if answer.question.kind == "symbol"
    }


def test_the_demo_as_a_whole_is_answered_well(answers: list[Answer]) -> None:
    assert fmean(map(ndcg, answers)) >= 0.8


def test_the_golden_suite_names_packages_that_are_pinned() -> None:
    pinned = {package.name for package in read_list(GOLDEN / "packages.tsv")}
    rows = [
        line.split("\t")
        for line in (GOLDEN / "queries.tsv").read_text("utf-8").splitlines()
        if not line.startswith("#")
    ]
    assert {row[0] for row in rows} == pinned
    assert {row[1] for row in rows} == {"symbol", "behaviour", "architecture"}
    assert len(rows) == len({(row[0], row[2]) for row in rows}) >= 150
