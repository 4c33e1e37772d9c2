"""`make model`: from the list of packages to the folder that is shipped, step by step; each step can be run alone.

    python -m training.run all --work DIR        collect, examples, table, export, in this order
    python -m training.run export --work DIR     one step; it reads what the steps before left in DIR

Needs pip, npm and apt-get, and the packages of training/requirements.txt. Everything that is drawn has a seed; the list
pins versions; so two runs differ only where a registry no longer has a package (it is named) or floating point does.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import time
from collections import Counter
from dataclasses import asdict
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.judged import GOLDEN
from bench.packages import read_list as pinned
from bench.packages import unpacked
from llmc.embed import BUNDLED
from llmc.embed.static import Tokenizer
from training.collect import collect, read_list
from training.examples import examples, extract, file_lines, lines_of, read, write
from training.vocabulary import choose_words

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["main"]


def collect_step(work: Path) -> None:
    """The packages to learn from, and those of the golden suite, of which nothing may be learned."""
    for package in pinned(GOLDEN / "packages.tsv"):
        unpacked(package, work / "against" / "golden")
    refused = collect(read_list(), work / "corpus")
    (work / "refused.txt").write_text("\n".join(refused) + "\n")
    print(f"{len(refused)} packages left out, see refused.txt")


def examples_step(work: Path) -> None:
    """Training examples, without whatever copies the dev and test packages (or any folder below WORK/against)."""
    packages = [package for package in read_list() if (work / "corpus" / package.folder / ".done").exists()]
    held_out: set[int] = set()
    target, seen = work / "examples.jsonl", set[int]()
    target.unlink(missing_ok=True)
    with Pool() as pool:
        apart = [work / "corpus" / package.folder for package in packages if package.split != "train"]
        for found in pool.imap(extract, apart):
            held_out.update(*(lines_of(definition.code) for definition in found))
        against = [path for path in (work / "against").rglob("*") if path.is_file() and path.stat().st_size < 1_000_000]
        held_out.update(*pool.imap_unordered(file_lines, against, chunksize=64))
        train = [package for package in packages if package.split == "train"]
        folders = [work / "corpus" / package.folder for package in train]
        for package, definitions in zip(train, pool.imap(extract, folders), strict=True):
            write(target, examples(package, definitions, held_out, seen))
    languages = Counter((example.language, bool(example.sentence)) for example in read(target))
    (work / "examples.json").write_text(
        json.dumps({f"{name} {doc}": n for (name, doc), n in sorted(languages.items())})
    )
    (work / "words.txt").write_text("\n".join(choose_words(read(target))))


def table_step(work: Path) -> None:
    """Tokenise, start from MiniLM's words, train."""
    from training.initial import initial_table
    from training.train import Draw, Recipe, tokenise, train

    recipe = Recipe()
    words = (work / "words.txt").read_text().split("\n")
    tokens = Tokenizer(words)
    corpus = tokenise(read(work / "examples.jsonl"), tokens, recipe.code_tokens)
    counts = np.bincount(np.concatenate(corpus.code), np.concatenate(corpus.counts), tokens.size)
    counts += np.bincount(np.concatenate(corpus.sentence), minlength=tokens.size) + 1
    start = initial_table(words, counts, tokens.size, recipe.dimension, recipe.seed)
    table = train(Draw(corpus, tokens, words, recipe), start, lambda rows: f"mean row {np.abs(rows).mean():.4f}")
    with (work / "table.pickle").open("wb") as file:
        pickle.dump({"recipe": asdict(recipe), "words": words, "table": table}, file)


def export_step(work: Path) -> None:
    from training.export import export

    saved: dict[str, npt.NDArray[np.float32]] = pickle.loads((work / "table.pickle").read_bytes())
    print(export(saved["table"], list(saved["words"]), BUNDLED))


STEPS = {"collect": collect_step, "examples": examples_step, "table": table_step, "export": export_step}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["all", *STEPS])
    parser.add_argument("--work", type=Path, required=True)
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    for name, step in STEPS.items():
        if asked.step in {"all", name}:
            began, spent = time.perf_counter(), sum(os.times()[:4])
            step(asked.work)
            wall, cpu = time.perf_counter() - began, sum(os.times()[:4]) - spent
            print(f"{name}: {wall:.0f} s, {cpu:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main()
