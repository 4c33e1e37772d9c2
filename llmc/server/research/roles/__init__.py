"""roles: who answers which part of a question? One file for each.

A `Role` is a short prompt, the tools that it may use, its output's schema, and what it does without a model. Prompts
stay short and stable: what a role may do is enforced by its tools, its budget and the bounds of its result. `ROLES`
lists the built-in ones; a user adds to them in the settings (`[roles.NAME]` with a `base`), and such a role does what
its base does on the paths that it names, under a key of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from llmc.server.research.schema import RESULT

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.server.research.question import Question
    from llmc.server.research.result import Outcome, Place
    from llmc.server.research.toolbox import Toolbox

__all__ = ["ROLES", "Brief", "Role", "role"]

ROLES = ("locator", "analyzer", "pattern_finder", "thoughts_locator", "thoughts_analyzer")


@dataclass(frozen=True, slots=True)
class Brief:
    """What a role is told: the question, the places that others found, and whether paths need their root."""

    question: Question
    targets: tuple[Place, ...] = ()
    several: bool = False

    def reference(self, place: Place) -> str:
        path = f"{place.root}/{place.path}" if self.several else place.path
        return f"{path}:{place.line}" if place.line else path

    def at(self, root: str, path: str, line: int) -> str:
        return self.reference(_place(root, path, line))


def _place(root: str, path: str, line: int) -> Place:
    from llmc.server.research.result import Place  # noqa: PLC0415 - it is a value of another module's

    return Place(root, path, line, line)


@dataclass(frozen=True, slots=True)
class Role:
    """`key` is where its answer stands in a report; `work` is the role without a model."""

    name: str
    key: str
    prompt: str
    tools: frozenset[str]
    work: Callable[[Brief, Toolbox], Outcome]
    schema: dict[str, Any]

    @classmethod
    def of(cls, name: str, key: str, prompt: str, tools: str, work: Callable[[Brief, Toolbox], Outcome]) -> Role:
        return cls(name, key, " ".join(prompt.split()), frozenset(tools.split()), work, RESULT)


@cache
def role(name: str) -> Role:
    found: Role = import_module(f"{__name__}.{name}").ROLE
    return found
