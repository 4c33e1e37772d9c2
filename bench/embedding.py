"""What are the vectors worth? BM25F alone, with our model, with MiniLM, with both, on held-out code in six languages.

    python -m bench.embedding --corpus DIR --split dev [--transformer FOLDER] [--model FOLDER] [--out FILE]

Keywords, cosines, their limits, weights and the sum of both are those of `search`, by its own functions, for every
model alike; only the rules on top of it, which are about files, are left to `bench.quality`. Differences come with 95 %
intervals from a paired bootstrap over questions. Vectors of the transformer are kept beside the corpus, as they cost
minutes. The test split is looked at once; the model card says when.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.heldout import HeldOut, held_out
from llmc.embed import BUNDLED
from llmc.embed.static import StaticEmbedder
from llmc.retrieval.clauses import keyword_query
from llmc.retrieval.group import fuse_views
from llmc.retrieval.query import Query, parse
from llmc.retrieval.recall import KEYWORD_HITS, LEAST_COSINE, VECTOR_HITS, Recalled
from llmc.retrieval.search import VECTOR_WEIGHT
from llmc.store.integrity.inspection import KEYWORD_INDEXES
from llmc.store.keywords.keyword_store import TantivyKeywords

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    Scores = npt.NDArray[np.float32]  # questions × texts
    Listed = dict[tuple[int, int], float]  # what recall gives: (document, chunk) → score

RESAMPLES = 2_000
# Characters that `search` would read as a phrase, a filter or an exclusion; in a sentence of documentation they are
# plain text.
SYNTAX = re.compile(r'"|(?<!\S)-|(?<=[A-Za-z]):(?!:|//)(?=\S)')


def asked(question: str) -> Query:
    return parse(SYNTAX.sub(" ", question))


def keyword_lists(data: HeldOut, queries: Sequence[Query]) -> list[Listed]:
    """The best chunks for each question from an index of the package."""
    with TemporaryDirectory() as folder:
        for shelf in KEYWORD_INDEXES:
            (Path(folder) / shelf).mkdir()
        store = TantivyKeywords(Path(folder))
        for number, document in enumerate(data.documents):
            store.add(number, document)
        store.commit()
        found = [store.search(keyword_query(query, frozenset()), KEYWORD_HITS) for query in queries]
        store.close()
    return [{(hit.doc, hit.ordinal): hit.score for hit in hits} for hits in found]


def vector_list(cosines: npt.NDArray[np.float32]) -> Listed:
    best = np.argsort(-cosines, kind="stable")[:VECTOR_HITS]
    return {(int(doc), 0): float(cosines[doc]) for doc in best if cosines[doc] >= LEAST_COSINE}


def fused(keyword: Sequence[Listed], scores: Scores | None, queries: Sequence[Query], texts: int) -> Scores:
    """Both lists of each question as one; entries in neither score nothing."""
    total = np.zeros((len(queries), texts), dtype=np.float32)
    for number, query in enumerate(queries):
        vector = {} if scores is None else vector_list(scores[number])
        found = fuse_views([Recalled(keyword[number], vector, {}, {})], VECTOR_WEIGHT[query.route], query.route)
        for (_, doc, _), score in found.items():
            total[number, doc] = score.score
    return total


def ranks(scores: Scores, answers: Sequence[int]) -> npt.NDArray[np.int64]:
    """The rank of the right answer, 1 being the best; equal scores count half against it."""
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
    queries = [asked(question) for question in questions]
    keyword = keyword_lists(data, queries)
    dense = {name: encode(questions) @ encode(data.texts).T for name, encode in encoders.items()}
    hybrids: dict[str, Scores | None] = {"bm25f": None, **{f"bm25f+{name}": scores for name, scores in dense.items()}}
    if len(dense) > 1:  # what CombinedEmbedder gives
        hybrids["bm25f+both"] = np.asarray(np.mean(list(dense.values()), axis=0), dtype=np.float32)
    return dense | {name: fused(keyword, scores, queries, len(data.texts)) for name, scores in hybrids.items()}


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
    options = parser.parse_args()
    encoders: dict[str, Callable[[Sequence[str]], Scores]] = {"ours": StaticEmbedder.load(options.model).embed}
    if options.transformer:
        encoders["minilm"] = transformer_vectors(options.transformer, options.corpus / "vectors")
    result = table(options.corpus, options.split, encoders)
    for title, entry in result.items():
        print(f"\n{title} ({entry['questions']} questions)")
        for method, of in entry["means"].items():
            print(f"  {method:14s}" + "".join(f"  {name} {value:.3f}" for name, value in of.items()))
        for what, (mean, low, high) in entry["mrr10 differences"].items():
            print(f"  {what}: {mean:+.3f} [{low:+.3f}, {high:+.3f}]")
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
