"""How good is the ranking? Judged queries through the real pipeline: index, search, compare with the files wanted.

    python -m bench.quality --golden --demo [--write]
    python -m bench.quality --judged DIR (--repos DIR | --mirror DIR) [--source] [--keep] [--ablate] [--json]

The measure is NDCG@10 over the first ten files; every wanted file counts the same. Fair to peers: the metric and the
queries are public, nothing is known to the program but the files, and each repository is asked by itself.
The judged repositories are indexed as whole checkouts, as users have them; `--source` indexes only the folder that the
public benchmark does. `--keep` uses the stores of an earlier run, to compare rankings of one index.
`--write` keeps the ranks of the golden suite in `data/golden/ranks.tsv` and those of the demo workspace, which a test
reads, in `data/golden/demo-ranks.tsv` and `pasted-ranks.tsv` (issues, stack traces, logs and diffs): a change shows as
a diff.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from bench.checkouts import indexed_at, trees_in, write_trees
from bench.judged import GOLDEN, demo, golden, judged, pasted
from llmc.base.errors import EmbedError
from llmc.embed import open_embedder
from llmc.envelope.tokens import count
from llmc.retrieval.search import SearchRequest, search
from llmc.retrieval.signals import SIGNALS
from llmc.settings import EmbedderSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.judged import Corpus, Question
    from llmc.embed import Embedder
    from llmc.retrieval.results import SearchResult
    from llmc.retrieval.view import View

__all__ = ["Answer", "ask", "main", "ndcg", "rank_rows"]

TOP = 10
RESAMPLES = 1000
RANKS = {"golden": "ranks.tsv", "demo": "demo-ranks.tsv", "pasted": "pasted-ranks.tsv"}


@dataclass(frozen=True, slots=True)
class Answer:
    corpus: str
    question: Question
    ranks: tuple[int | None, ...]  # of each wanted file, from 1
    tokens: int | None  # tokens up to and including the first right place; None if not found or not counted
    seconds: float  # of CPU

    @property
    def first(self) -> int | None:
        return min((rank for rank in self.ranks if rank), default=None)


def ask(corpus: Corpus, view: View, off: frozenset[str] = frozenset(), *, tokens: bool = False) -> list[Answer]:
    return [_answer(corpus.name, question, view, off, tokens=tokens) for question in corpus.questions]


def _answer(name: str, question: Question, view: View, off: frozenset[str], *, tokens: bool) -> Answer:
    started = time.process_time()
    result = search([view], SearchRequest(question.text, limit=TOP, off=off))
    seconds = time.process_time() - started
    paths = [file.path for file in result.files]
    ranks = tuple(paths.index(path) + 1 if path in paths else None for path in question.wanted)
    return Answer(name, question, ranks, _tokens(result, question) if tokens else None, seconds)


def _tokens(result: SearchResult, question: Question) -> int | None:
    """The tokens that a model reads when it receives the best place of each file in turn."""
    spent = 0
    for file in result.files:
        spent += count(f"{file.path}:{file.hits[0].start_line}\n{file.hits[0].text}\n")
        if file.path in question.wanted:
            return spent
    return None


def ndcg(answer: Answer) -> float:
    gained = sum(1 / math.log2(rank + 1) for rank in answer.ranks if rank)
    return gained / sum(1 / math.log2(rank + 1) for rank in range(1, min(TOP, len(answer.ranks)) + 1))


def recall(answer: Answer, depth: int) -> float:
    return float(answer.first is not None and answer.first <= depth)


def figures(answers: Sequence[Answer]) -> dict[str, float]:
    tokens = [answer.tokens for answer in answers if answer.tokens is not None]
    return {
        "queries": len(answers),
        "ndcg@10": fmean(map(ndcg, answers)),
        "mrr": fmean(1 / answer.first if answer.first else 0.0 for answer in answers),
        "recall@1": fmean(recall(answer, 1) for answer in answers),
        "recall@3": fmean(recall(answer, 3) for answer in answers),
        "recall@10": fmean(recall(answer, TOP) for answer in answers),
        "tokens": fmean(tokens) if tokens else 0.0,
    }


def interval(answers: Sequence[Answer]) -> tuple[float, float]:
    """95 % of the means of resampled queries; the seed is fixed so that a run can be repeated."""
    scores = list(map(ndcg, answers))
    draw = random.Random(1)
    means = sorted(fmean(draw.choices(scores, k=len(scores))) for _ in range(RESAMPLES))
    return means[int(RESAMPLES * 0.025)], means[int(RESAMPLES * 0.975)]


def by(answers: Sequence[Answer], key: Callable[[Answer], str]) -> dict[str, dict[str, float]]:
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[key(answer)].append(answer)
    return {name: figures(group) for name, group in sorted(groups.items())}


def rank_rows(answers: Sequence[Answer]) -> list[str]:
    """One line for each wanted place; `-` if it is not among the first ten."""
    return [
        f"{answer.corpus}\t{headline(answer.question.text)}\t{path}\t{rank or '-'}"
        for answer in answers
        for path, rank in zip(answer.question.wanted, answer.ranks, strict=True)
    ]


def headline(text: str) -> str:
    return text.partition("\n")[0]


def run(corpora: Sequence[Corpus], views: Sequence[View], off: frozenset[str] = frozenset()) -> list[Answer]:
    return [
        answer for corpus, view in zip(corpora, views, strict=True) for answer in ask(corpus, view, off, tokens=True)
    ]


def views_of(corpora: Sequence[Corpus], stores: Path, embedder: Embedder | None, *, source: bool) -> list[View]:
    """Each corpus in a persistent store: the whole of it, or the folder that the public benchmark indexes."""
    kept = stores / ("source" if source else "whole")
    return [
        indexed_at(
            corpus.folder, kept / corpus.name, embedder, label=corpus.name, under=corpus.source if source else ""
        )
        for corpus in corpora
    ]


def measure(
    corpora: Sequence[Corpus], views: Sequence[View], embedder: Embedder | None, *, ablate: bool
) -> tuple[dict[str, object], list[Answer]]:
    answers = run(corpora, views)
    seconds = sorted(answer.seconds for answer in answers)
    report: dict[str, object] = {
        "embedder": embedder.name if embedder else None,
        "all": figures(answers),
        "interval": interval(answers),
        "category": by(answers, lambda answer: answer.question.kind),
        "language": by(answers, lambda answer: answer.question.language),
        "corpus": by(answers, lambda answer: answer.corpus),
        "without vectors": figures(run(corpora, views, frozenset({"vectors"}))),
        "cpu seconds": {"p50": seconds[len(seconds) // 2], "p95": seconds[len(seconds) * 95 // 100]},
    }
    if ablate:
        report["without"] = {signal.name: figures(run(corpora, views, frozenset({signal.name}))) for signal in SIGNALS}
    return report, answers


def bundled() -> Embedder | None:
    try:
        return open_embedder(EmbedderSettings())
    except EmbedError as error:
        print(f"no vectors: {error.message}", file=sys.stderr)
        return None


def show(title: str, report: dict[str, object]) -> None:
    print(f"\n{title} · embedder {report['embedder']} · 95 % of NDCG@10 within {report['interval']}")
    rows: list[tuple[str, dict[str, float]]] = [("all", report["all"]), ("without vectors", report["without vectors"])]  # type: ignore[list-item]
    for group in ("category", "language", "corpus", "without"):
        rows += [(f"{group} {name}", row) for name, row in report.get(group, {}).items()]  # type: ignore[attr-defined]
    print(f"{'':32} {'queries':>7} {'ndcg@10':>8} {'mrr':>7} {'r@1':>6} {'r@3':>6} {'r@10':>6} {'tokens':>7}")
    for name, row in rows:
        q, n, m, a, b, c, t = row.values()
        print(f"{name[:32]:32} {q:7.0f} {n:8.4f} {m:7.4f} {a:6.3f} {b:6.3f} {c:6.3f} {t:7.0f}")
    print(f"search, CPU seconds: {report['cpu seconds']}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--golden", action="store_true", help="the golden suite of data/golden")
    parser.add_argument("--demo", action="store_true", help="the demo workspace, by keywords alone")
    parser.add_argument("--judged", type=Path, help="a folder with repos.json and annotations/")
    parser.add_argument("--repos", type=Path, help="a folder with a checkout for each repository of --judged")
    parser.add_argument("--mirror", type=Path, help="git directories, owner+name/repo, to check them out from")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "llmc-bench", help="packages, stores")
    parser.add_argument("--source", action="store_true", help="of --judged only the folder that its benchmark indexes")
    parser.add_argument("--keep", action="store_true", help="use the stores of an earlier run of --judged")
    parser.add_argument("--ablate", action="store_true", help="also with each signal switched off")
    parser.add_argument("--write", action="store_true", help="keep the ranks of the golden suite")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sources = bool(options.repos) + bool(options.mirror)
    if bool(options.judged) != (sources == 1) or not (options.golden or options.judged or options.demo):
        parser.error("give --golden, or --judged with either --repos or --mirror")
    reports: dict[str, object] = {}
    for title, corpora in sets(options):
        embedder = None if title in {"demo", "pasted"} else bundled()
        stores = options.cache / "stores"
        if title == "judged" and (options.source or options.keep):
            if not options.keep:
                shutil.rmtree(stores / "source", ignore_errors=True)
            views = views_of(corpora, stores, embedder, source=options.source)
        else:
            shutil.rmtree(stores / title, ignore_errors=True)
            views = [
                indexed_at(corpus.folder, stores / title / corpus.name, embedder, label=corpus.name)
                for corpus in corpora
            ]
        report, answers = measure(corpora, views, embedder, ablate=options.ablate)
        reports[title] = report
        if title in RANKS and options.write:
            (GOLDEN / RANKS[title]).write_text("\n".join(rank_rows(answers)) + "\n", "utf-8")
        if not options.json:
            show(title, report)
    if options.json:
        print(json.dumps(reports, indent=1))


def sets(options: argparse.Namespace) -> list[tuple[str, list[Corpus]]]:
    folder = GOLDEN.parent / "demo"
    found = [("demo", [demo(folder)]), ("pasted", [pasted(folder)])] if options.demo else []
    found += [("golden", golden(options.cache / "packages"))] if options.golden else []
    if not options.judged:
        return found
    if options.repos:
        trees = trees_in(options.judged, options.repos)
    else:
        trees = write_trees(options.judged, options.mirror, options.cache / "checkouts")
    return [*found, ("judged", judged(options.judged, trees))]


if __name__ == "__main__":
    main()
