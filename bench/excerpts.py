"""Is the answer in what a search quotes, or one more call away?

    python -m bench.excerpts [--cache DIR] [--json]

Three sets of questions whose answers are ranges of lines: *questions*, the 60 of `bench.research`; *undocumented*,
first sentences of docstrings of six Python packages, asked of copies from which those docstrings were taken, so that
the code must be found by what it does; *documented*, such sentences with a third of their words left out, asked of the
packages as they are. `answered` are those of which a first reply quotes at least eight lines of the function, or three
quarters of it; `touched` any line; `named` says that the right file is named.

Fair because nobody chose the sentences (they are drawn with a fixed seed, at most four of a file), because a reply is
the one that a model gets, with its own budget, and because its tokens are counted whole. The sentences are no questions
of users: compare versions of llmc with them, not llmc with others.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import shutil
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from bench.homes import home_of
from bench.judged import GOLDEN
from bench.packages import read_list, unpacked
from bench.research import DATA, judged
from llmc.envelope import render
from llmc.envelope.tokens import count
from llmc.retrieval.search import SearchRequest
from llmc.retrieval.search import search as run_search
from llmc.settings import Settings
from llmc.tools import search
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.retrieval.results import SearchResult

__all__ = ["Sentence", "documented", "main", "measure", "sentences", "undocumented"]

PACKAGES = ("jinja2", "peewee", "paramiko", "werkzeug", "dramatiq", "scrapy")
MOST, MOST_OF_A_FILE = 60, 4
LEAST_CODE = 5  # lines below the docstring; with fewer there is nothing to decide
SHORTEST, LONGEST = 5, 25  # words of a sentence
LEAST_WORDS = 3
ENOUGH_LINES, ENOUGH_SHARE = 8, 0.75
_MARKUP = re.compile(r":\w+:`~?([^`<]+)(?:<[^`]*>)?`|`")
_SENTENCE = re.compile(r".+?[.!?](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """The first sentence of a function's documentation, with the place of the function and of its docstring."""

    path: str
    text: str
    function: range
    docstring: range


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    wanted: tuple[tuple[str, range], ...]


@dataclass(frozen=True, slots=True)
class ExcerptScore:
    answered: bool
    touched: bool
    named: bool
    tokens: int


def sentences(folder: Path, seed: str) -> list[Sentence]:
    """Drawn from the functions of a package, tests excepted."""
    paths = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.py")) if "test" not in path.name]
    found = [one for path in paths if "/test" not in f"/{path}" for one in said_in(folder, path)]
    random.Random(seed).shuffle(found)
    taken: Counter[str] = Counter()
    kept = []
    for one in found:
        taken[one.path] += 1
        if taken[one.path] <= MOST_OF_A_FILE:
            kept.append(one)
    return kept[:MOST]


def said_in(folder: Path, path: str) -> Iterator[Sentence]:
    try:
        tree = ast.parse((folder / path).read_text("utf-8"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (said := ast.get_docstring(node)):
            function, docstring = lines_of(node), lines_of(node.body[0])
            text = first_sentence(said)
            apart = docstring.start > node.lineno and function.stop - docstring.stop >= LEAST_CODE
            if apart and SHORTEST <= len(text.split()) <= LONGEST:
                yield Sentence(path, text, function, docstring)


def lines_of(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def first_sentence(said: str) -> str:
    plain = " ".join(_MARKUP.sub(lambda match: match[1] or "", said.partition("\n\n")[0]).split())
    match = _SENTENCE.match(plain)
    return (match[0] if match else plain).rstrip(".")


def documented(drawn: Sequence[Sentence], seed: str) -> list[Question]:
    """A third of the words of each question is left out."""
    chance = random.Random(seed)
    found = []
    for one in drawn:
        words = one.text.split()
        kept = sorted(chance.sample(range(len(words)), max(LEAST_WORDS, len(words) * 2 // 3)))
        found.append(Question(" ".join(words[at] for at in kept), ((one.path, one.function),)))
    return found


def undocumented(drawn: Sequence[Sentence], folder: Path) -> list[Question]:
    """The docstrings are removed from the files in `folder`; the lines below them move up."""
    by_path: dict[str, list[Sentence]] = defaultdict(list)
    for one in drawn:
        by_path[one.path].append(one)
    found = []
    for path, here in by_path.items():
        gone = {number for one in here for number in one.docstring}
        lines = (folder / path).read_text("utf-8").split("\n")
        (folder / path).write_text("\n".join(line for at, line in enumerate(lines, 1) if at not in gone), "utf-8")
        for one in here:
            start, stop = (
                end - sum(number < end for number in gone) for end in (one.function.start, one.function.stop)
            )
            found.append(Question(one.text, ((path, range(start, stop)),)))
    return found


def ask_all(folder: Path, questions: Sequence[Question], home: Path) -> list[ExcerptScore]:
    with Workspace.open(str(folder), home=str(home), settings=Settings(), watch=False) as workspace:
        workspace.index()
        return [ask(workspace, question) for question in questions]


def ask(workspace: Workspace, question: Question) -> ExcerptScore:
    """The reply of the tool before rendering: the lines quoted from each file."""
    found = run_search(workspace.views(), SearchRequest(question.text, room=search.ROOM))
    result = replace(found, files=search.near_enough(found, is_report=False))
    quoted = lines_quoted(result)
    shares = [(len(quoted[path].intersection(lines)), len(lines)) for path, lines in question.wanted]
    return ExcerptScore(
        answered=any(got >= min(ENOUGH_LINES, ENOUGH_SHARE * size) for got, size in shares),
        touched=any(got for got, _ in shares),
        named=any(file.path == path for file in result.files for path, _ in question.wanted),
        tokens=count(render(search.envelope_of(result, workspace))),
    )


def lines_quoted(result: SearchResult) -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for file in result.files:
        found[file.path].update(number for passage in file.passages for number, _ in passage.lines)
    return found


def summary(told: Sequence[ExcerptScore]) -> dict[str, float]:
    names = ("answered", "touched", "named", "tokens")
    return {"questions": len(told), **{name: fmean(getattr(one, name) for one in told) for name in names}}


def measure(cache: Path) -> dict[str, dict[str, float]]:
    sets: dict[str, list[ExcerptScore]] = defaultdict(list)
    for package in read_list(DATA / "packages.tsv"):
        asked = [
            Question(one.text, tuple((path, range(start, end + 1)) for path, start, end in one.wanted))
            for one in judged()
            if one.repository == package.name
        ]
        print(f"  {package.name}: {len(asked)} questions", file=sys.stderr, flush=True)
        folder = unpacked(package, cache)
        with home_of(folder) as home:
            sets["questions"] += ask_all(folder, asked, home)
    for package in read_list(GOLDEN / "packages.tsv"):
        if package.name in PACKAGES:
            source = unpacked(package, cache)
            drawn = sentences(source, package.name)
            print(f"  {package.name}: {len(drawn)} sentences", file=sys.stderr, flush=True)
            with home_of(source) as home:
                sets["documented"] += ask_all(source, documented(drawn, package.name), home)
                copy = home.with_name("without")
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(source, copy)
                sets["undocumented"] += ask_all(copy, undocumented(drawn, copy), home)
    return {name: summary(told) for name, told in sets.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path("build/corpora"))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    results = measure(given.cache)
    if given.json:
        print(json.dumps(results, indent=1))
        return
    for name, figures in results.items():
        print(f"{name:14}", "  ".join(f"{key} {value:.3g}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
