"""Definitions and uses in each language: kinds, containers, lines and references.

`golden/symbols` has a small text for each language (the name of the file is its path), followed by two sections with
the expected results: definitions as `kind qualified`, references as `kind name container`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmc.base.languages import GRAMMARS
from llmc.indexer.digest import parse
from llmc.indexer.syntax import grammar

SAMPLES = sorted((Path(__file__).parent / "golden_symbols").glob("*.txt"))
RULE = "--------\n"


def sample(file: Path) -> tuple[str, str, set[str], set[str]]:
    text, defined, used = file.read_text("utf-8").split(RULE)
    return file.name.removesuffix(".txt"), text, set(defined.splitlines()), set(used.splitlines())


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.stem)
def test_definitions_have_their_kind_and_container(file: Path) -> None:
    path, text, defined, _ = sample(file)
    assert defined <= {f"{symbol.kind} {symbol.qualified}" for symbol in parse(path, text).symbols}


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.stem)
def test_references_have_their_kind_and_container(file: Path) -> None:
    path, text, _, used = sample(file)
    assert used <= {f"{one.kind} {one.name} {one.container}".rstrip() for one in parse(path, text).references}


def test_every_language_with_a_grammar_has_a_sample() -> None:
    spoken = {parse(*sample(file)[:2]).language for file in SAMPLES}
    assert set(GRAMMARS) - spoken <= {"astro", "cuda", "jsx", "luau", "svelte"}  # each shares the grammar of another


@pytest.mark.parametrize("name", sorted(set(GRAMMARS.values()) | {"ocaml_interface"}))
def test_every_grammar_loads_and_its_query_compiles(name: str) -> None:
    assert grammar.query(name).pattern_count > 0


def symbol_of(path: str, text: str, name: str) -> tuple[int, int, str]:
    symbol = next(symbol for symbol in parse(path, text).symbols if symbol.name == name)
    return symbol.start_line, symbol.end_line, symbol.signature


def test_local_variables_are_not_symbols() -> None:
    for path, text in [
        ("a.py", "def f():\n    x = 1\n"),
        ("a.js", "app.get('/', () => { const x = 1 })\n"),
        ("a.c", "int f() { int x = 1; }\n"),
    ]:
        assert "x" not in {symbol.name for symbol in parse(path, text).symbols}


def test_a_definition_begins_with_its_decorators_and_ends_with_its_body() -> None:
    text = "import x\n\n# about f\n@one\n@two(3)\ndef f(\n    a,\n    b,\n) -> int:\n    return 1\n\n\nX = 1\n"
    assert symbol_of("a.py", text, "f") == (4, 10, "def f( a, b, ) -> int")


def test_a_signature_leaves_annotations_and_bodies_out() -> None:
    text = "class A {\n  @Override\n  public <T> List<T> all(int a) throws E {\n    return x;\n  }\n}\n"
    assert symbol_of("A.java", text, "all") == (2, 5, "public <T> List<T> all(int a) throws E")


def test_a_signature_is_one_short_line() -> None:
    long = ", ".join(f"argument_{number}" for number in range(200))
    signature = symbol_of("a.py", f"def f({long}):\n    pass\n", "f")[2]
    assert len(signature) <= 200
    assert "\n" not in signature


def test_the_equations_of_a_function_are_one_definition() -> None:
    text = "f :: Int -> Int\nf 0 = 1\nf n = n\n\ng = 2\n"
    assert symbol_of("a.hs", text, "f") == (1, 3, "f :: Int -> Int")


def test_lines_are_counted_by_line_feeds_alone() -> None:
    assert symbol_of("a.py", "x = '''\r\r\r'''\r\ndef f():\r\n    pass\r\n", "f")[:2] == (2, 3)


def test_a_mere_use_is_kept_once_for_each_definition_and_a_call_for_each_line() -> None:
    text = "LIMIT = 1\ndef f():\n    a(LIMIT)\n    a(LIMIT)\n"
    references = [(one.kind, one.name, one.line) for one in parse("a.py", text).references]
    assert references == [("call", "a", 3), ("use", "LIMIT", 3), ("call", "a", 4)]


def test_code_in_a_notebook_is_found_at_its_lines_in_the_file() -> None:
    cells = [{"cell_type": "code", "source": ["%matplotlib\n", "def f():\n", "    g()"]}]
    text = json.dumps({"cells": cells}, indent=1)
    assert symbol_of("a.ipynb", text, "f")[:2] == (7, 8)
    assert [(one.name, one.line) for one in parse("a.ipynb", text).references] == [("g", 8)]


def test_a_signature_leaves_comments_out() -> None:
    assert symbol_of("a.py", "def f(a):\n    # why\n    return 1\n", "f")[2] == "def f(a)"
    assert symbol_of("a.py", "def f(\n    a,  # first\n    b,\n):  # done\n    return 1\n", "f")[2] == "def f( a, b, )"
