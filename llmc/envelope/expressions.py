"""Expressions over rows: JMESPath with functions to count, group and join, bounded in steps, size and time.

    evaluate("[?kind=='def'] | count_by(@, &folder)", rows)

JMESPath has no loops, no recursion and no side effects, so every expression terminates. The limits exist because
repetitions such as `[@, @] | []` double a list each time. Regular expressions are those of RE2.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from jmespath import compile as compile_expression
from jmespath import exceptions, functions
from jmespath.visitor import Options, TreeInterpreter

from llmc.base.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FUNCTIONS", "evaluate"]

MOST_STEPS: Final = 3_000_000
MOST_VALUES: Final = 3_000_000  # list entries created during the evaluation
LETTERS: Final = 100  # characters of a string that count as one step
SECONDS: Final = 5.0
CLOCK_STEPS: Final = 4_096
FUNCTIONS: Final = "count_by(@, &x) group_by(@, &x) join_on(a, b, &x) unique(@) matches(text, 're') lower(text)"
HINT: Final = f"JMESPath, such as [?kind=='def'].path or sort_by(@, &line)[:5]; also {FUNCTIONS}."


def evaluate(expression: str, value: Any) -> Any:
    """Evaluate the expression. QueryError if it is invalid, does not fit the rows, or exceeds a limit."""
    try:
        parsed = compile_expression(expression).parsed
        return BoundedInterpreter().visit(parsed, value)
    except exceptions.JMESPathError as error:
        raise QueryError("the expression cannot be evaluated", reason=reason_of(error), hint=HINT) from error
    except RecursionError as error:
        raise QueryError("the expression is nested too deeply", hint=HINT) from error


def reason_of(error: exceptions.JMESPathError) -> str:
    if isinstance(error, exceptions.JMESPathTypeError):
        expected = " or ".join(map(str, error.expected_types))
        return (
            f"{error.function_name}() expects {expected}, not {error.actual_type}; perhaps not every row has the field"
        )
    return str(error).partition("\n")[0][:300]


class BoundedInterpreter(TreeInterpreter):
    def __init__(self) -> None:
        super().__init__(Options(custom_functions=RowFunctions()))
        self._steps = self._values = 0
        self._deadline = time.monotonic() + SECONDS

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self._steps += 1
        if self._steps > MOST_STEPS or (self._steps % CLOCK_STEPS == 0 and time.monotonic() > self._deadline):
            raise too_much(f"{MOST_STEPS:,} steps or {SECONDS:g} s")
        found = super().visit(node, *args, **kwargs)
        if isinstance(found, list | dict | str):
            self._values += len(found) // LETTERS if isinstance(found, str) else len(found)
            if self._values > MOST_VALUES:
                raise too_much(f"{MOST_VALUES:,} values")
        return found


def too_much(limit: str) -> QueryError:
    return QueryError("the expression was stopped", reason=f"the limit is {limit}", hint="Filter before you combine.")


class RowFunctions(functions.Functions):
    """Additional functions for tables."""

    @functions.signature({"types": ["array"]}, {"types": ["expref"]})
    def _func_count_by(self, rows: list[Any], key: Any) -> list[dict[str, Any]]:
        """Counts by key, most frequent first. A row that stands for several, such as a file whose matches were only
        counted, has a `count`."""
        counts = [{"key": name, "count": sum(map(weight, members))} for name, members in groups(rows, key)]
        return sorted(counts, key=lambda one: -one["count"])

    @functions.signature({"types": ["array"]}, {"types": ["expref"]})
    def _func_group_by(self, rows: list[Any], key: Any) -> list[dict[str, Any]]:
        found = groups(rows, key)
        return [{"key": name, "count": sum(map(weight, members)), "items": members} for name, members in found]

    @functions.signature({"types": ["array"]}, {"types": ["array"]}, {"types": ["expref"]})
    def _func_join_on(self, rows: list[Any], others: list[Any], key: Any) -> list[Any]:
        """Rows of the first list with a row of the same key in the second, extended by the fields of that row."""
        known = {hashable(name): members[0] for name, members in groups(others, key) if name is not None}
        pairs = [(row, known.get(hashable(value_of(key, row)))) for row in rows]
        return [{**other, **row} for row, other in pairs if isinstance(row, dict) and isinstance(other, dict)]

    @functions.signature({"types": ["array"]})
    def _func_unique(self, values: list[Any]) -> list[Any]:
        return list({hashable(value): value for value in values}.values())

    @functions.signature({"types": ["string", "null"]}, {"types": ["string"]})
    def _func_matches(self, text: str | None, pattern: str) -> bool:
        import re2  # noqa: PLC0415 - 20 ms, which only this function needs

        try:
            return re2.search(pattern, text or "") is not None
        except re2.error as error:
            raise QueryError("the regular expression cannot be read", reason=str(error)) from error

    @functions.signature({"types": ["string", "null"]})
    def _func_lower(self, text: str | None) -> str:
        return (text or "").lower()


def groups(rows: Iterable[Any], key: Any) -> list[tuple[Any, list[Any]]]:
    """(key, its rows), in the order in which keys first occur."""
    found: dict[Any, tuple[Any, list[Any]]] = {}
    for row in rows:
        value = value_of(key, row)
        found.setdefault(hashable(value), (value, []))[1].append(row)
    return list(found.values())


def weight(row: Any) -> int:
    count = row.get("count", 1) if isinstance(row, dict) else 1
    return count if isinstance(count, int) else 1


def value_of(key: Any, row: Any) -> Any:
    return key.visit(key.expression, row)


def hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
