"""How likely is it that lines answer the question? By their words (`lexical`), and by their meaning.

Focus ranks by all of it; the excerpts of a search and the evidence of research by the lexical part, since the chunk
around them was already found by meaning (`unit_scores`). The sum is the logarithm of a likelihood: weights were fitted
as a softmax over the units of a file and the passages inside long ones, and rounded. See docs/decisions/0024 for units
and 0070 for passages.

Meaning comes from the bundled static model, which knows that "remove" and "delete" are near. How much a word counts
depends on the text: a word of the question that occurs in every unit counts little, and what all names of a file have
in common is subtracted from each, so that only their differences remain. (Without both, the likelihood of the right
function falls by 0.08 nats on average.)
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from llmc.base import words
from llmc.base.errors import EmbedError
from llmc.embed import BUNDLED
from llmc.embed.vectors import unit_rows
from llmc.retrieval.passages import lexical

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from llmc.embed.static import StaticEmbedder
    from llmc.retrieval.passages.units import InnerPassage, TextUnit

    Array = npt.NDArray[np.floating[Any]]
    Ids = list[list[int]]

__all__ = ["Likelihoods", "bundled", "likelihoods", "scores"]

NEAR: Final = 0.7  # two words whose cosine is above say much the same
UNKNOWN: Final = 0
_WORD: Final = re.compile(r"\w+")
WEIGHTS: Final = {
    "body": 1.2,
    "around": 0.8,
    "mentions": 0.7,
    "quoted": 1.5,
    # Fitted alone it would be -4.1; but a question in other words must not lose what is documented.
    "unsaid": -2.0,
    "meaning": 2.4,
    "named": 3.1,
    "near signature": 2.3,
    "near body": 1.7,
    # Of a text with definitions a question is mostly about one of them, and seldom about one of two lines.
    "no definition": -3.1,
    "tiny": -2.8,
}
PASSAGE_WEIGHTS: Final = {
    "together": 1.5,
    "nearly all": 2.4,
    "body": 2.8,
    "meaning": 2.1,
    "near body": 1.4,
    "always": -1.0,
    "whole unit": -0.5,
    "no definition": -0.3,
}
NEARLY_ALL: Final = 0.6  # of the question's words, within three lines
WORDS_ONLY: Final = 4.0  # words alone must decide where the model is gone
LONGEST_SIGNATURE: Final = 300  # characters
TINY: Final = 3  # lines


class SemanticScorer:
    """The units' texts as tokens of the model, beside one question."""

    def __init__(self, model: StaticEmbedder, bodies: Sequence[str], question: str) -> None:
        self._model = model
        self._bodies = self.tokens(bodies)
        self._asked = self._weighed(model.tokens.ids(question) or [UNKNOWN])
        telling = (word for word in _WORD.findall(question) if word.lower() not in words.STOP_WORDS)
        self._telling = list(dict.fromkeys(token for word in telling for token in model.tokens.ids(word)))

    def tokens(self, texts: Sequence[str]) -> Ids:
        return [self._model.tokens.ids(text) or [UNKNOWN] for text in texts]

    def _weighed(self, asked: list[int]) -> Array:
        """The question's vector, each word by how rare it is in this text."""
        units = [set(body) for body in self._bodies]
        rarity = [np.log(1 + len(units) / (1 + sum(token in unit for unit in units))) for token in asked]
        return unit_rows(self._sum(asked, np.array(rarity, dtype=np.float32))[None])

    def _sum(self, tokens: list[int], weights: Array | float = 1.0) -> Array:
        at = np.array(tokens, dtype=np.intp)
        return np.asarray((self._model.scales[at] * weights) @ self._model.rows[at].astype(np.float32))

    def of_bodies(self) -> Array:
        return np.asarray(self._embedded(self._bodies) @ self._asked[0])

    def of_names(self, names: Sequence[str]) -> Array:
        vectors = self._embedded(self.tokens(names))
        common = vectors.mean(axis=0)
        return np.asarray(unit_rows(vectors - common) @ unit_rows(self._asked - common)[0])

    def _embedded(self, texts: Ids) -> Array:
        return unit_rows(np.array([self._sum(tokens) for tokens in texts]))

    def near_bodies(self) -> Array:
        return self._near(self._bodies)

    def near(self, texts: Sequence[str]) -> Array:
        return self._near(self.tokens(texts))

    def _near(self, texts: Ids) -> Array:
        """How near the nearest word of the text is to each word of the question, the rare ones counting most."""
        if not self._telling:
            return np.zeros(len(texts))
        flat, starts = np.concatenate(texts), np.cumsum([0, *map(len, texts)])[:-1]
        vocabulary, place = np.unique(flat, return_inverse=True)
        cosines = self._directions(vocabulary) @ self._directions(np.array(self._telling)).T
        nearest = np.maximum.reduceat(cosines[place], starts, axis=0)
        return np.asarray(nearest @ np.log(1 + len(texts) / (1 + (nearest > NEAR).sum(axis=0))))

    def _directions(self, tokens: npt.NDArray[np.integer[Any]]) -> Array:
        return unit_rows(self._model.rows[tokens].astype(np.float32))


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """Of each unit as a whole and of each passage; together they are one."""

    units: list[float]
    passages: list[float]


@cache
def bundled() -> StaticEmbedder | None:
    """The model that ships with llmc; None where it is gone, and words alone decide."""
    from llmc.embed.static import StaticEmbedder  # noqa: PLC0415 - numpy, which only a question needs

    try:
        return StaticEmbedder.load(BUNDLED)
    except EmbedError:
        return None


def likelihoods(
    lines: Sequence[str],
    units: Sequence[TextUnit],
    passages: Sequence[InnerPassage],
    question: str,
    model: StaticEmbedder | None,
) -> Likelihoods:
    found = lexical.read(lines, question)
    of_units = unit_scores(lines, units, question, model, found)
    of_passages = passage_scores(lines, passages, question, model, found) if passages else []
    best = max([*of_units, *of_passages], default=0.0)
    values = [math.exp(score - best) for score in (*of_units, *of_passages)]
    total = sum(values) or 1.0
    shares = [value / total for value in values]
    return Likelihoods(shares[: len(units)], shares[len(units) :])


def scores(lines: Sequence[str], units: Sequence[TextUnit], question: str, model: StaticEmbedder | None) -> list[float]:
    """One for each unit; the largest is what should be kept first."""
    return unit_scores(lines, units, question, model, lexical.read(lines, question))


def unit_scores(
    lines: Sequence[str],
    units: Sequence[TextUnit],
    question: str,
    model: StaticEmbedder | None,
    found: lexical.LexicalFeatures,
) -> list[float]:
    total = weighed(by_words(lines, units, found) | by_kind(units), WEIGHTS)
    if model is None:
        return [WORDS_ONLY * float(value) for value in total]
    return [float(value) for value in total + weighed(by_meaning(lines, units, question, model), WEIGHTS)]


def passage_scores(
    lines: Sequence[str],
    passages: Sequence[InnerPassage],
    question: str,
    model: StaticEmbedder | None,
    found: lexical.LexicalFeatures,
) -> list[float]:
    import numpy as np  # noqa: PLC0415 - as above

    texts = [passage.text for passage in passages]
    together = np.array(lexical.together(found, texts))
    columns = {
        "together": together,
        "nearly all": np.maximum(0.0, together - NEARLY_ALL) / (1 - NEARLY_ALL),
        "body": scaled(np.array(lexical.bodies(found, texts))),
        "always": np.ones(len(texts)),
        "whole unit": np.array([float(passage.is_whole) for passage in passages]),
        "no definition": np.array([float(not text.defines) for text in texts]),
    }
    if model is None:
        return [WORDS_ONLY * float(value) for value in weighed(columns, PASSAGE_WEIGHTS)]

    meant = SemanticScorer(model, ["\n".join(lines[text.start : text.end]) for text in texts], question)
    columns |= {"meaning": scaled(meant.of_bodies()), "near body": scaled(meant.near_bodies())}
    return [float(value) for value in weighed(columns, PASSAGE_WEIGHTS)]


def weighed(columns: dict[str, Array], weights: dict[str, float]) -> Array:
    import numpy as np  # noqa: PLC0415 - as above

    return np.asarray(np.sum([weights[name] * column for name, column in columns.items()], axis=0))


def by_words(lines: Sequence[str], units: Sequence[TextUnit], found: lexical.LexicalFeatures) -> dict[str, Array]:
    import numpy as np  # noqa: PLC0415 - as above

    return {
        "body": scaled(np.array(lexical.bodies(found, units))),
        "around": scaled(np.array(lexical.around(found, units))),
        "mentions": scaled(np.array(lexical.mentions(found, lines, units))),
        "quoted": np.array(lexical.quoted(found, units)),
        "unsaid": np.array(lexical.unsaid(found, units)),
    }


def by_meaning(
    lines: Sequence[str], units: Sequence[TextUnit], question: str, model: StaticEmbedder
) -> dict[str, Array]:
    """Without long documentation, which would outweigh the code; its first line says the most anyway."""

    bodies = ["\n".join([unit.name, *(lines[at] for at in unit.essence())]) for unit in units]
    found = SemanticScorer(model, bodies, question)
    return {
        "meaning": scaled(found.of_bodies()),
        "named": scaled(found.of_names([lexical.last_name(unit) for unit in units])),
        "near signature": scaled(found.near([signature_of(lines, unit) for unit in units])),
        "near body": scaled(found.near_bodies()),
    }


def by_kind(units: Sequence[TextUnit]) -> dict[str, Array]:
    import numpy as np  # noqa: PLC0415 - as above

    any_defines = any(unit.defines for unit in units)
    return {
        "no definition": np.array([float(any_defines and not unit.defines) for unit in units]),
        "tiny": np.array([float(unit.defines and unit.end - unit.start < TINY) for unit in units]),
    }


def scaled(values: Array) -> Array:
    """Between 0 and 1, so that weights mean the same in every text."""
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    return (values - low) / (high - low) if high > low else values * 0.0


def signature_of(lines: Sequence[str], unit: TextUnit) -> str:
    """The first lines of code, as far as the body."""
    text = ""
    for line in lines[unit.signature : unit.end]:
        text += f"{line} "
        if len(text) > LONGEST_SIGNATURE or line.rstrip().endswith((":", "{", ")", ";", "=>")):
            break
    return text
