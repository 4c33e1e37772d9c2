"""roles: the research roles, one module each.

A `ResearchRole` is a short prompt, the tools it may use, and its work without a model.
Prompts stay short and stable; the tools, the budget and the bounds of the result enforce what a role may do. `ROLES`
lists the built-in roles. Users add roles in the settings (`[roles.NAME]` with a `base`): such a role does the work of
its base on its own paths and reports under its own key.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.answers.research.question import Question
    from llmc.answers.research.result import ResultPlace, RoleOutcome
    from llmc.answers.research.toolbox import RoleToolbox

__all__ = ["ROLES", "Brief", "ResearchRole", "role"]

ROLES = ("locator", "analyzer", "pattern_finder", "thoughts_locator", "thoughts_analyzer")


@dataclass(frozen=True, slots=True)
class Brief:
    """The input of a role: the question, the places found so far, whether references include the root, and how many
    other definitions are explained beside its own."""

    question: Question
    targets: tuple[ResultPlace, ...] = ()
    several: bool = False
    beside: int = 0

    def reference(self, place: ResultPlace) -> str:
        path = f"{place.root}/{place.path}" if self.several else place.path
        return f"{path}:{place.line}" if place.line else path

    def at(self, root: str, path: str, line: int) -> str:
        return self.reference(_place(root, path, line))


def _place(root: str, path: str, line: int) -> ResultPlace:
    from llmc.answers.research.result import ResultPlace  # noqa: PLC0415 - avoids an import at load

    return ResultPlace(root, path, line, line)


@dataclass(frozen=True, slots=True)
class ResearchRole:
    """`key` is its entry in a report; `work` does the role's work without a model."""

    name: str
    key: str
    prompt: str
    tools: frozenset[str]
    work: Callable[[Brief, RoleToolbox], RoleOutcome]

    @classmethod
    def of(
        cls, name: str, key: str, prompt: str, tools: str, work: Callable[[Brief, RoleToolbox], RoleOutcome]
    ) -> ResearchRole:
        return cls(name, key, " ".join(prompt.split()), frozenset(tools.split()), work)


@cache
def role(name: str) -> ResearchRole:
    found: ResearchRole = import_module(f"{__name__}.{name}").ROLE
    return found
