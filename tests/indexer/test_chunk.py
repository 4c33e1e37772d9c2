"""Text becomes chunks, symbols and references: for any text, and correctly for each language."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmc.base.text import count_lines
from llmc.embed import open_embedder
from llmc.indexer.digest import digest, embedded_texts, parse
from llmc.settings import EmbedderSettings

ENDINGS = [
    "py", "js", "jsx", "ts", "tsx", "go", "rs", "java", "c", "h", "cpp", "cs", "rb", "php", "kt", "swift", "scala",
    "lua", "sh", "sql", "html", "css", "json", "yaml", "toml", "md", "rst", "ipynb", "ex", "hs", "zig", "txt",
]  # fmt: skip

DEFINED = {
    "a.py": ("class A(Base):\n    def f(self):\n        return g()\n\nX = 1\n", {"A", "A.f", "X"}),
    "a.js": ("export class A { f() { return g() } }\nconst h = () => 1\nfunction k() {}\n", {"A", "A.f", "h", "k"}),
    "a.ts": (
        "interface I { x: number }\nexport class A<T> { f(): T { return g() } }\ntype U = I\n",
        {"I", "A", "A.f", "U"},
    ),
    "a.tsx": ("export function View() { return <div/> }\n", {"View"}),
    "a.go": ("package a\n\ntype T struct{}\n\nfunc (t *T) M() {}\n\nfunc F() { G() }\n", {"T", "T.M", "F"}),
    "a.rs": (
        "struct S;\nimpl S { fn m(&self) {} }\ntrait Tr {}\nfn f() { g() }\nenum E { A }\n",
        {"S", "S.m", "Tr", "f", "E"},
    ),
    "A.java": ("class A extends B {\n  int f() { return g(); }\n}\ninterface I {}\n", {"A", "A.f", "I"}),
    "a.c": ("struct s { int x; };\nint f(int a)\n{\n  return g(a);\n}\n#define M 1\n", {"s", "f", "M"}),
    "a.cpp": ("namespace n { class A { void f(); }; }\nvoid n::A::f() { g(); }\n", {"n.A"}),
    "a.cs": ("namespace N { class A : B { public int F() { return G(); } } }\n", {"N.A", "N.A.F"}),
    "a.rb": ("module M\n  class A < B\n    def f\n      g\n    end\n  end\nend\n", {"M", "M.A", "M.A.f"}),
    "a.php": ("<?php\nclass A extends B { function f() { return g(); } }\nfunction h() {}\n", {"A", "A.f", "h"}),
    "a.kt": ("class A : B() { fun f(): Int { return g() } }\nfun h() {}\nobject O\n", {"A", "A.f", "h", "O"}),
    "a.swift": ("class A: B { func f() -> Int { return g() } }\nstruct S {}\n", {"A", "A.f", "S"}),
    "a.scala": ("class A extends B { def f: Int = g() }\nobject O\ntrait T\n", {"A", "A.f", "O", "T"}),
    "a.lua": ("local M = {}\nfunction M.f() return g() end\nlocal function h() end\n", {"M.f", "h"}),
    "a.sh": ("f() {\n  g\n}\nfunction h {\n  f\n}\n", {"f", "h"}),
    "a.sql": ("CREATE TABLE t (id int);\nCREATE VIEW v AS SELECT * FROM t;\n", {"t", "v"}),
    "a.css": (".card { color: red }\n", {".card"}),
    "a.toml": ("[tool.x]\nname = 'y'\n", {"tool.x"}),
    "a.md": ("# Top\n\ntext\n\n## Inner\n\nmore\n", {"Top", "Top.Inner"}),
    "releases.rst": (
        "Top\n===\n\n.. changelog::\n    :version: 2.0.1\n\n    text\n\n* :release:`1.9.0 <2024>`\n* :bug:`7` text\n",
        {"Top", "Top.2.0.1", "Top.1.9.0"},
    ),
    "a.rst": ("Top\n===\n\ntext\n\nInner\n-----\n\nmore\n", {"Top", "Top.Inner"}),
    "a.ex": ("defmodule M do\n  def f(x), do: g(x)\nend\n", {"M", "M.f"}),
    "a.hs": ("module M where\n\nf :: Int -> Int\nf x = g x\n", {"f"}),
    "a.zig": ("pub fn f() void {\n    g();\n}\n", {"f"}),
}


@pytest.mark.parametrize("path", DEFINED)
def test_each_language_gives_its_definitions_with_their_containers(path: str) -> None:
    text, expected = DEFINED[path]
    assert expected <= {symbol.qualified for symbol in parse(path, text).symbols}


CALLED = [path for path, (text, _) in DEFINED.items() if "g(" in text]


@pytest.mark.parametrize("path", CALLED)
def test_each_language_gives_its_calls(path: str) -> None:
    references = parse(path, DEFINED[path][0]).references
    assert "g" in {reference.name for reference in references}


@pytest.mark.parametrize("path", ["a.py", "A.java", "a.rb", "a.php", "a.cs", "a.kt", "a.swift", "a.scala"])
def test_what_a_class_inherits_is_a_reference(path: str) -> None:
    references = parse(path, DEFINED[path][0]).references
    assert any(one.kind == "inherit" and one.name in {"B", "Base"} for one in references)


def check_partition(path: str, text: str) -> None:
    parsed = parse(path, text)
    assert parsed == parse(path, text)
    assert parsed.lines == count_lines(text)
    covered = [line for chunk in parsed.chunks for line in range(chunk.start_line, chunk.end_line + 1)]
    assert covered == list(range(1, parsed.lines + 1))
    assert [chunk.ordinal for chunk in parsed.chunks] == list(range(len(parsed.chunks)))
    for symbol in parsed.symbols:
        assert 1 <= symbol.start_line <= symbol.end_line <= parsed.lines


@settings(max_examples=150)
@given(st.sampled_from(ENDINGS), st.text(max_size=300))
def test_every_line_of_any_text_is_in_exactly_one_chunk(ending: str, text: str) -> None:
    check_partition(f"a.{ending}", text)


PIECES = st.sampled_from(
    [
        "class A:\n",
        "def f(x):\n",
        "    return g(x)\n",
        "{\n",
        "}\n",
        "func F() {\n",
        "/* ",
        "*/\n",
        "'''\n",
        "# h\n",
        "\n",
        "x = 1\n",
    ]
)


@settings(max_examples=150)
@given(st.sampled_from(ENDINGS), st.lists(PIECES, max_size=60))
def test_every_line_of_broken_code_is_in_exactly_one_chunk(ending: str, pieces: list[str]) -> None:
    check_partition(f"a.{ending}", "".join(pieces))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "x" * 300_000,
        "(" * 5_000,
        "{\n" * 3_000,
        "a\r\nb\r\n",
        "\ufeffx = 1\n",
        "é\u202e\n" * 50,
        "def f(:\n" * 500,
    ],
    ids=["empty", "newline", "one-line", "brackets", "braces", "crlf", "bom", "odd", "broken"],
)
def test_hostile_texts_are_cut_too(ending: str, text: str) -> None:
    check_partition(f"a.{ending}", text)


def test_a_notebook_is_cut_by_its_cells() -> None:
    cells = [{"cell_type": "code", "source": [f"x{number} = {number}\n"], "metadata": {}} for number in range(3)]
    text = json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}, indent=1)
    check_partition("a.ipynb", text)
    assert "x2 = 2" in "".join(chunk.text + chunk.capsule for chunk in parse("a.ipynb", text).chunks)


def test_a_capsule_never_depends_on_the_path() -> None:
    text = DEFINED["a.py"][0]
    assert parse("one/a.py", text) == parse("two/deep/b.py", text)


def test_embedded_text_repeats_what_a_chunk_defines_and_has_no_path() -> None:
    (text,) = embedded_texts(
        parse("depot/fees.py", "class Fee:\n    def due(self, days: int) -> int:\n        return days\n")
    )
    assert text.split("\n")[:4] == ["Fee", "class Fee", "Fee.due", "def due(self, days: int) -> int"]
    assert text.count("Fee.due") == 2
    assert "depot" not in text
    assert list(embedded_texts(parse("empty.py", ""))) == []


@pytest.mark.parametrize(
    ("chosen", "mixed"), [(EmbedderSettings(kind="builtin"), True), (EmbedderSettings(kind="hash"), False)]
)
def test_only_a_static_model_s_vectors_take_a_share_of_the_chunks_around_them(
    *, chosen: EmbedderSettings, mixed: bool
) -> None:
    def file_about(subject: str) -> str:
        line = f"    {subject} = load_{subject}({subject}) or default_{subject}\n"
        return f"def first_{subject}():\n{line * 40}\n\n" + "def due(days):\n" + "    days = days + interest\n" * 60

    embedder = open_embedder(chosen)
    (fees, birds) = digest([("fees.py", file_about("fee")), ("birds.py", file_about("bird"))], embedder)
    assert fees.vectors is not None
    assert birds.vectors is not None
    assert fees.parsed.chunks[-1].text == birds.parsed.chunks[-1].text
    assert len(fees.vectors) > 1
    assert (not np.allclose(fees.vectors[-1], birds.vectors[-1])) == mixed
