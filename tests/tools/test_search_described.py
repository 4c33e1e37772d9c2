"""A question of two words finds the function that is called after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tool_calls import opened_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.envelope.reply import Reply

RESET = "    # the password is hashed, the new password hash is stored\n    password = hash(password)\n"
FILES = {
    "accounts.go": """package accounts

func createBot(name string) string {
	return name
}

func hashPassword(plain string) string {
	return bcrypt(plain)
}

func rename(name string) string {
	return name
}
""",
    **{f"reset_{at}.py": f"def reset_{at}(password):\n{RESET}    return password\n" for at in range(4)},
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Reply]]:
    with opened_tools(tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home"), FILES) as call:
        yield call


@pytest.mark.parametrize("query", ["where are passwords hashed", "hash password"])
def test_two_words_in_any_form_and_order_find_the_function_that_they_name(
    ask: Callable[..., Reply], query: str
) -> None:
    lines = ask("search", query=query).text.split("\n")
    assert lines[1] == "accounts.go"
    assert any(line.startswith("hashPassword 7-9") for line in lines[:6])


def test_three_words_are_no_name(ask: Callable[..., Reply]) -> None:
    assert ask("search", query="hash of a new password").text.split("\n")[1] != "accounts.go"
