"""Pasted text as a query, from every surface: issues, stack traces, logs, diffs, and input that is hardly text."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from daemons import CommandLine, private_place
from http_world import served
from mcp_world import raw
from search_world import write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from http_world import Served

ISSUE = """Parcels are lost when the bell is "broken"

Steps: call `Courier.deliver` - the door does not open, note: it happens every time.

Traceback (most recent call last):
  File "/opt/site-packages/depot/courier.py", line 13, in deliver
    if self.ring(parcel):
RuntimeError: cannot ring at the door 7: the bell is broken
"""
SPLIT = """
def complain(door):
    raise RuntimeError(
        f"cannot ring at the door {door}: "
        "the bell is broken"
    )
"""


@pytest.fixture(scope="module")
def depot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    folder = write(tmp_path_factory.mktemp("work") / "depot")
    (folder / "src" / "depot" / "complaints.py").write_text(SPLIT)
    with private_place() as place:
        asked = CommandLine(place, folder)
        asked.text("index", "--once")
        yield asked


def piped(depot: CommandLine, data: bytes, command: str = "search") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "llmc", command, "-"],
        cwd=depot.folder,
        env=depot.place.environ,
        input=data,
        capture_output=True,
        timeout=120,
        check=False,
    )


def test_an_issue_with_quotes_and_dashes_is_answered(depot: CommandLine) -> None:
    shown = depot.text("search", ISSUE).split("\n")
    assert "src/depot/courier.py" in shown[1:]
    assert "nothing found" not in shown[0]


def test_explain_lists_what_an_issue_quotes(depot: CommandLine) -> None:
    shown = depot.text("search", ISSUE, "--explain")
    assert "quotes stack frame /opt/site-packages/depot/courier.py:13" in shown
    assert "quotes module Courier.deliver" in shown
    assert "evidence" in shown
    assert shown.split("\n")[1] == "the query"
    assert shown.split("\n")[2].strip().startswith("ranked by: ")
    assert "quotes path /opt/site-packages/depot/courier.py" not in shown  # its stack frame says so


def test_a_message_that_the_source_splits_over_lines_is_found(depot: CommandLine) -> None:
    message = "RuntimeError: cannot ring at the door 7: the bell is broken"
    assert depot.text("search", message).split("\n")[1] == "src/depot/complaints.py"
    assert depot.text("search", '"cannot ring at the door"').split("\n")[1] == "src/depot/complaints.py"


def test_a_message_inside_a_question_is_found_and_what_only_shares_words_is_left_out(depot: CommandLine) -> None:
    asked = """The courier's customers at the depot write that they get this since the last delivery of parcels:

  cannot ring at the door 31: the bell is broken

Where is this put together, and which parcels, couriers, routes and depots does it concern?"""
    shown = depot.text("search", asked).split("\n")
    assert shown[1] == "src/depot/complaints.py"
    assert "src/depot/ledger.ts" not in shown


def test_a_phrase_that_is_nowhere_is_reported_and_the_best_match_shown(depot: CommandLine) -> None:
    shown = depot.text("search", 'courier "rings thrice at noon"').split("\n")
    assert 'not found: "rings thrice at noon"' in shown[0]
    assert "src/depot/courier.py" in shown


def test_a_name_that_is_nowhere_is_reported(depot: CommandLine) -> None:
    assert "not found: CourierPolicyFactory" in depot.text("search", "CourierPolicyFactory").split("\n")[0]


def test_a_stack_trace_of_another_project_says_that_its_files_are_not_here(depot: CommandLine) -> None:
    trace = 'It fails on delivery\n  File "/srv/other/billing.py", line 3, in pay\n  File "/srv/other/tax.py", line 9\n'
    assert "not found: the 2 files that the text quotes" in depot.text("search", trace).split("\n")[0]


def test_a_diff_finds_the_file_that_it_changes(depot: CommandLine) -> None:
    diff = (
        "diff --git a/src/depot/retry.py b/src/depot/retry.py\n--- a/src/depot/retry.py\n+++ b/src/depot/retry.py\n"
        "@@ -9,3 +9,3 @@\n-        self.base = base\n+        self.base = max(base, 0.1)\n"
    )
    assert depot.text("search", diff).split("\n")[1] == "src/depot/retry.py"


def test_standing_input_of_megabytes_is_answered(depot: CommandLine) -> None:
    log = ISSUE.encode() + b"2026-01-01 12:00:00 INFO parcel 7 waits\n" * 130_000
    assert len(log) > 5_000_000
    done = piped(depot, log)
    assert done.returncode == 0
    assert b"src/depot/courier.py" in done.stdout


@pytest.mark.parametrize("data", [b"?!;-- ...", b"x" * 100_000, b"\x00\x01\x02\xff\xfe" * 500])
def test_input_without_words_is_refused_with_a_hint(depot: CommandLine, data: bytes) -> None:
    done = piped(depot, data)
    assert done.returncode == 2
    assert b"nothing to search for" in done.stderr


def test_right_to_left_and_mixed_scripts_are_answered(depot: CommandLine) -> None:
    assert piped(depot, "למה השליח לא מגיע? courier deliver الطرد".encode()).returncode == 0


def test_operators_in_a_long_query_need_a_flag(depot: CommandLine) -> None:
    text = "where is the retry policy of a courier decided, please look into it path:docs and nowhere else at all"
    assert "src/depot/retry.py" in depot.text("search", text)
    assert "src/depot/retry.py" not in depot("search", text, "--syntax").stdout


@pytest.mark.parametrize("command", ["context", "research"])
def test_other_commands_take_an_issue_too(depot: CommandLine, command: str) -> None:
    assert "courier.py" in depot.text(command, ISSUE * 40)


@pytest.mark.parametrize("command", ["context", "research", "ask"])
def test_other_commands_read_an_issue_from_standard_input(depot: CommandLine, command: str) -> None:
    done = piped(depot, ISSUE.encode(), command)
    assert done.returncode == 0, done.stderr
    assert b"courier.py" in done.stdout


@pytest.mark.parametrize("command", ["context", "research", "ask"])
def test_other_commands_refuse_binary_data_with_a_hint(depot: CommandLine, command: str) -> None:
    done = piped(depot, b"\x00\x01\x02\xff\xfe" * 500, command)
    assert done.returncode == 2
    assert b"this is binary data, not text" in done.stderr


def test_a_focus_question_may_be_an_issue(depot: CommandLine) -> None:
    assert "def deliver" in depot.text("read", "src/depot/courier.py", "--focus", ISSUE * 40)


def test_a_message_without_quotes_is_found_where_its_template_is(tmp_path: Path) -> None:
    about = "def check_parcel_label(parcel, shelf):\n    # parcels, labels, shelves\n    return parcel\n"
    template = 'def refuse(a, b):\n    return f"Parcel {a} may not be stored on shelf {b} since it has no label."\n'
    with private_place() as place:
        folder = tmp_path / "depot"
        for number in range(6):
            (folder / "src").mkdir(parents=True, exist_ok=True)
            (folder / "src" / f"parcel_shelf_label_{number}.py").write_text(about * 3)
        (folder / "src" / "words.py").write_text(template)
        (folder / "locale").mkdir()
        (folder / "locale" / "de.po").write_text('msgid "may not be stored on shelf since it has no label"\n')
        asked = CommandLine(place, folder)
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        asked.text("index", "--once")
        found = asked.json("search", "Parcel 'x-17' may not be stored on shelf 9 since it has no label.")
        assert found["files"][0]["path"] == "src/words.py"


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """Short messages in files whose names and other lines say nothing of them, among files that do."""
    folder = tmp_path_factory.mktemp("scheduler") / "scheduler"
    about = "def check_range(start, end):\n    # a random range, beyond which is an error\n    return start\n"
    sources = {
        **{f"src/random_range_{number}.py": about * 3 for number in range(6)},
        "src/field.go": 'return fmt.Errorf("random range start (%d) beyond end (%d): %s", a, b, c)\n',
        "src/codecs.kt": 'fun add(c: Codec) { error("Encoder ${c.name} is already registered") }\n',
        "src/encoder.kt": "class Encoder { val registered = true }\n// an encoder that is registered\n" * 3,
        "src/park.rs": 'panic!("inconsistent park_timeout state; actual = {}", x);\n',
        "src/timeout_state.rs": "struct TimeoutState {}\n// the actual state of a timeout, park or not\n" * 3,
        "src/brackets.ts": 'throw new Error(`Invalid tags: missing closing ")" in "${text}"`)\n',
        "src/flags.ts": "const flags = parse(0x1f) // without tags\n",
        "src/saver.py": "# when the document is saved\n# the document is one\ndef save(document): ...\n",
        "src/typing.py": "def typing(document, longest):\n    # too long: stop\n    return len(document) < longest\n",
    }
    for path, text in sources.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    with private_place() as place:
        asked = CommandLine(place, folder)
        asked.text("index", "--once")
        yield asked


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("random range start (30) beyond end (0): 30~0", "src/field.go"),
        ("Error: Encoder zstd-17 is already registered", "src/codecs.kt"),
        ("2026-11-19 07:12:01 WARN Encoder brotli is already registered", "src/codecs.kt"),
        ("inconsistent park_timeout state; actual = 42", "src/park.rs"),
        ('Invalid tags: missing closing ")" in "0x1f"', "src/brackets.ts"),
    ],
)
def test_a_short_message_is_found_by_the_words_around_its_values(
    scheduler: CommandLine, message: str, path: str
) -> None:
    assert scheduler.json("search", message)["files"][0]["path"] == path


def test_a_question_that_shares_a_few_common_words_with_a_comment_is_no_message(scheduler: CommandLine) -> None:
    found = scheduler.json("search", "stop typing when the document is too long")
    assert found["files"][0]["path"] == "src/typing.py"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("http")) as running:
        yield running


def test_an_issue_is_answered_over_http(service: Served) -> None:
    found = service.call("search", query=ISSUE, explain=True)
    assert found.status_code == 200
    assert "src/depot/courier.py" in found.text
    assert "stack frame" in found.text


def test_an_issue_is_answered_over_mcp(tmp_path: Path) -> None:
    folder = write(tmp_path / "depot")
    with private_place() as place:
        CommandLine(place, folder).text("index", "--once")
        with raw(place, folder) as client:
            client.handshake()
            reply = client.call("search", query=ISSUE)
        assert "src/depot/courier.py" in str(reply)
