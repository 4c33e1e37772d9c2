"""A grep that exceeds its budget shows the text of its matches as long as it can, and never nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tool_calls import opened_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.envelope.reply import Reply

    Ask = Callable[..., Reply]

PARTS = ("parse the header", "close the socket", "retry the upload", "merge both caches", "drop old sessions")
MODULE = """def step_{at}(value):
    # TODO {what} before release {at}
    return report("step {at}", value)


class Worker{at}:
    def run(self):
        return measure(self, {at})
"""
COOKIE = "respond(environment['NAME_OF_THE_SESSION_COOKIE'], access_token, options)"
ORDERS = """\
def total(order):
    start()
    return price_of(order)


def refund(order):
    stop()
    return 0


def long(order):
    if order:
        once = discount_of(order)
        again()
"""
ENTRY = """\
    "{name}": {{
        "task": "carts.{name}",
        "every": minutes(10),
    }},
"""
JOBS = ("clear", "drop", "fill", "list", "mail", "move", "send", "sort", "wait", "warn")
SCHEDULE = (
    "SCHEDULE = {\n"
    + "".join(ENTRY.format(name=name) for name in JOBS)
    + """\
}

CARTS_EXPIRE_AFTER = days(
    setting("carts", 3)
)
"""
)
FILES = {
    **{f"web/h{at}.py": f"def handle_{at}():\n    {COOKIE}\n" for at in range(10)},
    "web/orders.py": ORDERS + "    other()\n" * 40,
    "db/migrations/0007_price.py": "def upgrade():\n" + "    price_of(1)\n" * 4,
    "services/migrations/import.py": "def copy_rows():\n    return price_of(2)\n",
    "web/schedule.py": SCHEDULE,
    "web/only.py": "def only():\n    only_here()\n",
    "tests/test_only.py": "def test_only():\n" + "    only_here()\n" * 4,
    **{f"src/part{at % 3}/m{at}.py": MODULE.format(at=at, what=PARTS[at % 5]) for at in range(30)},
    "tests/test_m.py": "def test_step():\n    # TODO cover the second branch\n    assert report(1, 2)\n",
    **{f"flat/f{at}.py": f"def call_{at}():\n    alarm({at} * {at}, kind_{at}, {at})\n" for at in range(90)},
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with opened_tools(tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home"), FILES) as call:
        yield call


def test_a_list_of_comments_quotes_every_line_and_those_of_tests_too(ask: Ask) -> None:
    reply = ask("grep", pattern="TODO")
    assert reply.text.count("# TODO ") == 31
    assert "# TODO cover the second branch" in reply.text
    assert not reply.handle


def test_a_list_of_comments_that_is_too_long_quotes_as_many_as_fit(ask: Ask) -> None:
    reply = ask("grep", pattern="TODO", budget=300)
    assert 5 < reply.text.count("# TODO ") < 31
    assert "more files: narrow by path, or open the handle" in reply.text
    rest = ask("read", target=[reply.handle], budget=8000).text
    assert reply.text.count("# TODO ") + rest.count("# TODO ") == 31


def test_many_matches_have_one_line_each_with_their_symbol(ask: Ask) -> None:
    lines = ask("grep", pattern=r"report\(|measure\(", path=["src/part0"]).text.split("\n")
    assert lines[1:4] == ["src/part0/", " m0.py", '3 step_0 · return report("step 0", value)']
    assert lines[4] == "8 Worker0.run · return measure(self, 0)"


def test_a_dollar_before_a_name_is_explained(ask: Ask) -> None:
    why = "$total matches nowhere: $ is the end of a line, write \\$total or -F"
    assert ask("grep", pattern="$total").text == f"no matches · {why}"
    assert ask("grep", pattern="TODO|$total", files=True).text.split("\n")[0].endswith(f" files · {why}")
    assert all(why not in ask("grep", pattern=one).text for one in (r"\$total", "[$]total", r"report\($", "[]$a]b"))
    assert why not in ask("grep", pattern="$total", fixed=True).text


def test_an_entry_of_a_long_table_is_named(ask: Ask) -> None:
    lines = ask("grep", pattern='"every"', path=["web/schedule.py"]).text.split("\n")[2:]
    assert lines[:2] == ['4 SCHEDULE · clear · "every": minutes(10),', '8 drop · "every": minutes(10),']
    assert [line.split()[1] for line in lines[1:]] == list(JOBS[1:])


def test_a_line_that_begins_with_its_name_is_not_named_again(ask: Ask) -> None:
    lines = ask("grep", pattern=r"days\(|minutes\(", path=["web/schedule.py"]).text.split("\n")
    assert lines[-1] == "44 CARTS_EXPIRE_AFTER = days("


def test_a_long_line_that_many_files_have_is_quoted_once(ask: Ask) -> None:
    text = ask("grep", pattern="respond").text
    line = "respond(environment['NAME_OF_THE_SESSION_COOKIE'], access_token, options)"
    assert text.count(line) == 1
    assert "2 handle_1 · as above" in text
    assert text.count("as above") == 9
    assert ask("grep", pattern="respond", all=True).text.count(line) == 10


def test_omitted_matches_are_marked_if_all_are_in_tests(ask: Ask) -> None:
    assert "+4 in tests → h" in ask("grep", pattern="only_here").text


def test_few_matches_stand_under_their_symbol_with_its_lines(ask: Ask) -> None:
    lines = ask("grep", pattern=r"measure\(self, 7\)").text.split("\n")
    assert lines[1:] == ["src/part1/m7.py", "Worker7.run 7-8", "8 return measure(self, 7)"]


def test_tests_are_listed_by_line_numbers_where_code_matches_too(ask: Ask) -> None:
    text = ask("grep", pattern=r"report\(").text
    assert "tests: 1 match in 1 file\n tests/test_m.py 3" in text


def test_a_budget_that_was_chosen_for_the_call_shows_tests_as_well(ask: Ask) -> None:
    assert "assert report(1, 2)" in ask("grep", pattern=r"report\(", budget=6000).text


def test_a_folder_with_very_many_files_is_still_listed(ask: Ask) -> None:
    text = ask("grep", pattern=r"alarm\(", budget=300).text
    assert "flat/" in text
    assert "f1.py" in text


def test_migrations_are_folded_where_code_matches_too(ask: Ask) -> None:
    reply = ask("grep", pattern="price_of")
    assert reply.text.split("\n")[0] == "6 matches in 3 files: 2 code, 4 migrations"
    assert "migrations: 4 matches in 1 file\n db/migrations/0007_price.py 2 3 4 5\n+4 in migrations" in reply.text
    assert "services/migrations/import.py\ncopy_rows 1-2" in reply.text
    assert ask("grep", pattern="price_of", path=["db"]).text.count("price_of(1)") == 4


def test_body_shows_the_short_function_or_the_block_around_a_match(ask: Ask) -> None:
    whole = ask("grep", pattern="price_of", path=["web"], body=True).text.split("\n")
    assert whole[2:] == ["total 1-3", "1 def total(order):", "     start()", "3     return price_of(order)"]
    block = ask("grep", pattern="discount_of", path=["web"], body=True).text.split("\n")
    assert block[2:] == [
        "long 11-54",
        "12 if order:",
        "13     once = discount_of(order)",
        "     again()",
    ]


def test_context_ends_where_the_function_ends(ask: Ask) -> None:
    text = ask("grep", pattern="price_of", path=["web"], context=5).text
    assert "start()" in text
    assert "refund" not in text


def test_a_glob_that_matches_nothing_is_corrected(ask: Ask) -> None:
    reply = ask("grep", pattern="price_of", glob=["*/part0/*"])
    assert not reply.error
    wrong = ask("grep", pattern="report", glob=["part0/*.py"])
    assert "Try -g '**/part0/*.py'" in wrong.text


def test_a_path_with_an_exclamation_mark_is_left_out(ask: Ask) -> None:
    assert "services/" in ask("grep", pattern="price_of", path=["!db"]).text
    assert "db/" not in ask("grep", pattern="price_of", path=["!db"]).text
    assert "services/" not in ask("grep", pattern="price_of", path="!db !services").text
