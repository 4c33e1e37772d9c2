"""Files of the same names in sibling folders share a line where files or symbols are listed; --all lists each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tool_calls import opened_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.envelope.reply import Reply

    Ask = Callable[..., Reply]

LANGUAGES = ("de", "en", "fr", "it")
TEMPLATES = {f"templates/{language}/{name}.vm": "#set($t = $token)\n" for language in LANGUAGES for name in ("a", "b")}
FILES = {
    **TEMPLATES,
    "templates/de/a.vm": "$token\n$token\n",
    "templates/en/only.vm": "$token\n",
    "notes.txt": "token\nno\ntoken\n",
    "src/login.py": "from auth import token\n\n\ndef login():\n    return token()\n",
    "src/again.py": "from auth import token\n",
    "src/imports.py": "from auth import token_kind\n",
}
SHARED = "templates/{de,en,fr,it}/{a,b}.vm"


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with opened_tools(tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home"), FILES) as call:
        yield call


def test_a_list_of_files_has_one_line_for_those_of_the_same_names(ask: Ask) -> None:
    reply = ask("grep", pattern="token", files=True)
    lines = reply.text.split("\n")
    assert lines[0].startswith("13 files")
    assert f"{SHARED}: 8 files" in lines
    assert "templates/en/only.vm" in lines
    assert not set(TEMPLATES) & set(lines)
    assert set(TEMPLATES) <= set(ask("read", target=[reply.handle], budget=4000).text.split("\n"))


def test_counts_are_added_up(ask: Ask) -> None:
    assert f"{SHARED}: 8 files, 9 matches" in ask("grep", pattern="token", count=True).text.split("\n")


def test_all_lists_every_file(ask: Ask) -> None:
    assert set(FILES) <= set(ask("grep", pattern="token", files=True, all=True).text.split("\n"))
    assert set(TEMPLATES) - {"templates/de/a.vm"} <= set(
        ask("grep", pattern="token", symbols=True, all=True).text.split("\n")
    )


def test_symbols_have_one_line_for_a_file_without_them_and_count_imports(ask: Ask) -> None:
    reply = ask("grep", pattern="token", symbols=True)
    lines = reply.text.split("\n")
    assert "notes.txt ×2" in lines
    assert lines[lines.index("src/login.py") + 1] == "4-5 login"
    assert f"{SHARED}: 8 files, 9 matches" in lines
    assert "3 imports not listed, 2 files with nothing else" in lines
    assert "outside symbols" not in reply.text
    assert "src/imports.py" in ask("read", target=[reply.handle], budget=4000).text


def test_imports_are_listed_where_nothing_else_matches(ask: Ask) -> None:
    assert "src/imports.py" in ask("grep", pattern="token_kind", symbols=True).text
