"""Ignore rules beyond the comparison with ripgrep: weights, settings, limits and reports."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from llmc.base.ignore import Rules
from llmc.base.root_fs import RootFs
from llmc.indexer.scan import ScanLimits, scan

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content if isinstance(content, bytes) else content.encode())


def shown(root: Path, include: tuple[str, ...] = (), exclude: tuple[str, ...] = (), *, hidden: bool = True) -> set[str]:
    with RootFs(str(root)) as root_fs:
        rules = Rules(root_fs, include=include, exclude=exclude, hidden=hidden)
        found = {path for listing in scan(root_fs, rules, ScanLimits()) for path in listing.files}
        every = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and not path.is_symlink()}
        assert {path for path in every if not rules.ignored(path, is_folder=False)} == found
    return {path for path in found if not path.rpartition("/")[2].endswith("ignore")}


def test_the_files_of_llmc_outweigh_all_others_wherever_they_lie(tmp_path: Path) -> None:
    write(tmp_path, {".llmcignore": "!a.log\nsecret\n", "sub/.rgignore": "a.log", "sub/.gitignore": "!secret"})
    write(tmp_path, {"sub/a.log": "", "sub/b.log": "", "sub/secret": "", ".gitignore": "*.log"})
    assert shown(tmp_path) == {"sub/a.log"}


def test_nothing_below_a_hidden_folder_comes_back(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "build/\n!build/keep.py\n", "build/keep.py": "", "src/build/x": "", "a.py": ""})
    assert shown(tmp_path) == {"a.py"}


@pytest.mark.parametrize("rule", ["/a/b*", "/a/b", "a/[b]"])
def test_a_rule_for_one_folder_does_not_reach_the_folders_below_it(tmp_path: Path, rule: str) -> None:
    write(tmp_path, {".gitignore": rule, "a/b": "", "a/c/b": "", "a/c/d/b": "", "b": ""})
    assert shown(tmp_path) == {"b", "a/c/b", "a/c/d/b"}


def test_rules_above_the_root_and_of_the_user_are_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {".gitignore": "*", "home/.config/git/ignore": "*", "home/.gitconfig": "[core]\nexcludesFile=~/x"})
    write(tmp_path, {"home/x": "*", "root/a": ""})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert shown(tmp_path / "root") == {"a"}


def test_an_ignore_file_that_is_a_link_counts_only_if_it_stays_inside(tmp_path: Path) -> None:
    write(tmp_path, {"outside": "*.py", "root/rules": "*.log", "root/a.py": "", "root/a.log": ""})
    (tmp_path / "root/.gitignore").symlink_to("../outside")
    (tmp_path / "root/.ignore").symlink_to("rules")
    assert shown(tmp_path / "root") == {"a.py", "rules"}
    with RootFs(str(tmp_path / "root")) as root_fs:
        rules = Rules(root_fs)
        rules.frame("")
        assert list(rules.left_out) == [".gitignore"]


def test_an_ignore_file_that_is_not_a_regular_file_is_harmless(tmp_path: Path) -> None:
    write(tmp_path, {"a": "", "sub/b": ""})
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "sub/.gitignore").mkdir()
    (tmp_path / ".ignore").symlink_to(".ignore")
    assert shown(tmp_path) == {"a", "sub/b"}


def test_the_settings_exclude_over_every_ignore_file(tmp_path: Path) -> None:
    write(tmp_path, {".llmcignore": "!vendor/", "vendor/a": "", "b.min.js": "", "b.js": ""})
    assert shown(tmp_path, exclude=("/vendor/", "*.min.js")) == {"b.js"}


@pytest.mark.parametrize(
    ("include", "wanted"),
    [
        (("*.py",), {"a.py", "src/b.py", "src/deep/c.py"}),
        (("/src",), {"src/b.py", "src/deep/c.py", "src/deep/d.txt"}),
        (("src/deep/",), {"src/deep/c.py", "src/deep/d.txt"}),
        (("src/*.py", "*.md"), {"src/b.py", "docs/e.md"}),
        (("src/**/*.txt",), {"src/deep/d.txt"}),
        (("*.py", "!c.py"), {"a.py", "src/b.py"}),
    ],
)
def test_include_keeps_only_what_it_names_and_shows_nothing_ignored(
    tmp_path: Path, include: tuple[str, ...], wanted: set[str]
) -> None:
    write(tmp_path, {"a.py": "", "src/b.py": "", "src/deep/c.py": "", "src/deep/d.txt": "", "docs/e.md": ""})
    write(tmp_path, {".gitignore": "gone.py\n", "gone.py": "", "src/gone.py": ""})
    assert shown(tmp_path, include=include) == wanted


def test_folders_in_which_nothing_can_be_included_are_not_walked(tmp_path: Path) -> None:
    write(tmp_path, {"src/deep/a": "", "docs/b/c": "", "src/other/d": ""})
    with RootFs(str(tmp_path)) as root_fs:
        rules = Rules(root_fs, include=("src/deep",))
        assert [listing.folder for listing in scan(root_fs, rules, ScanLimits())] == ["", "src", "src/deep"]


def test_hidden_files_can_be_left_out_and_called_back(tmp_path: Path) -> None:
    write(tmp_path, {".eslintrc": "", ".github/ci.yml": "", "a": "", ".gitignore": "!.github/"})
    assert shown(tmp_path) == {".eslintrc", ".github/ci.yml", "a"}
    assert shown(tmp_path, hidden=False) == {".github/ci.yml", "a"}


def test_a_name_that_is_not_utf8_can_be_ignored_and_does_not_end_the_file(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": b"\xe9t\xe9\n# caf\xe9\nlast\n", "last": "", "a": ""})
    with open(os.fsencode(tmp_path) + b"/\xe9t\xe9", "wb"):  # noqa: PTH123 - a Path cannot be made of bytes
        pass
    assert shown(tmp_path) == {"a"}


def test_a_changed_ignore_file_counts_after_forgetting_its_folder(tmp_path: Path) -> None:
    write(tmp_path, {"sub/deep/a.py": "", "sub/.gitignore": "*.log"})
    with RootFs(str(tmp_path)) as root_fs:
        rules = Rules(root_fs)
        assert not rules.ignored("sub/deep/a.py", is_folder=False)
        write(tmp_path, {"sub/.gitignore": "deep/"})
        rules.forget("sub")
        assert rules.ignored("sub/deep/a.py", is_folder=False)
        assert rules.ignored("sub/deep", is_folder=True)


def test_a_walk_of_a_folder_brings_its_changed_rules_into_force(tmp_path: Path) -> None:
    write(tmp_path, {"sub/deep/a.py": "", "sub/b.py": ""})
    with RootFs(str(tmp_path)) as root_fs:
        rules = Rules(root_fs)
        assert {path for each in scan(root_fs, rules, ScanLimits()) for path in each.files} == {
            "sub/deep/a.py",
            "sub/b.py",
        }
        write(tmp_path, {"sub/.gitignore": "deep/\n.gitignore\n"})
        assert {path for each in scan(root_fs, rules, ScanLimits(), "sub") for path in each.files} == {"sub/b.py"}
        assert rules.ignored("sub/deep/a.py", is_folder=False)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("a/" * 600 + "\n*.log\n", "lines longer than 1,024 characters"),
        ("*a" * 200 + "\n*.log\n", "globs with more than 16 stars"),
        ("{a\n{\n}\n[z-a]\nx\\\n*.log\n", "globs with an open brace (2 times)"),
        ("*.log\n" + "x" * (1 << 20), "everything after the first 1,048,576 bytes"),
        ("*.log\n" + "\n" * 30_000, "everything after the first 20,000 lines"),
        ("*.log\n" + "*a*b*c*d*e*f\n" * 300, "wildcards beyond the cost limit of a file (252 times)"),
    ],
)
def test_what_a_hostile_ignore_file_loses_is_reported_and_the_rest_counts(
    tmp_path: Path, content: str, note: str
) -> None:
    write(tmp_path, {".gitignore": content, "a.log": "", "b": ""})
    with RootFs(str(tmp_path)) as root_fs:
        rules = Rules(root_fs)
        assert rules.ignored("a.log", is_folder=False)
        assert not rules.ignored("b", is_folder=False)
        assert note in rules.left_out[".gitignore"]


def test_globs_made_to_stall_do_not(tmp_path: Path) -> None:
    knots = "".join(f"{'*a' * 8}{n:b}\n[!b]{'*ab' * 7}*{n:b}\n".replace("1", "a").replace("0", "b") for n in range(400))
    write(tmp_path, {".gitignore": knots, "sub/.gitignore": knots + "x", "sub/deep/.gitignore": knots + "y"})
    write(tmp_path, {f"sub/deep/{'ab' * 100}{n}": "" for n in range(500)})
    began = time.process_time()
    with RootFs(str(tmp_path)) as root_fs:
        rules = Rules(root_fs)
        list(scan(root_fs, rules, ScanLimits()))
        assert set(rules.left_out) == {".gitignore", "sub/.gitignore", "sub/deep/.gitignore"}
    assert time.process_time() - began < 30  # CPU, not wall clock: unlimited, one name takes a tenth of a second


def test_ignore_files_without_number_are_given_up_at_a_limit(tmp_path: Path) -> None:
    for folder in range(40):
        write(tmp_path, {f"{folder}/.gitignore": f"{folder}\n" * 20_000, f"{folder}/a": ""})
    with RootFs(str(tmp_path)) as root_fs:
        rules = Rules(root_fs)
        assert (
            len({path for each in scan(root_fs, rules, ScanLimits()) for path in each.files if path.endswith("/a")})
            == 40
        )
        assert "this root has too many ignore files" in str(rules.left_out)
