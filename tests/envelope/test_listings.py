"""Regrouped listings of rg, grep, find, ls and tree: nothing is lost without a note."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.envelope import Envelope, render
from llmc.envelope.logs.folders import by_folder
from llmc.envelope.logs.listings import WIDTHS, read_listing, shortest_listing
from llmc.envelope.logs.matches import WHOLE
from llmc.envelope.logs.search_pattern import cut_around, pattern_of

if TYPE_CHECKING:
    from pathlib import Path

    from llmc.envelope.logs.git import Compact


def compact(command: str, output: str) -> str | None:
    found = read_listing(command.split(), output.strip("\n").split("\n"))
    return render(Envelope("te", found.found, found.groups)) if found else None


def test_paths_are_listed_by_folder() -> None:
    output = "./src/api/chat.py\n./src/api/solve.py\n./README.md\n./src/api/my file.py\n"
    assert compact("find . -type f", output) == "4 paths\n README.md\n src/api/ chat.py solve.py 'my file.py'"


def test_a_name_in_many_folders_is_listed_once() -> None:
    output = "app/chat/page.tsx\napp/solver/page.tsx\napp/settings/page.tsx\napp/page.tsx\n"
    assert compact("rg --files -g page.tsx", output) == "4 paths\n app/*/page.tsx: chat solver settings\n app/page.tsx"


def test_matches_have_each_folder_and_path_once() -> None:
    output = "src/a.py:3:    total = 1\nsrc/a.py:9:    return total\nsrc/b.py:7:total()\n"
    assert compact("rg -n total src", output) == (
        "3 matches in 2 files\nsrc/\n a.py\n3 total = 1\n9 return total\n b.py:7 total()"
    )
    assert compact("grep -n total src/a.py", "3:    total = 1\n9:    return total\n") == (
        "2 matches\n3 total = 1\n9 return total"
    )
    assert compact("grep -r total src", "src/a.py:total: int\nsrc/b.py:total()\n") == (
        "2 matches in 2 files\nsrc/\n a.py total: int\n b.py total()"
    )


def test_paths_share_the_folder_that_makes_the_list_shortest() -> None:
    deep = "packages/service/source"
    assert by_folder([f"{deep}/a/x.py", f"{deep}/b/y.py", f"{deep}/z.py", "README.md"]) == [
        ("", ["README.md"]),
        (f"{deep}/", ["z.py", "a/x.py", "b/y.py"]),
    ]
    many = [f"a/{folder}/{name}.py" for folder in ("controllers", "permissions") for name in "wxyz"]
    assert by_folder(many) == [
        ("a/controllers/", ["w.py", "x.py", "y.py", "z.py"]),
        ("a/permissions/", ["w.py", "x.py", "y.py", "z.py"]),
    ]
    endless = "/".join("a" * 3_000)
    ((folder, (name,)),) = by_folder([endless])
    assert folder + name == endless


def test_equal_lines_of_a_file_share_a_row() -> None:
    output = "log.go:42:  name := prefix + file\nlog.go:50:open(name)\nlog.go:127:name := prefix + file\n"
    assert compact("rg -n name", output) == "3 matches\nlog.go\n 42,127 name := prefix + file\n50 open(name)"


LONG_CALL = (
    "            response = await self.session.request(method, url, timeout=limit, headers=self.headers_of(user))"
)


def test_lines_of_a_longer_list_are_cut_around_the_match_and_marked() -> None:
    lines = [f"src/a.py:{at}:{LONG_CALL}{at}" for at in range(10, 11 + WHOLE)]
    cut = read_listing(["rg", "-n", "headers_of", "src"], lines, width=32)
    assert cut is not None
    assert cut.cut
    text = render(Envelope("te", "", cut.groups))
    assert "…headers=self.headers_of(user))10" in text
    assert "response" not in text
    start = read_listing(["rg", "-n", "response", "src"], lines, width=32)
    assert start is not None
    assert (
        render(Envelope("te", "", start.groups)) == "src/a.py\n 10,11,12,13,14 response = await self.session.request…"
    )


@pytest.mark.parametrize("command", ["rg -n -o headers_of", "rg -nP headers_of", "rg -n (?=x)headers", "grep -n h\\(e"])
def test_lines_are_whole_if_there_are_few_or_the_match_is_not_known(command: str) -> None:
    lines = [f"src/a.py:{at}:{LONG_CALL}" for at in range(10, 11 + WHOLE)]
    for words, printed in ((command.split(), lines), (["rg", "-n", "headers_of"], lines[:WHOLE])):
        found = read_listing(words, printed, width=32)
        assert found is not None
        assert not found.cut
        assert LONG_CALL.strip() in render(Envelope("te", "", found.groups))


@pytest.mark.parametrize(
    ("command", "text", "match"),
    [
        (["rg", "-n", "-g", "*.py", "-t", "py", "total|sum", "src"], "the sum of it", "sum"),
        (["rg", "-inA3", "Total", "src"], "a total", "total"),
        (["rg", "-S", "total"], "a Total", "Total"),
        (["rg", "-S", "Total"], "total Total", "Total"),
        (["rg", "-F", "a.b(", "src"], "ab a.b( c", "a.b("),
        (["rg", "-w", "sum"], "sums sum", "sum"),
        (["rg", "-e", "one", "-etwo", "three"], "three two", "two"),
        (["rg", "--regexp=one", "--glob", "two"], "two one", "one"),
        (["rg", "-n", "--", "-x", "src"], "a -x", "-x"),
        (["grep", "-rn", "--include=*.py", r"one\|two", "."], "a two", "two"),
        (["grep", "-rnE", "one|two", "."], "a two", "two"),
        (["fgrep", "-n", "a|b", "."], "a a|b", "a|b"),
    ],
)
def test_the_pattern_is_read_from_the_command(command: list[str], text: str, match: str) -> None:
    assert pattern_of(command).search(text).group() == match


@pytest.mark.parametrize(
    "command",
    ["rg", "rg -v x", "rg -r y x", "rg -f list", "rg --pcre2 x", "rg [[:alpha:]]+", "rg (", "rg -e", "grep -n a|b f",
     "grep a\\+ f", "grep -P x f"],
)  # fmt: skip
def test_a_pattern_that_could_mean_something_else_is_not_used(command: str) -> None:
    assert pattern_of(command.split()) is None


def test_a_redaction_marker_is_not_cut_in_half() -> None:
    line = "connect(address, user, password=[redacted:generic-api-key], timeout=30, retries=5)"
    assert cut_around(line, pattern_of(["rg", "connect"]), 40) == "connect(address, user, password=…"


def test_lines_are_cut_only_as_far_as_needed() -> None:
    repeated = [f"a/very/long/path/to/the/module/file.py:{at}:    total({at})" for at in range(40)]
    found = shortest_listing(["rg", "-n", "total"], repeated, len("\n".join(repeated)), _characters)
    assert found is not None
    assert not found[0].cut
    wide = [f"{at}:{LONG_CALL}{at}" for at in range(10, 30)]
    found = shortest_listing(["rg", "-n", "response", "a.py"], wide, len("\n".join(wide)), _characters)
    assert found is not None
    assert found[0].cut
    assert shortest_listing(["rg", "-n", "total"], ["1:total", "2:total()"], 17, _characters) is None


def _characters(found: Compact) -> int:
    return len(render(Envelope("te", "", found.groups)))


def test_a_line_that_repeats_is_shown_once_with_its_places() -> None:
    output = "".join(f"src/api/{name}.py:4:router = APIRouter()\n" for name in ("chat", "solve", "guide"))
    text = compact("rg -n APIRouter src", output + "src/main.py:9:app = FastAPI()\n")
    assert text is not None
    assert text.count("router = APIRouter()") == 1
    assert "src/api/ chat.py:4 solve.py:4 guide.py:4" in text


def test_text_of_imports_and_tests_is_omitted_only_beside_code_and_reported() -> None:
    uses = "".join(f"src/a{at}.py:{at}:    use_theme({at})\n" for at in range(1, 8))
    imports = "".join(f"src/a{at}.py:1:from hooks import use_theme as t{at}\n" for at in range(3))
    tests = "".join(f"tests/test_{at}.py:{at + 20}:    assert use_theme({at})\n" for at in range(3))
    text = compact("rg -n use_theme .", uses + imports + tests)
    assert text is not None
    assert "imports, text omitted:\n src/ a0.py:1 a1.py:1 a2.py:1" in text
    assert "tests, docs and generated files, text omitted:\n tests/ test_0.py:20 test_1.py:21 test_2.py:22" in text
    assert all(f"use_theme({at})" in text for at in range(1, 8))
    assert "assert use_theme(2)" in (compact("rg -n use_theme tests", tests) or "")
    assert "as t2" in (compact("rg -n 'from hooks' .", imports * 4) or "")


def test_of_tests_around_code_only_the_places_are_listed_with_context_too() -> None:
    code = "".join(f"src/a.py:{at}:total({at})\nsrc/a.py-{at + 1}-    after\n--\n" for at in range(1, 30, 4))
    tests = "".join(f"tests/test_a.py:{at}:check({at})\ntests/test_a.py-{at + 1}-    done\n--\n" for at in (1, 5, 9))
    text = compact("rg -n -A1 total|check", (code + tests).removesuffix("--\n"))
    assert text is not None
    assert text.endswith("tests, docs and generated files, text omitted:\n tests/test_a.py:1,5,9")
    assert text.count("after") == 8


def test_lines_around_a_match_keep_their_indentation_to_each_other() -> None:
    output = "7-    def f():\n8:        return 1\n"
    assert compact("rg -n -B1 return a.py", output) == "1 match\n7 def f():\n8     return 1"


def test_lines_around_a_match_keep_their_indentation() -> None:
    output = "a-1.py-3-def f():\na-1.py:4:    return 1\n--\na-1.py:9:    return 2\n"
    assert compact("rg -n -B1 return", output) == "2 matches\na-1.py\n3 def f():\n4     return 1\n9     return 2"


def test_long_listings_report_omissions() -> None:
    output = (
        "total 12\ndrwxr-xr-x 2 me us 4096 Nov 18 04:11 .\ndrwxr-xr-x 9 me us 4096 Nov 18 04:11 ..\n"
        "drwxr-xr-x 2 me us 4096 Nov 18 04:11 src\n-rw-r--r-- 1 me us 15123 Jan  3  2025 README.md\n"
        "-rwxr-xr-x 1 me us 90 Nov 18 04:11 run me\nlrwxrwxrwx 1 me us 7 Nov 18 04:11 latest -> v2.txt\n"
    )
    assert compact("ls -la", output) == (
        "6 entries · modes, owners, times omitted\n src/\n README.md 15K  'run me'* 90  latest -> v2.txt"
    )


def test_a_tree_keeps_its_levels() -> None:
    output = ".\n├── src\n│   ├── a.py\n│   └── b.py\n└── README.md\n\n1 directory, 3 files\n"
    assert compact("tree", output) == "1 directory, 3 files\n .\n src\n  a.py\n  b.py\n README.md"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("rg --json x", '{"type":"begin"}\n'),
        ("rg -n --stats x", "a.py:1:x\n\n1 matches\n"),
        ("grep -rn x .", "a.py:1:x\nBinary file b.bin matches\n"),
        ("find . -printf '%p %s'", "./a 3\n"),
        ("ls -ls", "4 -rw-r--r-- 1 me us 90 Nov 18 04:11 a\n"),
        ("ls -la", "something else\n"),
        ("tree -J", "[]\n"),
        ("cat a.py", "src/a.py:3:x\n"),
        ("rg -n x", ""),
    ],
)
def test_output_of_another_form_is_not_changed(command: str, output: str) -> None:
    assert read_listing(command.split(), output.split("\n")[:-1]) is None


NAMES = st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3}){0,2}\.(py|md)", fullmatch=True)


@given(
    st.lists(st.tuples(NAMES, st.integers(1, 999), st.text(st.characters(codec="ascii", exclude_characters="\n\r\0"))))
)
def test_no_match_disappears(found: list[tuple[str, int, str]]) -> None:
    lines = [f"{path}:{number}:{text}" for path, number, text in found]
    result = read_listing(["rg", "-n", "x"], lines, WIDTHS[0])
    if result is None:
        return
    text = render(Envelope("te", result.found, result.groups))
    for path, number, line in found:
        assert re.search(rf"\b{number}\b", text)
        assert path.rpartition("/")[2] in text
        assert line.strip() in text or "text omitted:" in text


@given(
    st.lists(st.text(st.sampled_from("ab_ .(\t…"), max_size=90), min_size=WHOLE + 1, max_size=12),
    st.sampled_from(WIDTHS[1:]),
)
def test_a_cut_line_has_its_match_and_a_mark(texts: list[str], width: int) -> None:
    lines = [f"{at}:{text}needle{text[::-1]}" for at, text in enumerate(texts, 1)]
    result = read_listing(["rg", "-n", "needle", "a.py"], lines, width)
    assert result is not None
    rows = {
        number: row.strip().partition(" ")[2]
        for row in render(Envelope("te", "", result.groups)).split("\n")
        for number in row.strip().partition(" ")[0].split(",")
    }
    assert set(rows) == {str(at) for at in range(1, len(texts) + 1)}
    for line in lines:
        number, _, whole = line.partition(":")
        shown = rows[number].strip()
        assert "needle" in shown
        assert whole.strip() in shown or "…" in shown


def test_what_the_real_programs_print_is_understood(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("one", "two"):
        (tmp_path / "src" / f"{name}.py").write_text("total = 1\nother = 2\ntotal += 1\n")
    for command in (
        "grep -rn total src",
        "grep -rn -C1 other src",
        "find src -name *.py",
        "ls -l src",
        "ls -lh",
        "ls -R",
    ):
        output = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert compact(command, output), command
