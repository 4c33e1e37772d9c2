"""What is asked? The first step of the pipeline: the subject, the names in it, and what sort of answer is wanted.

    "Where is RetryPolicy implemented?"         where    RetryPolicy
    "Show me examples of a custom middleware"   examples a custom middleware
    "How are sessions expired?"                 how      sessions expired

The words around the subject are taken off, since they say what to do and not what to look for. Names are what can only
be a name: quoted with backticks, compound, qualified, or the one word of a where-question; a name that occurs nowhere
makes the answer "not found" instead of whatever is nearest.
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
    """`sure`: it can only be a name, so that without it there is no answer. An acronym may also be a plain word, and
    `robots.txt` is a file: it occurs or not, but nothing defines it."""

    text: str
    sure: bool

    @property
    def is_file(self) -> bool:
        return language_of(self.text) != PLAIN or self.text.endswith(".txt")


@dataclass(frozen=True, slots=True)
class Question:
    """`subject` is what is searched for, `topic` the same as it was said, `keywords` what a progress line shows;
    `advice`: recommendations are asked for."""

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

# What is said before the subject, piece by piece.
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
    """QueryError when there is nothing to look for. Pasted text is condensed to what it is about."""
    text = condensed(text)
    if not text:
        raise QueryError("the question is empty", hint="Ask in a sentence, such as: how are sessions expired?")
    subject = subject_of(in_base_form(text))
    if not query_words(subject):
        raise QueryError("the question names nothing to look for", hint="Say what it is about, in words or names.")
    intent = intent_of(text)
    said = [word.text for word in query_words(subject) if not word.stop]
    return Question(
        text=text,
        intent=intent,
        subject=subject,
        topic=subject_of(text),
        names=tuple(names_of(text, subject, intent)),
        keywords=tuple(dict.fromkeys(said))[:MOST_KEYWORDS],
        advice=_ADVICE.search(text) is not None,
    )


def intent_of(text: str) -> Intent:
    if _EXAMPLES.search(text):
        return Intent.EXAMPLES
    return Intent.WHERE if _WHERE.search(text) else Intent.HOW


def subject_of(text: str) -> str:
    """What is left when the words around it are off; the whole when nothing would be."""
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


# How code calls what a sentence says in another form. Regular endings are the index's business.
_BASE = {
    "sent": "send", "built": "build", "written": "write", "wrote": "write", "chosen": "choose", "kept": "keep",
    "made": "make", "taken": "take", "thrown": "throw", "held": "hold", "drawn": "draw", "broken": "break",
    "bound": "bind", "spent": "spend", "lost": "lose", "given": "give", "caught": "catch",
    "hidden": "hide", "ran": "run",
}  # fmt: skip
_WORD = re.compile(r"(?<![\w.`])[a-z]+(?![\w.(])")


def in_base_form(text: str) -> str:
    """Irregular verbs as code has them, and `how many` as a number."""
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
    """It has an underscore, a joint or a capital inside: no plain word looks so."""
    return bool(re.search(r"[_$#.:>]", name.strip("_.:"))) or name[1:] != name[1:].lower() or name.startswith("__")


def is_acronym(name: str) -> bool:
    return re.fullmatch(r"[A-Z0-9]{2,6}s?", name) is not None or re.fullmatch(r"[A-Z][a-z]?[A-Z]+s?", name) is not None
