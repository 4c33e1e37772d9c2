"""match finds code by its shape, and calls by the arguments that they pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tool_calls import answer, opened_tree

from llmc.retrieval import structure
from llmc.retrieval.call_arguments import parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.envelope.reply import Reply

    Ask = Callable[..., Reply]

FILES = {
    "src/client.py": """import requests


def fetch(url, retries=3, verify=True):
    return requests.get(url, verify=verify, timeout=5)


class Session:
    def __init__(self, base, verify=True):
        self.base = base

    def load(self, path):
        # requests.get(url, verify=False) in a comment is no code
        return requests.get(
            self.base + path,
            verify=False,
        )


def main():
    fetch("https://a", 3, False)
    fetch("https://b", verify=False)
    fetch("https://c")
    Session("x", False)
    if fetch(1) == fetch(1):
        pass
""",
    "src/client.ts": """export function send(url: string, body: object, retry = false) {
  return fetch(url, { method: 'POST', body: body, verify: false });
}
send('a', {}, true);
send("b", { retry: true });
const at = `https://${host}`;
fetch(`https://x`, { method: "GET" });
new Worker("w.js", { type: 'module' });
""",
    "main.go": """package main

func run(c *Client) error {
	if err := c.Do(1); err != nil {
		return err
	}
	c.List(ctx, Options{Limit: 10})
	return c.Do(2)
}
""",
    "app/Main.java": 'class Main { void run() { fetch("a"); this.fetch("b"); throw new Error("x"); } }\n',
    "app/main.cs": "class A { void F() { Open(path, share: true); Open(path); list.Where(x => x.Open(1)); } }\n",
    "app/main.c": "void f(void) { fetch(a); int y = fetch(b); }\n",
    "app/lib.rs": "fn f() { let x = Foo { verify: false }; fetch(a)?; Foo::fetch(b); }\n",
    "app/run.rb": "def run\n  open(path, share: true)\n  open(path)\nend\n",
    "tests/test_client.py": "def test_it():\n    assert fetch('https://a', verify=False)\n",
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with opened_tree(tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home"), FILES) as (workspace, handles):

        def run(pattern: str, **args: Any) -> Reply:
            return answer(workspace, handles, "match", {"pattern": pattern, **args})

        yield run


def places(reply: Reply) -> set[tuple[str, int]]:
    return {(file["path"], line[0]) for file in reply.data["files"] for line in file["lines"]}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("requests.get($$$A, verify=False)", {("src/client.py", 14)}),
        ("requests.get($$$)", {("src/client.py", 5), ("src/client.py", 14)}),
        ("$A == $A", {("src/client.py", 25)}),
        ("def $F($$$): $$$", {("src/client.py", line) for line in (4, 9, 12, 20)} | {("tests/test_client.py", 1)}),
        ("if err := $X; err != nil { return err }", {("main.go", 4)}),
        ("$C.Do($N)", {("main.go", 4), ("main.go", 8)}),
        ("throw new Error($M)", {("app/Main.java", 1)}),
        ("Foo::fetch($A)", {("app/lib.rs", 1)}),
        ("new Worker($$$)", {("src/client.ts", 8)}),
    ],
)
def test_code_is_found_by_its_shape(ask: Ask, pattern: str, expected: set[tuple[str, int]]) -> None:
    assert places(ask(pattern)) == expected


def test_a_call_is_found_in_every_language_that_writes_it_so(ask: Ask) -> None:
    found = {path for path, _ in places(ask("fetch($A)"))}
    assert found == {"src/client.py", "app/Main.java", "app/main.c", "app/lib.rs"}


def test_matches_stand_under_their_symbols_on_one_line_each(ask: Ask) -> None:
    lines = ask("requests.get($$$A, verify=False)").text.split("\n")
    assert lines == [
        "1 match in 1 file",
        "src/client.py",
        "Session.load 12-17",
        "14 requests.get( self.base + path, verify=False, )",
    ]


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("fetch", {"with": ["verify=False"]}, {("src/client.py", 21), ("src/client.py", 22), ("src/client.ts", 2)}),
        ("fetch", {"with": ["3=False"]}, {("src/client.py", 21)}),
        ("fetch", {"with": ["retries"]}, {("src/client.py", 21)}),
        ("fetch", {"with": ["method='POST'"]}, {("src/client.ts", 2)}),
        ("fetch", {"with": ["method!='POST'"]}, {("src/client.ts", 7)}),
        ("requests.get", {"with": ["verify=$X"], "without": ["timeout"]}, {("src/client.py", 14)}),
        ("Session", {"with": ["verify=False"]}, {("src/client.py", 24)}),
        ("send", {"with": ["retry=true"]}, {("src/client.ts", 4), ("src/client.ts", 5)}),
        ("Open", {"without": ["share"]}, {("app/main.cs", 1)}),
        ("open", {"with": ["share=true"]}, {("app/run.rb", 2)}),
        ("List", {"with": ["Limit=10"]}, {("main.go", 7)}),
        ("Foo", {"with": ["verify=false"]}, {("app/lib.rs", 1)}),
        ("Worker", {"with": ["type='module'"]}, {("src/client.ts", 8)}),
    ],
)
def test_calls_are_found_by_their_arguments(
    ask: Ask, name: str, args: dict[str, Any], expected: set[tuple[str, int]]
) -> None:
    assert places(ask(name, no_tests=True, **args)) == expected


def test_a_function_without_a_signature_is_matched_by_keyword_and_the_reply_says_so(ask: Ask) -> None:
    assert "by keyword alone, no signature of requests.get is indexed" in ask("requests.get", **{"with": ["a=1"]}).text
    assert "by keyword alone" not in ask("fetch", path=["src/client.py"], **{"with": ["verify=False"]}).text


def test_options_are_those_of_grep(ask: Ask) -> None:
    every = ask("fetch", **{"with": ["verify=False"]})
    assert "tests: 1 match in 1 file" in every.text
    assert places(ask("fetch", only_tests=True, **{"with": ["verify=False"]})) == {("tests/test_client.py", 2)}
    assert ask("fetch($A)", files=True, type=["py"]).text == "1 file\nsrc/client.py"
    assert "src/client.py · 3" in ask("fetch($A)", count=True, glob=["*.py"]).text
    assert ask("fetch($A)", path=["app/main.c"]).text.startswith("2 matches in 1 file")
    assert "no indexed file matches -g *.kt" in ask("fetch($A)", glob=["*.kt"]).text
    assert ask("nowhere_at_all($A)").text == "no matches"


@pytest.mark.parametrize(
    ("pattern", "args", "message"),
    [
        ("", {}, "match needs 'pattern'"),
        ("  ", {}, "the pattern is not code"),
        ("fetch(", {}, "the pattern is not code: it cannot be parsed as"),
        ("$$$", {}, "the pattern is not code"),
        (")))", {}, "the pattern is not code"),
        ("x" * 1_001, {}, "'pattern' of match has 1,001 characters: the limit is 1,000"),
        ("(" * 300 + "$A" + ")" * 300, {}, "the pattern is nested too deeply: the limit is 100 levels"),
        ("not a name", {"with": ["a=1"]}, "is not the name of a function"),
        ("fetch", {"with": ["=1"]}, "is not an argument"),
        ("fetch($A)", {"no_tests": True, "only_tests": True}, "exclude each other"),
    ],
)
def test_what_cannot_be_matched_is_an_error(ask: Ask, pattern: str, args: dict[str, Any], message: str) -> None:
    reply = ask(pattern, **args)
    assert reply.error
    assert message in reply.text


def test_the_same_variable_is_the_same_code_however_deep_it_is(ask: Ask) -> None:
    """ast-grep compares level by level, and ends the process at some ten thousand levels."""
    deep = "f(" * 40_000 + "a" + ")" * 40_000
    found = structure.CodePattern("$A == $A").matches(None, f"x = {deep} == {deep}\n", "python")  # type: ignore[arg-type]
    assert len(list(found)) == 1


def test_a_time_limit_is_reported_and_is_not_an_answer(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmc.tools.match.PATIENCE", 0)
    reply = ask("fetch($A, $B)")
    assert reply.error
    assert reply.text.startswith("the search was stopped at the time limit of 0 s")


@pytest.mark.parametrize(
    ("signature", "language", "names"),
    [
        ("def get(self, url: str, *, verify: bool = True, **rest) -> None", "python", ["url", "verify", "rest"]),
        ("async get<T>(url: string, opts: { a: number, b?: Map<string, T> } = {}): T", "typescript", ["url", "opts"]),
        ("func (c *Client) Do(ctx context.Context, n, m int, f func(int) error) error", "go", ["ctx", "n", "m", "f"]),
        ("pub fn run(&mut self, mut key: &str, f: impl Fn(u8) -> u8) -> Result<()>", "rust", ["key", "f"]),
        ("public Task<int> Run(string name, Dictionary<string, int> map = null)", "csharp", ["name", "map"]),
        ("int open(const char *path, int flags)", "c", ["path", "flags"]),
        ("def run(path, mode = 'r', &block)", "ruby", ["path", "mode", "block"]),
        ("def main()", "python", []),
    ],
)  # fmt: skip
def test_parameters_are_read_from_signatures(signature: str, language: str, names: list[str]) -> None:
    assert parameters(signature, language) == names
