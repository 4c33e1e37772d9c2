"""Access to files of a root: what is opened, what is refused, and that nothing leads out; with both openers."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmc.base import openat as beneath
from llmc.base.errors import LlmcError, NotFoundError, OutsideError, RootError
from llmc.base.model import Stamp
from llmc.base.root_fs import DirectoryEntry, FileKind, ReadError, ReadRefusal, RootFs, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECRET = b"what lies outside"
LIMIT = 1_000_000


@pytest.fixture(params=[beneath.by_kernel, beneath.by_component], ids=["kernel", "component"])
def opener(request: pytest.FixtureRequest) -> beneath.Opener:
    chosen: beneath.Opener = request.param
    return chosen


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "rootsibling").mkdir()
    (tmp_path / "rootsibling" / "a.txt").write_bytes(SECRET)
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.txt").write_bytes(b"inside\n")
    return root


@pytest.fixture
def root_fs(root: Path, opener: beneath.Opener) -> Iterator[RootFs]:
    with RootFs(str(root), opener=opener) as root_fs:
        yield root_fs


def refusal(read: Callable[[], object]) -> str:
    with pytest.raises(ReadError) as caught:
        read()
    return caught.value.refusal


def test_a_read_gives_the_bytes_and_the_stamp_that_a_stat_gives(root_fs: RootFs, root: Path) -> None:
    data, stamp = root_fs.read("sub/a.txt", LIMIT)
    status = (root / "sub/a.txt").stat()
    assert data == b"inside\n"
    assert stamp == Stamp(7, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    seen = root_fs.stat("sub/a.txt")
    assert seen is not None
    assert (seen.kind, seen.stamp) == (FileKind.FILE, stamp)


def test_the_head_of_a_file_is_as_long_as_asked_and_no_longer_than_the_file(root_fs: RootFs) -> None:
    assert root_fs.head("sub/a.txt", 3) == b"ins"
    assert root_fs.head("sub/a.txt", 300) == b"inside\n"


def test_a_folder_lists_every_entry_with_its_kind(root_fs: RootFs, root: Path) -> None:
    (root / "link").symlink_to("sub")
    os.mkfifo(root / "pipe")
    (root / "file").touch()
    entries = [
        DirectoryEntry("file", FileKind.FILE),
        DirectoryEntry("link", FileKind.LINK),
        DirectoryEntry("pipe", FileKind.OTHER),
        DirectoryEntry("sub", FileKind.FOLDER),
    ]
    assert root_fs.list("") == entries
    assert [entry.name for entry in root_fs.list("sub")] == ["a.txt"]


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret", "sub/../../secret", "..", "sub/.."])
def test_a_path_that_leads_out_is_refused_before_it_is_opened(root_fs: RootFs, path: str) -> None:
    for ask in (lambda: root_fs.read(path, LIMIT), lambda: root_fs.stat(path), lambda: root_fs.list(path)):
        with pytest.raises(OutsideError):
            ask()


@pytest.mark.parametrize("path", ["a\0b", "sub//a.txt", "./sub", "sub/", "x" * 5000, "\ud83d", "sub/a.txt/x", "none"])
def test_a_name_that_no_file_has_is_not_found(root_fs: RootFs, path: str) -> None:
    with pytest.raises(NotFoundError):
        root_fs.read(path, LIMIT)
    assert root_fs.stat(path) is None


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "sub/../../secret", "/proc/self/root/etc/passwd"])
def test_no_link_leads_out_even_when_it_is_to_be_followed(root_fs: RootFs, root: Path, target: str) -> None:
    (root / "link").symlink_to(target)
    (root / "way").symlink_to("..")
    assert refusal(lambda: root_fs.read("link", LIMIT)) is ReadRefusal.LINK
    for path in ("link", "way/secret", "way/rootsibling/a.txt"):
        with pytest.raises(OutsideError):
            root_fs.read(path, LIMIT, follow=True)
    assert refusal(lambda: root_fs.list("way")) is ReadRefusal.LINK


def test_a_link_that_stays_inside_is_served_only_on_request(root_fs: RootFs, root: Path) -> None:
    (root / "sub" / "b").symlink_to("../sub/./a.txt")
    (root / "again").symlink_to("sub")
    assert refusal(lambda: root_fs.read("sub/b", LIMIT)) is ReadRefusal.LINK
    assert refusal(lambda: root_fs.read("again/a.txt", LIMIT)) is ReadRefusal.LINK
    assert root_fs.read("sub/b", LIMIT, follow=True)[0] == b"inside\n"
    assert root_fs.read("again/b", LIMIT, follow=True)[0] == b"inside\n"
    assert root_fs.stat("again/a.txt") is None
    seen = root_fs.stat("again")
    assert seen is not None
    assert seen.kind is FileKind.LINK


def test_links_in_a_circle_are_refused(root_fs: RootFs, root: Path) -> None:
    (root / "here").symlink_to("there")
    (root / "there").symlink_to("here")
    (root / "sub" / "up").symlink_to("../sub")
    assert refusal(lambda: root_fs.read("here", LIMIT, follow=True)) is ReadRefusal.LINK
    assert refusal(lambda: root_fs.read("sub" + "/up" * 60 + "/a.txt", LIMIT, follow=True)) is ReadRefusal.LINK
    assert root_fs.read("sub" + "/up" * 30 + "/a.txt", LIMIT, follow=True)[0] == b"inside\n"


def test_fifo_socket_device_and_folder_are_refused_at_once(root_fs: RootFs, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
        assert refusal(lambda: root_fs.read("pipe", LIMIT)) is ReadRefusal.SPECIAL
        assert refusal(lambda: root_fs.read("socket", LIMIT)) is ReadRefusal.SPECIAL
    assert refusal(lambda: root_fs.read("sub", LIMIT)) is ReadRefusal.FOLDER
    with RootFs("/dev") as devices:
        assert refusal(lambda: devices.read("zero", LIMIT)) is ReadRefusal.SPECIAL


def test_a_file_over_the_limit_is_refused_by_its_size_and_not_read(root_fs: RootFs, root: Path) -> None:
    with (root / "sparse").open("wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(ReadError, match="5,368,709,120 bytes") as caught:
        root_fs.read("sparse", LIMIT)
    assert caught.value.refusal is ReadRefusal.TOO_LARGE
    assert root_fs.head("sparse", 10) == bytes(10)


def test_a_file_without_permission_is_refused_and_says_so(root: Path) -> None:
    # Permission bits do not apply to a test that runs as root, so a stand-in returns the kernel's error.
    def deny(at: int, path: bytes, flags: int, *, follow: bool = False) -> int:
        if path.endswith(b"a.txt"):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return beneath.pick()(at, path, flags, follow=follow)

    with RootFs(str(root), opener=deny) as root_fs:
        with pytest.raises(ReadError, match=r"cannot read sub/a.txt: permission denied") as caught:
            root_fs.read("sub/a.txt", LIMIT)
        assert caught.value.refusal is ReadRefusal.DENIED
        assert root_fs.stat("sub/a.txt") is not None


@pytest.mark.parametrize(
    "name", [b"new\nline", b"quote'\"", "emoji\U0001f600".encode(), b"\xff\xfe", b" ", b"-rf", b"a\\b"]
)
def test_odd_names_are_listed_and_read(root_fs: RootFs, root: Path, name: bytes) -> None:
    path = os.fsencode(root) + b"/" + name
    with open(path, "wb") as file:  # noqa: PTH123 - a Path cannot be made of bytes
        file.write(b"odd")
    listed = [entry.name for entry in root_fs.list("") if entry.kind is FileKind.FILE]
    assert listed == [os.fsdecode(name)]
    assert root_fs.read(listed[0], LIMIT)[0] == b"odd"


def test_a_path_of_two_hundred_levels_is_read(root_fs: RootFs, root: Path) -> None:
    deep = "/".join(["d"] * 200)
    (root / deep).mkdir(parents=True)
    (root / deep / "f").write_bytes(b"deep")
    assert root_fs.read(f"{deep}/f", LIMIT)[0] == b"deep"


def test_a_file_that_grows_while_it_is_read_is_never_given_torn(root_fs: RootFs, root: Path) -> None:
    path = root / "log"
    path.write_bytes(b"")
    stop = threading.Event()

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"one whole line\n" * 64)
                if file.tell() > LIMIT // 2:
                    file.truncate(0)

    outcomes: set[object] = set()
    with running(write, stop):
        for _ in range(2000):
            try:
                data, stamp = root_fs.read("log", LIMIT)
                outcomes.add(len(data) == stamp.size)
            except ReadError as error:
                outcomes.add(error.refusal)
    assert True in outcomes
    assert outcomes <= {True, ReadRefusal.UNSTABLE}


class running:  # noqa: N801 - reads as a word in a with statement
    def __init__(self, work: Callable[[], None], stop: threading.Event) -> None:
        self.thread, self.stop = threading.Thread(target=work), stop

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join()


ATTEMPTS = 4_000


def swap(one: Path, other: Path, stop: threading.Event) -> None:
    spare = one.with_name("spare")
    while not stop.is_set():
        one.rename(spare)
        other.rename(one)
        spare.rename(other)


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("swapped", ["file", "folder", "relative link"])
def test_a_path_that_is_swapped_while_it_is_read_leaks_nothing(
    root_fs: RootFs, root: Path, swapped: str, *, follow: bool
) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_bytes(SECRET)
    one = root / "sub" if swapped != "file" else root / "sub" / "a.txt"
    target = {"file": f"{outside}/a.txt", "folder": str(outside), "relative link": "../outside"}[swapped]
    (root / "evil").symlink_to(target)
    stop = threading.Event()
    outcomes: dict[str, int] = {}
    with running(lambda: swap(one, root / "evil", stop), stop):
        for attempt in range(200_000):
            try:
                outcome = root_fs.read("sub/a.txt", LIMIT, follow=follow)[0].decode()
            except LlmcError as error:
                outcome = type(error).__name__
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if attempt >= ATTEMPTS and "inside\n" in outcomes and len(outcomes) > 1:
                break  # both threads ran
    assert SECRET.decode() not in outcomes
    assert outcomes["inside\n"] > 0
    assert len(outcomes) > 1


def test_a_root_that_is_deleted_and_made_again_is_noticed(root_fs: RootFs, root: Path) -> None:
    (root / "sub" / "a.txt").unlink()
    (root / "sub").rmdir()
    root.rmdir()
    with pytest.raises(RootError, match="No such file"):
        root_fs.read("sub/a.txt", LIMIT)
    root.mkdir()
    (root / "new").write_bytes(b"new")
    assert root_fs.read("new", LIMIT)[0] == b"new"
    assert root_fs.generation == 1


def test_a_root_that_is_moved_away_is_not_read_at_its_new_place(root_fs: RootFs, root: Path) -> None:
    root.rename(root.parent / "moved")
    with pytest.raises(RootError):
        root_fs.read("sub/a.txt", LIMIT)
    root.symlink_to(root.parent / "rootsibling")
    with pytest.raises(RootError):
        root_fs.read("a.txt", LIMIT)


def test_readers_in_threads_survive_a_root_that_comes_and_goes(root_fs: RootFs, root: Path) -> None:
    stop = threading.Event()
    outcomes: set[str] = set()

    def read() -> None:
        while not stop.is_set():
            try:
                outcomes.add(root_fs.read("sub/a.txt", LIMIT)[0].decode())
            except LlmcError as error:
                outcomes.add(type(error).__name__)

    with running(read, stop), running(read, stop):
        for turn in range(60):
            root.rename(root.parent / f"old{turn}")
            (root / "sub").mkdir(parents=True)
            (root / "sub" / "a.txt").write_bytes(b"new\n")
    assert outcomes <= {"inside\n", "new\n", "", "RootError", "NotFoundError", "ReadError"}
    assert root_fs.read("sub/a.txt", LIMIT)[0] == b"new\n"
    assert 0 < root_fs.generation <= 61


PART = st.sampled_from(["a", "b", "c", "..", "."])
PATH = st.lists(PART, min_size=1, max_size=4).map("/".join)
PLAIN = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


@settings(deadline=None, max_examples=200)
@given(
    files=st.lists(PLAIN, max_size=4),
    links=st.lists(st.tuples(PLAIN, PATH | PATH.map("/{}".format) | PATH.map("{}/".format)), max_size=5),
    asked=st.lists(PLAIN, min_size=1, max_size=5),
)
def test_both_openers_say_the_same_of_every_path(
    files: list[str], links: list[tuple[str, str]], asked: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place).resolve() / "a" / "b"
        root.mkdir(parents=True)
        Path(place, "c").write_bytes(SECRET)
        for path, target in [*((path, "") for path in files), *links]:
            put(root, path, target)
        answers = []
        for opener in (beneath.by_kernel, beneath.by_component):
            with RootFs(str(root), opener=opener) as root_fs:
                answers.append([answer(root_fs, path, follow=follow) for path in asked for follow in (False, True)])
        assert answers[0] == answers[1]
        assert SECRET not in answers[0]


def put(root: Path, path: str, target: str) -> None:
    """Creates a link, or without a target a file, unless something is in the way or a link leads elsewhere."""
    at = root / path
    if os.path.realpath(at.parent) != str(at.parent):
        return
    with contextlib.suppress(OSError):
        at.parent.mkdir(parents=True, exist_ok=True)
        at.symlink_to(target) if target else at.write_text(path, encoding="utf-8")


def answer(root_fs: RootFs, path: str, *, follow: bool) -> object:
    try:
        return root_fs.read(path, LIMIT, follow=follow)[0]
    except ReadError as error:
        return error.refusal
    except LlmcError as error:
        return type(error)


def test_a_closed_root_fs_says_so_and_leaks_no_descriptor(root: Path, opener: beneath.Opener) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(50):
        root_fs = RootFs(str(root), opener=opener)
        root_fs.read("sub/a.txt", LIMIT)
        (root / "link").unlink(missing_ok=True)
        (root / "link").symlink_to("sub/../../secret")
        for path in ("link", "none/x", "sub"):
            with pytest.raises(LlmcError):
                root_fs.read(path, LIMIT, follow=True)
        root_fs.close()
        with pytest.raises(RootError, match="closed"):
            root_fs.read("sub/a.txt", LIMIT)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_typed_path_becomes_the_path_in_the_root(root_fs: RootFs, root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    (root.parent / "deep").symlink_to(root / "sub")
    (root / "out").symlink_to("../secret")
    cwd = str(root / "sub")
    assert root_fs.relative("a.txt", cwd) == "sub/a.txt"
    assert root_fs.relative("../sub/a.txt", cwd) == "sub/a.txt"
    assert root_fs.relative(str(root), cwd) == ""
    assert root_fs.relative("..", cwd) == ""
    assert root_fs.relative("alias/sub/new file", str(root.parent)) == "sub/new file"
    assert root_fs.relative("a.txt", str(root.parent / "deep")) == "sub/a.txt"
    assert root_fs.relative("out", str(root)) == "out"


def test_a_typed_path_outside_looks_the_same_whether_it_exists_or_not(root_fs: RootFs, root: Path) -> None:
    cases = [
        "../secret",
        "../nothing",
        "../rootsibling/a.txt",
        "/etc/passwd",
        "/etc/nothing",
        "a\0b/../../..",
        "\ud83d",
    ]
    texts = set()
    for typed in cases[:-1]:
        with pytest.raises(OutsideError) as caught:
            root_fs.relative(typed, str(root))
        texts.add(str(caught.value))
        assert not caught.value.context
    assert len(texts) == 1


def test_a_stamp_is_settled_only_when_a_later_write_must_change_it() -> None:
    import time

    now = time.time_ns()
    assert not settled(Stamp(1, now, now, 1))
    assert not settled(Stamp(1, 0, now + 10**9, 1))
    assert settled(Stamp(1, now, now - 10**9, 1))
