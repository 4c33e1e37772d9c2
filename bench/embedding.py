"""What are the vectors worth? BM25F alone, with our model, with MiniLM, with both, on held-out code in six languages.

    python -m bench.embedding --corpus DIR --split dev [--transformer FOLDER] [--model FOLDER] [--out FILE]

BM25F has the index's own terms (body, name × 0.6, path × 0.3); the lists are fused as search does it: each top-200
brought to 0..1, then added. Differences come with 95 % intervals from a paired bootstrap over questions. Vectors of
the transformer are kept beside the corpus, as they cost minutes. The test split is looked at once; the model card
says when.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.heldout import HeldOut, held_out
from llmc import words
from llmc.embed import BUNDLED
from llmc.embed.static import StaticEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    Scores = npt.NDArray[np.float32]  # questions × texts

FIELDS = (("body", 1.0), ("name", 0.6), ("path", 0.3))
TOP = 200
WEIGHT = 0.75  # of vectors against keywords, flat between 0.75 and 1 on the dev split
RESAMPLES = 2_000


def bm25(texts: Sequence[str], questions: Sequence[str], k1: float = 1.2, b: float = 0.75) -> Scores:
    """Plain BM25 of one field over terms that are already analysed."""
    counts = [Counter(text.split()) for text in texts]
    lengths = np.array([sum(count.values()) for count in counts], dtype=np.float32)
    norm = k1 * (1 - b + b * lengths / max(1.0, float(lengths.mean())))
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, count in enumerate(counts):
        for term, times in count.items():
            postings[term].append((number, times))
    scores = np.zeros((len(questions), len(texts)), dtype=np.float32)
    for row, question in zip(scores, questions, strict=True):
        for term in question.split():
            found = postings.get(term, [])
            idf = math.log(1 + (len(texts) - len(found) + 0.5) / (len(found) + 0.5))
            for number, times in found:
                row[number] += idf * times * (k1 + 1) / (times + norm[number])
    return scores


def keyword_scores(data: HeldOut, questions: Sequence[str]) -> Scores:
    asked = [" ".join(_terms(question)) for question in questions]
    fields = {
        "body": [words.body(text) for text in data.texts],
        "name": [words.name(name) for name in data.names],
        "path": [words.path(path) for path in data.paths],
    }
    scores = np.zeros((len(questions), len(data.texts)), dtype=np.float32)
    for name, weight in FIELDS:
        scores += weight * bm25(fields[name], asked)
    return scores


def _terms(question: str) -> list[str]:
    return [term for word in words.query_words(question) if not word.stop for term in (word.term, *word.parts)]


def fused(lists: Sequence[tuple[Scores, float]]) -> Scores:
    """Each list's best 200 brought to 0..1 and added; what is in no list scores nothing."""
    total = np.zeros_like(lists[0][0])
    for scores, weight in lists:
        top = min(TOP, scores.shape[1])
        least = -np.sort(-scores, axis=1)[:, top - 1 : top]
        best = scores.max(axis=1, keepdims=True)
        total += weight * np.clip((scores - least) / np.maximum(best - least, 1e-9), 0, 1)
    return total


def ranks(scores: Scores, answers: Sequence[int]) -> npt.NDArray[np.int64]:
    """The place of the right answer, 1 the best; an equal score counts against it by halves."""
    right = scores[np.arange(len(answers)), list(answers)][:, None]
    equal = (scores == right).sum(axis=1) - 1
    return np.asarray(1 + (scores > right).sum(axis=1) + equal // 2, dtype=np.int64)


def measures(places: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.float64]]:
    inside = places <= 10
    return {
        "mrr10": np.where(inside, 1 / places, 0.0),
        "ndcg10": np.where(inside, 1 / np.log2(1 + places), 0.0),
        "recall10": inside.astype(np.float64),
    }


def interval(difference: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Mean of the paired differences and its 95 % bootstrap interval."""
    draw = np.random.default_rng(7)
    means = [difference[draw.integers(len(difference), size=len(difference))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(difference.mean()), float(low), float(high)


def transformer_vectors(folder: str, cache: Path) -> Callable[[Sequence[str]], Scores]:
    """MiniLM (or another) with its vectors kept on disk by content."""
    model: list[Any] = []

    def encode(texts: Sequence[str]) -> Scores:
        key = hashlib.blake2b("\0".join([Path(folder).name, *texts]).encode(), digest_size=12).hexdigest()
        place = cache / f"{key}.npy"
        if not place.exists():
            if not model:
                from sentence_transformers import SentenceTransformer

                model.append(SentenceTransformer(folder, device="cpu"))
            cache.mkdir(parents=True, exist_ok=True)
            np.save(place, model[0].encode(list(texts), normalize_embeddings=True, show_progress_bar=False))
        return np.asarray(np.load(place), dtype=np.float32)

    return encode


def runs(data: HeldOut, style: str, encoders: dict[str, Callable[[Sequence[str]], Scores]]) -> dict[str, Scores]:
    """Score matrices of every method for one package."""
    questions = data.questions if style == "sentence" else data.typed
    keyword = keyword_scores(data, questions)
    dense = {name: encode(questions) @ encode(data.texts).T for name, encode in encoders.items()}
    result = {"bm25f": keyword, **dense}
    for name, scores in dense.items():
        result[f"bm25f+{name}"] = fused([(keyword, 1.0), (scores, WEIGHT)])
    if len(dense) > 1:
        both = np.asarray(np.mean(list(dense.values()), axis=0), dtype=np.float32)  # what CombinedEmbedder gives
        result["bm25f+both"] = fused([(keyword, 1.0), (both, WEIGHT)])
    return result


def table(corpus: Path, split: str, encoders: dict[str, Callable[[Sequence[str]], Scores]]) -> dict[str, Any]:
    """For each style and language: the means of each method, and the differences that matter with their intervals."""
    places: dict[tuple[str, str], dict[str, list[npt.NDArray[np.int64]]]] = defaultdict(lambda: defaultdict(list))
    for data in held_out(corpus, split):
        for style in ("sentence", "typed"):
            for method, scores in runs(data, style, encoders).items():
                found = ranks(scores, data.answers)
                places[style, data.language][method].append(found)
                places[style, "all"][method].append(found)
    return {
        f"{style} · {language}": _summary({method: np.concatenate(found) for method, found in methods.items()})
        for (style, language), methods in sorted(places.items())
    }


def _summary(methods: dict[str, npt.NDArray[np.int64]]) -> dict[str, Any]:
    every = {method: measures(found) for method, found in methods.items()}
    means = {
        method: {name: round(float(values.mean()), 4) for name, values in of.items()} for method, of in every.items()
    }
    compared = [("bm25f+ours", "bm25f"), ("bm25f+ours", "bm25f+minilm"), ("bm25f+both", "bm25f+ours")]
    differences = {
        f"{left} - {right}": [round(value, 4) for value in interval(every[left]["mrr10"] - every[right]["mrr10"])]
        for left, right in compared
        if left in every and right in every
    }
    return {"questions": len(next(iter(methods.values()))), "means": means, "mrr10 differences": differences}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--model", type=Path, default=BUNDLED)
    parser.add_argument("--transformer")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    encoders: dict[str, Callable[[Sequence[str]], Scores]] = {"ours": StaticEmbedder.load(asked.model).embed}
    if asked.transformer:
        encoders["minilm"] = transformer_vectors(asked.transformer, asked.corpus / "vectors")
    result = table(asked.corpus, asked.split, encoders)
    for title, entry in result.items():
        print(f"\n{title} ({entry['questions']} questions)")
        for method, of in entry["means"].items():
            print(f"  {method:14s}" + "".join(f"  {name} {value:.3f}" for name, value in of.items()))
        for what, (mean, low, high) in entry["mrr10 differences"].items():
            print(f"  {what}: {mean:+.3f} [{low:+.3f}, {high:+.3f}]")
    if asked.out:
        asked.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
