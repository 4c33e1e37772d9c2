"""The commits that have been read, in a small SQLite file beside the index, and the process that brings it up to date.

Reading runs in a process of its own, with bounds on memory and time: a git directory is input like any other, and a
huge or broken one must not hold up or bring down a server. What it has read so far can be asked at any moment. The
file is a cache: it is made again when it is missing or cannot be read.
"""

from __future__ import annotations

import heapq
import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from llmc.base.errors import NotFoundError
from llmc.base.git_folder import GitCommit, git_folder
from llmc.base.sqlite_file import connect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from llmc.base.git_folder import GitFolder

__all__ = ["CommitLog", "load_log", "refresh"]

NAME: Final = "history.sqlite"
MOST_COMMITS: Final = 5_000
WRITTEN_AT_ONCE: Final = 100
# For a whole history; commits read by then are kept. Packs are mapped and do not count as memory.
CPU_SECONDS, MEMORY_BYTES = 120, 1 << 30
COLUMNS: Final = "id, time, author, message, parents, paths, is_cut"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS commits (
    id TEXT PRIMARY KEY, time INTEGER, author TEXT, message TEXT, parents TEXT, paths TEXT, is_cut INTEGER
);
CREATE TABLE IF NOT EXISTS heads (id TEXT PRIMARY KEY, state TEXT);
"""


class CommitLog:
    """Ancestors of one commit, newest first, as far as they have been read."""

    def __init__(self, head: str, commits: dict[str, GitCommit]) -> None:
        newest: list[GitCommit] = []
        seen = {head}
        waiting = [(-commits[head].time, 0, head)] if head in commits else []
        while waiting and len(newest) < MOST_COMMITS:
            commit = commits[heapq.heappop(waiting)[2]]
            newest.append(commit)
            for parent in commit.parents:
                if parent in commits and parent not in seen:  # of equal times the child comes first
                    seen.add(parent)
                    heapq.heappush(waiting, (-commits[parent].time, len(seen), parent))
        self.commits = newest


def load_log(folder: Path, head: str) -> CommitLog:
    return CommitLog(head, _known(folder / NAME))


# Per store the last reader and its task: a reader that failed is not started again for the same task.
_running: dict[str, tuple[GitFolder, subprocess.Popen[bytes]]] = {}
_lock = threading.Lock()


def refresh(root: str, folder: Path, seconds: float) -> tuple[GitFolder, bool]:
    """(the git directory, whether everything in it has been read). Starts the reader if HEAD is new or older
    commits may have arrived, and waits a little for it."""
    git = git_folder(root)
    if _is_read(folder / NAME, git):
        return git, True
    with _lock:
        target, process = _running.get(str(folder), (None, None))
        if process is None or (process.poll() is not None and target != git):
            process = _start(root, folder)
            _running[str(folder)] = (git, process)
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return git, process.poll() is not None


def _start(root: str, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "llmc.retrieval.commit_log", root, str(folder / NAME)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _is_read(place: Path, git: GitFolder) -> bool:
    try:
        with closing(_open(place)) as connection:
            wanted = (git.head, git.state)
            row = connection.execute("SELECT 1 FROM heads WHERE id = ? AND state = ?", wanted).fetchone()
    except (sqlite3.Error, OSError):
        return False
    return row is not None


def _open(place: Path) -> sqlite3.Connection:
    if not place.exists():
        raise OSError(f"no {place.name}")
    return connect(str(place), seconds=5, mode="ro")


def _known(place: Path) -> dict[str, GitCommit]:
    try:
        with closing(_open(place)) as connection:
            rows = connection.execute(f"SELECT {COLUMNS} FROM commits").fetchall()  # noqa: S608 ours
        return {
            name: GitCommit(
                name, when, author, message, tuple(json.loads(parents)), tuple(json.loads(paths)), bool(cut)
            )
            for name, when, author, message, parents, paths, cut in rows
        }
    except (sqlite3.Error, OSError, ValueError, TypeError):
        return {}


def _row(commit: GitCommit) -> tuple[object, ...]:
    parents, paths = json.dumps(commit.parents), json.dumps(commit.paths)
    return commit.id, commit.time, _plain(commit.author), _plain(commit.message), parents, paths, commit.is_cut


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _write(place: str, root: str) -> None:
    """Brings the file up to date with HEAD. A file that cannot be read is discarded."""
    folder = git_folder(root)
    try:
        _append(place, folder)
    except sqlite3.DatabaseError:
        os.unlink(place)  # noqa: PTH108 - text throughout, as in `paths`
        _append(place, folder)


def _append(place: str, folder: GitFolder) -> None:
    from llmc.retrieval.commits import read_commits  # noqa: PLC0415 - dulwich, which only this process needs

    with closing(connect(place, lambda made: made.executescript(_SCHEMA), seconds=5, autocommit=False)) as connection:
        rows = connection.execute("SELECT id, time, parents FROM commits").fetchall()
        known = _complete({name: (when, tuple(json.loads(parents))) for name, when, parents in rows})
        for some in _batches(read_commits(folder, known, MOST_COMMITS)):
            connection.executemany("INSERT OR REPLACE INTO commits VALUES (?,?,?,?,?,?,?)", map(_row, some))
            connection.commit()
        connection.execute("INSERT OR REPLACE INTO heads VALUES (?, ?)", (folder.head, folder.state))
        connection.commit()


def _complete(known: dict[str, tuple[int, tuple[str, ...]]]) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Without commits whose parents were missing when they were read: the parents, and with them the changed paths,
    may be available now."""
    return {name: row for name, row in known.items() if all(parent in known for parent in row[1])}


def _batches(commits: Iterable[GitCommit]) -> Iterator[list[GitCommit]]:
    waiting = iter(commits)
    while some := list(islice(waiting, WRITTEN_AT_ONCE)):
        yield some


def main() -> None:
    import resource  # noqa: PLC0415 - not on every platform

    root, place = sys.argv[1:3]
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    os.nice(5)
    with suppress(NotFoundError):
        _write(place, root)


if __name__ == "__main__":
    main()
