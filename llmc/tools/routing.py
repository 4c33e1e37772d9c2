"""Routing: what is this session about, and which tool fits a request?

Each question counts towards topics (code, docs, tests, history, shell); the gateway's menu is ordered by them, and by
the words of a request if there is one. No tool is hidden: one that ranks last is still listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmc.state.topics import TOPIC_STEMS, stems

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Mapping, Sequence

    from llmc.tool import Tool

__all__ = ["NEAR", "by_topics", "fitting", "hint_for"]


def by_topics(tools: Iterable[Tool], topics: Counter[str]) -> list[Tool]:
    """Tools that fit the topics of the session first; otherwise in the given order."""
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
    """A suggestion when nothing was found: the tool that the words of the question mean, or a similar one."""
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
