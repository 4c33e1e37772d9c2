"""The walk: what it finds, what it skips and reports, and what it survives."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llmc.base import openat as beneath
from llmc.base.errors import RootError
from llmc.base.ignore import Rules
from llmc.base.model import Stamp
from llmc.base.root_fs import RootFs
from llmc.indexer.scan import FolderListing, ScanLimits, SkipReason, Tally, scan

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def root_fs(tmp_path: Path) -> Iterator[RootFs]:
    root = tmp_path / "root"
    root.mkdir()
    with RootFs(str(root)) as root_fs:
        yield root_fs


def write(root_fs: RootFs, *names: str, content: str = "x") -> None:
    for name in names:
        path = Path(root_fs.path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def walk(
    root_fs: RootFs, limits: ScanLimits | None = None, folder: str = "", rules: Rules | None = None
) -> list[FolderListing]:
    return list(scan(root_fs, rules or Rules(root_fs), limits or ScanLimits(), folder))


def found(listings: list[FolderListing]) -> set[str]:
    return {path for listing in listings for path in listing.files}


def passed(listings: list[FolderListing]) -> dict[str, SkipReason]:
    return {each.path: each.why for listing in listings for each in listing.passed}


def git(*words: str, at: str) -> None:
    alone = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": os.environ["PATH"]}
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *who, *words], cwd=at, check=True, capture_output=True, env=alone)


def test_every_folder_is_listed_once_with_its_files_and_their_stamps(root_fs: RootFs) -> None:
    write(root_fs, "a", "sub/b", "sub/deep/c", ".hidden/d")
    listings = walk(root_fs)
    assert [listing.folder for listing in listings] == ["", ".hidden", "sub", "sub/deep"]
    status = Path(root_fs.path, "sub/b").stat()
    stamp = Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    assert listings[2].files == {"sub/b": stamp}


def test_large_and_special_files_are_skipped_and_named(root_fs: RootFs) -> None:
    write(root_fs, "a", "big", content="x" * 11)
    with Path(root_fs.path, "sparse").open("wb") as file:
        file.truncate(3 << 30)
    os.mkfifo(f"{root_fs.path}/pipe")
    Path(root_fs.path, "link").symlink_to("a")
    Path(root_fs.path, "way out").symlink_to("..")
    Path(root_fs.path, "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{root_fs.path}/socket")
        listings = walk(root_fs, ScanLimits(max_file_bytes=10))
    large = {"a": SkipReason.LARGE, "big": SkipReason.LARGE, "sparse": SkipReason.LARGE}
    links = {"link": SkipReason.LINK, "way out": SkipReason.LINK, "loop": SkipReason.LINK}
    assert passed(listings) == large | links | {"pipe": SkipReason.SPECIAL, "socket": SkipReason.SPECIAL}
    assert not found(listings)
    tally = Tally()
    for listing in listings:
        tally.add(listing, names=2)
    assert (tally.folders, tally.files, tally.passed[SkipReason.LINK], len(tally.examples[SkipReason.LINK])) == (
        1,
        0,
        3,
        2,
    )


def test_odd_names_are_found_as_the_disk_has_them(root_fs: RootFs) -> None:
    names = {"new\nline", "quote'\"", "😀", os.fsdecode(b"\xff\xfe"), " ", "-rf", "a\\b", "tab\t", "\x1b[31m"}
    write(root_fs, *names, *(f"{name}/{name}" for name in ["d\n", os.fsdecode(b"\xe9")]))
    assert found(walk(root_fs)) == names | {"d\n/d\n", os.fsdecode(b"\xe9/\xe9")}


def test_two_hundred_levels_are_walked_and_more_than_the_limit_are_not(root_fs: RootFs) -> None:
    deep = "/".join(["d"] * 200)
    write(root_fs, f"{deep}/f")
    assert found(walk(root_fs)) == {f"{deep}/f"}
    assert passed(walk(root_fs, ScanLimits(max_depth=3))) == {"d/d/d/d": SkipReason.DEEP}


def test_paths_longer_than_the_kernel_takes_are_passed_over(root_fs: RootFs) -> None:
    name = "n" * 250
    fd = os.open(root_fs.path, os.O_RDONLY)
    for _ in range(17):
        os.mkdir(name, dir_fd=fd)
        fd, above = os.open(name, os.O_RDONLY, dir_fd=fd), fd
        os.close(above)
    os.close(fd)
    assert list(passed(walk(root_fs)).values()) == [SkipReason.LONG]
    shutil.rmtree(root_fs.path)


def test_a_folder_that_cannot_be_read_is_named_and_the_rest_continues(root_fs: RootFs) -> None:
    # Permission bits do not apply to a test that runs as root, so a stand-in returns the kernel's error.
    def deny(at: int, path: bytes, flags: int, *, follow: bool = False) -> int:
        if path == b"closed":
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return beneath.pick()(at, path, flags, follow=follow)

    write(root_fs, "closed/a", "open/b")
    with RootFs(root_fs.path, opener=deny) as denied:
        listings = walk(denied)
    assert found(listings) == {"open/b"}
    assert passed(listings) == {"closed": SkipReason.UNREADABLE}


def test_more_files_than_allowed_end_the_walk_at_the_same_place_every_time(root_fs: RootFs) -> None:
    write(root_fs, *(f"{folder}/{name}" for folder in "abc" for name in "xyz"))
    for _ in range(2):
        listings = walk(root_fs, ScanLimits(max_files=4))
        assert found(listings) == {"a/x", "a/y", "a/z", "b/x"}
        assert passed(listings) == {"b/y": SkipReason.MANY}
    assert len(found(walk(root_fs, ScanLimits(max_files=9)))) == 9


def test_fifty_thousand_tiny_files_are_found(root_fs: RootFs) -> None:
    for folder in range(50):
        path = Path(root_fs.path, str(folder))
        path.mkdir()
        for name in range(1000):
            os.close(os.open(f"{path}/{name}.py", os.O_CREAT | os.O_WRONLY))
    write(root_fs, ".gitignore", content="7.py\n/3/\n")
    listings = walk(root_fs)
    assert len(found(listings)) == 49 * 999 + 1
    assert sum(listing.ignored for listing in listings) == 50


def test_a_part_of_the_root_is_walked_under_the_rules_above_it(root_fs: RootFs) -> None:
    write(root_fs, "a/b/c.py", "a/b/c.log", "a/b/no/d.py", "a/out/e.py")
    write(root_fs, ".gitignore", content="*.log\n")
    write(root_fs, "a/.gitignore", content="/b/no/\nout/\n")
    rules = Rules(root_fs)
    assert found(walk(root_fs, folder="a/b", rules=rules)) == {"a/b/c.py"}
    assert found(walk(root_fs, folder="a/out", rules=rules)) == set()
    assert walk(root_fs, folder="a/out/none", rules=rules) == []
    assert walk(root_fs, folder="none", rules=rules) == []


def test_a_further_work_tree_inside_the_root_is_another_checkout(root_fs: RootFs) -> None:
    write(root_fs, "a.py", "vendor/clone/b.py")
    git("init", at=root_fs.path)
    git("add", "a.py", at=root_fs.path)
    git("commit", "-m", "one", at=root_fs.path)
    git("init", at=f"{root_fs.path}/vendor/clone")
    git("worktree", "add", "trees/second", at=root_fs.path)
    listings = walk(root_fs)
    assert found(listings) == {"a.py", "vendor/clone/b.py"}
    assert passed(listings) == {"trees/second": SkipReason.CHECKOUT}
    rules = Rules(root_fs)
    assert rules.ignored("trees/second", is_folder=True)
    assert rules.ignored("trees/second/a.py", is_folder=False)
    assert walk(root_fs, folder="trees/second", rules=rules)[0].files == {}


def test_a_folder_of_work_trees_around_a_bare_repository_shows_them_and_not_the_repository(root_fs: RootFs) -> None:
    write(root_fs, "seed/a.py")
    git("init", at=f"{root_fs.path}/seed")
    git("add", "a.py", at=f"{root_fs.path}/seed")
    git("commit", "-m", "one", at=f"{root_fs.path}/seed")
    git("clone", "--bare", "seed", ".bare", at=root_fs.path)
    shutil.rmtree(f"{root_fs.path}/seed")
    write(root_fs, ".git", content="gitdir: ./.bare\n")
    git("worktree", "add", "-b", "one", "one", at=root_fs.path)
    git("worktree", "add", "-b", "two", "two", at=root_fs.path)
    assert found(walk(root_fs)) == {"one/a.py", "two/a.py"}


def test_a_root_that_is_replaced_during_a_walk_is_noticed(root_fs: RootFs) -> None:
    write(root_fs, "a/b", "c/d")
    walking = scan(root_fs, Rules(root_fs), ScanLimits())
    next(walking)
    Path(root_fs.path).rename(f"{root_fs.path}-old")
    Path(root_fs.path).mkdir()
    with pytest.raises(RootError, match="replaced"):
        list(walking)


def test_a_folder_that_becomes_a_link_during_a_walk_is_not_entered(root_fs: RootFs, tmp_path: Path) -> None:
    write(root_fs, "a/b")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").touch()
    walking = scan(root_fs, Rules(root_fs), ScanLimits())
    next(walking)
    shutil.rmtree(f"{root_fs.path}/a")
    Path(root_fs.path, "a").symlink_to("../outside")
    rest = list(walking)
    assert not found(rest)
    assert passed(rest) == {"a": SkipReason.LINK}
