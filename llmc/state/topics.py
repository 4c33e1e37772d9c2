"""Classifies a call: its topics (code, docs, tests, history, shell) and a short description for lists of handles.

A session counts the topics of its calls; the gateway's menu is ordered by them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llmc.base.languages import role_of
from llmc.base.words import LONGEST_WORD, stem

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TOPIC_STEMS", "question_of", "stems", "topics_of"]

# Words that indicate a topic, compared by stem.
TOPIC_WORDS = {
    "docs": "docs documentation readme guide manual changelog tutorial explain",
    "tests": "test tests fixture assert coverage mock spec failing",
    "history": "history commit blame changed change log diff branch author when handoff resume session",
    "shell": "run command execute build compile install output shell make terminal",
    "code": "function class method symbol define definition call caller callers usage use reference implement import",
}
ROLES = {"test": "tests", "doc": "docs"}
# Tools whose use implies a topic, whatever the arguments.
TOOL_TOPICS = {
    "shell": "shell",
    "outline": "code",
    "refs": "code",
    "history": "code",
    "create_handoff": "history",
    "resume_handoff": "history",
}
WORD = re.compile(r"[A-Za-z]+")
# The beginning of a string is enough to classify a call; pasted text may have megabytes.
LONGEST_TEXT, MOST_TEXTS = 2_000, 100
# Too common to distinguish one tool from another.
STOP_WORDS = {
    "a",
    "an",
    "the",
    "of",
    "in",
    "on",
    "to",
    "for",
    "by",
    "with",
    "and",
    "or",
    "is",
    "are",
    "be",
    "it",
    "its",
}
STOP_WORDS |= {"this", "that", "how", "where", "what", "which", "who", "do", "i"}


def topics_of(name: str, args: Mapping[str, Any]) -> set[str]:
    """The topics of one call; code when nothing else matches."""
    values = [one for value in args.values() for one in (value if isinstance(value, list) else [value])]
    texts = [one[:LONGEST_TEXT] for one in values[:MOST_TEXTS] if isinstance(one, str)]
    found = {ROLES[role] for text in texts if "/" in text or "." in text if (role := role_of(text)) in ROLES}
    stemmed_words = stems(" ".join(texts))
    found |= {topic for topic, stemmed in TOPIC_STEMS.items() if topic != "code" and stemmed_words & stemmed}
    if name in TOOL_TOPICS:
        found.add(TOOL_TOPICS[name])
    return found or {"code"}


def question_of(name: str, args: Mapping[str, Any]) -> str:
    """A short description of a call for lists of handles."""
    words = " ".join(str(value[:LONGEST_TEXT]) for value in args.values() if isinstance(value, str | list))
    return f"{name} {words}"[:80].rstrip()


def stems(text: str) -> set[str]:
    return {stem(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS and len(word) <= LONGEST_WORD}


TOPIC_STEMS = {topic: {stem(word) for word in words.split()} for topic, words in TOPIC_WORDS.items()}
