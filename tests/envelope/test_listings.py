"""Lists that rg, grep, find, ls and tree print, regrouped: nothing is lost without being said."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.envelope import Envelope, render
from llmc.envelope.logs.listings import read_listing

if TYPE_CHECKING:
    from pathlib import Path


def compact(command: str, output: str) -> str | None:
    found = read_listing(command.split(), output.strip("\n").split("\n"))
    return render(Envelope("te", found.found, found.groups)) if found else None


def test_paths_are_listed_by_folder() -> None:
    output = "./src/api/chat.py\n./src/api/solve.py\n./README.md\n./src/api/my file.py\n"
    assert compact("find . -type f", output) == "4 paths\n src/api/ chat.py solve.py 'my file.py'\n README.md"


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


def test_lines_around_a_match_keep_their_indentation() -> None:
    output = "a-1.py-3-def f():\na-1.py:4:    return 1\n--\na-1.py:9:    return 2\n"
    assert compact("rg -n -B1 return", output) == "2 matches\na-1.py\n3 def f():\n4     return 1\n9     return 2"


def test_long_listings_say_what_is_omitted() -> None:
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
    result = read_listing(["rg", "-n", "x"], lines)
    if result is None:
        return
    text = render(Envelope("te", result.found, result.groups))
    for path, number, line in found:
        assert re.search(rf"\b{number}\b", text)
        assert path.rpartition("/")[2] in text
        assert line.strip() in text or "text omitted:" in text


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
