"""How likely is it that a unit answers the question? Words weighed by how rare they are here, and meaning by vectors.

Words: BM25 over the units of this one text, for bodies, signatures, names and the names around. Meaning: the cosine of
the bundled static model, which knows that "remove" and "delete" are near, for the body and for the name; and word by
word, how near the nearest word of name and signature is to each word of the question. The sum is the logarithm of a
likelihood: the weights were fitted to the packages of `bench/focus.py` that are for tuning, and rounded.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from llmc import words
from llmc.embed import BUNDLED
from llmc.errors import EmbedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from llmc.embed.static import StaticEmbedder
    from llmc.envelope.focus.units import Unit

    Column = npt.NDArray[np.floating[Any]]

__all__ = ["bundled", "scores"]

K1: Final = 1.2
B: Final = 0.7
BODY, SIGNATURE, NAME, AROUND = 1.0, 0.9, 1.1, 1.3  # weights of BM25
MEANING, NAMED = 2.6, 1.5  # of the cosines of body and name
NEAR_NAME, NEAR_SIGNATURE = 1.4, 2.0  # of the nearest words
# Of a text with definitions a question is mostly about one of them, and seldom about one of two lines.
NO_DEFINITION, TINY = -3.0, -1.0
QUOTED: Final = 3.0  # where the documentation says the very words
HEAD, TOGETHER, MOST = 14, 3, 0.85  # lines looked at, lines together, share of the question that counts
PART: Final = 0.5  # a part of a compound in the question, beside the whole
WORDS_ONLY: Final = 4.0  # BM25 alone must decide where the model is gone
NEAR: Final = 0.7  # two words whose cosine is above say much the same
LONGEST_SIGNATURE: Final = 300  # characters
_WORD: Final = re.compile(r"\w+")


@cache
def bundled() -> StaticEmbedder | None:
    """The model that ships with llmc; None where it is gone, and words alone decide."""
    from llmc.embed.static import StaticEmbedder  # noqa: PLC0415 - numpy, which only a question needs

    try:
        return StaticEmbedder.load(BUNDLED)
    except EmbedError:
        return None


def scores(lines: Sequence[str], units: Sequence[Unit], question: str, model: StaticEmbedder | None) -> list[float]:
    """One for each unit; the largest is what should be kept first."""
    import numpy as np  # noqa: PLC0415 - as above

    texts = ["\n".join(lines[unit.start : unit.end]) for unit in units]
    signatures = [signature_of(lines, unit) for unit in units]
    names = [unit.name.rpartition(".")[2] for unit in units]
    around = [unit.name.rpartition(".")[0] for unit in units]
    asked = wanted(question)
    keyed = [
        weight * scaled(np.array(bm25(fields, asked)))
        for weight, fields in ((BODY, texts), (SIGNATURE, signatures), (NAME, names), (AROUND, around))
    ]
    total: Column = sum(keyed, QUOTED * quoted(lines, units, asked))
    if model is None:
        total = total * WORDS_ONLY
    else:
        total = total + meaning(lines, units, names, question, model) + nearness(names, signatures, question, model)
    return [float(value) for value in total + priors(units)]


def scaled(values: Column) -> Column:
    """Between 0 and 1, so that weights mean the same in every text."""
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    return (values - low) / (high - low) if high > low else values * 0.0


def wanted(question: str) -> dict[str, float]:
    """Term → weight: the words of the question; common ones only where it has no other."""
    asked = words.query_words(question)
    telling = [word for word in asked if not word.stop] or list(asked)
    found: dict[str, float] = {}
    for word in telling:
        for term, weight in ((word.term, 1.0), *((part, PART) for part in word.parts)):
            found[term] = max(found.get(term, 0.0), weight)
    return found


def bm25(texts: Sequence[str], asked: dict[str, float]) -> list[float]:
    analysed = [words.body(text).split() for text in texts]
    counts = [{term: body.count(term) for term in asked.keys() & set(body)} for body in analysed]
    seen = {term: sum(term in count for count in counts) for term in asked}
    rarity = {term: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for term, n in seen.items()}
    mean = sum(map(len, analysed)) / max(1, len(texts)) or 1.0
    return [
        sum(
            asked[term] * rarity[term] * n * (K1 + 1) / (n + K1 * (1 - B + B * len(body) / mean))
            for term, n in count.items()
        )
        for count, body in zip(counts, analysed, strict=True)
    ]


def signature_of(lines: Sequence[str], unit: Unit) -> str:
    """The first lines of code, as far as the body."""
    text = ""
    for line in lines[unit.signature : unit.end]:
        text += f"{line} "
        if len(text) > LONGEST_SIGNATURE or line.rstrip().endswith((":", "{", ")", ";", "=>")):
            break
    return text


def meaning(
    lines: Sequence[str], units: Sequence[Unit], names: Sequence[str], question: str, model: StaticEmbedder
) -> Column:
    """Without long documentation, which would outweigh the code; its first line says the most anyway."""
    bodies = [
        "\n".join([unit.name, *lines[unit.start : unit.doc[0] or unit.end], *lines[unit.doc[1] or unit.end : unit.end]])
        for unit in units
    ]
    asked = model.embed_query(question)
    return MEANING * scaled(model.embed(bodies) @ asked) + NAMED * scaled(model.embed(names) @ asked)


def nearness(names: Sequence[str], signatures: Sequence[str], question: str, model: StaticEmbedder) -> Column:
    telling = [word for word in _WORD.findall(question) if word.lower() not in words.STOP_WORDS]
    asked = list(dict.fromkeys(token for word in telling for token in model.tokens.ids(word)))
    if not asked:
        return scaled(nearest([0], names, model)[:, 0]) * 0.0
    of_signature, of_name = nearest(asked, signatures, model), nearest(asked, names, model)
    import numpy as np  # noqa: PLC0415 - as above

    rarity = np.log(1 + len(names) / (1 + (of_signature > NEAR).sum(axis=0)))
    return NEAR_NAME * scaled(of_name @ rarity) + NEAR_SIGNATURE * scaled(of_signature @ rarity)


def nearest(asked: list[int], texts: Sequence[str], model: StaticEmbedder) -> Any:
    """For each text and each asked token, the cosine of the token of the text that is nearest to it."""
    import numpy as np  # noqa: PLC0415 - as above

    tokens = [sorted(set(model.tokens.ids(text))) or [0] for text in texts]
    vocabulary = sorted({token for each in tokens for token in each})
    place = {token: at for at, token in enumerate(vocabulary)}
    cosines = unit_rows(model.rows[np.array(vocabulary)]) @ unit_rows(model.rows[np.array(asked)]).T
    flat = np.array([place[token] for each in tokens for token in each])
    starts = np.cumsum([0, *map(len, tokens)])[:-1]
    return np.maximum.reduceat(cosines[flat], starts, axis=0)


def unit_rows(rows: Any) -> Any:
    import numpy as np  # noqa: PLC0415 - as above

    exact = rows.astype(np.float32)
    return exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-6)


def quoted(lines: Sequence[str], units: Sequence[Unit], asked: dict[str, float]) -> Column:
    """How much of the question stands together at the beginning of a unit: what documentation says of itself."""
    import numpy as np  # noqa: PLC0415 - as above

    whole = sum(asked.values()) or 1.0
    found = np.zeros(len(units))
    for at, unit in enumerate(units):
        head = lines[unit.start : min(unit.end, unit.signature + HEAD)] if unit.defines else ()
        terms = [asked.keys() & set(words.body(line).split()) for line in head]
        for index in range(len(terms)):
            together = set().union(*terms[index : index + TOGETHER])
            found[at] = max(found[at], sum(asked[term] for term in together) / whole)
    return np.maximum(0.0, found - MOST) / (1 - MOST)


def priors(units: Sequence[Unit]) -> Column:
    import numpy as np  # noqa: PLC0415 - as above

    if not any(unit.defines for unit in units):
        return np.zeros(len(units))
    return np.array(
        [NO_DEFINITION if not unit.defines else TINY if unit.end - unit.start < SMALL else 0.0 for unit in units]
    )


SMALL: Final = 3
