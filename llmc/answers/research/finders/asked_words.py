"""The words of a question that asks for a value, and the words for the quantity that the value measures."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import loose, loose_terms, loose_words
from llmc.answers.research.question import to_base_form
from llmc.base.words import stem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import RoleToolbox

__all__ = ["NOISE", "AskedWords", "asked_phrase", "wanted_words"]

# The words between `default` or `which` and the end of the noun phrase: what the value belongs to.
_ASKED = re.compile(
    r"\bdefaults?\s+(?:values?\s+)?(?:(?:of|for)\s+)?(?:the\s+|an?\s+)?(?P<after>[\w -]+?)"
    r"(?=\s+(?:of|for|that|which|when|in|used|is|are|on|with|if|by|to|does|do)\b|\W*$)"
    r"|\b(?:which|what)\s+(?P<which>\w+)\s+(?:do|does|is|are|will)\b"
    r"|\bhow\s+many\s+(?P<many>[\w-]+(?:\s[\w-]+)?)\s+(?:do|does|is|are|may|can|will)\b",
    re.IGNORECASE,
)
NOISE = frozenset(
    loose_words(
        "default defaults value values setting option what which when how many much long large big often is are the "
        "name of if not set given specified configured unless told otherwise maximum minimum does do by in for it "
        "to used use uses number count times time limit after before"
    )
)
# Possible names of a value that answers such a question; words of NOISE fit every question.
_QUANTITIES = tuple(
    (re.compile(asks, re.IGNORECASE), frozenset(loose_words(names)))
    for asks, names in (
        (r"\bhow (?:often|frequently)\b", "interval frequency frequently period rate every"),
        (r"\bhow (?:long|old|soon)\b", "timeout duration ttl expiry expire expiration age lifetime period delay wait"),
        (r"\bhow (?:big|large|much|small)\b|\b(?:larg|bigg|small)est\b", "size length bytes memory capacity"),
        (r"\bhow (?:many|deep|far)\b", "size length total amount quota capacity depth level retries workers"),
    )
)


@dataclass(frozen=True, slots=True)
class AskedWords:
    """The words of the question; some of them say what the value belongs to. `quantity` has words for what the value
    measures, `joined` neighbouring words that a name may write as one."""

    terms: frozenset[str]
    asked: frozenset[str]
    quantity: frozenset[str] = frozenset()
    joined: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def mentions(self) -> re.Pattern[str]:
        """Matches a line that may contain one of the words; cheaper than splitting the line into words."""
        starts = {re.escape(term[:4]) for term in self.terms | self.quantity}
        return re.compile("|".join(sorted(starts)), re.IGNORECASE)

    def apart(self, found: set[str]) -> set[str]:
        """The words, and the two parts of a word that joins two words of the question: `ringbuffer` is `ring` and
        `buffer`."""
        return found.union(*(self.joined[word] for word in found & self.joined.keys()))

    def share(self, found: set[str]) -> float:
        """The weight of the words that were found, relative to all; words for the requested value count twice."""
        total = len(self.terms) + len(self.asked)
        return (len(self.terms & found) + len(self.asked & found)) / total if total else 0.0


def asked_phrase(question: str) -> str:
    """What the value belongs to, if the question contains it as a phrase."""
    match = _ASKED.search(question)
    return " ".join(filter(None, match.groups())) if match else ""


def wanted_words(brief: Brief, toolbox: RoleToolbox) -> AskedWords:
    own = {
        word for area in toolbox.areas for word in loose_words(area.view.root.path.rpartition("/")[2])
    }  # every line is about the project itself
    question = brief.question.text
    text = to_base_form(question.replace("`", " "))
    terms = loose_terms(text) - NOISE
    terms = terms - own or terms
    quantity = next((names for asks, names in _QUANTITIES if asks.search(question)), frozenset())
    sequence = [word.lower() for word in re.findall(r"\w+", text)]
    joined = {
        loose(stem(first + second)): parts
        for first, second in pairwise(sequence)
        if (parts := frozenset({loose(stem(first)), loose(stem(second))})) <= terms
    }
    return AskedWords(terms, terms & loose_terms(to_base_form(asked_phrase(question))), quantity - terms, joined)
