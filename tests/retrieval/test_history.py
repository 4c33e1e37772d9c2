"""The history of a root from CLI, MCP and HTTP, and attacks by a hostile git directory."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from daemons import CommandLine, private_place
from http_world import served
from mcp_world import raw

from llmc.base.errors import NotFoundError
from llmc.base.git_folder import GitCommit, git_folder
from llmc.retrieval.commit_log import CommitLog
from llmc.retrieval.commits import read_commits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WHO = ("-c", "user.name=Ann Example", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, message: str, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("hidden.py\n")
    commit(folder, "courier: ring at doors", courier="class Courier:\n    pass\n", bell="def ring():\n    pass\n")
    commit(folder, "courier: wait longer\n\nThe retry policy was too eager.", courier="class Courier:\n    wait = 2\n")
    commit(
        folder, f"both: a new bell, with {TOKEN}", courier="class Courier:\n    wait = 3\n", bell="def ring(): ...\n"
    )
    return folder


@pytest.fixture
def depot(tmp_path: Path) -> Iterator[CommandLine]:
    folder = repository(tmp_path / "depot")
    with private_place() as place:
        yield CommandLine(place, folder)


def test_a_path_gives_its_commits_newest_first_and_what_changed_with_it(depot: CommandLine) -> None:
    shown = depot.text("history", "courier.py").split("\n")
    assert shown[0] == "3 commits of 1 file"
    subjects = [line.partition("Ann Example: ")[2] for line in shown if "Ann Example: " in line]
    assert [subject.partition(":")[0] for subject in subjects] == ["both", "courier", "courier"]
    assert " bell.py · 2" in shown


def test_a_symbol_gives_the_commits_of_its_file(depot: CommandLine) -> None:
    assert depot.text("history", "ring").startswith("2 commits of the file defining ring\ndefined in\n bell.py\n")


def test_a_commit_whose_other_files_are_gone_counts_them(depot: CommandLine) -> None:
    git(depot.folder, "mv", "bell.py", "gong.py")
    commit(depot.folder, "a deeper sound")
    shown = depot.text("history", "gong.py").split("\n")
    assert shown[0] == "1 commit of 1 file"
    assert shown[2] == " with 1 more file"


def test_words_find_the_commits_that_mention_them(depot: CommandLine) -> None:
    shown = depot.text("history", "retry", "policy")
    assert shown.startswith("1 commit of 3 mention 'retry policy'")
    assert "courier: wait longer" in shown


def test_commits_with_every_word_come_alone_and_partial_matches_are_reported(depot: CommandLine) -> None:
    assert depot.text("history", "courier", "wait").startswith("1 commit of 3 mention 'courier wait'")
    assert depot.text("history", "wait", "nowhere").startswith("1 commit of 3 mention some words of 'wait nowhere'")


def test_trailers_of_a_message_are_left_out(depot: CommandLine) -> None:
    message = "bell: louder\n\nFor deaf ears.\n\nCo-authored-by: Bob <bob@example.org>\nSee Eve <eve@example.org>."
    commit(depot.folder, message, bell="def ring(): LOUD\n")
    shown = depot.text("history", "louder")
    assert "For deaf ears." in shown
    assert "Bob" not in shown
    assert "See Eve." in shown


def test_no_address_and_no_secret_of_a_commit_is_shown(depot: CommandLine) -> None:
    shown = depot.text("history", "courier.py", "--json") + depot.text("history", "courier.py")
    assert "example.org" not in shown
    assert TOKEN not in shown


def test_a_later_commit_is_invisible(depot: CommandLine) -> None:
    first = git(depot.folder, "rev-parse", "HEAD")
    commit(depot.folder, "the fix that nobody may see", courier="class Courier:\n    wait = 9\n")
    git(depot.folder, "branch", "later")
    depot.text("history", "courier.py")
    git(depot.folder, "reset", "-q", "--hard", first)
    assert "the fix" not in depot.text("history", "courier.py")
    assert "the fix" not in depot("history", "nobody", "may", "see").stdout


def test_a_new_commit_is_seen_at_once(depot: CommandLine) -> None:
    depot.text("history", "courier.py")
    commit(depot.folder, "courier: knock instead", courier="class Courier:\n    knock = True\n")
    assert "courier: knock instead" in depot.text("history", "courier.py")


def test_a_file_that_the_index_leaves_out_is_counted_and_not_named(depot: CommandLine) -> None:
    (depot.folder / "hidden.py").write_text("x = 1\n")
    git(depot.folder, "add", "-f", "hidden.py")
    commit(depot.folder, "courier: with something hidden", courier="class Courier:\n    wait = 5\n")
    shown = depot.text("history", "courier.py")
    assert "with 1 more" in shown
    assert "hidden.py" not in shown


def test_a_folder_without_git_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with private_place() as place:
        done = place.llmc("history", "a.py", "--root", str(tmp_path), cwd=tmp_path)
        assert done.returncode != 0
        assert "no git history" in done.stderr


def test_a_shallow_clone_gives_what_it_has(depot: CommandLine, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{depot.folder}", str(tmp_path / "shallow"))
    shown = CommandLine(depot.place, tmp_path / "shallow").text("history", "both")
    assert shown.startswith("1 commit of 1 ")


def test_a_shallow_clone_that_was_deepened_gives_everything(depot: CommandLine, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{depot.folder}", str(tmp_path / "shallow"))
    clone = CommandLine(depot.place, tmp_path / "shallow")
    assert clone("history", "courier.py").stdout.startswith("no commits of 1 file")  # its changes are not known
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow")
    assert clone.text("history", "courier.py").startswith("3 commits of 1 file")


def test_a_clone_that_borrows_objects_says_so_until_it_has_its_own(depot: CommandLine, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(depot.folder), str(tmp_path / "shared"))
    clone = CommandLine(depot.place, tmp_path / "shared")
    refused = clone("history", "courier.py")
    assert refused.returncode != 0
    assert "git alternates" in refused.stderr
    assert "git repack -a -d" in refused.stderr
    git(tmp_path / "shared", "repack", "-a", "-d", "-q")
    (tmp_path / "shared" / ".git" / "objects" / "info" / "alternates").unlink()
    assert clone.text("history", "courier.py").startswith("3 commits of 1 file")


def test_a_linked_work_tree_has_a_history_of_its_own(depot: CommandLine, tmp_path: Path) -> None:
    git(depot.folder, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"), "HEAD~1")
    shown = CommandLine(depot.place, tmp_path / "side").text("history", "courier.py")
    assert shown.startswith("2 commits of 1 file")


def test_nothing_of_the_repository_is_executed(depot: CommandLine, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    script = depot.folder / ".git" / "hooks" / "run"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "core.editor"):
        git(depot.folder, "config", name, str(script))
    git(depot.folder, "config", "core.hooksPath", str(script.parent))
    mark.unlink(missing_ok=True)
    depot.text("history", "courier.py")
    assert not mark.exists()


# --- a hostile git directory, read in this process


def commits_of(folder: Path) -> list[GitCommit]:
    return list(read_commits(git_folder(str(folder)), {}, 5_000))


def test_objects_of_alternates_are_not_read(tmp_path: Path) -> None:
    other = repository(tmp_path / "other")
    folder = tmp_path / "thief"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    alternates = folder / ".git" / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{other}/.git/objects\n")
    (folder / ".git" / "refs" / "heads" / "main").write_text(git(other, "rev-parse", "HEAD"))
    assert commits_of(folder) == []


@pytest.mark.parametrize(
    "head",
    ["", "ref: refs/heads/none", "ref: ../../../etc/passwd", "ref: refs/../../x", "z" * 40, "\x00\xff", "f" * 41],
)
def test_a_broken_head_has_no_history(tmp_path: Path, head: str) -> None:
    folder = repository(tmp_path / "depot")
    (folder / ".git" / "HEAD").write_text(head)
    with pytest.raises(NotFoundError):
        git_folder(str(folder))


def test_a_git_directory_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    folder = repository(tmp_path / "depot")
    shutil.move(folder / ".git", tmp_path / "elsewhere")
    (folder / ".git").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotFoundError):
        git_folder(str(folder))


def test_broken_packs_and_objects_end_the_history_and_nothing_else(tmp_path: Path) -> None:
    folder = repository(tmp_path / "depot")
    git(folder, "gc", "-q")
    (pack,) = (folder / ".git" / "objects" / "pack").glob("*.pack")
    pack.chmod(0o644)
    data = bytearray(pack.read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    pack.write_bytes(data)
    assert len(commits_of(folder)) <= 3


def test_only_so_many_commits_are_read(tmp_path: Path) -> None:
    folder = repository(tmp_path / "depot")
    assert len(list(read_commits(git_folder(str(folder)), {}, 2))) == 2


def test_known_commits_are_not_read_again(tmp_path: Path) -> None:
    folder = repository(tmp_path / "depot")
    known = {one.id: (one.time, one.parents) for one in commits_of(folder)}
    added = commit(folder, "one more", bell="x = 1\n")
    assert [one.id for one in read_commits(git_folder(str(folder)), known, 100)] == [added]


def test_a_log_holds_ancestors_only() -> None:
    known = {
        "a": GitCommit("a", 1, "", "first", ()),
        "b": GitCommit("b", 2, "", "second", ("a",)),
        "c": GitCommit("c", 3, "", "elsewhere", ("a",)),
    }
    assert [one.id for one in CommitLog("b", known).commits] == ["b", "a"]


def test_history_is_answered_over_mcp(depot: CommandLine) -> None:
    with raw(depot.place, depot.folder) as client:
        client.handshake()
        reply = client.call("llmc", name="history", args={"target": "courier.py"})
        assert "3 commits of 1 file" in str(reply)


def test_history_is_answered_over_http(tmp_path: Path) -> None:
    with served(tmp_path) as running:
        git(running.folder, "init", "-q")
        git(running.folder, "add", "-A")
        git(running.folder, "commit", "-qm", "depot: everything")
        found = running.call("history", target="src/depot/retry.py")
        assert found.status_code == 200
        assert "depot: everything" in found.text
