"""The tools from the command line: the real CLI, the real daemon, the demo workspace."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from daemons import CommandLine, private_place
from locations import DEMO

from llmc.envelope.tokens import count
from llmc.retrieval.grep import ripgrep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    folder = tmp_path_factory.mktemp("work") / "demo"
    shutil.copytree(DEMO, folder)
    with private_place() as place:
        asked = CommandLine(place, folder)
        asked.text("index", "--once")
        yield asked


def test_search_finds_the_place_that_a_question_means(demo: CommandLine) -> None:
    shown = demo.text("search", "how is the arrival day estimated")
    head, first = shown.split("\n")[:2]
    assert "places in" in head
    assert first.startswith("services/")


def test_the_sample_in_the_readme_is_what_the_commands_print(demo: CommandLine) -> None:
    """In the sample, `…` stands for omitted lines; the counts in the first line change with the ranking."""
    _, *samples = (DEMO.parents[1] / "README.md").read_text("utf-8").split("    $ llmc ")
    assert len(samples) == 2
    for sample in samples:
        command, *lines = sample.split("\n\n")[0].splitlines()
        printed = demo.text(*shlex.split(command.replace(" --root data/demo", "")))
        for line in lines[1:]:
            parts = [re.escape(part) for part in line.removeprefix("    ").split("…")]
            assert re.search(f"^{'.*'.join(parts)}$", printed, re.MULTILINE), line


def test_search_explains_each_signal(demo: CommandLine) -> None:
    files = demo.json("search", "arrival day", "--explain")["files"]
    assert isinstance(files, list)
    assert all(file["shares"] for file in files)


def test_an_unknown_filter_value_names_the_nearest(demo: CommandLine) -> None:
    done = demo("search", "parcel lang:pyton")
    assert done.returncode == 2
    assert "python" in done.stderr


def test_grep_lists_the_symbols_around_the_matches(demo: CommandLine) -> None:
    (demo.folder / "kiosk.py").write_text("class Kiosk:\n    def sell(self):\n        sold = 1\n        return sold\n")
    for form in ((), ("--all",)):
        shown = demo.text("grep", "sold", "kiosk.py", "--symbols", *form).rstrip().split("\n")
        assert shown[1:] == ["kiosk.py · 2", "2-4 Kiosk.sell ×2"]
    (demo.folder / "kiosk.py").unlink()
    assert "exclude each other" in demo("grep", "sold", "--symbols", "-l").stderr


def test_grep_prints_what_ripgrep_prints_with_all(demo: CommandLine) -> None:
    program = ripgrep.program() or "rg"
    flags = ["--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-parent", "-g", "!.git", "--sort=path"]
    for pattern in ("parcel", "TODO|FIXME", r"def \w+\(", "class"):
        expected = subprocess.run(
            [program, "--no-config", "-l", *flags, pattern],
            cwd=demo.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert sorted(demo("grep", "-l", "--all", pattern).stdout.split("\n")) == sorted(expected.stdout.split("\n"))
    lines = subprocess.run(
        [program, "--no-config", "-n", *flags, "parcel"], cwd=demo.folder, capture_output=True, text=True, check=False
    )
    assert sorted(demo.text("grep", "--all", "parcel").split("\n")) == sorted(lines.stdout.split("\n"))


@pytest.mark.parametrize(
    "line",
    [
        "grep --all parcel",
        "grep --all -n parcel services -g *.py",
        "grep parcel --all --glob=*.py -i",
        "grep --all -e parcel -e depot services",
        "grep --all -F a.b -t py -w",
        "grep --all -c parcel",
        "grep --all no_such_word_anywhere",
        "grep --all (",
        "grep --all parcel no/such/folder",
        "grep --all",
        "grep --all -e",
        "grep --all parcel --set",
        "grep --all --no-such-option parcel",
        "grep --all -tpy parcel",
        "grep --all -iw PARCEL",
        "grep --all -- -parcel",
        "grep -h --all",
        "--set retrieval.no_such_setting=1 grep --all parcel",
        "--no-daemon grep --all parcel",
        "--glob *.py grep --all parcel",
    ],
)
def test_all_matches_are_printed_alike_without_and_with_click(demo: CommandLine, line: str) -> None:
    """`--plain` is read by click alone."""
    short, long = demo(*line.split()), demo("--plain", *line.split())
    assert (short.stdout, short.returncode) == (long.stdout, long.returncode)
    assert short.stderr == long.stderr


def test_a_root_behind_the_command_overrides_one_before_it_with_all(demo: CommandLine) -> None:
    inner = ("--root", str(demo.folder / "services"))
    both = demo("--root", str(demo.folder / "docs"), "grep", "--all", "parcel", *inner)
    assert both.stdout == demo("grep", "--all", "parcel", *inner).stdout != demo("grep", "--all", "parcel").stdout


def test_a_reply_that_was_cut_is_continued_by_its_handle(demo: CommandLine) -> None:
    first = demo.text("grep", "parcel", "--budget", "300")
    handle = first.strip().split("\n")[-1].split()[-1]
    assert "more → " in first
    pages = [first]
    while "→" in pages[-1].strip().split("\n")[-1]:
        pages.append(demo.text("read", pages[-1].strip().split("\n")[-1].split()[-1], "--budget", "3000"))
    shown = [line for page in pages for line in page.split("\n")[1:] if re.match(r"\d+(-\d+)? ", line)]
    every = demo.text("grep", "--all", "parcel").strip().split("\n")
    assert len(shown) == len(every)
    assert demo.text("grep", "parcel", "--budget", "300") == first
    assert demo.text("read", f"{handle}:1").split("\n")[1].strip()


def test_grep_keeps_tests_and_kinds_apart(demo: CommandLine) -> None:
    every = set(demo.text("grep", "-l", "parcel").split("\n")[1:])
    tests = set(demo.text("grep", "-l", "parcel", "--only-tests").split("\n")[1:])
    code = set(demo.text("grep", "-l", "parcel", "--no-tests").split("\n")[1:])
    assert tests - {""}
    assert tests | code == every
    assert not tests & code - {""}
    assert "is_parcel_number" in demo.text("grep", "parcel", "--kind", "def")
    assert demo.text("grep", "--all", "parcel", "--kind", "def", "--only-tests").count("\n") < len(every)


def test_grep_accepts_flags_of_habit(demo: CommandLine) -> None:
    assert demo.text("grep", "-rnE", "parcel", ".") == demo.text("grep", "parcel", ".")


def test_grep_applies_a_glob_wherever_it_is_given(demo: CommandLine) -> None:
    kept = demo.text("grep", "-l", "parcel", "--glob", "!scanner/**")
    assert "scanner/" not in kept
    assert demo.text("grep", "--glob", "!scanner/**", "-l", "parcel") == kept
    assert demo.text("grep", "-g=!scanner/**", "-l", "parcel", ".") == kept
    assert "-g '!nosuch/**' excludes no file" in demo.text("grep", "-l", "-g", "!nosuch/**", "parcel")


def test_read_and_outline_take_the_end_of_a_path(demo: CommandLine) -> None:
    (demo.folder / "deep" / "down").mkdir(parents=True)
    (demo.folder / "deep" / "down" / "kiosk.py").write_text("class Kiosk:\n    def sell(self):\n        return 1\n")
    assert demo.text("read", "down/kiosk.py:2-3").startswith("deep/down/kiosk.py:2-3 of 3 lines")
    assert "deep/down/kiosk.py" in demo.text("outline", "kiosk.py")
    shutil.rmtree(demo.folder / "deep")


def test_outline_of_lines_and_read_as_a_skeleton(demo: CommandLine) -> None:
    assert "is_parcel_number" in demo.text("outline", "scanner/main.c:10-30")
    assert "skeleton of" in demo.text("read", "scanner/main.c", "--skeleton")


def test_grep_and_search_inside_an_earlier_result(demo: CommandLine) -> None:
    first = demo.text("grep", "parcel", "--budget", "300")
    handle = first.strip().split("\n")[-1].split()[-1]
    inside = demo.json("grep", "def", handle)["files"]
    everywhere = demo.json("grep", "def")["files"]
    assert isinstance(inside, list)
    assert isinstance(everywhere, list)
    held = {file["path"] for file in demo.json("grep", "parcel")["files"]}
    assert {file["path"] for file in inside} == {file["path"] for file in everywhere} & held
    assert {file["path"] for file in demo.json("search", "estimate", "-p", handle)["files"]} <= held


def test_nothing_found_is_exit_code_one(demo: CommandLine) -> None:
    done = demo("grep", "zzznothing")
    assert (done.returncode, done.stdout) == (1, "no matches\n")


@pytest.mark.parametrize("pattern", ["(", "[", "*", "\\q"])
def test_a_pattern_that_cannot_be_read_is_refused_with_ripgreps_reason(demo: CommandLine, pattern: str) -> None:
    done = demo("grep", pattern)
    assert done.returncode == 2
    assert "pattern" in done.stderr


def test_find_by_part_glob_and_letters(demo: CommandLine) -> None:
    assert "README.md" in demo.text("find", "readme")
    assert all(line.endswith(".sql") for line in demo.text("find", "*.sql").strip().split("\n")[1:])
    assert demo("find", "zzzz").returncode == 1


def test_read_takes_lines_symbols_and_several_targets(demo: CommandLine) -> None:
    assert demo.text("read", "README.md:1-2").count("\n") == 3
    files = demo.json("outline", "services")["files"]
    assert isinstance(files, list)
    path, symbol = next((file["path"], one) for file in files for one in file["symbols"] if one["kind"] == "function")
    shown = demo.text("read", f"{path}::{symbol['name']}")
    assert symbol["name"] in shown
    assert demo("read", f"{path}::nosuchthing").returncode == 1
    assert "2 targets" in demo.text("read", "README.md:1-2", f"{path}:1-3")


def test_outline_of_one_class_holds_its_members_and_nothing_else(demo: CommandLine) -> None:
    files = demo.json("outline", "services", "--deep")["files"]
    assert isinstance(files, list)
    path, name = next((file["path"], one["container"]) for file in files for one in file["symbols"] if one["container"])
    found = demo.json("outline", f"{path}::{name}")["files"]
    assert isinstance(found, list)
    assert [file["path"] for file in found] == [path]
    symbols = found[0]["symbols"]
    assert len(symbols) > 1
    assert all(f".{name}." in f".{one['container']}.{one['name']}." for one in symbols)
    assert demo("outline", f"{path}::nosuchthing").returncode == 1


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside.txt", "../../../../etc/hostname"])
def test_nothing_outside_the_roots_is_read_or_named(demo: CommandLine, target: str) -> None:
    (demo.folder.parent / "outside.txt").write_text("secret zeppelin\n")
    done = demo("read", target)
    assert done.returncode == 2
    assert "zeppelin" not in done.stdout + done.stderr
    assert demo("grep", "zeppelin", target).returncode == 2


def test_refs_tell_definitions_from_uses_and_say_how_sure_they_are(demo: CommandLine) -> None:
    files = demo.json("outline", "services", "--deep")["files"]
    assert isinstance(files, list)
    names = [one["name"] for file in files for one in file["symbols"] if one["kind"] in {"function", "class"}]
    found = [demo.json("refs", name) for name in names[:5]]
    assert all(one["definitions"] for one in found)
    assert demo("refs", "nosuchname").returncode == 1


def test_context_stays_within_its_budget(demo: CommandLine) -> None:
    for budget in (100, 400, 1500):
        assert count(demo.text("context", "how are parcels delivered", "--budget", str(budget))) <= budget + 1


def test_budgets_out_of_range_are_refused_or_capped(demo: CommandLine) -> None:
    assert demo("search", "parcel", "--budget", "-5").returncode == 2
    assert demo("search", "parcel", "--budget", "10").returncode == 2
    assert demo("search", "parcel", "--budget", "99999999").returncode == 0


def test_tree_counts_instead_of_listing(demo: CommandLine) -> None:
    shown = demo.text("tree", "--depth", "1")
    assert "services/tracking/ · 12" in shown


def test_without_a_daemon_the_answer_is_the_same(demo: CommandLine, tmp_path: Path) -> None:
    with_daemon = demo.text("grep", "parcel", "--budget", "4000")
    demo.place.environ["LLMC_HOME"], kept = str(tmp_path / "other"), demo.place.environ["LLMC_HOME"]
    try:
        assert demo.text("grep", "parcel", "--budget", "4000", "--no-daemon") == with_daemon
    finally:
        demo.place.environ["LLMC_HOME"] = kept


def test_json_says_what_the_reply_costs(demo: CommandLine) -> None:
    text = demo.text("search", "parcel").rstrip("\n")
    found = demo.json("search", "parcel")
    assert isinstance(found["tokens"], int)
    assert abs(found["tokens"] - count(text)) <= 0.1 * count(text) + 10
    assert found["provisional"] is False
    assert found["total"] > 0


def test_passages_of_context_have_scores(demo: CommandLine) -> None:
    passages = demo.json("context", "how are parcels delivered")["passages"]
    scores = [one["score"] for one in passages]
    assert scores == sorted(scores, reverse=True)
    first = demo.text("context", "how are parcels delivered").splitlines()[1]
    assert re.search(r":\d+-\d+ · \d\.\d\d$", first)


def test_numbered_items_are_those_that_the_handle_opens(demo: CommandLine) -> None:
    reply = demo.text("grep", "parcel", "--set", "envelope.numbered=true", "--budget", "600")
    handle = reply.rstrip("\n").rpartition("→ ")[2]
    numbers = [int(number) for number in re.findall(r"(?:^| )\[(\d+)\] ", reply, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 2
    places = re.findall(r"^\[(\d+)\] (\S+\.\w+)$", reply, re.MULTILINE)
    assert places, reply
    for number, path in places:
        assert path in demo.text("read", f"{handle}:{number}")
    short = demo.text("find", "Label", "--set", "envelope.numbered=true")
    assert short.rstrip("\n").splitlines()[-1].startswith("→ h")
    assert "[1] " in short


def test_a_pattern_with_look_ahead_is_refused_without_naming_an_option_that_is_not_there(demo: CommandLine) -> None:
    done = demo("grep", "deliver(?!y)")
    assert done.returncode == 2
    assert "look-ahead and look-behind, is not supported" in done.stderr
    assert "--pcre2" not in done.stderr
    assert "Match more, and leave out the rest" in done.stderr


def test_an_empty_pattern_matches_every_line_as_with_ripgrep(demo: CommandLine) -> None:
    path = "config/depot.yaml" if (demo.folder / "config/depot.yaml").exists() else "README.md"
    lines = (demo.folder / path).read_text().splitlines()
    assert demo.text("grep", "--all", "", path).splitlines() == [
        f"{path}:{at}:{line}" for at, line in enumerate(lines, 1)
    ]


def test_a_deleted_file_is_not_offered_instead_of_itself(demo: CommandLine) -> None:
    (demo.folder / "zeppelin_notes.md").write_text("# Notes\n")
    assert demo("read", "zeppelin_notes.md").returncode == 0
    (demo.folder / "zeppelin_notes.md").unlink()
    done = demo("read", "zeppelin_notes.md")
    assert done.returncode == 1
    assert "Did you mean zeppelin_notes.md" not in done.stderr


def test_a_binary_file_is_described(demo: CommandLine) -> None:
    header = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (640).to_bytes(4) + (480).to_bytes(4) + b"\x08\x06\0\0\0"
    (demo.folder / "logo.png").write_bytes(header + bytes(500))
    (demo.folder / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(40))
    (demo.folder / "tool.bin").write_bytes(bytes(range(256)) * 8)
    assert demo.text("read", "logo.png").strip() == "logo.png · image/png · 640 × 480 pixels · 529 bytes · not text"
    assert demo.text("read", "broken.jpg").strip() == "broken.jpg · image/jpeg · 44 bytes · not text"
    assert "2,048 bytes · not text" in demo.text("read", "tool.bin")
    assert demo.json("read", "logo.png")["width"] == 640
    for name in ("logo.png", "broken.jpg", "tool.bin"):
        (demo.folder / name).unlink()


def test_progress_on_a_pipe_has_no_line_for_a_stage_without_a_count(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def a():\n    return 1\n")
    with private_place() as place:
        lines = CommandLine(place, tmp_path)("index", "--once", "--no-daemon").stderr.splitlines()
    assert lines
    assert [line for line in lines if " of " not in line] == []
