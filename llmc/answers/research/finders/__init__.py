"""finders: one module for each kind of fact that a question may request.

A finder runs the exact tool for its type (the graph, grep, manifests, documents, history) and returns the answer with
its evidence, or None if the fact was not found. Then the next type of the question is tried, and search comes last.
Confidence is high only if the requested fact is in the quoted evidence.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from llmc.answers.research.question_types import QuestionType

if TYPE_CHECKING:
    from llmc.answers.research.result import RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import RoleToolbox

__all__ = ["find"]

# (module, function) of each type; `how` has none, because search and the analyzer answer it.
FINDERS = {
    QuestionType.CALLERS: ("usages", "callers_of"),
    QuestionType.IMPACT: ("usages", "impact_of"),
    QuestionType.LIST: ("lists", "every_place"),
    QuestionType.TESTS: ("tests", "tests_for"),
    QuestionType.WHERE: ("definitions", "defined_at"),
    QuestionType.DOCUMENTATION: ("documents", "documented"),
    QuestionType.CHANGED: ("changes", "changed"),
    QuestionType.VERSION: ("versions", "required_version"),
    QuestionType.DEFAULT: ("values", "default_value"),
    QuestionType.ERROR: ("errors", "raised_at"),
}


def find(kind: QuestionType, brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    """The answer of the finder for this type; None without one, or if it found nothing."""
    if kind not in FINDERS:
        return None
    module, function = FINDERS[kind]
    found: RoleOutcome | None = getattr(import_module(f"{__name__}.{module}"), function)(brief, toolbox)
    return found
