"""roles: who answers which part of a question? One file for each.

A `ResearchRole` is a short prompt, the tools that it may use, its output's schema, and what it does without a model.
Prompts stay short and stable: what a role may do is enforced by its tools, its budget and the bounds of its result.
`ROLES` lists the built-in ones; a user adds to them in the settings (`[roles.NAME]` with a `base`), and such a role
does what its base does on the paths that it names, under a key of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from llmc.answers.research.schema import RESULT

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.answers.research.question import Question
    from llmc.answers.research.result import ResultPlace, RoleOutcome
    from llmc.answers.research.toolbox import RoleToolbox

__all__ = ["ROLES", "Brief", "ResearchRole", "role"]

ROLES = ("locator", "analyzer", "pattern_finder", "thoughts_locator", "thoughts_analyzer")


@dataclass(frozen=True, slots=True)
class Brief:
    """What a role is told: the question, the places that others found, and whether paths need their root."""

    question: Question
    targets: tuple[ResultPlace, ...] = ()
    several: bool = False

    def reference(self, place: ResultPlace) -> str:
        path = f"{place.root}/{place.path}" if self.several else place.path
        return f"{path}:{place.line}" if place.line else path

    def at(self, root: str, path: str, line: int) -> str:
        return self.reference(_place(root, path, line))


def _place(root: str, path: str, line: int) -> ResultPlace:
    from llmc.answers.research.result import ResultPlace  # noqa: PLC0415 - it is a value of another module's

    return ResultPlace(root, path, line, line)


@dataclass(frozen=True, slots=True)
class ResearchRole:
    """`key` is where its answer stands in a report; `work` is the role without a model."""

    name: str
    key: str
    prompt: str
    tools: frozenset[str]
    work: Callable[[Brief, RoleToolbox], RoleOutcome]
    schema: dict[str, Any]

    @classmethod
    def of(
        cls, name: str, key: str, prompt: str, tools: str, work: Callable[[Brief, RoleToolbox], RoleOutcome]
    ) -> ResearchRole:
        return cls(name, key, " ".join(prompt.split()), frozenset(tools.split()), work, RESULT)


@cache
def role(name: str) -> ResearchRole:
    found: ResearchRole = import_module(f"{__name__}.{name}").ROLE
    return found
