"""Does a focus question keep the function that answers it, and how little else?

    python -m bench.focus DIR [--split report] [--index] [--documented] [--lost] [--json FILE]

DIR receives the packages of `focus_packages.tsv` (fetched once, checked by hash). A case is a file of 500 to 3,000
lines and one function in it: the question is the first sentence of the function's own documentation, and that
documentation is taken out of the text. A case is won when every line of the function is kept; the share is what is
kept of the file's tokens, line numbers and marks of omissions included, as a reader of the reply pays for them.

Fair because no package here is in the training data of the bundled model, the weights were fitted on the packages of
`tune` and on others that are not in this list (decision 24), the neighbours keep their own documentation (they can only
mislead), and the text is cut without help of an index (`--index` uses the syntax outline instead, as a read of an
indexed file does).
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.packages import Package, unpacked
from llmc.base.languages import language_of
from llmc.base.words import STOP_WORDS, query_words
from llmc.envelope.tokens import count, count_line
from llmc.indexer.syntax import outline
from llmc.retrieval.passages.prune import prune
from llmc.tools.focus import Block
from training.examples import first_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Case", "cases", "kept_share"]

LIST = Path(__file__).with_name("focus_packages.tsv")
SHORTEST, LONGEST = 500, 3_000  # lines of a file
LEAST_LINES = 4  # of a function
LARGEST_SHARE = 0.12  # share of a file's tokens that the function may have: a larger one cannot be kept within 15 %
OF_FILE, OF_PACKAGE = 3, 60
SUFFIXES = {".py", ".js", ".ts", ".rs", ".go", ".java", ".c"}
DROPPED = re.compile(r"(^|/)(t|tests?|testing|vendor|node_modules|build|dist|_vendor|docs?|examples?|locale)(/|$)")

TESTS = re.compile(r"^test_|_test\.|\.min\.js$|\.test\.")


@dataclass(frozen=True, slots=True)
class Case:
    path: str
    lines: tuple[str, ...]
    question: str
    typed: str
    start: int  # of the function, from 1
    end: int


@dataclass(frozen=True, slots=True)
class Documented:
    """A function with the lines of its documentation."""

    start: int
    end: int
    doc: str
    doc_start: int
    doc_end: int


def cases(folder: Path, package: str, *, documented: bool = False) -> list[Case]:
    """`documented`: the function keeps its documentation, as in a real file."""
    draw = random.Random(package)
    found: list[Case] = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix in SUFFIXES and not DROPPED.search(name) and path.is_file() and not TESTS.search(path.name):
            text = path.read_bytes().decode("utf-8", "replace")
            if SHORTEST <= text.count("\n") <= LONGEST:
                of_file = list(of_text(name, text, draw, documented=documented))
                draw.shuffle(of_file)
                found += of_file[:OF_FILE]
    draw.shuffle(found)
    return found[:OF_PACKAGE]


def of_text(path: str, text: str, draw: random.Random, *, documented: bool = False) -> Iterator[Case]:
    lines = text.split("\n")
    total = count(text)
    for one in with_documentation(path, text):
        sentence = first_sentence(one.doc)[0]
        gone = 0 if documented else one.doc_end - one.doc_start + 1
        kept = lines if documented else [*lines[: one.doc_start - 1], *lines[one.doc_end :]]
        start, end = (one.start - gone, one.end - gone) if one.doc_end < one.start else (one.start, one.end - gone)
        own = sum(map(count_line, kept[start - 1 : end]))
        if is_question(sentence) and end - start + 1 >= LEAST_LINES and own <= LARGEST_SHARE * total:
            yield Case(path, tuple(kept), sentence, as_typed(sentence, draw), start, end)


def is_question(sentence: str) -> bool:
    """Whether a user could ask this: at least four informative words, and nothing that only the context explains."""
    words = [word for word in query_words(sentence) if not word.stop]
    return len(words) >= TELLING_WORDS and not NOT_ASKED.search(sentence)


TELLING_WORDS = 4
NOT_ASKED = re.compile(
    r"(?i)\b(this (function|method|class)|called (by|from|when|exclusively)|identical to|same as|see |subclass|overrid|"
    r"regression)"
)


def as_typed(sentence: str, draw: random.Random) -> str:
    """The sentence as a user might type it: some words missing, the rest in any order."""
    words = [word for word in sentence.lower().split() if word not in STOP_WORDS]
    kept = [word for word in words if draw.random() < KEPT_WORDS] if len(words) > TELLING_WORDS else words
    draw.shuffle(kept)
    return " ".join(kept)


def plain(comment: str) -> str:
    """A comment without its delimiters."""
    return re.sub(r"(?m)^\s*(///?!?|/\*[*!]*|\*+/|\*+|#+)\s?|\s*\*+/\s*$", "", comment).strip()


KEPT_WORDS = 0.65


def with_documentation(path: str, text: str) -> Iterator[Documented]:
    if path.endswith(".py"):
        yield from of_python(text)
        return
    lines = text.split("\n")
    for mark in outline(language_of(path, text), text).marks:
        symbol = mark.symbol
        if symbol.kind in {"function", "method"} and mark.lead < symbol.start_line:
            doc = plain("\n".join(line.strip() for line in lines[mark.lead - 1 : symbol.start_line - 1]))
            yield Documented(symbol.start_line, symbol.end_line, doc, mark.lead, symbol.start_line - 1)


def of_python(text: str) -> Iterator[Documented]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (doc := ast.get_docstring(node)):
            first = node.body[0]
            start = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if len(node.body) > 1 and first.lineno > node.lineno and node.end_lineno and first.end_lineno:
                yield Documented(start, node.end_lineno, doc, first.lineno, first.end_lineno)


def blocks_of(case: Case) -> list[Block]:
    """The blocks that the catalog would have for this text."""
    text = "\n".join(case.lines)
    marks = outline(language_of(case.path, text), text).marks
    return [
        Block(mark.symbol.start_line, mark.symbol.end_line, mark.symbol.name, mark.symbol.kind not in LEAVES)
        for mark in marks
        if mark.symbol.kind not in SMALL
    ]


LEAVES = frozenset({"function", "method", "macro"})
SMALL = frozenset({"constant", "variable", "field", "property", "parameter"})


def kept_share(lines: Sequence[str], kept: list[int]) -> float:
    """Tokens of the reply relative to the file: each run has its first number, each gap a mark."""
    paid, last = 0, 0
    for number in kept:
        line = lines[number - 1]
        paid += count_line(f" {line}") if number == last + 1 else count_line(" …") + count_line(f" {number} {line}")
        last = number
    return paid / max(1, count("\n".join(lines)))


def run(found: list[Case], *, typed: bool, index: bool) -> tuple[float, float, float, list[Case]]:
    """(share of cases won, mean share of tokens, worst share, lost cases)."""
    lost, shares = [], []
    for case in found:
        question = case.typed if typed else case.question
        kept = prune(case.lines, question, blocks=blocks_of(case) if index else None)
        shares.append(kept_share(case.lines, kept))
        if not set(range(case.start, case.end + 1)) <= set(kept):
            lost.append(case)
    return 1 - len(lost) / max(1, len(found)), statistics.fmean(shares), max(shares), lost


def seconds(found: list[Case]) -> list[float]:
    times = []
    for case in found:
        began = time.perf_counter()
        prune(case.lines, case.question)
        times.append(time.perf_counter() - began)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", default="report", choices=("tune", "report"))
    parser.add_argument("--index", action="store_true", help="take definitions from the syntax outline")
    parser.add_argument("--documented", action="store_true", help="leave the function's documentation where it is")
    parser.add_argument("--lost", action="store_true", help="name the cases that were lost")
    parser.add_argument("--json", type=Path, help="write the figures here")
    asked = parser.parse_args()
    figures: list[dict[str, object]] = []
    rows = [line.split("\t") for line in LIST.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    everything: list[Case] = []
    for *row, split in rows:
        if split == asked.split:
            package = Package(*row)
            found = cases(unpacked(package, asked.folder), package.name, documented=asked.documented)
            everything += found
            if found:
                won, mean, _, _ = run(found, typed=False, index=asked.index)
                print(f"{package.name:16} {len(found):4} cases  kept {won:6.1%}  of tokens {mean:5.1%}")
    for typed in (False, True):
        won, mean, worst, lost = run(everything, typed=typed, index=asked.index)
        style = "as typed" if typed else "sentence"
        figures.append({"asked": style, "cases": len(everything), "kept": won, "tokens": mean, "most": worst})
        print(f"{style}: {len(everything)} cases, kept {won:.1%}, tokens {mean:.1%} on average, {worst:.1%} at most")
        for case in lost if asked.lost else ():
            print(f"  {case.path}:{case.start}-{case.end} {case.question}")
    times = sorted(seconds([case for case in everything if len(case.lines) > LONGEST * 0.6] or everything))
    p95 = times[int(len(times) * 0.95)]
    print(f"time on the longer files: median {statistics.median(times):.3f} s, p95 {p95:.3f} s")
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
