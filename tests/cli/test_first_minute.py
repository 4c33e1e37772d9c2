"""While a root is being indexed for the first time, queries find what exists, and nothing is reported missing."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from typing import TYPE_CHECKING

import psutil
import pytest
from daemons import CommandLine, Place, private_place, until

from llmc.base.errors import NOT_KNOWN_YET
from llmc.retrieval.grep.ripgrep import program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = 400


def write_tree(folder: Path) -> Path:
    """More files than are indexed inside the daemon, so that a worker process builds the index."""
    for number in range(FILES):
        path = folder / f"pkg{number % 7}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"class Box{number}:\n    def open_box(self):\n        return unpack_{number % 5}({number})\n")
    (folder / "pkg3" / "hashers.py").write_text("def make_password(raw):\n    return hash_once(raw) + 'pepper'\n")
    (folder / "pkg4" / "blob.bin").write_bytes(b"make_password\n" + bytes(70_000) + b"\nmake_password\n")
    (folder / "pkg5" / "users.py").write_text("from pkg3.hashers import make_password\n\nmake_password('x')\n")
    (folder / ".gitignore").write_text("ignored/\n")
    (folder / "ignored").mkdir()
    (folder / "ignored" / "hashers.py").write_text("make_password = None\n")
    return folder


def worker_of(place: Place) -> psutil.Process | None:
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(place.pid).children():
            if "llmc.indexer.worker" in child.cmdline():
                return child
    return None


class Building(CommandLine):
    """A client in a project whose indexing process is stopped before its first commit."""

    worker: psutil.Process

    def resume(self) -> None:
        for process in [self.worker, *self.worker.children(recursive=True)]:
            process.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def building(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Building]:
    with private_place() as place:
        client = Building(place, write_tree(tmp_path_factory.mktemp("tree")))
        assert client("status").returncode == 0
        place.llmc("index", "--detach", cwd=client.folder)
        until(lambda: worker_of(place))
        client.worker = worker_of(place) or pytest.fail("the indexing process ended early")
        client.worker.send_signal(signal.SIGSTOP)
        yield client
        client.resume()


def test_grep_finds_what_ripgrep_finds_before_anything_is_indexed(building: Building) -> None:
    for pattern in ("make_password", r"unpack_[34]\(\d+\)", "class Box1"):
        expected = subprocess.run(
            [program() or "rg", "--no-heading", "-n", "-g", "!.git", "--hidden", pattern],
            cwd=building.folder,
            text=True,
            capture_output=True,
            check=True,
        )
        lines = {line for line in expected.stdout.splitlines() if "binary file matches" not in line}
        assert set(building.text("grep", "--all", pattern).splitlines()) == lines
    first_line = building.text("grep", "make_password").splitlines()[0]
    assert "indexing, 0% done, the rest scanned" in first_line


def test_grep_that_finds_nothing_has_looked_everywhere(building: Building) -> None:
    nothing = building("grep", "no_such_word_anywhere")
    assert nothing.returncode == 1
    assert nothing.stdout.startswith("no matches")
    assert "the rest scanned" in nothing.stdout


def test_find_names_files_that_are_not_indexed_yet(building: Building) -> None:
    assert "pkg3/hashers.py" in building.text("find", "hashers.py").splitlines()
    assert building("find", "no_such_file.py").returncode == 1


def test_read_finds_a_definition_that_is_not_indexed_yet(building: Building) -> None:
    assert "hash_once(raw)" in building.text("read", "make_password")
    assert "unpack_2(17)" in building.text("read", "Box17.open_box")
    assert "class Box23" in building.text("read", "pkg2/module23.py::Box23")
    missing = building("read", "no_such_function")
    assert missing.returncode == 1
    assert "no_such_function" in missing.stderr


def test_search_for_a_name_finds_its_definition_and_its_uses(building: Building) -> None:
    reply = building.text("search", "make_password")
    assert re.search(r"^1 definition, 3 lines in 2 files · indexing, 0% done", reply)
    assert "pkg3/hashers.py" in reply
    assert "pkg5/users.py" in reply


def test_search_reports_progress_and_finds_words_by_scanning(building: Building) -> None:
    reply = building.text("search", "where does the pepper come from")
    assert "indexing, 0% done" in reply.splitlines()[0]
    assert "pkg3/hashers.py" in reply


def test_search_that_finds_nothing_says_that_it_does_not_know_yet(building: Building) -> None:
    nothing = building("search", "quaternion slerp interpolation")
    assert nothing.returncode == NOT_KNOWN_YET
    assert nothing.stdout.startswith("nothing found so far · indexing, 0% done")


def test_a_name_that_the_index_does_not_know_yet_is_not_called_missing(building: Building) -> None:
    unknown = building("calls", "no_such_function")
    assert unknown.returncode == NOT_KNOWN_YET
    assert "still being built" in unknown.stderr


def test_outline_of_a_file_that_is_not_indexed_yet_is_parsed_on_the_spot(building: Building) -> None:
    assert "make_password" in building.text("outline", "pkg3/hashers.py")


def test_the_build_completes_and_the_answers_stay_the_same(tmp_path: Path) -> None:
    with private_place() as place:
        client = CommandLine(place, write_tree(tmp_path / "tree"))
        before = client.text("grep", "--all", "make_password")
        client("index", "--once")
        assert client.text("grep", "--all", "make_password") == before
        assert client("search", "quaternion slerp interpolation").returncode in {0, 1}
        assert client("calls", "no_such_function").returncode == 1
