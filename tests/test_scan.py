"""The walk: what it finds, what it passes over and names, and what it does not trip over."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llmc import beneath
from llmc.door import Door
from llmc.errors import RootError
from llmc.indexer.ignore import Rules
from llmc.indexer.scan import Limits, Listing, Passed, Tally, Why, look, scan
from llmc.model import Stamp

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    root = tmp_path / "root"
    root.mkdir()
    with Door(str(root)) as door:
        yield door


def write(door: Door, *names: str, content: str = "x") -> None:
    for name in names:
        path = Path(door.path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def walk(door: Door, limits: Limits | None = None, folder: str = "", rules: Rules | None = None) -> list[Listing]:
    return list(scan(door, rules or Rules(door), limits or Limits(), folder))


def found(listings: list[Listing]) -> set[str]:
    return {path for listing in listings for path in listing.files}


def passed(listings: list[Listing]) -> dict[str, Why]:
    return {each.path: each.why for listing in listings for each in listing.passed}


def git(*words: str, at: str) -> None:
    alone = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": os.environ["PATH"]}
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *who, *words], cwd=at, check=True, capture_output=True, env=alone)


def test_every_folder_is_listed_once_with_its_files_and_their_stamps(door: Door) -> None:
    write(door, "a", "sub/b", "sub/deep/c", ".hidden/d")
    listings = walk(door)
    assert [listing.folder for listing in listings] == ["", ".hidden", "sub", "sub/deep"]
    status = Path(door.path, "sub/b").stat()
    stamp = Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    assert listings[2].files == {"sub/b": stamp}


def test_what_is_no_file_or_too_large_is_passed_over_and_named(door: Door) -> None:
    write(door, "a", "big", content="x" * 11)
    with Path(door.path, "sparse").open("wb") as file:
        file.truncate(3 << 30)
    os.mkfifo(f"{door.path}/pipe")
    Path(door.path, "link").symlink_to("a")
    Path(door.path, "way out").symlink_to("..")
    Path(door.path, "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{door.path}/socket")
        listings = walk(door, Limits(max_file_bytes=10))
    large = {"a": Why.LARGE, "big": Why.LARGE, "sparse": Why.LARGE}
    links = {"link": Why.LINK, "way out": Why.LINK, "loop": Why.LINK}
    assert passed(listings) == large | links | {"pipe": Why.SPECIAL, "socket": Why.SPECIAL}
    assert not found(listings)
    tally = Tally()
    for listing in listings:
        tally.add(listing, names=2)
    assert (tally.folders, tally.files, tally.passed[Why.LINK], len(tally.examples[Why.LINK])) == (1, 0, 3, 2)


def test_odd_names_are_found_as_the_disk_has_them(door: Door) -> None:
    names = {"new\nline", "quote'\"", "😀", os.fsdecode(b"\xff\xfe"), " ", "-rf", "a\\b", "tab\t", "\x1b[31m"}
    write(door, *names, *(f"{name}/{name}" for name in ["d\n", os.fsdecode(b"\xe9")]))
    assert found(walk(door)) == names | {"d\n/d\n", os.fsdecode(b"\xe9/\xe9")}


def test_two_hundred_levels_are_walked_and_more_than_the_limit_are_not(door: Door) -> None:
    deep = "/".join(["d"] * 200)
    write(door, f"{deep}/f")
    assert found(walk(door)) == {f"{deep}/f"}
    assert passed(walk(door, Limits(max_depth=3))) == {"d/d/d/d": Why.DEEP}


def test_paths_longer_than_the_kernel_takes_are_passed_over(door: Door) -> None:
    name = "n" * 250
    fd = os.open(door.path, os.O_RDONLY)
    for _ in range(17):
        os.mkdir(name, dir_fd=fd)
        fd, above = os.open(name, os.O_RDONLY, dir_fd=fd), fd
        os.close(above)
    os.close(fd)
    assert list(passed(walk(door)).values()) == [Why.LONG]
    shutil.rmtree(door.path)


def test_a_folder_that_cannot_be_read_is_named_and_the_rest_goes_on(door: Door) -> None:
    # Permission bits do not bind a test that runs as root, so the kernel's answer is given by a stand-in.
    def deny(at: int, path: bytes, flags: int, *, follow: bool = False) -> int:
        if path == b"closed":
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return beneath.pick()(at, path, flags, follow=follow)

    write(door, "closed/a", "open/b")
    with Door(door.path, opener=deny) as denied:
        listings = walk(denied)
    assert found(listings) == {"open/b"}
    assert passed(listings) == {"closed": Why.UNREADABLE}


def test_more_files_than_allowed_end_the_walk_at_the_same_place_every_time(door: Door) -> None:
    write(door, *(f"{folder}/{name}" for folder in "abc" for name in "xyz"))
    for _ in range(2):
        listings = walk(door, Limits(max_files=4))
        assert found(listings) == {"a/x", "a/y", "a/z", "b/x"}
        assert passed(listings) == {"b/y": Why.MANY}
    assert len(found(walk(door, Limits(max_files=9)))) == 9


def test_fifty_thousand_tiny_files_are_found(door: Door) -> None:
    for folder in range(50):
        path = Path(door.path, str(folder))
        path.mkdir()
        for name in range(1000):
            os.close(os.open(f"{path}/{name}.py", os.O_CREAT | os.O_WRONLY))
    write(door, ".gitignore", content="7.py\n/3/\n")
    listings = walk(door)
    assert len(found(listings)) == 49 * 999 + 1
    assert sum(listing.ignored for listing in listings) == 50


def test_a_part_of_the_root_is_walked_under_the_rules_above_it(door: Door) -> None:
    write(door, "a/b/c.py", "a/b/c.log", "a/b/no/d.py", "a/out/e.py")
    write(door, ".gitignore", content="*.log\n")
    write(door, "a/.gitignore", content="/b/no/\nout/\n")
    rules = Rules(door)
    assert found(walk(door, folder="a/b", rules=rules)) == {"a/b/c.py"}
    assert found(walk(door, folder="a/out", rules=rules)) == set()
    assert walk(door, folder="a/out/none", rules=rules) == []
    assert walk(door, folder="none", rules=rules) == []


def test_a_look_at_one_path_says_what_a_walk_says(door: Door) -> None:
    write(door, "a.py", "big.py", "no.log", "sub/deep/c.py")
    write(door, "big.py", content="x" * 100)
    write(door, ".gitignore", content="*.log\n")
    Path(door.path, "link").symlink_to("a.py")
    rules, limits = Rules(door), Limits(max_file_bytes=10, max_depth=1)
    seen = {path: look(door, rules, limits, path) for path in ("a.py", "big.py", "no.log", "sub", "link", "none")}
    listing = walk(door, limits)[0]
    assert seen["a.py"] == listing.files["a.py"]
    assert seen["big.py"] == next(each for each in listing.passed if each.path == "big.py")
    assert seen["no.log"] == Passed("no.log", Why.IGNORED)
    assert seen["sub"] == Passed("sub", Why.FOLDER)
    assert seen["link"] == Passed("link", Why.LINK)
    assert seen["none"] is None
    deep = look(door, rules, limits, "sub/deep/c.py")
    assert isinstance(deep, Passed)
    assert deep.why is Why.DEEP


def test_a_further_work_tree_inside_the_root_is_another_checkout(door: Door) -> None:
    write(door, "a.py", "vendor/clone/b.py")
    git("init", at=door.path)
    git("add", "a.py", at=door.path)
    git("commit", "-m", "one", at=door.path)
    git("init", at=f"{door.path}/vendor/clone")
    git("worktree", "add", "trees/second", at=door.path)
    listings = walk(door)
    assert found(listings) == {"a.py", "vendor/clone/b.py"}
    assert passed(listings) == {"trees/second": Why.CHECKOUT}
    rules = Rules(door)
    assert rules.ignored("trees/second", is_folder=True)
    assert rules.ignored("trees/second/a.py", is_folder=False)
    assert walk(door, folder="trees/second", rules=rules)[0].files == {}


def test_a_folder_of_work_trees_around_a_bare_repository_shows_them_and_not_the_repository(door: Door) -> None:
    write(door, "seed/a.py")
    git("init", at=f"{door.path}/seed")
    git("add", "a.py", at=f"{door.path}/seed")
    git("commit", "-m", "one", at=f"{door.path}/seed")
    git("clone", "--bare", "seed", ".bare", at=door.path)
    shutil.rmtree(f"{door.path}/seed")
    write(door, ".git", content="gitdir: ./.bare\n")
    git("worktree", "add", "-b", "one", "one", at=door.path)
    git("worktree", "add", "-b", "two", "two", at=door.path)
    assert found(walk(door)) == {"one/a.py", "two/a.py"}


def test_a_root_that_is_replaced_during_a_walk_is_noticed(door: Door) -> None:
    write(door, "a/b", "c/d")
    walking = scan(door, Rules(door), Limits())
    next(walking)
    Path(door.path).rename(f"{door.path}-old")
    Path(door.path).mkdir()
    with pytest.raises(RootError, match="replaced"):
        list(walking)


def test_a_folder_that_becomes_a_link_during_a_walk_is_not_entered(door: Door, tmp_path: Path) -> None:
    write(door, "a/b")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").touch()
    walking = scan(door, Rules(door), Limits())
    next(walking)
    shutil.rmtree(f"{door.path}/a")
    Path(door.path, "a").symlink_to("../outside")
    rest = list(walking)
    assert not found(rest)
    assert passed(rest) == {"a": Why.LINK}
