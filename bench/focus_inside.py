"""Does a focus question keep the line that decides, deep inside a function?

    python -m bench.focus_inside CHECKOUT… [--removed] [--function] [--lost] [--json FILE]

A case is a comment on lines of its own inside a function: its text is the question, and the first line of code below
it is the line that must be kept. `--removed` takes the comment out of the text first, so that only the code can answer.
The text is the whole file, or with `--function` the function alone, as `read file::name` shows it. The share is what is
kept of the text's tokens, line numbers and marks of omissions included. Results are grouped by the length of the
function.

Fair because the questions were written by the authors of the code, for readers of the code, and the checkouts are given
on the command line: those that are reported (docs/decisions/0070) were not looked at before.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.focus import DROPPED, SUFFIXES, TESTS, kept_share, plain
from llmc.base.languages import language_of
from llmc.indexer.syntax import outline
from llmc.retrieval.passages.blocks import Block
from llmc.retrieval.passages.prune import prune
from llmc.tools.focus.reply_focus import LEAVES, SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.base.model import Symbol

__all__ = ["InsideCase", "cases_of"]

SHORTEST, LONGEST = 150, 5_000  # lines of a file: saving 15 % of fewer is not worth a question
SHORTEST_FUNCTION = 40  # lines of a function that is read alone
OF_FILE, OF_CHECKOUT = 3, 150
FEWEST_WORDS, MOST_WORDS = 5, 40
MORE_SUFFIXES = SUFFIXES | {".tsx", ".jsx", ".mjs", ".cc", ".cpp", ".h", ".rb", ".php", ".kt"}
LENGTHS = ((1, 30), (30, 80), (80, 200), (200, 100_000))
COMMENT = re.compile(r"\s*(?://|#(?!\[|!|include|define|if|el|end|pragma)|/\*|\*)")
CODE_LIKE = re.compile(r"[;{}=<>|`\\]|\w\(|https?:|(?i:todo|fixme|noqa|eslint|type:|pylint|nolint|xxx)\b")


@dataclass(frozen=True, slots=True)
class InsideCase:
    path: str
    lines: tuple[str, ...]
    blocks: tuple[Block, ...]
    question: str
    deciding: int  # the number of the line, from 1
    length: int  # lines of the function


def cases_of(checkout: Path, *, removed: bool, function: bool) -> list[InsideCase]:
    draw = random.Random(checkout.name.partition("-")[0])
    found: list[InsideCase] = []
    for path in sorted(checkout.rglob("*")):
        name = str(path.relative_to(checkout))
        if path.suffix not in MORE_SUFFIXES or DROPPED.search(name) or TESTS.search(path.name) or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        if SHORTEST <= text.count("\n") <= LONGEST:
            of_file = list(of_text(name, text, removed=removed, function=function))
            draw.shuffle(of_file)
            found += of_file[:OF_FILE]
    draw.shuffle(found)
    return found[:OF_CHECKOUT]


def of_text(path: str, text: str, *, removed: bool, function: bool) -> Iterator[InsideCase]:
    lines = text.split("\n")
    symbols = [mark.symbol for mark in outline(language_of(path, text), text).marks]
    functions = [symbol for symbol in symbols if symbol.kind in LEAVES]
    for first, last in comments(lines):
        around = [symbol for symbol in functions if symbol.start_line < first and last < symbol.end_line]
        question = " ".join(plain("\n".join(line.strip() for line in lines[first - 1 : last])).split())
        if not around or not is_asked(question) or last >= len(lines):
            continue
        inner = min(around, key=lambda symbol: symbol.end_line - symbol.start_line)
        below = lines[last]
        if not re.search(r"\w\w", below) or first <= inner.start_line + 1:
            continue
        length = inner.end_line - inner.start_line + 1
        if not function:
            span = (1, len(lines))
        elif length >= SHORTEST_FUNCTION:
            span = (inner.start_line, min(inner.end_line, len(lines)))
        else:
            continue
        gone = last - first + 1 if removed else 0
        shown, blocks, number = shown_text(lines, symbols, span, last, gone)
        yield InsideCase(path, tuple(shown), tuple(blocks), question, number, length)


def shown_text(
    lines: Sequence[str], symbols: Sequence[Symbol], span: tuple[int, int], last: int, gone: int
) -> tuple[list[str], list[Block], int]:
    """The lines of `span` without the `gone` ones up to `last`, their definitions, and the number of the line below."""
    start, end = span

    def moved(number: int) -> int:
        return max(number, start) - start + 1 - (gone if number > last else 0)

    shown = [*lines[start - 1 : last - gone], *lines[last:end]]
    blocks = [
        Block(moved(symbol.start_line), moved(min(symbol.end_line, end)), symbol.name, symbol.kind not in LEAVES)
        for symbol in symbols
        if symbol.kind not in SMALL and symbol.start_line <= end and symbol.end_line >= start
    ]
    return shown, blocks, moved(last + 1)


def comments(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Runs of comment-only lines, from 1; a file's licence is never inside a function."""
    first = 0
    for number, line in enumerate([*lines, ""], 1):
        if COMMENT.match(line):
            first = first or number
        elif first:
            yield first, number - 1
            first = 0


def is_asked(question: str) -> bool:
    words = question.split()
    letters = re.findall(r"[A-Za-z]{2,}", question)
    return FEWEST_WORDS <= len(words) <= MOST_WORDS and len(letters) >= FEWEST_WORDS and not CODE_LIKE.search(question)


def figures(cases: Sequence[InsideCase]) -> tuple[list[dict[str, object]], list[InsideCase]]:
    rows: list[dict[str, object]] = []
    lost: list[InsideCase] = []
    results = [(case, prune(case.lines, case.question, blocks=case.blocks or None)) for case in cases]
    groups = [(f"{low}-{high - 1}" if high < LONGEST else f"{low}+", low, high) for low, high in LENGTHS]
    for name, low, high in [*groups, ("under 80", 1, 80), ("80 and above", 80, 100_000), ("all", 1, 100_000)]:
        chosen = [(case, kept) for case, kept in results if low <= case.length < high]
        if not chosen:
            continue
        won = sum(case.deciding in kept for case, kept in chosen)
        shares = [kept_share(case.lines, kept) for case, kept in chosen]
        rows.append(
            {"lines": name, "cases": len(chosen), "kept": won / len(chosen), "tokens": statistics.fmean(shares)}
        )
        if name == "all":
            lost = [case for case, kept in chosen if case.deciding not in kept]
    return rows, lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, nargs="+")
    parser.add_argument("--removed", action="store_true", help="take the comment out of the text")
    parser.add_argument("--function", action="store_true", help="the text is the function alone")
    parser.add_argument("--lost", action="store_true", help="name the cases that were lost")
    parser.add_argument("--json", type=Path, help="write the figures here")
    asked = parser.parse_args()
    cases = [
        case
        for checkout in asked.checkouts
        for case in cases_of(checkout, removed=asked.removed, function=asked.function)
    ]
    rows, lost = figures(cases)
    for row in rows:
        print(f"{row['lines']:14} {row['cases']:5} cases  kept {row['kept']:6.1%}  of tokens {row['tokens']:6.1%}")
    for case in lost if asked.lost else ():
        print(f"  {case.path}:{case.deciding} ({case.length}) {case.question}")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
