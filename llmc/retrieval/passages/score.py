"""How likely is it that a unit answers the question? What its words say (`said`), what they mean (`meant`), what it is.

The sum is the logarithm of a likelihood: the weights were fitted as a softmax over the units of a file, to files whose
functions keep their documentation, to files that lost it and to files where only the function in question did, and
rounded. See docs/decisions/0024.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from llmc.base.errors import EmbedError
from llmc.embed import BUNDLED
from llmc.retrieval.passages import lexical as said

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from llmc.embed.static import StaticEmbedder
    from llmc.retrieval.passages.units import TextUnit

    Column = npt.NDArray[np.floating[Any]]

__all__ = ["bundled", "scores"]

WEIGHTS: Final = {
    "body": 1.2,
    "around": 0.8,
    "mentions": 0.7,
    "quoted": 1.5,
    # Fitted alone it would be -4.1; but who asks in words of his own must not lose what is documented in others.
    "unsaid": -2.0,
    "meaning": 2.4,
    "named": 3.1,
    "near signature": 2.3,
    "near body": 1.7,
    # Of a text with definitions a question is mostly about one of them, and seldom about one of two lines.
    "no definition": -3.1,
    "tiny": -2.8,
}
WORDS_ONLY: Final = 4.0  # words alone must decide where the model is gone
LONGEST_SIGNATURE: Final = 300  # characters
TINY: Final = 3  # lines


@cache
def bundled() -> StaticEmbedder | None:
    """The model that ships with llmc; None where it is gone, and words alone decide."""
    from llmc.embed.static import StaticEmbedder  # noqa: PLC0415 - numpy, which only a question needs

    try:
        return StaticEmbedder.load(BUNDLED)
    except EmbedError:
        return None


def scores(lines: Sequence[str], units: Sequence[TextUnit], question: str, model: StaticEmbedder | None) -> list[float]:
    """One for each unit; the largest is what should be kept first."""
    total = weighed(by_words(lines, units, question) | by_kind(units))
    if model is None:
        return [WORDS_ONLY * float(value) for value in total]
    return [float(value) for value in total + weighed(by_meaning(lines, units, question, model))]


def weighed(columns: dict[str, Column]) -> Column:
    import numpy as np  # noqa: PLC0415 - as above

    return np.asarray(np.sum([WEIGHTS[name] * column for name, column in columns.items()], axis=0))


def by_words(lines: Sequence[str], units: Sequence[TextUnit], question: str) -> dict[str, Column]:
    import numpy as np  # noqa: PLC0415 - as above

    found = said.read(lines, question)
    return {
        "body": scaled(np.array(said.bodies(found, units))),
        "around": scaled(np.array(said.around(found, units))),
        "mentions": scaled(np.array(said.mentions(found, lines, units))),
        "quoted": np.array(said.quoted(found, units)),
        "unsaid": np.array(said.unsaid(found, units)),
    }


def by_meaning(
    lines: Sequence[str], units: Sequence[TextUnit], question: str, model: StaticEmbedder
) -> dict[str, Column]:
    """Without long documentation, which would outweigh the code; its first line says the most anyway."""
    from llmc.retrieval.passages.semantic import SemanticScorer  # noqa: PLC0415 - as above

    bodies = ["\n".join([unit.name, *(lines[at] for at in unit.essence())]) for unit in units]
    found = SemanticScorer(model, bodies, question)
    return {
        "meaning": scaled(found.of_bodies()),
        "named": scaled(found.of_names([said.last_name(unit) for unit in units])),
        "near signature": scaled(found.near([signature_of(lines, unit) for unit in units])),
        "near body": scaled(found.near_bodies()),
    }


def by_kind(units: Sequence[TextUnit]) -> dict[str, Column]:
    import numpy as np  # noqa: PLC0415 - as above

    any_defines = any(unit.defines for unit in units)
    return {
        "no definition": np.array([float(any_defines and not unit.defines) for unit in units]),
        "tiny": np.array([float(unit.defines and unit.end - unit.start < TINY) for unit in units]),
    }


def scaled(values: Column) -> Column:
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
