"""Every promise has a test, every test a promise, and the gaps are known."""

from __future__ import annotations

import ast
from fnmatch import fnmatch
from pathlib import Path

from behaviours import GAPS, PARTS, PROMISES

TESTS = Path(__file__).parent
FILES = {path.stem: path for path in TESTS.glob("test_*.py")}
ASKED_FOR = {*(f"R{number}" for number in range(1, 11)), *(f"S{number}" for number in range(1, 14))}


def functions(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def exists(test: str) -> bool:
    file, _, function = test.partition("::")
    return file in FILES and (not function or function in functions(FILES[file]))


def test_every_promise_of_the_plan_is_listed() -> None:
    assert set(PROMISES) >= ASKED_FOR


def test_every_test_that_is_named_is_there() -> None:
    assert [test for promise in PROMISES.values() for test in promise.tests if not exists(test)] == []


def test_what_no_test_shows_is_a_known_gap_and_nothing_else_is() -> None:
    assert {name for name, promise in PROMISES.items() if not promise.tests} == set(GAPS)


def test_every_file_of_tests_belongs_to_a_promise_or_a_part() -> None:
    named = {test.partition("::")[0] for promise in PROMISES.values() for test in promise.tests}
    parts = [pattern for patterns in PARTS.values() for pattern in patterns]
    assert [file for file in sorted(FILES.keys() - named) if not any(fnmatch(file, part) for part in parts)] == []
