"""over answers from the rows behind a handle: complete, bounded, and nothing but what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tool_calls import opened_tools

from llmc.base.errors import QueryError
from llmc.envelope import expressions
from llmc.envelope.expressions import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.envelope.reply import Reply

    Ask = Callable[..., Reply]

MODULE = """import widget


def make_{at}():
    return widget.call({at})


def use_{at}():
    # widget is made above
    return make_{at}()
"""
FILES = {
    **{f"src/p{at % 3}/m{at}.py": MODULE.format(at=at) for at in range(30)},
    "src/hub.py": "def hub():\n    return 1\n\n\n"
    + "".join(f"def caller_{at}():\n    return hub()\n\n\n" for at in range(20)).replace(
        "caller_1():\n", "caller_1():\n    caller_0()\n", 1
    ),
    "tests/test_m.py": "from src.p0.m0 import make_0\n\n\ndef test_make():\n    assert make_0()  # widget\n",
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with opened_tools(tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home"), FILES) as call:
        yield call


@pytest.fixture(scope="module")
def widgets(ask: Ask) -> str:
    return ask("grep", pattern="widget", budget=200).handle


def over(ask: Ask, handle: str, expression: str) -> Any:
    return ask("over", handle=[handle], expression=expression).data["result"]


def test_rows_are_complete_and_have_their_symbol_and_kind(ask: Ask, widgets: str) -> None:
    assert over(ask, widgets, "length(@)") == 91
    counted = over(ask, widgets, "count_by(@, &kind)")
    assert {one["key"]: one["count"] for one in counted} == {"import": 30, "use": 30, "comment": 31}
    assert over(ask, widgets, "[?path=='src/p1/m4.py' && kind=='use'].[line, symbol]") == [[5, "make_4"]]
    assert over(ask, widgets, "[?test].path | unique(@)") == ["tests/test_m.py"]


def test_without_an_expression_the_fields_are_listed(ask: Ask, widgets: str) -> None:
    text = ask("over", handle=[widgets]).text
    assert f"{widgets}: 91 rows: root, path, line, text, symbol, kind, folder, file, test" in text


def test_groups_are_counted_and_shown_as_a_table(ask: Ask, widgets: str) -> None:
    text = ask("over", handle=[widgets], expression="count_by([?!test], &folder)").text
    assert text.split("\n") == ["3 of 91 rows", "key      count", " src/p0  30", " src/p1  30", " src/p2  30"]


def test_rows_can_be_opened_by_their_number(ask: Ask, widgets: str) -> None:
    reply = ask("over", handle=[widgets], expression="[?kind=='use']", budget=120)
    assert reply.handle
    assert "def make_" in ask("read", target=[f"{reply.handle}:2"]).text


def test_two_results_are_joined(ask: Ask, widgets: str) -> None:
    other = ask("grep", pattern="make_1\\d", budget=100).handle
    joined = f"join_on({widgets}, {other}, &path)[?kind=='comment'].path"
    reply = ask("over", handle=[widgets, other], expression=joined)
    assert reply.data["result"] == [f"src/p{at % 3}/m{at}.py" for at in (12, 15, 18, 10, 13, 16, 19, 11, 14, 17)]


def test_regular_expressions_and_sorting(ask: Ask, widgets: str) -> None:
    assert over(ask, widgets, r"[?matches(text, 'call\(2\d\)')] | length(@)") == 10
    lines = over(ask, widgets, "reverse(sort_by(@, &line))[0].line")
    assert lines == 9


def test_a_tree_of_calls_has_a_row_for_each_edge(ask: Ask) -> None:
    handle = ask("callers", name="hub", depth=2, budget=60).handle
    assert over(ask, handle, "length([?depth==`1` && of=='hub'])") == 20
    assert over(ask, handle, "[?depth==`2`].[name, of]") == [["caller_1", "caller_0"]]


def test_the_output_of_a_handle_that_is_unknown_is_an_error(ask: Ask) -> None:
    reply = ask("over", handle=["hzzzz"], expression="length(@)")
    assert reply.error
    assert "no result has the handle hzzzz" in reply.text


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("[?", "the expression cannot be evaluated"),
        ("nope(@)", "Unknown function: nope()"),
        ("sort_by(@, &nowhere)", "sort_by() expects"),
        ("length(`1`)", "length() expects"),
        ("[?matches(text, '(')]", "the regular expression cannot be read"),
        ("@" + " | [@, @] | []" * 40, "the limit is 3,000,000 values"),
        ("x" * 1_001, "'expression' of over has 1,001 characters"),
    ],
)
def test_an_expression_that_cannot_be_used_is_an_error(ask: Ask, widgets: str, expression: str, message: str) -> None:
    reply = ask("over", handle=[widgets], expression=expression)
    assert reply.error
    assert message in reply.text


def test_steps_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "MOST_STEPS", 100)
    with pytest.raises(QueryError, match="the expression was stopped"):
        evaluate("[*].[a, b, c]", [{"a": 1}] * 100)


def test_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "SECONDS", -1.0)
    with pytest.raises(QueryError, match="the expression was stopped"):
        evaluate("[*].[a, b, c]", [{"a": 1}] * 10_000)


def test_files_that_were_only_counted_count_as_many(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmc.tools.grep_reply.MOST_READ", 10)
    handle = ask("grep", pattern="widget").handle
    assert sum(one["count"] for one in over(ask, handle, "count_by(@, &folder)")) == 91
