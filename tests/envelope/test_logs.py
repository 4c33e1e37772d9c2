"""Outputs of real runners (tests/golden/logs, from small projects), and the results of reading them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from locations import GOLDEN_LOGS

from llmc.envelope import Envelope, render
from llmc.envelope.logs import as_shown, read, summarise
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from pathlib import Path

PYTEST = [
    ("TestBasket.test_labels_are_in_order", "tests/test_basket.py:23", "assert ['pear', 'apple'] == ['apple', 'pear']"),
    ("TestBasket.test_a_bad_line_is_named", "tests/test_basket.py:27", "ValueError: not enough values to unpack"),
    ("TestBasket.test_needs_the_warehouse", "tests/test_basket.py:17", "RuntimeError: the warehouse is closed"),
    ("test_total_adds_all_lines", "tests/test_price.py:7", "assert 11 == 12"),
    ("test_rebate_takes_a_tenth", "tests/test_price.py:15", "assert 90.0 == 91 ± 9.1e-05"),
    ("test_rebate_takes_any_share[1.5]", "tests/test_price.py:20", "ValueError: share 1.5 is not between 0 and 1"),
    ("test_share_above_one_is_refused", "tests/test_price.py:25", "ValueError: share 2 is not between 0 and 1"),
]
COLLECT = [("tests/test_import.py", "tests/test_import.py:1", "ModuleNotFoundError: No module named 'shop.nothing'")]
UNITTEST = [
    ("BrokenSetup.setUpClass", "tests/case_unit.py:44", "OSError: no disk"),
    ("PriceTest.test_chained", "tests/case_unit.py:30", "LookupError: no such fruit"),
    ("PriceTest.test_parse", "tests/case_unit.py:24", "ValueError: not enough values to unpack"),
    ("PriceTest.test_sub (share=2)", "tests/case_unit.py:17", "ValueError: share 2 is not between 0 and 1"),
    ("PriceTest.test_long", "tests/case_unit.py:21", "{'name': 'pear', 'count': 3, 'price': 17} != {'name'"),
    ("PriceTest.test_total", "tests/case_unit.py:12", "11 != 12"),
    ("PriceTest.test_expected", "", "unexpected success"),
]
JEST = [
    ("price › total adds all lines", "src/price.test.js:5", ".toBe: Expected: 12, Received: 11"),
    ("price › of the first › needs a name", "src/price.test.js:13", "TypeError: Cannot read properties of undefined"),
    ("price › labels are in order", "src/price.test.js:17", '.toEqual: - "pear", + "pear"'),
    ("Test suite failed to run", "src/broken.test.js:1", "Cannot find module './nothing'"),
]
GO = [
    ("TestFine", "example.org/shop/ok_test.go:7", "it is fine"),
    ("TestTotal", "example.org/shop/price/price_test.go:7", "Total = 11, want 12"),
    ("TestRebate/double", "example.org/shop/price/price_test.go:16", "Rebate: share above one"),
    ("TestPanics", "price/price_test.go:27", "panic: runtime error: index out of range [0] with length 0"),
    ("", "stock/stock.go:3", 'imported and not used: "fmt"'),
    ("", "stock/stock.go:6", "unused declared but not used"),
    ("", "stock/stock.go:7", 'cannot use "three"'),
]
TSC = [
    ("TS2322", "ts/a.ts:6", "Type 'number' is not assignable to type 'string'."),
    ("TS2322", "ts/a.ts:8", "Type 'number' is not assignable to type 'string'."),
    ("TS2304", "ts/a.ts:9", "Cannot find name 'missing'."),
    ("TS2554", "ts/a.ts:9", "Expected 1 arguments, but got 2."),
    ("TS2307", "ts/b.ts:2", "Cannot find module './c'"),
    ("TS2322", "ts/b.ts:3", "Type 'string' is not assignable to type 'number'."),
]
RUFF = [
    ("F401", "bad.py:1", "`os` imported but unused"),
    ("F401", "bad.py:2", "`sys` imported but unused"),
    ("UP035", "bad.py:3", "`typing.List` is deprecated"),
    ("F841", "bad.py:7", "Local variable `unused` is assigned to but never used"),
    ("UP006", "bad.py:11", "Use `list` instead of `List`"),
    ("F821", "bad.py:15", "Undefined name `undefined_name`"),
]
MYPY = [
    ("return-value", "bad.py:8", 'Incompatible return value type (got "int", expected "str")'),
    ("return-value", "bad.py:12", 'Incompatible return value type (got "str", expected "int")'),
    ("name-defined", "bad.py:15", 'Name "undefined_name" is not defined'),
    ("arg-type", "bad.py:16", 'Argument 1 to "size" has incompatible type "str"; expected "int"'),
]
JAVA = [
    ("PriceTest.totalAddsAllLines", "shop/PriceTest.java:9", "expected:<12> but was:<11>"),
    ("PriceTest.firstNeedsAName", "shop/PriceTest.java:17", "ArrayIndexOutOfBoundsException: Index 0 out of bounds"),
    ("PriceTest.saysWhy", "shop/PriceTest.java:21", "an empty basket must cost something"),
]
JAVAC = [("", "src/main/java/shop/Price.java:7", "String cannot be converted to int")]
EXPECTED = {
    "pytest": PYTEST,
    "pytest-short": PYTEST,
    "pytest-native": PYTEST,
    "pytest-colour": PYTEST,
    "pytest-xdist": PYTEST + COLLECT,
    "pytest-collect": COLLECT,
    "unittest": UNITTEST,
    "unittest-quiet": UNITTEST,
    "jest": JEST,
    "jest-colour": JEST,
    "vitest": [
        ("price > total adds all lines", "vt/price.test.mjs:6", "expected 11 to be 12"),
        ("price > labels are in order", "vt/price.test.mjs:9", "to deeply equal { names: [ 'pear', 'apple' ] }"),
        ("price > needs a name", "vt/price.test.mjs:12", "TypeError: Cannot read properties of undefined"),
        ("vt/broken.test.mjs", "vt/broken.test.mjs:1", "Cannot find module './nothing.mjs'"),
    ],
    "go": GO,
    "go-verbose": GO,
    "cargo": [
        ("tests::gives_an_error", "", 'Error: "no such fruit"'),
        ("tests::never_panics", "src/lib.rs:29", "test did not panic as expected"),
        ("tests::total_adds_all_lines", "src/lib.rs:16", "`left == right` failed: two lines; left: 11; right: 12"),
        ("tests::total_of_nothing", "src/lib.rs:21", "assertion failed: total(&[]) > 0"),
        ("tests::first_of_nothing", "src/lib.rs:33", "index out of bounds: the len is 0 but the index is 0"),
        ("whole_basket", "tests/whole.rs:6", "ParseIntError { kind: InvalidDigit }"),
    ],
    "rustc": [
        ("E0425", "src/lib.rs:7", "cannot find value `missing_name` in this scope"),
        ("E0308", "src/lib.rs:3", "mismatched types: expected `u32`, found `usize`"),
    ],
    "maven": JAVA,
    "maven-javac": JAVAC,
    "gradle-full": JAVA,
    "gradle": [(name, place, "") for name, place, _ in JAVA],
    "gradle-javac": JAVAC,
    "tsc": TSC,
    "tsc-pretty": TSC,
    "ruff": RUFF,
    "ruff-concise": [*RUFF, ("F401", "tests/test_import.py:1", "`shop.nothing` imported but unused")],
    "mypy": MYPY,
    "mypy-pretty": MYPY,
    "gcc": [("", "b.c:7", "expected ‘;’ before ‘return’"), ("-Wint-conversion", "b.c:6", "initialization of ‘int’")],
    "clang": [("", "b.c:7", "expected ';' after expression"), ("-Wformat", "b.c:7", "format specifies type 'char *'")],
    "gxx": [("", "t.cc:8", "conversion from ‘int’"), ("", "t.cc:7", "no match for ‘operator<’")],
    "make": [("", "b.c:7", "expected ‘;’ before ‘return’"), ("", "c.c:", "undefined reference to `helper'")],
    "eslint": [
        ("no-unused-vars", "src/lint.js:1", "'unused' is assigned a value but never used"),
        ("eqeqeq", "src/lint.js:2", "Expected '===' and instead saw '=='"),
        ("", "src/lint2.js:1", "Parsing error: Unexpected token ;"),
        ("no-undef", "src/price.test.js:19", "'test' is not defined"),
    ],
}


def lines_of(name: str) -> list[str]:
    return as_shown((GOLDEN_LOGS / f"{name}.txt").read_text())


def relative(path: str) -> str:
    return path.removeprefix("/home/dev/shop/")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_problem_has_its_name_its_place_and_its_reason(name: str) -> None:
    report = read(lines_of(name))
    assert report is not None
    found = {
        (one.name, f"{relative(one.path)}:{one.line or ''}" if one.path else "", one.why) for one in report.problems
    }
    for wanted in EXPECTED[name]:
        assert any(wanted[:2] == each[:2] and wanted[2] in each[2] for each in found), (wanted, found)


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"gcc", "clang", "gxx", "make", "eslint", "gradle-javac"}))
def test_no_problem_is_invented(name: str) -> None:
    report = read(lines_of(name))
    assert report is not None
    assert len(report.problems) == len(EXPECTED[name]) + (name == "maven-javac")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_summary_says_all_of_it_in_fewer_tokens_than_the_log(name: str) -> None:
    lines = lines_of(name)
    summary = summarise(lines, command=["x"], exit_code=1, relative=relative)
    text = render(Envelope("te", " · ".join(summary.words), summary.groups))
    for test, place, why in EXPECTED[name]:
        path, _, line = place.rpartition(":")
        assert test in text
        assert why[:60] in text
        assert path in text
        assert summary.whole or not line or f"\n{line} " in text
    assert count(text) < count("\n".join(lines))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_lines_of_a_problem_are_those_that_tell_it(name: str) -> None:
    lines = lines_of(name)
    report = read(lines)
    assert report is not None
    for problem in report.problems:
        assert 1 <= problem.first <= problem.last <= len(lines)
        told = " ".join(" ".join(lines[problem.first - 1 : problem.last]).split())
        assert problem.why.split(";")[0].split(":")[-1].split(",")[0].strip().rstrip("…")[:30] in told


def failing_project(folder: Path, *, tests: int = 5_000, failures: int = 16) -> None:
    bad = {at * (tests // failures): at for at in range(failures)}
    classes = [f"import unittest\n\n\nclass Case{number}(unittest.TestCase):\n" for number in range(10)]
    for at in range(tests):
        body = f"self.assertEqual(price_of({at}), {at + 1})" if at in bad else "self.assertTrue(True)"
        classes[at % 10] += f"    def test_parcel_number_{at}_arrives(self):\n        {body}\n\n"
    for number, text in enumerate(classes):
        (folder / f"test_parcels_{number}.py").write_text("from prices import price_of\n" + text)
    (folder / "prices.py").write_text("def price_of(number):\n    return number\n")


def test_five_thousand_lines_with_sixteen_failures_take_six_hundred_tokens(tmp_path: Path) -> None:
    failing_project(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "-v"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    lines = as_shown(done.stdout + done.stderr)
    assert len(lines) >= 5_000
    summary = summarise(lines, command=["python"], exit_code=1, relative=lambda path: path.removeprefix(f"{tmp_path}/"))
    text = render(Envelope("te", " · ".join(("exit 1", *summary.words)), summary.groups))
    assert count(text) <= 600
    for at in range(0, 16 * 312, 312):
        file = tmp_path / f"test_parcels_{at % 10}.py"
        number = file.read_text().split("\n").index(f"        self.assertEqual(price_of({at}), {at + 1})") + 1
        assert f"\n{number} Case{at % 10}.test_parcel_number_{at}_arrives: {at} != {at + 1}" in text
        assert file.name in text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("10%\r50%\r100% done\n", ["100% done"]),
        ("long text\rab\n", ["abng text"]),
        ("long text\r\x1b[Kab\n", ["ab"]),
        ("a\b\bbc\n", ["bc"]),
        ("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\n", ["red link"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("\x1b[" + "1;" * 500 + "m", ["\x1b[" + "1;" * 500 + "m"]),
        ("one\n\nthree", ["one", "", "three"]),
        ("", []),
    ],
)
def test_an_output_is_read_as_a_terminal_shows_it(written: str, shown: list[str]) -> None:
    assert as_shown(written) == shown


def test_repeated_lines_are_folded_and_an_unknown_failure_shows_its_errors_and_both_ends() -> None:
    lines = ["starting", *(f"copied file {at} of 3000" for at in range(3_000))]
    lines[1_500] = "ERROR: the disk /dev/sdz is full"
    lines += ["giving up", *(["same words"] * 50)]
    summary = summarise(lines, command=["backup"], exit_code=2)
    text = render(Envelope("te", " · ".join(summary.words), summary.groups))
    assert "\n1501 ERROR: the disk /dev/sdz is full" in text
    assert "same words … 13 more the same" in text
    assert "copied file 1 of 3000 …" in text or "copied file 0 of 3000" in text
    assert count(text) < 400


def test_a_short_output_is_whole() -> None:
    summary = summarise(["hello", "error: not really"], command=["echo"], exit_code=0)
    assert summary.whole
    assert [row.text for group in summary.groups for item in group.items for row in item.rows] == [
        "hello",
        "error: not really",
    ]


def test_a_run_without_failures_is_one_line() -> None:
    lines = [f"test_{at} (m.C.test_{at}) ... ok" for at in range(900)]
    lines += ["", "-" * 70, "Ran 900 tests in 1.000s", "", "OK"]
    summary = summarise(lines, command=["python"], exit_code=0)
    assert summary.words == ("unittest", "Ran 900 tests in 1.000s · OK")
    assert summary.groups == ()


WORDS = st.sampled_from(
    [
        *("= FAILURES =", "=" * 70, "FAIL: x (a.B.x)", "-" * 70, "Traceback (most recent call last):", "E   assert 1"),
        *('  File "a.py", line 3, in f', "  ● a › b", "FAIL src/a.test.js", "--- FAIL: T (0.0s)", "    a_test.go:3: x"),
        *(
            "---- a stdout ----",
            "thread 'a' panicked at a.rs:1:2:",
            "error[E1]: x",
            " --> a.rs:1:2",
            "a.c:1:2: error: x",
        ),
        *(
            "[ERROR] a(b.C)  Time elapsed: 0 s  <<< FAILURE!",
            "a.B > c FAILED",
            "    at C.java:3",
            "___ a ___",
            "panic: x",
        ),
        *(
            "commit " + "a" * 40,
            "diff --git a/x b/x",
            "@@ -1 +1 @@",
            "+++ b/x",
            "On branch x",
            "\tmodified:   x",
            " ⎯⎯⎯",
        ),
        *(
            " FAIL  a.ts > b",
            " ❯ a.ts:1:2",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored",
            "= short test summary info =",
        ),
        *(
            "FAILED a.py::b - c",
            "1 failed in 1s",
            "",
            "make: *** [x] Error 1",
            "Ran 3 tests in 1s",
            "FAILED (errors=1)",
        ),
    ]
)


@given(st.lists(st.one_of(WORDS, st.text(max_size=40).filter(lambda text: "\n" not in text)), max_size=40))
def test_no_mixture_of_outputs_breaks_a_reader(lines: list[str]) -> None:
    for command in (["x"], ["git", "log"], ["git", "status"], ["git", "diff"]):
        for code in (0, 1):
            summary = summarise(lines, command=command, exit_code=code)
            for group in summary.groups:
                for item in group.items:
                    assert 0 <= item.start <= len(lines)
                    assert 0 <= item.end <= len(lines)
