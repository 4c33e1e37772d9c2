"""Routing: what is this session about, and which tool fits what it wants?

Each question counts towards topics (code, docs, tests, history, shell); the gateway's menu is ordered by them, and by
the words of a wish where there is one. Nothing is ever hidden: a tool that ranks last is still named.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llmc.base.languages import role_of
from llmc.base.words import stem

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Mapping, Sequence

    from llmc.tool import Tool

__all__ = ["by_topics", "fitting", "hint_for", "question_of", "topics_of"]

# What people say when they mean a topic. Stems are compared.
SPOKEN = {
    "docs": "docs documentation readme guide manual changelog tutorial explain",
    "tests": "test tests fixture assert coverage mock spec failing",
    "history": "history commit blame changed change log diff branch author when handoff resume session",
    "shell": "run command execute build compile install output shell make terminal",
    "code": "function class method symbol define definition call caller callers usage use reference implement import",
}
ROLES = {"test": "tests", "doc": "docs"}
# Tools whose use says what the session is about, whatever it asks.
TELLING = {
    "shell": "shell",
    "outline": "code",
    "refs": "code",
    "create_handoff": "history",
    "resume_handoff": "history",
}
WORD = re.compile(r"[A-Za-z]+")
# Too common to tell one tool from another.
DULL = {"a", "an", "the", "of", "in", "on", "to", "for", "by", "with", "and", "or", "is", "are", "be", "it", "its"}
DULL |= {"this", "that", "how", "where", "what", "which", "who", "do", "i"}


def topics_of(name: str, args: Mapping[str, Any]) -> set[str]:
    """What one call is about; code when nothing says otherwise."""
    texts = [value for value in args.values() if isinstance(value, str)]
    texts += [one for value in args.values() if isinstance(value, list) for one in value if isinstance(one, str)]
    found = {ROLES[role] for text in texts if "/" in text or "." in text if (role := role_of(text)) in ROLES}
    spoken = stems(" ".join(texts))
    found |= {topic for topic, stemmed in TOPIC_STEMS.items() if topic != "code" and spoken & stemmed}
    if name in TELLING:
        found.add(TELLING[name])
    return found or {"code"}


def question_of(name: str, args: Mapping[str, Any]) -> str:
    """A call in a few words, as a list of handles shows it."""
    said = " ".join(str(value) for value in args.values() if isinstance(value, str | list))
    return f"{name} {said}"[:80].rstrip()


def by_topics(tools: Iterable[Tool], topics: Counter[str]) -> list[Tool]:
    """Those first that fit what the session has asked for so far; else in the order given."""
    return sorted(tools, key=lambda one: -max((topics[topic] for topic in one.topics), default=0))


def fitting(tools: Sequence[Tool], wish: str) -> list[Tool]:
    """The tools that a wish could mean, best first; none when no word of it fits any."""
    wanted = stems(wish)
    scored = [(score(one, wanted), one) for one in tools]
    best = max((points for points, _ in scored), default=0)
    # Half of the best: a word that many tools share does not bring all of them.
    kept = [(points, one) for points, one in scored if points and points * 2 >= best]
    return [one for _, one in sorted(kept, key=lambda pair: -pair[0])]


def hint_for(name: str, args: Mapping[str, Any], tools: Sequence[Tool], topics: Counter[str]) -> str:
    """What to try when nothing was found: the tool that the words of the question mean, else what is near."""
    wish = " ".join(value for value in args.values() if isinstance(value, str))
    meant = [one for one in fitting(by_topics(tools, topics), wish) if score(one, stems(wish)) >= SURE]
    return f"perhaps llmc {meant[0].name}" if meant else NEAR.get(name, "")


# A word of its name, or two of its sentence: less is chance.
SURE = 3
NEAR = {
    "search": "perhaps grep, for exact text",
    "grep": "perhaps search, for the meaning",
    "find": "perhaps grep, for what is inside files",
}


def score(tool: Tool, wanted: set[str]) -> int:
    """A word in the name counts three, in the sentence two, in an argument or by way of a topic one."""
    points = 3 * len(wanted & stems(tool.name.replace("_", " ")))
    points += 2 * len(wanted & stems(tool.summary))
    points += len(wanted & stems(" ".join(f"{one.name} {one.help}" for one in tool.arguments)))
    return points + sum(bool(wanted & TOPIC_STEMS[topic]) for topic in tool.topics)


def stems(text: str) -> set[str]:
    return {stem(word) for word in WORD.findall(text.lower()) if word not in DULL}


TOPIC_STEMS = {topic: {stem(word) for word in words.split()} for topic, words in SPOKEN.items()}
