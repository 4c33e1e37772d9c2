"""No text makes the parser fail, hang, lose a line or give two answers."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmc.base.languages import GRAMMARS
from llmc.indexer.digest import parse
from llmc.indexer.syntax import outline

# One name for each language that has a reader of its own.
PATHS = {
    "python": "a.py", "javascript": "a.js", "typescript": "a.ts", "tsx": "a.tsx", "go": "a.go", "rust": "a.rs",
    "java": "A.java", "c": "a.c", "cpp": "a.cc", "csharp": "a.cs", "ruby": "a.rb", "php": "a.php", "kotlin": "a.kt",
    "swift": "a.swift", "scala": "a.scala", "lua": "a.lua", "bash": "a.sh", "css": "a.css", "scss": "a.scss",
    "json": "a.json", "toml": "a.toml", "elixir": "a.ex", "haskell": "a.hs", "zig": "a.zig", "dart": "a.dart",
    "julia": "a.jl", "r": "a.R", "perl": "a.pm", "ocaml": "a.ml", "clojure": "a.clj", "erlang": "a.erl",
    "dockerfile": "Dockerfile", "make": "Makefile", "cmake": "a.cmake", "hcl": "a.tf", "graphql": "a.graphql",
    "proto": "a.proto", "html": "a.html", "vue": "a.vue", "svelte": "a.svelte", "astro": "a.astro", "jsx": "a.jsx",
    "luau": "a.luau", "cuda": "a.cu", "sql": "a.sql", "yaml": "a.yml", "markdown": "a.md", "rst": "a.rst",
    "notebook": "a.ipynb", "ini": "a.ini", "asciidoc": "a.adoc", "org": "a.org", "text": "a.txt",
}  # fmt: skip

TOKENS = [
    "(", ")", "[", "]", "{", "}", "<", ">", '"', "'", "`", "/*", "*/", "//", "#", "<<EOF\n", "${", "#{", "\\", "\n",
    "\n\n", " ", "\t", "a", "B", "1", ".", ",", ":", ";", "=", "=>", "->", "::", "|", "&", "@", "?", "!", "class ",
    "def ",
    "fn ", "function ", "if ", "end\n", "do ", "import ", "return ", "let ", "\u2028", "é", "\x00", "\r", "\r\n",
    "\ud800", "```\n", "<script>", "</script>", "create table x", "describe 'x' do\n", "(defn ", "- a:\n",
    "  b: 1\n", '"source": [\n',
]  # fmt: skip


def check(path: str, text: str) -> None:
    parsed = parse(path, text)
    assert "".join(chunk.text for chunk in parsed.chunks) == text
    covered = [line for chunk in parsed.chunks for line in range(chunk.start_line, chunk.end_line + 1)]
    assert covered == list(range(1, parsed.lines + 1))
    assert all(1 <= one.start_line <= one.end_line <= parsed.lines for one in parsed.symbols)
    assert all(1 <= one.line <= parsed.lines for one in parsed.references)
    assert parse(path, text) == parsed


def test_every_grammar_is_tried() -> None:
    assert set(GRAMMARS) <= set(PATHS)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(PATHS)), st.lists(st.sampled_from(TOKENS), max_size=80).map("".join))
def test_chunks_join_to_any_text_of_tokens(language: str, text: str) -> None:
    outline(language, text)
    check(PATHS[language], text)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(PATHS)), st.text(st.characters(exclude_categories=[]), max_size=400))
def test_chunks_join_to_any_text_of_characters(language: str, text: str) -> None:
    outline(language, text)
    check(PATHS[language], text)


@pytest.mark.parametrize("path", PATHS.values())
@pytest.mark.parametrize("text", ["B#", "foo # x", "foo // x", "foo /* x", "foo -- x", "foo ; x", 'x = "', "<!-- x"])
def test_a_comment_or_string_at_the_end_without_a_line_break_ends(path: str, text: str) -> None:
    check(path, text)


@pytest.mark.parametrize("path", PATHS.values())
def test_one_sign_over_and_over_is_cut_by_lines(path: str) -> None:
    for sign in ("(", "[", "{", "<", "a<b,", "%w(", "<!--", "'", "/*", "@a\n", "a.", "--", "#{", "\u2028"):
        check(path, sign * (40_000 // len(sign)))
        check(path, (sign * 20 + "\n") * (30_000 // len(sign) // 20))


@pytest.mark.parametrize("path", PATHS.values())
def test_a_mixture_of_tokens_is_cut_in_time(path: str) -> None:
    chosen = random.Random(7).choices(TOKENS, k=15_000)
    check(path, "".join(chosen))


def test_a_megabyte_in_one_line_is_one_chunk() -> None:
    for path in ("a.py", "a.json", "a.min.js", "a.txt"):
        assert len(parse(path, "x=[" + "1," * 500_000).chunks) == 1


def test_very_large_sources_are_cut_by_lines() -> None:
    text = "def f():\n    return 1\n\n" * 100_000
    parsed = parse("a.py", text)
    assert parsed.symbols == ()
    assert parsed.lines == 300_000


def test_threads_do_not_disturb_each_other() -> None:
    texts = [f"def f{number}():\n    return g{number}()\n\n" * 200 for number in range(8)]
    alone = [parse("a.py", text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda text: parse("a.py", text), texts)) == alone
