"""grep names the function around each match, keeps tests separate, and compresses before it omits anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tool_calls import answer, opened_tools, opened_tree

from llmc.base.errors import QueryError
from llmc.base.languages import ROLES, role_of
from llmc.envelope.handles import Handles
from llmc.retrieval.enclosing import symbols_of
from llmc.retrieval.grep.grep import GrepRequest, grep
from llmc.settings import EmbedderSettings, Settings
from llmc.tools import grep_reply
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from llmc.envelope.reply import Reply

FILES = {
    "src/auth.ts": """import { cookie } from './cookie';
import {
	sign,
	verify,
} from './jwt';

export class Auth {
	login(user: string) {
		// cookie is set here
		cookie(user);
		return sign(user);
	}
}

router.post(
	'/refresh',
	asyncHandler(async (req, res) => {
		verify(req);
		cookie(req.user);
	}),
);

const schema = {
	auth_login: {
		resolve: async (args) => {
			cookie(args.user);
		},
	},
};
""",
    "src/cookie.ts": "export function cookie(name: string) {\n\treturn `${name}=1`;\n}\n",
    "src/auth.test.ts": "import { cookie } from './cookie';\n\nit('sets a cookie', () => {\n\tcookie('a');\n});\n",
    "src/lib.rs": """pub fn cookie_jar() -> usize {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_one() {
        assert_eq!(cookie_jar(), 1);
    }
}
""",
    "docs/guide.md": "# Guide\n\nA cookie is baked.\n",
    "tool.py": '"""Bakes a cookie."""\n\nfrom jar import cookie\n\n\n@retry\ndef bake():\n    return cookie()\n',
    "site/tags.py": "def test_page(page):\n    return page.lockable\n",
    "site/test_tags.py": "def test_it():\n    assert tags.lockable\n",
    "site/test/testapp/models.py": "class Page:\n    lockable = True\n",
    "src/again.ts": "export function repeat() {\n"
    + "".join(f"\tagain({at});\n" + "\tother();\n" * 9 for at in range(30))
    + "}\n",
    "site/tests/fixtures/pages.py": "def prepared_page():\n    return Page()\n",
    **{f"src/routes/r{at}.ts": f"export const r{at} = () => {{\n\treturn widget({at});\n}};\n" for at in range(60)},
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Reply]]:
    with opened_tools(tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home"), FILES) as call:
        yield call


def test_each_match_is_listed_under_its_symbol_and_a_handler_is_named_after_its_registration(
    ask: Callable[..., Reply],
) -> None:
    text = ask("grep", pattern="cookie", path=["src/auth.ts"]).text
    assert (
        text
        == """5 matches in 1 file
src/auth.ts
1 import
Auth.login 8-12
9 // cookie is set here
10 cookie(user);
router.post('/refresh') 15-21
19 cookie(req.user);
schema.auth_login.resolve 25-27
26 cookie(args.user);"""
    )


def test_a_definition_opens_its_group_with_its_extent_and_code_comes_before_tests_and_docs(
    ask: Callable[..., Reply],
) -> None:
    lines = ask("grep", pattern="cookie").text.split("\n")
    assert lines[0] == "15 matches in 6 files: 10 code, 4 tests, 1 docs"
    assert "1-3 export function cookie(name: string) {" in lines
    assert "1-3 pub fn cookie_jar() -> usize {" in lines
    assert "7-8 def bake():" not in lines
    assert lines.index(" auth.ts") < next(at for at, line in enumerate(lines) if line.startswith("tests: "))
    assert " src/auth.test.ts 1 3 4" in lines


def test_a_matched_method_names_its_class(ask: Callable[..., Reply]) -> None:
    assert ask("grep", pattern="login\\(").text.split("\n")[1:] == ["src/auth.ts", "8-12 Auth · login(user: string) {"]


def test_tests_are_recognised_inside_files_and_filters_hold_for_lists_and_counts(ask: Callable[..., Reply]) -> None:
    def places(**args: Any) -> list[tuple[str, int]]:
        files = ask("grep", pattern="cookie", **args).data["files"]
        return sorted((file["path"], file["count"]) for file in files)

    tests = [("src/auth.test.ts", 3), ("src/lib.rs", 1)]
    code = [("docs/guide.md", 1), ("src/auth.ts", 5), ("src/cookie.ts", 1), ("src/lib.rs", 1), ("tool.py", 3)]
    for form in ({}, {"files": True}, {"count": True}, {"all": True}):
        assert places(only_tests=True, **form) == tests
        assert places(no_tests=True, **form) == code
    listed = ask("grep", pattern="cookie", only_tests=True, files=True).text.split("\n")
    assert sorted(listed[1:]) == ["src/auth.test.ts", "src/lib.rs"]


def test_fixtures_of_tests_are_test_code_for_the_filters(ask: Callable[..., Reply]) -> None:
    assert ask("grep", pattern="prepared_page", no_tests=True).text == "no matches"
    assert ask("grep", pattern="prepared_page", only_tests=True).data["matches"] == 1


def test_the_rest_of_a_symbol_starts_at_its_first_line(ask: Callable[..., Reply]) -> None:
    reply = ask("grep", pattern="again", path=["src/again.ts"], context=3, budget=200)
    shown = {int(line.split()[0]) for line in reply.text.split("\n") if "again(" in line and line[0].isdigit()}
    rest = ask("handle", name=reply.handle).text
    first = min(number for number in range(2, 302, 10) if number not in shown)
    assert f"src/again.ts:{first} " in rest


def test_only_the_symbols_around_the_matches_are_listed_with_counts(ask: Callable[..., Reply]) -> None:
    reply = ask("grep", pattern="cookie", symbols=True)
    lines = reply.text.split("\n")
    assert lines[0] == "15 matches in 6 files: 10 code, 4 tests, 1 docs"
    at = lines.index("src/auth.ts · 4")
    assert lines[at + 1 : at + 4] == [
        "8-12 Auth.login ×2",
        "15-21 router.post('/refresh')",
        "25-27 schema.auth_login.resolve",
    ]
    assert " outside symbols ×1" not in lines[at : at + 5]
    assert " outside symbols ×1" in ask("grep", pattern="cookie", symbols=True, all=True).text.split("\n")
    assert "cookie(user)" not in reply.text
    assert at < next(at for at, line in enumerate(lines) if line.startswith("src/auth.test.ts"))
    for form in ({"all": True}, {"no_tests": True}):
        assert "8-12 Auth.login ×2" in ask("grep", pattern="cookie", symbols=True, **form).text.split("\n")


def test_symbols_of_very_many_matches_are_listed_as_far_as_they_were_read(
    ask: Callable[..., Reply], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep_reply, "MOST_IN_SYMBOLS", 10)
    reply = ask("grep", pattern="widget", symbols=True, budget=20_000)
    lines = reply.text.split("\n")
    assert lines[0].startswith("60 matches in 60 files")
    assert lines[1:3] == ["src/routes/r0.ts", "1-3 r0"]
    assert sum(line.startswith("src/routes/r") for line in lines) == 60
    assert any(line.startswith("src/routes/r9.ts · 1") for line in lines)


def test_symbols_files_and_counts_exclude_each_other(ask: Callable[..., Reply]) -> None:
    assert "symbols and files exclude each other" in ask("grep", pattern="a", symbols=True, files=True).text
    assert "symbols and count exclude each other" in ask("grep", pattern="a", symbols=True, count=True).text


def test_python_tests_are_those_in_test_files_and_test_applications_are_test_code(ask: Callable[..., Reply]) -> None:
    def places(**args: Any) -> list[str]:
        return sorted(file["path"] for file in ask("grep", pattern="lockable", **args).data["files"])

    assert places(no_tests=True) == ["site/tags.py"]
    assert places(only_tests=True) == ["site/test/testapp/models.py", "site/test_tags.py"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("def", {("src/cookie.ts", 1), ("src/lib.rs", 1), ("src/auth.test.ts", 3)}),
        ("import", {("src/auth.ts", 1), ("src/auth.test.ts", 1), ("tool.py", 3)}),
        ("comment", {("src/auth.ts", 9), ("tool.py", 1)}),
        ("text", {("docs/guide.md", 3)}),
    ],
)
def test_lines_are_grouped_by_kind(ask: Callable[..., Reply], kind: str, expected: set[tuple[str, int]]) -> None:
    files = ask("grep", pattern="cookie", kind=[kind]).data["files"]
    assert {(file["path"], line[0]) for file in files for line in file["lines"]} == expected


def test_a_name_in_an_import_of_several_lines_is_an_import(ask: Callable[..., Reply]) -> None:
    files = ask("grep", pattern="verify", kind=["import"]).data["files"]
    assert [(file["path"], file["lines"][0][0]) for file in files] == [("src/auth.ts", 4)]


def test_similar_matches_of_a_folder_are_listed_together_and_all_are_behind_the_handle(
    ask: Callable[..., Reply],
) -> None:
    reply = ask("grep", pattern="widget", budget=500)
    assert "src/routes/: 60 files\n each like return widget(0);\n" in reply.text
    assert "r7.ts 2" in reply.text
    assert f"+60 more → {reply.handle}" in reply.text
    rest = ask("read", target=[reply.handle], budget=8000).text
    assert rest.count("return widget(") == 60


def test_an_overly_broad_pattern_is_answered_by_folders_and_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmc.tools.grep_reply.MOST_READ", 50)
    for at in range(40):
        (tmp_path / "tree" / f"p{at % 4}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / f"p{at % 4}" / f"m{at}.py").write_text("x = 1\ny = x\n")
    settings = Settings(embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(tmp_path / "tree"), home=str(tmp_path / "home"), settings=settings) as workspace:
        workspace.index()
        reply = answer(workspace, Handles(str(tmp_path / "handles")), "grep", {"pattern": "x"})
    first, *rows = reply.text.split("\n")
    assert first.startswith("80 matches in 40 files · narrow it:")
    assert " p0/ 20 in 10 files: m0.py 2, m12.py 2, m16.py 2, m20.py 2, m24.py 2, …" in rows


def test_a_filter_that_matches_no_file_is_an_error_and_not_an_answer(ask: Callable[..., Reply]) -> None:
    reply = ask("grep", pattern="cookie", glob=["*.kt"])
    assert reply.error
    assert "no indexed file matches -g *.kt: nothing was searched" in reply.text
    assert ask("grep", pattern="nowhere_at_all", glob=["*.ts"]).text == "no matches"


def test_a_glob_that_the_shell_expanded_should_be_quoted(ask: Callable[..., Reply]) -> None:
    def hint(glob: str, *paths: str) -> str:
        reply = ask("grep", pattern="cookie", glob=[glob], path=list(paths))
        assert "nothing was searched" in reply.text
        return reply.text.partition("quote the glob: ")[2].split("\n")[0]

    assert hint("src/auth.test.ts", "src/auth.ts", "src/cookie.ts") == "-g 'src/*.ts'"
    assert hint("other.py", "tool.py") == "-g '*.py'"
    assert not hint("*.kt", "tool.py")
    assert not hint("tool.kt", "tool.py")
    routes = [f"src/routes/r{at}.ts" for at in range(1, 20)]
    reply = ask("grep", pattern="cookie", glob=["src/routes/r0.ts"], path=routes)
    assert "src/routes/r8.ts … -g src/routes/r0.ts: nothing was searched" in reply.text
    assert "-g 'src/routes/*.ts'" in reply.text


def test_filters_that_exclude_each_other_and_unknown_kinds_are_refused(ask: Callable[..., Reply]) -> None:
    assert "exclude each other" in ask("grep", pattern="a", no_tests=True, only_tests=True).text
    assert "'klass' is not a kind of line" in ask("grep", pattern="a", kind=["klass"]).text


def test_a_file_that_is_not_indexed_yet_is_parsed_on_the_spot(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "new.py").write_text("class Oven:\n    def bake(self):\n        return cookie()\n")
    settings = Settings(embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(tmp_path / "tree"), home=str(tmp_path / "home"), settings=settings) as workspace:
        workspace.index()
        (view,) = workspace.views()
        (tmp_path / "tree" / "new.py").write_text("\n\nclass Oven:\n    def roast(self):\n        return cookie()\n")
        pending = replace(view, pending=frozenset({"new.py"}))
        assert [one.qualified for one in symbols_of(pending, "new.py").around(5)] == ["Oven", "Oven.roast"]


def test_a_timeout_names_its_limit(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.txt").write_text("alpha\n")
    settings = Settings(embedder=EmbedderSettings(kind="hash"))
    with Workspace.open(str(tmp_path / "tree"), home=str(tmp_path / "home"), settings=settings) as workspace:
        workspace.index()
        with pytest.raises(QueryError, match=r"stopped at its time limit of 0 s"):
            grep(workspace.views(), GrepRequest(("alpha",), seconds=0.0))


def test_grep_answers_in_a_tree_with_a_file_of_every_role(tmp_path: Path) -> None:
    """Fixtures, snapshots and translations once ended a grep with an internal error."""
    paths = (
        "vendor/a.py", "single_include/a.h", "__snapshots__/a.snap", "dist/a.js", "fixtures/a.py", "tests/test_a.py",
        "examples/a.py", "a.pyi", "legacy/a.py", "locale/a.po", "docs/a.md", "a.toml", "a.csv", "a.py",
    )  # fmt: skip
    assert {role_of(path) for path in paths} == set(ROLES)
    with opened_tree(tmp_path / "tree", tmp_path / "home", dict.fromkeys(paths, "needle = 1\n")) as (
        workspace,
        handles,
    ):
        reply = answer(workspace, handles, "grep", {"pattern": "needle"})
    assert not reply.error
    assert reply.text.startswith("14 matches in 14 files: 4 code, 1 tests, 2 docs, 7 generated and data")
