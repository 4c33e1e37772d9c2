"""The index equals the disk after any operations, at once or eventually, whichever process was killed in between."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from daemons import Place, private_place, until
from tool_calls import answer

from llmc.envelope.handles import Handles
from llmc.settings import EmbedderSettings, Index, Settings
from llmc.state.connected_sessions import ConnectedSession
from llmc.store.integrity.native_errors import translated
from llmc.store.keywords.tantivy_index import TantivyIndex
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.base.errors import LlmcError

PLAIN = Settings(embedder=EmbedderSettings(kind="hash"))
NAMES = [
    f"{name}{ending}" for name in ("alpha", "beta", "gamma", "a b", "naïve", "new\nline") for ending in (".py", ".md")
]
FOLDERS = ["", "src", "src/deep", "docs", "src/deep/er"]


class World:
    """Random operations on a tree; the disk itself is the oracle."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.count = 0

    def step(self) -> None:
        operation = self.random.choice(
            [self.write, self.write, self.append, self.save, self.rename, self.delete, self.move]
        )
        operation()

    def some_file(self) -> Path | None:
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return self.random.choice(files) if files else None

    def place(self) -> Path:
        folder = self.folder / self.random.choice(FOLDERS)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / self.random.choice(NAMES)

    def text(self) -> str:
        self.count += 1
        return f"def marker{self.random.randrange(6)}x():\n    return {self.count}\n"

    def write(self) -> None:
        self.place().write_text(self.text())

    def append(self) -> None:
        if path := self.some_file():
            with path.open("a") as file:
                file.write(self.text())

    def save(self) -> None:
        """As editors do: a new file replaces the old one."""
        if path := self.some_file():
            beside = path.with_name(".tmp~")
            beside.write_text(self.text())
            beside.replace(path)

    def rename(self) -> None:
        if path := self.some_file():
            path.rename(self.place())

    def delete(self) -> None:
        if path := self.some_file():
            path.unlink()

    def move(self) -> None:
        folders = sorted(path for path in self.folder.rglob("*") if path.is_dir())
        if folders:
            target = self.folder / f"moved{self.random.randrange(3)}"
            if not target.exists():
                self.random.choice(folders).rename(target)

    def matches(self, word: str) -> set[tuple[str, int]]:
        return {
            (path.relative_to(self.folder).as_posix(), number)
            for path in self.folder.rglob("*")
            if path.is_file()
            for number, line in enumerate(path.read_text().split("\n"), 1)
            if word in line
        }


@pytest.mark.parametrize("seed", range(4))
def test_a_query_sees_every_operation_that_ended_before_it(watched: Workspace, seed: int) -> None:
    world = World(os_path(watched), seed)
    for _ in range(60):
        for _ in range(world.random.randrange(1, 6)):
            world.step()
        word = f"marker{world.random.randrange(6)}x"
        result = watched.grep(word)
        found = [(file.path, line.number) for file in result.files for line in file.lines]
        assert sorted(found) == sorted(world.matches(word))
    watched.index()
    assert watched.verify() == []


def os_path(workspace: Workspace) -> Path:
    return Path(workspace.root_indexes[0].root.path)


def test_a_change_of_the_ignore_rules_is_followed(watched: Workspace) -> None:
    folder = os_path(watched)
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    (folder / "build").mkdir()
    for name in ("seen.txt", "hidden.log", "build/made.txt"):
        (folder / name).write_text("zeppelin\n")
    assert [file.path for file in watched.grep("zeppelin").files] == ["seen.txt"]
    (folder / "hidden.log").write_text("zeppelin again\n")
    assert [file.path for file in watched.grep("zeppelin").files] == ["seen.txt"]
    (folder / ".gitignore").write_text("seen.txt\n")
    until(lambda: {file.path for file in watched.grep("zeppelin").files} == {"build/made.txt", "hidden.log"})
    (folder / "build" / "made.txt").write_text("dirigible\n")
    assert [file.path for file in watched.grep("dirigible").files] == ["build/made.txt"]
    watched.index()
    assert watched.verify() == []


def test_search_sees_a_save_that_ended_before_it(watched: Workspace) -> None:
    folder = os_path(watched)
    for number in range(8):
        (folder / "parcel.py").write_text(f"def deliver_zeppelin{number}():\n    return {number}\n")
        files = watched.search(f"deliver_zeppelin{number}").files
        assert [file.path for file in files] == ["parcel.py"]
    (folder / "parcel.py").unlink()
    assert watched.search("deliver_zeppelin7").files == ()


def test_a_save_is_seen_while_the_writer_thread_is_busy(tmp_path: Path) -> None:
    """This workspace only learns of changes by a walk, and the thread that walks is busy."""
    (tmp_path / "tree").mkdir()
    done = threading.Event()
    with Workspace.open(str(tmp_path / "tree"), home=str(tmp_path / "home"), settings=PLAIN) as workspace:
        workspace.index()
        workspace.writer_threads[0].do(done.wait)
        try:
            (tmp_path / "tree" / "parcel.py").write_text("def deliver_zeppelin():\n    return 1\n")
            assert workspace.grep("deliver_zeppelin").matches == 1
            assert [file.path for file in workspace.search("deliver_zeppelin").files] == ["parcel.py"]
            assert [file.path for file in workspace.find("parcel").files] == ["parcel.py"]
        finally:
            done.set()


def test_a_save_is_seen_although_the_watcher_is_behind(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    hurried = PLAIN.model_copy(update={"index": Index(barrier_ms=0, debounce_ms=60_000, settle_ms=600_000)})
    with Workspace.open(str(tmp_path / "tree"), home=str(tmp_path / "home"), settings=hurried, watch=True) as workspace:
        workspace.index()
        for number in range(20):
            (tmp_path / "tree" / f"parcel{number}.py").write_text(f"def deliver{number}_zeppelin():\n    return 1\n")
            assert workspace.grep(f"deliver{number}_zeppelin").matches == 1


def test_a_full_disk_is_reported_in_replies_and_in_one_line(watched: Workspace, tmp_path: Path) -> None:
    folder, handles = os_path(watched), Handles(str(tmp_path / "handles"))
    with pytest.MonkeyPatch.context() as full:
        full.setattr(TantivyIndex, "commit", fail_with(no_space(folder)))
        (folder / "parcel.py").write_text("def deliver_zeppelin():\n    return 1\n")
        until(lambda: watched.trouble)
        reply = answer(watched, handles, "grep", {"pattern": "deliver_zeppelin"})
        assert "parcel.py" in reply.text
        assert "the index is not up to date, no space left while writing" in reply.text.splitlines()[0]
        assert "indexing," not in reply.text
        assert "\\n" not in watched.trouble
        assert "\n" not in watched.trouble
        session = ConnectedSession("one")
        asked = [answer(watched, handles, "search", {"query": "zeppelin"}, session=session) for _ in range(2)]
        assert ["not up to date" in one.text for one in asked] == [True, False]
    until(lambda: watched.grep("deliver_zeppelin").matches == 1 and not watched.trouble)


def no_space(folder: Path) -> LlmcError:
    return translated(OSError(errno.ENOSPC, "No space left on device"), folder, "writing")


def fail_with(error: Exception) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_root_that_is_deleted_and_made_again_is_indexed_again(watched: Workspace) -> None:
    folder = os_path(watched)
    (folder / "old.py").write_text("zeppelin = 1\n")
    assert watched.grep("zeppelin").matches == 1
    shutil.rmtree(folder)
    until(lambda: str(watched.root_indexes[0].health()).find("gone") >= 0)
    assert watched.grep("zeppelin").matches == 0
    folder.mkdir()
    (folder / "new.py").write_text("dirigible = 1\n")
    until(lambda: watched.grep("dirigible").matches == 1)
    until(lambda: watched.verify() == [])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in range(60):
        (folder / f"module{number}.py").write_text(f"def old{number}():\n    return {number}\n")
    commit(folder)
    git(folder, "checkout", "-q", "-b", "far")
    for number in range(0, 60, 2):
        (folder / f"module{number}.py").unlink()
        (folder / f"pkg{number}").mkdir()
        (folder / f"pkg{number}" / "far.py").write_text(f"def far{number}():\n    return {number}\n")
    commit(folder)
    git(folder, "checkout", "-q", "main")
    return folder


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "step")


def test_a_branch_switch_is_seen_and_costs_no_second_parse_of_what_comes_back(repository: Path, tmp_path: Path) -> None:
    with Workspace.open(str(repository), home=str(tmp_path / "home"), settings=PLAIN, watch=True) as workspace:
        workspace.index()
        for branch, mine, other in (("far", "far4", "old4"), ("main", "old4", "far4")) * 2:
            git(repository, "checkout", "-q", branch)
            assert workspace.grep(rf"{mine}\b").matches == 1
            assert workspace.grep(rf"{other}\b").matches == 0
        workspace.index()
        assert workspace.verify() == []
        assert workspace.writer_threads[0].store.catalog.counts().dead == 30


def test_a_second_work_tree_shares_the_documents_and_never_the_answers(repository: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    git(repository, "worktree", "add", "-q", str(second), "far")
    home = str(tmp_path / "home")
    with Workspace.open(str(repository), str(second), home=home, settings=PLAIN) as both:
        both.index()
        assert len(both.writer_threads) == 1
        documents = both.writer_threads[0].store.counts().documents
    assert documents == 60 + 30
    with Workspace.open(str(second), home=home, settings=PLAIN) as far:
        assert far.grep(r"old4\b").matches == 0
        assert far.search("far4").files[0].path == "pkg4/far.py"
        assert far.find("[m]odule4.py").files == ()
    with Workspace.open(str(repository), home=home, settings=PLAIN) as main:
        assert main.grep(r"far4\b").matches == 0
        assert main.search("old4").files[0].path == "module4.py"


def test_another_model_embeds_existing_documents(repository: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    with Workspace.open(str(repository), home=home, settings=PLAIN) as before:
        before.index()
        assert before.writer_threads[0].store.embedding.name.startswith("hash")
    with Workspace.open(str(repository), home=home, settings=Settings()) as after:
        after.index()
        store = after.writer_threads[0].store
        store.refresh()
        assert store.embedding.name.startswith("llmc-code")
        assert store.without_vectors() == set()
        assert after.search("old4").files[0].path == "module4.py"
        assert after.verify() == []


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as made:
        made.environ["LLMC_EMBEDDER_KIND"] = "hash"
        yield made


def test_kills_while_indexing_lose_and_double_nothing(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    chance = random.Random(7)
    for number in range(400):
        (folder / f"file{number}.py").write_text(f"def f{number}():\n    return '{chance.random()}'\n" * 20)
    for _ in range(6):
        for number in chance.sample(range(400), 150):
            (folder / f"file{number}.py").write_text(f"def g{number}():\n    return '{chance.random()}'\n" * 20)
        started = subprocess.Popen(
            [sys.executable, "-m", "llmc", "index", "--once", str(folder)], env=place.environ, stderr=subprocess.DEVNULL
        )
        kill_at(place, chance.random() * 1.5)
        started.wait()
    done = place.llmc("index", "--once", "--verify", str(folder), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def kill_at(place: Place, seconds: float) -> None:
    """kill -9 for every process of this home, at a random moment."""
    threading.Event().wait(seconds)
    for process in psutil.process_iter():
        try:
            if process.environ().get("LLMC_HOME") == place.environ["LLMC_HOME"] and process.pid != os.getpid():
                process.send_signal(signal.SIGKILL)
        except psutil.Error:
            continue
