"""Parses a question: its subject, the names in it, and its intent. The first step of the pipeline.

    "Where is RetryPolicy implemented?"         where    RetryPolicy
    "Show me examples of a custom middleware"   examples a custom middleware
    "How are sessions expired?"                 how      sessions expired

Words around the subject are stripped, because they state what to do rather than what to look for. A name is a word that
can only be an identifier: quoted in backticks, compound, qualified, or the only word of a where-question. If such a
name occurs nowhere, the answer is "not found" instead of the nearest match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from llmc.base.errors import QueryError
from llmc.base.languages import PLAIN, language_of
from llmc.base.words import query_words
from llmc.retrieval.query import condensed

__all__ = ["Intent", "Name", "Question", "understand"]

MOST_KEYWORDS = 12


class Intent(StrEnum):
    WHERE = "where"
    HOW = "how"
    EXAMPLES = "examples"


@dataclass(frozen=True, slots=True)
class Name:
    """`sure`: it can only be an identifier, so without it there is no answer. An acronym may also be a plain word.
    A file name such as `robots.txt` may occur, but has no definition."""

    text: str
    sure: bool

    @property
    def is_file(self) -> bool:
        return language_of(self.text) != PLAIN or self.text.endswith(".txt")


@dataclass(frozen=True, slots=True)
class Question:
    """`subject` is the search text, `topic` the same in the user's wording, `keywords` are for progress messages;
    `advice`: the user asks for recommendations."""

    text: str
    intent: Intent
    subject: str
    topic: str
    names: tuple[Name, ...]
    keywords: tuple[str, ...]
    advice: bool = False


_EXAMPLES = re.compile(
    r"\b(?:examples?|patterns?|samples?|usages?|similar|idioms?|conventions?|how (?:do|does|is|are) (?:other|others)\b|"
    r"elsewhere|(?:who|what|which \w+) (?:else )?(?:uses?|calls?|extends?|implements?|subclass(?:es)?))\b",
    re.IGNORECASE,
)
_WHERE = re.compile(
    r"^\W*(?:where\b|locate\b|find\b|(?:in )?(?:which|what) "
    r"(?:files?|modules?|class(?:es)?|folders?|functions?|places?)\b)|"
    r"\b(?:defined|declared|located|implemented)\W*$",
    re.IGNORECASE,
)
_ADVICE = re.compile(r"\b(?:should|recommend\w*|advise|advice|suggest\w*|improve\w*|better way)\b", re.IGNORECASE)

# Words that precede the subject, stripped one at a time.
_LEAD = re.compile(
    r"""\W*(?:
      (?:please|can\ you|could\ you|i\ want\ to\ know|i\ need\ to\ know|tell\ me|show(?:\ me)?|give(?:\ me)?|find|
         locate|list|explain|describe|look\ for|search\ for|and|then|me|all|some|any|a\ few|the|a|an|existing|typical|
         representative|similar|good)\b
     |(?:examples?|patterns?|samples?|usages?|instances?|implementations?|idioms?|conventions?)\s+
      (?:of|for|that|where|in\ which|to)\b
     |(?:the\ )?(?:code|place|places|function|method|class|file|files|module|part|logic)\s+
      (?:that|which|where|for|responsible\ for|defines|implements)\b
     |(?:in\ )?(?:which|what)\s+(?:files?|modules?|class(?:es)?|functions?|methods?|code|places?)\b
     |(?:defines|implements|declares|contains|holds)\b
     |(?:where|how|what|when|why|who|which)\b(?:'s)?(?:\s+(?:exactly|else))?
     |(?:is|are|was|were|does|do|did|can|has|have|would|will|happens\ when|happens\ if|to)\b
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_TAIL = re.compile(
    r"""\s*(?:
      (?:currently\s+|actually\s+|internally\s+)?
      (?:implemented|defined|declared|located|implementation|definition|live|lives|found|work|works|working|
         happen|happens|done|stored\ in\ the\ code|kept\ in\ the\ code)
     |(?:in|of|inside|within|across|throughout)\s+(?:this|the|our)\s+(?:code\s?base|repository|repo|project|code|source)
     |in\ detail|here|step\ by\ step|under\ the\ hood
    )?[\s?.!:;,]*$""",
    re.IGNORECASE | re.VERBOSE,
)
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:::|->|[.#])[^\W\d][\w$]*)*")


def understand(text: str) -> Question:
    """Parse a question; QueryError when it contains nothing to search for. Pasted text is condensed to its subject."""
    text = condensed(text)
    if not text:
        raise QueryError("the question is empty", hint="Ask a full question, for example: how are sessions expired?")
    subject = subject_of(to_base_form(text))
    if not query_words(subject):
        raise QueryError(
            "the question contains nothing to search for", hint="Name the subject in words or identifiers."
        )
    intent = intent_of(text)
    keywords = [word.text for word in query_words(subject) if not word.stop]
    return Question(
        text=text,
        intent=intent,
        subject=subject,
        topic=subject_of(text),
        names=tuple(names_of(text, subject, intent)),
        keywords=tuple(dict.fromkeys(keywords))[:MOST_KEYWORDS],
        advice=_ADVICE.search(text) is not None,
    )


def intent_of(text: str) -> Intent:
    if _EXAMPLES.search(text):
        return Intent.EXAMPLES
    return Intent.WHERE if _WHERE.search(text) else Intent.HOW


def subject_of(text: str) -> str:
    """The question without the words around its subject; the whole question if nothing would be left."""
    plain = text.replace("`", "")
    left = plain
    while (match := _LEAD.match(left)) and match.end() and left[match.end() :].strip():
        left = left[match.end() :]
    while True:
        shorter = left[: next(_TAIL.finditer(left)).start()] if _TAIL.search(left) else left
        if shorter == left or not query_words(shorter):
            break
        left = shorter
    return left.strip() if query_words(left) else plain.strip()


# Irregular verb forms and the base forms used in code. The index stems regular endings.
_BASE = {
    "sent": "send", "built": "build", "written": "write", "wrote": "write", "chosen": "choose", "kept": "keep",
    "made": "make", "taken": "take", "thrown": "throw", "held": "hold", "drawn": "draw", "broken": "break",
    "bound": "bind", "spent": "spend", "lost": "lose", "given": "give", "caught": "catch",
    "hidden": "hide", "ran": "run",
}  # fmt: skip
_WORD = re.compile(r"(?<![\w.`])[a-z]+(?![\w.(])")


def to_base_form(text: str) -> str:
    """Replace irregular verb forms by their base form, and `how many` by `number count`."""
    text = re.sub(r"\bhow many\b", "number count", text, flags=re.IGNORECASE)
    return _WORD.sub(lambda word: _BASE.get(word[0], word[0]), text)


def names_of(text: str, subject: str, intent: Intent) -> list[Name]:
    found: dict[str, bool] = {}
    for quoted in _QUOTED.findall(text):
        name = quoted.strip().removesuffix("()")
        if _NAME.fullmatch(name):
            found[name] = True
    for name in _NAME.findall(subject):
        if is_compound(name):
            found.setdefault(name, not is_acronym(name))
    if not found and intent is Intent.WHERE and _NAME.fullmatch(subject):
        found[subject] = True
    return [Name(name, sure) for name, sure in found.items()]


def is_compound(name: str) -> bool:
    """Whether it contains an underscore, a separator or an inner capital, as no plain word does."""
    return bool(re.search(r"[_$#.:>]", name.strip("_.:"))) or name[1:] != name[1:].lower() or name.startswith("__")


def is_acronym(name: str) -> bool:
    return re.fullmatch(r"[A-Z0-9]{2,6}s?", name) is not None or re.fullmatch(r"[A-Z][a-z]?[A-Z]+s?", name) is not None
