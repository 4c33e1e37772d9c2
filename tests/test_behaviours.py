"""Every promise has a test, every test a promise, and the gaps are known."""

from __future__ import annotations

import ast
from pathlib import Path

from behaviours import GAPS, PARTS, PROMISES

import llmc

TESTS = Path(__file__).parent
FILES = {path.stem: path for path in TESTS.rglob("test_*.py")}
PACKAGE = Path(llmc.__file__).parent
APART = {"browser", "servers", "shared", "transformers"}
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


def test_tests_mirror_the_package() -> None:
    """Tests of more than the package (imports, this manifest) are at the top; some need an environment of their own."""
    folders = {path.relative_to(TESTS).parts[0] for path in FILES.values() if path.parent != TESTS}
    assert folders - APART == set(PARTS)
    assert set(PARTS) - {"bench"} <= {path.name for path in PACKAGE.iterdir() if path.is_dir()}
