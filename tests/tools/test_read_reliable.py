"""What is named exactly is shown in full, targets share a reply visibly, and long functions have a skeleton."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tool_calls import answer, opened_tree

from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.envelope.reply import Reply


def body(count: int) -> str:
    return "".join(f"    value_{at} = 'a rather long text, number {at}, that says little'\n" for at in range(count))


FILES = {
    "plain.txt": "".join(f"line {at} of a text without any symbols in it\n" for at in range(1, 901)),
    "code.py": "import os\n\n\n"
    + "".join(f"def step_{at}(x):\n    y = load(x)\n    return y + {at}\n\n\n" for at in range(80)),
    "long.py": "def everything(rows):\n    for row in rows:\n        store(row)\n" + body(240) + "    return rows\n",
    "other.py": "def everything_else():\n" + body(78) + "    return 1\n",
    "third.py": "def third_of_all():\n    load()\n" + body(58) + "    return 1\n",
}


FILES["commented.py"] = """def load(path):
    '''Reads it.

    And more of it.
    '''
    # why
    text = open(path).read()  # all of it

    # a comment
    # of two lines
    if '#' in text:
        return text

    return ''
"""

FILES["ttl.py"] = (
    "def settings(root):\n    # in hours\n    return Settings(\n        ttl=root.ttl.seconds\n        // 3600,\n    )\n"
)
FILES |= {f"{name}.py": "def twice(x):\n    y = x + x\n    return y\n" for name in ("one", "two")}
FILES["flush.ts"] = (
    "export class Flush {\n  #rows: Row[] = []; // waiting\n\n  #send() {\n    this.#rows = [];\n    post();\n  }\n}\n"
)
FILES["billing.py"] = "".join(
    f"def {name}(rows):\n    # {name} of each row\n"
    + "".join(f"    {name}_{at} = rows[{at}].{name}({at}, scale={at})\n\n    # then\n" for at in range(12))
    + f"    return {name}_0\n\n\n"
    for name in ("charge", "refund", "invoice", "remind", "settle")
)
FILES["imports.py"] = "".join(f"import {name}\n" for name in "abcde") + "\n\ndef one():\n    go()\n    return 1\n"
FILES["noted.py"] = "def noted():\n" + "".join(f"    # about {at} and its use\n    use({at})\n" for at in range(40))
FILES["guide.md"] = "".join(f"# About {at} and its use\n\nUse {at}.\n\n" for at in range(20))

SIZES = range(130, 250, 10)
LINE = "line {} of a text of some words and a few more of them\n"
FILES |= {f"n{size}.txt": "".join(map(LINE.format, range(size))) for size in SIZES}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Reply]]:
    folder, home = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home")
    with opened_tree(folder, home, FILES) as (workspace, handles):

        def run(*targets: str, **args: Any) -> Reply:
            return answer(workspace, handles, "read", {"target": list(targets), **args})

        yield run


def test_a_range_is_shown_in_full_beyond_the_usual_budget(read: Callable[..., Reply]) -> None:
    reply = read("plain.txt:1-400")
    assert not reply.handle
    assert reply.text.endswith("line 400 of a text without any symbols in it")


def test_a_symbol_is_shown_in_full_beyond_the_usual_budget(read: Callable[..., Reply]) -> None:
    reply = read("other.py::everything_else")
    assert not reply.handle
    assert reply.text.endswith("    return 1")


def test_a_very_long_function_is_its_skeleton_with_all_of_it_behind_the_handle(read: Callable[..., Reply]) -> None:
    reply = read("everything")
    lines = reply.text.split("\n")
    assert lines[0] == "long.py:1-244 of 244 lines · skeleton of 244 lines, --all shows them"
    assert lines[1:] == [
        "1 def everything(rows):",
        "  for row in rows: store(row)",
        " … 240 lines",
        "244  return rows",
        f"+244 lines → {reply.handle}",
    ]
    assert "value_239" in read(reply.handle, budget=8000).text


def test_a_long_function_with_few_statements_is_shown_without_its_comments(read: Callable[..., Reply]) -> None:
    shown = read("noted")
    assert shown.text.split("\n")[:2] == [
        "noted.py:1-81 of 81 lines · without comments and logging, --all shows them",
        "1 def noted():",
    ]
    assert "use(39)" in shown.text
    assert "# about 39" not in shown.text
    assert "# about 39" in read("noted", all=True).text


def test_of_several_functions_the_longer_ones_are_skeletons(read: Callable[..., Reply]) -> None:
    assert "value_57" in read("third_of_all").text
    several = read("third_of_all", "everything", "code.py::step_3").text
    lines = several.split("\n")
    assert lines[0] == "3 targets · skeletons of functions over 40 lines, --all shows them"
    assert lines[2:6] == ["1 def third_of_all():", "  load()", " … 58 lines", "61  return 1"]
    assert "return y + 3" in several
    assert "value_57" in read("third_of_all", "code.py::step_3", all=True).text


def test_a_skeleton_of_any_range_can_be_read(read: Callable[..., Reply]) -> None:
    lines = read("other.py", skeleton=True).text.split("\n")
    assert lines[1:4] == ["1 def everything_else():", " … 78 lines", "80  return 1"]


def test_lines_of_a_symbol_are_counted_from_its_start_or_are_those_of_its_file(read: Callable[..., Reply]) -> None:
    assert read("step_3:1-2").text.split("\n")[0] == "code.py:19-20 of 403 lines"
    assert read("step_3:20-21").text.split("\n")[0] == "code.py:20-21 of 403 lines in step_3"
    assert read("step_3:2-99").text.split("\n")[0] == "code.py:20-21 of 403 lines in step_3"


def test_overlapping_targets_are_one(read: Callable[..., Reply]) -> None:
    text = read("plain.txt:10-30", "plain.txt:20-50", "plain.txt:51-60").text
    assert "plain.txt:10-60 of 900 lines" in text
    assert text.count("line 25 of") == 1
    assert text.count("plain.txt") == 1


def test_each_target_that_is_cut_says_so_where_it_ends(read: Callable[..., Reply]) -> None:
    reply = read("plain.txt:1-300", "long.py:1-200", budget=600)
    first, second = reply.text.split("\nlong.py:1-200")
    assert " lines to 300" in first.split("\n")[-1]
    assert second.split("\n")[-1].startswith("+")


def test_a_remainder_of_up_to_thirty_lines_is_shown_and_a_longer_one_is_kept(read: Callable[..., Reply]) -> None:
    replies = [read(f"n{size}.txt") for size in SIZES]
    left = [int(reply.text.rpartition("\n+")[2].split(" ")[0]) for reply in replies if reply.handle]
    assert left
    assert min(left) > 30
    assert any(not reply.handle and count(reply.text) > 2_000 for reply in replies)


def test_a_long_file_is_its_outline_without_its_imports(read: Callable[..., Reply]) -> None:
    lines = read("code.py").text.split("\n")
    assert lines[0] == "code.py · 403 lines"
    assert lines[2] == "outline"
    assert sum("def step_" in line for line in lines) > 60
    assert lines[-1].startswith("+")


def test_a_long_file_among_several_targets_is_an_outline_and_leaves_room_for_the_others(
    read: Callable[..., Reply],
) -> None:
    shown = read("code.py", "plain.txt:1-120").text
    assert "line 120 of a text without any symbols in it" in shown
    assert "def step_0(x)" in shown
    assert "y = load(x)" not in shown


def test_a_short_file_among_several_targets_does_not_cut_their_ranges(read: Callable[..., Reply]) -> None:
    reply = read("plain.txt:1-110", "n150.txt", "plain.txt:300-400")
    assert not reply.handle
    assert "line 110 of a text without any symbols in it" in reply.text
    assert "line 400 of a text without any symbols in it" in reply.text


def test_code_alone_has_no_comments_and_shows_where_they_were(read: Callable[..., Reply]) -> None:
    reply = read("commented.py:1-14", code=True)
    assert reply.text.split("\n") == [
        "commented.py:1-14 of 14 lines · without comments and logging",
        "1 def load(path):",
        "7  text = open(path).read()",
        "11  if '#' in text: return text",
        "14  return ''",
    ]
    assert "Reads it." in read("commented.py:1-14").text


def test_many_lines_with_comments_name_the_shorter_form(read: Callable[..., Reply]) -> None:
    assert read("noted.py:1-80").text.split("\n")[0].endswith("--code is shorter: every statement, no comments")
    assert "--code" not in read("noted.py:1-80", code=True).text
    assert "--code" not in read("noted.py:1-20").text
    assert "--code" not in read("guide.md:1-80").text, "a document has no statements"


def test_a_skeleton_with_code_alone_has_the_lines_of_the_file(read: Callable[..., Reply]) -> None:
    def shown(target: str, **args: bool) -> list[str]:
        return read(target, **args).text.split("\n")[:-1]  # the last line is a handle

    assert "value_239" in read("everything", code=True).text
    assert shown("commented.py::load", code=True, skeleton=True) == shown("commented.py::load", skeleton=True)


def test_code_alone_with_a_question_has_the_statements_that_answer_it_with_their_numbers(
    read: Callable[..., Reply],
) -> None:
    reply = read("billing.py", code=True, context_focus_question="how is a refund made")
    first, *lines = reply.text.split("\n")
    assert "without comments and logging" in first
    assert lines[1] == "42 def refund(rows):"  # behind the mark of what is left out
    assert lines[2] == "44  refund_0 = rows[0].refund(0, scale=0)"
    assert "47  refund_1 = rows[1].refund(1, scale=1)" in lines
    assert not any("# then" in line or "charge_3" in line for line in lines)
    assert reply.handle


def test_several_targets_may_be_one_string(read: Callable[..., Reply]) -> None:
    assert read("code.py::step_3 plain.txt:2-2").text == read("code.py::step_3", "plain.txt:2-2").text
    assert read("code.py::step_3, plain.txt:2-2").text.startswith("2 targets")


def test_lines_inside_a_function_name_it(read: Callable[..., Reply]) -> None:
    assert read("long.py:10-12").text.split("\n")[0] == "long.py:10-12 of 244 lines in everything"
    assert read("long.py:1-3").text.split("\n")[0] == "long.py:1-3 of 244 lines"
    assert read("code.py:5-9").text.split("\n")[0] == "code.py:5-9 of 403 lines in step_0"


def test_further_lines_of_a_file_are_headed_by_their_numbers(read: Callable[..., Reply]) -> None:
    lines = read("code.py::step_3", "code.py:30-31", "code.py:41-41", "long.py:1-2", "code.py:4-4").text.split("\n")
    heads = [line for line in lines if " lines" in line or line.startswith(":")]
    assert heads == [
        "code.py:19-21 of 403 lines", ":30-31 in step_5", ":41 in step_7", "long.py:1-2 of 244 lines",
        "code.py:4 of 403 lines",
    ]  # fmt: skip


def test_code_alone_leaves_out_a_list_of_imports(read: Callable[..., Reply]) -> None:
    lines = read("imports.py", code=True).text.split("\n")
    assert lines[1:] == ["8 def one():", "  go()", "  return 1"]


def test_code_knows_the_comments_of_its_language(read: Callable[..., Reply]) -> None:
    assert "return Settings(ttl=root.ttl.seconds // 3600)" in read("ttl.py", code=True).text
    text = read("flush.ts", code=True).text
    assert "#rows: Row[] = []\n" in text
    assert "#send()\n" in text
    assert "waiting" not in text


def test_a_name_with_several_definitions_is_called_ambiguous(read: Callable[..., Reply]) -> None:
    reply = read("twice")
    assert "twice is ambiguous: 2 definitions have this name" in reply.text
    assert "one.py:1" in reply.text
    assert "two.py:1" in reply.text


def test_a_symbol_that_is_not_in_the_named_file_is_named_with_its_own(read: Callable[..., Reply]) -> None:
    assert "everything_else is defined in other.py:1." in read("code.py::everything_else").text
