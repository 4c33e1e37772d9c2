"""A short message with values in it, as the template that wrote it: `Encoder gzip is already registered`.

The values are what is quoted, what has digits or punctuation inside, and words that the index does not know. The words
between them are found in the source in this order, close together: the words of one stretch next to each other, perhaps
in string literals that are joined, and the values as anything of a bounded length. Every step is a search in a bounded
window, so that hostile text costs no more than other text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from llmc.base.words import query_words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

__all__ = ["MessageTemplate", "templates_of"]

# Fewer words are met by chance, longer messages are found by their runs.
LEAST_WORDS: Final = 3
MOST_WORDS: Final = 14
LEAST_LETTERS: Final = 10
# What the source may have in place of a value, with the quotes and operators around it.
LONGEST_VALUE: Final = 90
MOST_STARTS: Final = 200
_QUOTED: Final = re.compile(r"\"[^\"\n]{0,200}\"|(?<!\w)'[^'\n]{0,200}'(?!\w)|`[^`\n]{0,200}`|“[^”\n]{0,200}”")
# A word, perhaps with punctuation that ends a stretch; anything else between spaces is a value.
_WORD: Final = re.compile(r"(?P<word>[^\W\d_]+(?:['’][a-z]+)?)(?P<after>[)\]}>]*[.,:;!?…]*)")
# `park_timeout`, `non-empty`, `Server.reply`: part of the message or a value, depending on the source.
_COMPOUND: Final = re.compile(r"(?P<word>[^\W\d_]{2,}(?:[-_.][^\W\d_]{2,})+)(?P<after>(?:\(\))?[)\]}>]*[.,:;!?…]*)")
# In front of a message by themselves: `Error: …`, `2026-01-02 WARN …`.
_LEVELS: Final = frozenset(
    "error err fatal panic critical warning warn wrn notice info inf debug dbg trace exception".split()  # noqa: SIM905
)
# Between two words of a stretch: spaces, or the end of one literal and the beginning of the next.
_JOINT: Final = rb"(?:[ \t]|[\"'`+.&,\\$\r\n]){1,60}"


class MessageTemplate(NamedTuple):
    """`stretches` are the words between two values."""

    stretches: tuple[tuple[str, ...], ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for stretch in self.stretches for word in stretch)

    @property
    def terms(self) -> frozenset[str]:
        return frozenset(word.term for word in query_words(" ".join(self.words)))

    def place(self, text: bytes) -> int:
        """The offset at which the text has it; -1 if it does not."""
        first, *rest = _patterns(self.stretches)
        for start in islice(first.finditer(text), MOST_STARTS):
            end = start.end()
            for pattern in rest:
                found = pattern.search(text, end, end + LONGEST_VALUE)
                if found is None:
                    break
                end = found.end()
            else:
                return start.start()
        return -1


@lru_cache(maxsize=16)
def _patterns(stretches: tuple[tuple[str, ...], ...]) -> tuple[re.Pattern[bytes], ...]:
    return tuple(
        re.compile(rb"(?<!\w)" + _JOINT.join(re.escape(word.encode()) for word in stretch) + rb"(?!\w)")
        for stretch in stretches
    )


def templates_of(text: str, unknown: AbstractSet[str]) -> Iterator[MessageTemplate]:
    """The templates that may have written a short message, whose words in `unknown` are values. Compound words are
    tried as words of the message first, then as values."""
    found = {_template(text, unknown, compounds=compounds): None for compounds in (True, False)}
    yield from (template for template in found if template is not None)


def _template(text: str, unknown: AbstractSet[str], *, compounds: bool) -> MessageTemplate | None:
    """None if too few or too many words are left."""
    stretches = [tuple(one) for one in _stretches(text, unknown, compounds=compounds) if one]
    while stretches and len(stretches[0]) == 1 and stretches[0][0].lower() in _LEVELS:
        del stretches[0]
    words = [word for stretch in stretches for word in stretch]
    enough = LEAST_WORDS <= len(words) <= MOST_WORDS and sum(map(len, words)) >= LEAST_LETTERS
    return MessageTemplate(tuple(stretches)) if enough else None


def _stretches(text: str, unknown: AbstractSet[str], *, compounds: bool) -> Iterator[list[str]]:
    current: list[str] = []
    for token in _QUOTED.sub(" 0 ", text).split():
        match = _WORD.fullmatch(token) or (_COMPOUND.fullmatch(token) if compounds else None)
        if match is not None and unknown.isdisjoint(_PARTS.split(match["word"])):
            current.append(match["word"])
            if not match["after"]:
                continue
        yield current
        current = []
    yield current


_PARTS: Final = re.compile(r"[-_.]")
