"""The embedded pruner: what answers the question is kept whole, the rest is counted and a handle away."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.fit import leave, pick
from llmc.envelope.tokens import count
from llmc.retrieval.passages.log_entries import level_of, read_entries
from llmc.retrieval.passages.prune import prune, pruned
from llmc.retrieval.passages.score import scores
from llmc.retrieval.passages.units import cut
from llmc.tools.focus import Block, read_blocks
from llmc.tools.focus.apply import aligned, focus

if TYPE_CHECKING:
    from collections.abc import Callable

SUBJECTS = ("invoice", "parcel", "courier", "ledger", "pallet", "driver", "refund", "label", "customer", "depot")
VERBS = ("print", "weigh", "archive", "rename", "encrypt", "schedule")


def python_module() -> list[str]:
    """Sixty methods in ten classes, each about something of its own."""
    lines = ["import os", "import hashlib", "from depot import scales", ""]
    for subject in SUBJECTS:
        lines += ["", f"class {subject.title()}Desk:", f"    open_{subject}s = 0", ""]
        for verb in VERBS:
            lines += [
                f"    def {verb}_{subject}(self, {subject}, *, again=False):",
                f"        if not {subject}.is_ready:",
                f"            raise ValueError('the {subject} is not ready')",
                f"        result = self.{verb}er.{verb}({subject}.number)",
                f"        scales.note('{verb}', result) if again else None",
                "        return result",
                "",
            ]
    return lines


def braced_module() -> list[str]:
    lines = ["package depot", "", 'import "fmt"', ""]
    for subject in SUBJECTS:
        for verb in VERBS:
            lines += [
                f"func {verb}{subject.title()}(item {subject.title()}) (int, error) {{",
                "\tif !item.Ready {",
                f'\t\treturn 0, fmt.Errorf("the {subject} is not ready")',
                "\t}",
                f"\treturn item.{verb.title()}(), nil",
                "}",
                "",
            ]
    return lines


def text_of(lines: list[str], kept: list[int]) -> str:
    return "\n".join(lines[number - 1] for number in kept)


@pytest.mark.parametrize("module", [python_module, braced_module])
def test_the_function_in_question_is_kept_whole_at_a_seventh_of_the_tokens(module: Callable[[], list[str]]) -> None:
    lines = module()
    start = next(at for at, line in enumerate(lines) if "encrypt" in line and "efund" in line)
    kept = prune(lines, "how is a refund encrypted?")
    assert set(range(start + 1, start + 7)) <= set(kept)
    assert count(text_of(lines, kept)) <= 0.15 * count("\n".join(lines))


def test_the_head_of_the_class_and_the_import_that_is_used_come_along() -> None:
    kept = text_of(lines := python_module(), prune(lines, "where are parcels weighed"))
    assert "class ParcelDesk:" in kept
    assert "from depot import scales" in kept
    assert "import hashlib" not in kept


def test_definitions_of_the_catalog_are_used_where_they_are_known() -> None:
    lines = [f"opaque line {number} of data" for number in range(400)]
    lines[120] = "unusual zebra crossing"
    kept = prune(lines, "zebra crossing", blocks=[Block(118, 126, "stripes")])
    assert set(range(118, 127)) <= set(kept)


def test_a_function_that_is_too_long_by_itself_gives_its_head_and_the_lines_that_answer() -> None:
    steps = [f"    total_{number} = counted(shelf[{number}])" for number in range(400)]
    steps[300:300] = ["", "    # a refund is encrypted before it is sent", "    encrypt_refund(total_3)", ""]
    kept = text_of(lines := ["def everything(shelf):", *steps], prune(lines, "how is a refund encrypted"))
    assert "def everything(shelf):" in kept
    assert "encrypt_refund(total_3)" in kept


def long_function() -> list[str]:
    """Thirty steps of eight lines, each with a comment of its own."""
    lines = ["def close_day(depot):", '    """Close the day at a depot."""']
    for subject in SUBJECTS:
        for verb in VERBS[:3]:
            lines += [
                "",
                f"    for {subject} in depot.{subject}s:",
                f"        # a damaged {subject} must never be {verb}ed twice",
                f"        if {subject}.state in depot.marks[{len(lines)}]:",
                f"            depot.note({len(lines)})",
                f"        first = depot.look_up({len(lines)})",
                f"        second = first.merge(depot.totals[{len(lines)}])",
                "        depot.totals.append(second)",
            ]
    return lines


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_step_of_a_long_function_keeps_the_line_below_its_comment_and_what_encloses_it(subject: str) -> None:
    lines = [*long_function(), "", *python_module()]
    at = lines.index(f"        # a damaged {subject} must never be weighed twice")
    kept = prune(lines, f"a damaged {subject} must never be weighed twice")
    assert {1, at, at + 1, at + 2} <= set(kept)  # `def`, `for`, the comment, the line below it
    assert count(text_of(lines, kept)) <= 0.25 * count("\n".join(lines))  # twenty-nine other steps say nearly the same


def test_what_was_left_out_and_may_be_meant_is_named() -> None:
    found = pruned(python_module(), "where is the parcel weighed or the pallet archived")
    assert found.also
    assert all(python_module()[one.start - 1 : one.end] for one in found.also)
    assert not {number for one in found.also for number in range(one.start + 1, one.end)} & set(found.lines)


def test_a_question_that_nothing_answers_is_unsure_and_a_clear_one_is_not() -> None:
    assert pruned(python_module(), "why does the purple elephant dance").is_unsure
    assert not pruned(python_module(), "how is a refund encrypted?").is_unsure


def test_a_paragraph_stays_with_the_block_that_it_introduces() -> None:
    lines = [f"{'#' * (1 + number % 2)} Chapter {number}\n" for number in range(60)]
    text = "\n\n".join(f"{head}\nWords about topic {at} and {SUBJECTS[at % 10]}." for at, head in enumerate(lines))
    text += "\n\nOn a zebra crossing, run:\n\n```\nstripes --first\n\nstripes --second\n```\n\nThen wait.\n"
    text += "\nA courier uses this:\n\n    courier --fast\n"
    kept = text_of(lines := text.split("\n"), prune(lines, "what is run on a zebra crossing"))
    assert "stripes --first\n\nstripes --second" in kept
    assert "courier --fast" in text_of(lines, prune(lines, "what does a courier use"))


def service_log() -> list[str]:
    lines = []
    for number in range(400):
        lines.append(f"2026-03-01 10:{number // 60:02}:{number % 60:02},017 INFO  worker.{number % 7} handled {number}")
        if number % 15 == 3:
            lines.append(f"2026-03-01 10:{number // 60:02}:59,001 WARNING pool.size {SUBJECTS[number % 10]} is low")
        if number % 90 == 7:
            lines += [
                f"2026-03-01 10:{number // 60:02}:59,500 ERROR   billing job {number} failed",
                "Traceback (most recent call last):",
                f'  File "billing.py", line {number}, in charge',
                "    send(it)",
                f"TimeoutError: no answer to {number}",
            ]
    return lines


@pytest.mark.parametrize(
    ("question", "level"), [("what errors are there?", " ERROR "), ("list the warnings", " WARNING ")]
)
def test_every_entry_of_the_requested_level_is_kept(question: str, level: str) -> None:
    lines = service_log()
    kept = set(prune(lines, question))
    assert {number for number, line in enumerate(lines, 1) if level in line} <= kept
    assert not any(" INFO " in lines[number - 1] for number in kept)


def test_an_error_of_a_log_keeps_its_stack_trace() -> None:
    kept = text_of(lines := service_log(), prune(lines, "which exceptions were raised"))
    assert kept.count("TimeoutError: no answer to") == sum("TimeoutError" in line for line in lines)


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ('{"ts":"2026-01-01T00:00:00Z","level":"error","msg":"x"}', "error"),
        ("time=2026-01-01 level=warning msg=x", "warning"),
        ("[WARN] 2026-01-01 x", "warning"),
        ("E0301 10:00:00.000 7 main.go:3] x", "error"),
        ("Mar  1 10:00:00 host app[7]: ERROR x", "error"),
        ("2026-01-01 10:00:00 the ERRORS table is full", ""),
        ("10:00:00 FATAL x", "error"),
    ],
)
def test_the_level_of_a_log_line_is_read(line: str, level: str) -> None:
    assert level_of(line) == level


def test_a_text_of_a_hundred_thousand_lines_is_searched_first() -> None:
    lines = [f"2026-01-01 worker {number} idle" for number in range(100_000)]
    lines[90_000] = "2026-01-01 worker 7 lost its database connection"
    assert 90_001 in prune(lines, "why was the database connection lost", room=1_000)


@pytest.mark.parametrize("line", ["a" + " &&" * 400, "x " * 5_000 + "(", "<" * 3_000, "(" * 3_000, "@a " * 3_000])
def test_a_hostile_line_takes_no_time(line: str) -> None:
    assert read_blocks([line, "    b"]) in ([], read_blocks([line, "    b"]))


@pytest.mark.parametrize("line", ['# """ <-- for an editor', 'MARK = \'"""\'', "END = re.compile(r\"^(.*?)'''$\")"])
def test_a_triple_quote_in_a_comment_or_a_string_opens_nothing(line: str) -> None:
    lines = ["def one():", f"    {line}", "    return 1", "", "def two():", "    return 2"]
    assert [(block.name, block.start, block.end) for block in read_blocks(lines)] == [("one", 1, 3), ("two", 5, 6)]


def documented_module() -> list[str]:
    """Sixty functions with ten lines of documentation each."""
    lines: list[str] = []
    for subject in SUBJECTS:
        for verb in VERBS:
            more = [f"    It has been so since {subject} number {number}." for number in range(9)]
            lines += [f"def {verb}_{subject}(it):", f'    """The {subject}: {verb} it.', *more, '    """']
            lines += [f"    ready = it.{verb}_ready()", f"    return ready and {verb}(it)", ""]
    return lines


def test_a_certain_answer_keeps_its_documentation_and_little_else_is_kept() -> None:
    kept = text_of(lines := documented_module(), prune(lines, "encrypt the refund"))
    assert "since refund number 8." in kept
    assert "return ready and encrypt(it)" in kept
    assert count(kept) <= 0.08 * count("\n".join(lines))


def test_a_function_is_found_by_the_words_around_its_calls() -> None:
    lines = python_module()
    lines += ["def _zq(it):", "    first, rest = it", "    return rest, first", ""]
    lines += ["def turn(it):", "    # the postage stamp goes to the front", "    return _zq_stamp(it)", ""]
    lines[lines.index("def _zq(it):")] = "def _zq_stamp(it):"
    assert "return rest, first" in text_of(lines, prune(lines, "where does postage go to the front"))


def test_a_short_text_is_left_alone() -> None:
    lines = ["one", "two", "three"]
    assert prune(lines, "two") == [1, 2, 3]


def test_words_decide_where_the_model_is_gone() -> None:
    lines = python_module()
    kept = text_of(lines, prune(lines, "encrypt the refund", model=lambda: None))
    assert "def encrypt_refund" in kept


@pytest.mark.parametrize("question", ["?", "the of and", "\u202e\x00", "x" * 5000, "日本語の質問", "🦓"])
def test_an_odd_question_still_keeps_something_and_never_more_than_a_quarter(question: str) -> None:
    lines = python_module()
    kept = prune(lines, question)
    assert 0 < count(text_of(lines, kept)) <= 0.26 * count("\n".join(lines))


LINE = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=40)


@given(st.lists(LINE, max_size=120), LINE)
def test_any_text_is_cut_into_units_that_hold_every_line_once(lines: list[str], question: str) -> None:
    costs = [1.0] * len(lines)
    units = cut(lines, read_blocks(lines), costs, 20.0)
    assert [at for unit in units for at in range(unit.start, unit.end)] == list(range(len(lines)))
    assert len(scores(lines, units, question, None)) == len(units)
    kept = prune(lines, question, room=40)
    assert kept == sorted(set(kept))
    assert all(1 <= number <= len(lines) for number in kept)


@given(st.lists(st.lists(LINE, min_size=1, max_size=60), min_size=1, max_size=4), LINE)
def test_kept_and_left_out_lines_together_are_the_whole_text(texts: list[list[str]], question: str) -> None:
    groups = tuple(
        Group(f"f{at}", (Item(tuple(Row(line, number) for number, line in enumerate(lines, 1)), path=f"f{at}"),))
        for at, lines in enumerate(texts)
    )
    envelope = Envelope("read", "some", groups)
    found = focus(envelope, question or "?", 120)
    both = (*pick(found.whole, found.kept), *leave(found.whole, found.kept))
    rows = sorted((item.path, row.number or 0, row.text) for group in both for item in group.items for row in item.rows)
    assert rows == sorted((item.path, row.number or 0, row.text) for item in envelope.items() for row in item.rows)


def test_of_many_matches_those_that_answer_are_kept() -> None:
    items = tuple(Item((Row(f"value_{number} = load({number})", number),), path="a.py") for number in range(1, 300))
    telling = replace(items[150], rows=(Row("retry_timeout = load('timeout of a retry')", 151),))
    envelope = Envelope("grep", "299 matches", (Group("a.py", (*items[:150], telling, *items[151:]), 299),))
    found = focus(envelope, "which timeout has a retry", 1_200)
    assert (0, 150) in found.kept
    assert len(found.kept) < 120


def test_a_pruned_copy_is_found_again_in_the_text_and_what_was_added_is_not() -> None:
    lines = ["def a():", "    return 1", "", "def b():", "    return 1", "x = 2"]
    assert aligned(lines, ["(filtered 3 lines)", "def b():", "    return 1", "os.remove('/')"]) == [4, 5]
    assert aligned(lines, ["something else"]) == []


@pytest.mark.parametrize(
    "lines", [[str(number) for number in range(1_000)], [""] * 1_000, ["= - ="] * 600, ["一", "二"] * 400]
)
@pytest.mark.parametrize("question", ["line 77", "", "the of", "どこ", "77"])
def test_a_text_without_names_is_pruned_too(lines: list[str], question: str) -> None:
    kept = prune(lines, question)
    assert len(kept) < len(lines)


def test_a_log_whose_lines_begin_with_a_date_only_is_read_by_entries() -> None:
    lines = [f"2026-01-01 {'WARNING low' if at % 4 == 0 else 'INFO step'} {at}" for at in range(40)]
    assert sum(entry.level == "warning" for entry in read_entries(lines)) == 10
