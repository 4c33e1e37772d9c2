"""The training loop: a table of rows, a bag of tokens, and InfoNCE against the other answers of the batch.

A batch is made of blocks from one package each: the wrong answers that are hardest to tell apart are the neighbours
in the same repository. One example answers many questions; each epoch draws one of them anew: the sentence, its
keywords (tokens dropped), a question (question words in front), another inflection, or the name alone with that name
taken out of the code. What is kept is the mean of the table along the way: it is nearer to where the words began, and
answers real questions better than the last table, which knows documentation sentences best.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own name for it

from training.examples import capsule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    import numpy.typing as npt

    from llmc.embed.static import Tokenizer
    from training.examples import Example

    Ids = npt.NDArray[np.int32]
    Counts = npt.NDArray[np.float32]
    Bag = tuple[Ids, Counts]
    Number = TypeVar("Number", np.int32, np.float32)

__all__ = ["Corpus", "Draw", "Recipe", "tokenise", "train"]

QUESTIONS = (
    "how is", "how does it", "how to", "where is", "where do we", "which function", "which method", "what does", "what",
    "find the code that", "where is the code that", "code for", "function that", "class that", "implementation of",
    "how do i", "why does", "is there a function to", "show me where", "the part that", "locate", "logic for",
    "handled", "implemented", "where does it happen that", "who calls", "what happens when",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recipe:
    """Every number that shapes a run; the values are the ones that the dev split chose."""

    seed: int = 20261116
    dimension: int = 256
    nested: tuple[int, ...] = (256, 128)  # Matryoshka: each prefix must work alone
    epochs: int = 1
    batch: int = 1024
    block: int = 64
    rate: float = 0.004
    temperature: float = 0.05
    dropout: float = 0.15
    code_tokens: int = 320
    named: float = 0.15  # share of documented examples that are asked by name
    averaged: int = 4  # steps from one table of the mean to the next; each costs a pass over 43 MB


@dataclass(frozen=True, slots=True)
class Corpus:
    """Ragged token ids, one entry for each example."""

    package: Ids
    sentence: list[Ids]
    rest: list[Ids]
    name: list[Ids]
    capsule: list[Ids]
    code: list[Ids]  # each token once, which halves the rows that a step reads
    counts: list[Counts]


def tokenise(examples: Iterable[Example], tokens: Tokenizer, code_tokens: int) -> Corpus:
    found = Corpus(np.zeros(0, dtype=np.int32), [], [], [], [], [], [])
    columns = (found.sentence, found.rest, found.name, found.capsule)
    numbers: dict[str, int] = {}
    packages: list[int] = []
    for example in examples:
        packages.append(numbers.setdefault(example.package, len(numbers)))
        own = example.name.rsplit(".", 1)[-1]
        for column, text in zip(
            columns, (example.sentence, example.rest, own, capsule(example.name, example.code)), strict=True
        ):
            column.append(np.array(tokens.ids(text), dtype=np.int32))
        once = Counter(tokens.ids(example.code)[:code_tokens])
        found.code.append(np.fromiter(once.keys(), dtype=np.int32, count=len(once)))
        found.counts.append(np.fromiter(once.values(), dtype=np.float32, count=len(once)))
    return replace(found, package=np.array(packages, dtype=np.int32))


def train(
    draw: Draw, start: npt.NDArray[np.float32], judge: Callable[[npt.NDArray[np.float32]], object]
) -> npt.NDArray[np.float32]:
    """The mean of the tables on the way. `judge` says after each epoch how good it is; nothing is chosen by it."""
    recipe = draw.recipe
    torch.manual_seed(recipe.seed)
    table = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimiser = torch.optim.Adam([table], lr=recipe.rate)
    steps = recipe.epochs * (len(draw.corpus.code) // recipe.batch)
    warm = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: max(0.02, min(1.0, step / 50) * (1 - step / steps))
    )
    mean, step = table.detach().clone(), 1
    began = time.perf_counter()
    for epoch in range(recipe.epochs):
        losses = []
        for questions, answers, same in draw.epoch():
            optimiser.zero_grad(set_to_none=True)
            loss = _loss(bag(table, questions), bag(table, answers), same, recipe)
            loss.backward()
            optimiser.step()
            warm.step()
            losses.append(loss.item())
            step += 1
            if step % recipe.averaged == 0:
                mean += (table.detach() - mean) * (recipe.averaged / step)
        seconds = time.perf_counter() - began
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, {seconds:.0f} s, {judge(mean.numpy())}", flush=True)
    return np.asarray(mean.numpy(), dtype=np.float32)


def bag(table: torch.Tensor, texts: list[Bag]) -> torch.Tensor:
    """The sum of a text's rows, each times its count."""
    ids = torch.from_numpy(np.concatenate([ids for ids, _ in texts]).astype(np.int64))
    counts = torch.from_numpy(np.concatenate([counts for _, counts in texts]))
    offsets = torch.from_numpy(np.cumsum([0, *(len(ids) for ids, _ in texts[:-1])]))
    return F.embedding_bag(ids, table, offsets, mode="sum", per_sample_weights=counts)


def _loss(questions: torch.Tensor, answers: torch.Tensor, same: torch.Tensor, recipe: Recipe) -> torch.Tensor:
    total = torch.zeros(())
    target = torch.arange(len(questions))
    for size in recipe.nested:
        left, right = F.normalize(questions[:, :size], dim=1), F.normalize(answers[:, :size], dim=1)
        scores = left @ right.T / recipe.temperature
        scores = scores.masked_fill(same, -1e4)
        total = total + 0.7 * F.cross_entropy(scores, target) + 0.3 * F.cross_entropy(scores.T, target)
    return total / len(recipe.nested)


class Draw:
    """Draws batches: questions, answers, and which other pairs of the batch ask the same (no wrong answers then)."""

    def __init__(self, corpus: Corpus, tokens: Tokenizer, words: Sequence[str], recipe: Recipe) -> None:
        self.corpus = corpus
        self.recipe = recipe
        self.random = np.random.default_rng(recipe.seed)
        self.prefixes = [np.array(tokens.ids(text), dtype=np.int32) for text in QUESTIONS]
        self.inflections = _inflections(words)

    def epoch(self) -> Iterator[tuple[list[Bag], list[Bag], torch.Tensor]]:
        """Blocks of one package each, shuffled, joined into batches."""
        blocks: list[npt.NDArray[np.int64]] = []
        order = self.random.permutation(len(self.corpus.package))
        order = order[np.argsort(self.corpus.package[order], kind="stable")]
        ends = np.flatnonzero(np.diff(self.corpus.package[order])) + 1
        for group in np.split(order, ends):
            blocks += [group[at : at + self.recipe.block] for at in range(0, len(group), self.recipe.block)]
        joined = np.concatenate([blocks[number] for number in self.random.permutation(len(blocks))])
        for at in range(0, len(joined) - self.recipe.batch + 1, self.recipe.batch):
            yield self._batch([int(number) for number in joined[at : at + self.recipe.batch]])

    def _batch(self, numbers: list[int]) -> tuple[list[Bag], list[Bag], torch.Tensor]:
        pairs = [self._pair(number) for number in numbers]
        keys = np.array([key for _, _, key in pairs])
        same = (keys[:, None] == keys[None, :]) & ~np.eye(len(keys), dtype=bool)
        return [question for question, _, _ in pairs], [answer for _, answer, _ in pairs], torch.from_numpy(same)

    def _pair(self, number: int) -> tuple[Bag, Bag, int]:
        sentence, name = self.corpus.sentence[number], self.corpus.name[number]
        by_name = len(sentence) == 0 or (len(name) > 1 and self.random.random() < self.recipe.named)
        question = name if by_name else sentence
        asked = self._asked(question)
        return (asked, _ones(asked)), self._answer(number, by_name=by_name), hash(question.tobytes())

    def _answer(self, number: int, *, by_name: bool) -> Bag:
        """The code, half of the time with its capsule, now and then with the rest of its prose, as chunks have it."""
        corpus, chance = self.corpus, self.random.random
        ids, counts = corpus.code[number], corpus.counts[number]
        kept = self.random.random(len(ids), dtype=np.float32) >= self.recipe.dropout
        if by_name and chance() < 0.7:
            kept &= ~np.isin(ids, corpus.name[number])  # the name must be found by what the body does
            return _some(ids, kept), _some(counts, kept)
        more = [corpus.capsule[number]] if chance() < 0.5 else []
        if not by_name and chance() < 0.4:
            more.append(corpus.rest[number])
        ids, counts = _some(ids, kept), _some(counts, kept)
        return np.concatenate([ids, *more]), np.concatenate([counts, *map(_ones, more)])

    def _asked(self, question: Ids) -> Ids:
        """As people ask: keywords, question words, other inflections."""
        kind = self.random.random()
        if kind < 0.35:
            question = _some(question, self.random.random(len(question)) >= 0.4)
        elif kind < 0.65:
            question = np.concatenate([self.prefixes[self.random.integers(len(self.prefixes))], question])
        if self.random.random() < 0.5:
            question = question.copy()
            for place in np.flatnonzero(self.random.random(len(question)) < 0.3):
                family = self.inflections.get(int(question[place]))
                if family is not None:
                    question[place] = family[self.random.integers(len(family))]
        return question


def _ones(ids: Ids) -> Counts:
    return np.ones(len(ids), dtype=np.float32)


def _some(values: npt.NDArray[Number], kept: npt.NDArray[np.bool_]) -> npt.NDArray[Number]:
    """What is kept, or everything where too little would be left."""
    return values[kept] if np.count_nonzero(kept) >= 2 else values


def _inflections(words: Sequence[str]) -> dict[int, Ids]:
    """Words that differ in their ending only: parse, parses, parsed, parsing, parser."""
    families: dict[str, list[int]] = {}
    for number, word in enumerate(words, 1):
        for ending in (
            "ations",
            "ation",
            "ings",
            "ing",
            "ers",
            "er",
            "ors",
            "or",
            "ions",
            "ion",
            "ed",
            "es",
            "e",
            "s",
            "",
        ):
            if word.endswith(ending) and len(word) - len(ending) >= 4:
                families.setdefault(word.removesuffix(ending), []).append(number)
                break
    return {
        number: np.array(family, dtype=np.int32) for family in families.values() if len(family) > 1 for number in family
    }
