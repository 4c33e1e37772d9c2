"""Which commands of an agent are rewritten: single, simple, read-only ones inside the folder. All others run
unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from llmc.extend.shell.agent_commands import CAP_BYTES, rewritten

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "a.py").write_text("def total():\n    return 1\n")
    (project / "src" / "b.py").write_text("x = 1\n")
    (project / "large.py").write_text("".join(f"value_{at:06} = {at:06}\n" for at in range(3_000)))
    (tmp_path / "outside.txt").write_text("not of the project\n")
    (project / "link").symlink_to(tmp_path / "outside.txt")
    return project


def rewrite(command: str, folder: Path) -> str | None:
    return rewritten(command, str(folder), program=["/opt/my tools/llmc"])


@pytest.mark.parametrize(
    "command",
    [
        "rg -n 'total|sum' src -S",
        'rg -n "/api/v1" src',
        "grep -rn total .",
        "grep -n total src/a.py src/b.py",
        "find . -name '*.py' -maxdepth 3 -print",
        "ls -la",
        "ls src/*.py",
        "tree -L 2",
        "cat large.py",
        "sed -n 1,2000p large.py",
        "/usr/bin/grep -R total src",
    ],
)
def test_a_single_reading_command_is_rewritten(folder: Path, command: str) -> None:
    assert rewrite(command, folder) == f"'/opt/my tools/llmc' te --no-start {command}"


@pytest.mark.parametrize(
    "command",
    [
        "rg -n total src | head",
        "rg total; ls",
        "ls;",
        "rg total && ls",
        "rg total || true",
        "rg total > out.txt",
        "rg total 2>/dev/null",
        "cat < src/a.py",
        "cat <<EOF\nhello\nEOF",
        "rg $(cat src/a.py)",
        "rg `pwd`",
        "rg $PATTERN src",
        'rg "$PATTERN" src',
        "ls ~",
        "ls {src,docs}",
        "rg total &",
        "(ls)",
        "rg total\nls",
        "FOO=1 rg total",
        "time ls",
        "! ls",
        "sudo ls",
        "xargs rg total",
        "for f in *; do cat $f; done",
        "ls # all",
        "rg 'unclosed",
        "",
        "llmc te ls",
        "./rg total",
        "git grep total",
        "head -n 5 large.py",
    ],
)
def test_everything_that_is_not_one_simple_command_runs_as_it_is(folder: Path, command: str) -> None:
    assert rewrite(command, folder) is None


@pytest.mark.parametrize(
    "command",
    [
        "rg --pre ./convert total",
        "find . -name x -exec rm {} +",
        "find . -delete",
        "find . -fprint out.txt",
        "sed -i s/a/b/ large.py",
        "sed -n 'w out.txt' large.py",
        "sed -n 1,5000p -i large.py",
        "sed s/a/b/ large.py",
        "tree -o out.txt",
    ],
)
def test_a_command_that_writes_or_starts_programs_runs_as_it_is(folder: Path, command: str) -> None:
    assert rewrite(command, folder) is None


@pytest.mark.parametrize("path", ["../outside.txt", "link", "/etc", "src/../../outside.txt", "--file=/etc/hostname"])
@pytest.mark.parametrize("program", ["rg -n x", "ls -la", "grep -rn x"])
def test_paths_outside_of_the_folder_are_left_to_the_client(folder: Path, program: str, path: str) -> None:
    assert rewrite(f"{program} {path}", folder) is None


def test_small_files_and_ranges_are_printed_by_the_command_itself(folder: Path) -> None:
    assert (folder / "large.py").stat().st_size > CAP_BYTES
    for command in (
        "cat src/a.py",
        "cat src/a.py src/b.py",
        "sed -n 1,40p large.py",
        "sed -n 5p large.py",
        "cat none.py",
    ):
        assert rewrite(command, folder) is None
    assert rewrite("grep total src/a.py", folder) is None
    for numbered in ("grep -n total src/a.py", "grep -nA3 total src/a.py", "grep -A3 -n total src/a.py"):
        assert rewrite(numbered, folder)
