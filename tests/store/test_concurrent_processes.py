"""Several processes and threads on one store: readers never wait, never fail, and never see half a batch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from locations import SUPPORT
from store_world import DIMENSION, EMBEDDER, batch, contents, filled, found_by_word, reader, writer

from llmc.base.errors import StoreError
from llmc.store import Store

WORDS = ["zebra", "quagga", "okapi", "gnu"]

WRITING = """
import sys
from store_world import DIMENSION, EMBEDDER, batch, writer
from test_concurrent_processes import version
folder, rounds = sys.argv[1], int(sys.argv[2])
for number in range(rounds):
    with writer(folder) as store:
        store.apply(batch(version(number)))
        print(number, flush=True)
        sys.stdin.readline()
        if number % 5 == 4:
            store.sweep(max_age=0)
"""


def version(number: int) -> dict[str, str | None]:
    """Every file of a version holds the same word and the version's number, so half a batch would show."""
    return {f"file{n}.py": f"{WORDS[number % 4]} number{number}\n" for n in range(8)}


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{SUPPORT}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_readers_see_whole_batches_while_another_process_writes(tmp_path: Path) -> None:
    filled(tmp_path, version(0))
    failures: list[str] = []
    done = threading.Event()

    def read() -> None:
        with reader(tmp_path) as store:
            while not done.is_set():
                try:
                    store.refresh()
                    with store.catalog.reading() as db:
                        keys = {
                            row[0]
                            for row in db.execute("SELECT d.content_hash FROM files f JOIN documents d USING (doc)")
                        }
                    if len(keys) != 1:
                        failures.append(f"{len(keys)} versions at once")
                except Exception as error:  # noqa: BLE001 whatever it is, it must not happen
                    failures.append(repr(error))
                    return

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    with start(WRITING, str(tmp_path), "20") as process:
        output, _ = process.communicate(timeout=120)
    done.set()
    for thread in threads:
        thread.join()

    assert process.returncode == 0
    assert output.split()[-1] == "19"
    assert failures == []
    with reader(tmp_path) as store:
        assert found_by_word(store, "number19") == set(version(19))
        assert store.verify() == []


def test_a_reader_finds_a_batch_as_soon_as_its_writer_says_so(tmp_path: Path) -> None:
    filled(tmp_path, version(0))
    with start(WRITING, str(tmp_path), "8") as process, reader(tmp_path) as store:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            store.refresh()
            assert found_by_word(store, f"number{int(line)}") == set(version(0))
            process.stdin.write("go on\n")
            process.stdin.flush()
    assert process.returncode == 0


def test_a_killed_writer_leaves_no_lock_behind(tmp_path: Path) -> None:
    program = f"""
import sys, time
from store_world import writer
store = writer({str(tmp_path)!r})
print("writing", flush=True)
time.sleep(600)
"""
    with start(program) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "writing"
        with pytest.raises(StoreError, match=f"process {process.pid}"):
            Store.open(tmp_path, EMBEDDER, DIMENSION, write=True)
        process.send_signal(signal.SIGKILL)

    filled(tmp_path, version(1))
    with reader(tmp_path) as store:
        assert len(contents(store)) == 8


def test_many_threads_may_read_one_store_while_another_thread_writes_it(tmp_path: Path) -> None:
    filled(tmp_path, version(0))
    failures: list[BaseException] = []
    done = threading.Event()
    with writer(tmp_path) as store:

        def read() -> None:
            try:
                while not done.is_set():
                    store.refresh()
                    assert len(store.catalog.places("/work/tree")) == 8
                    found_by_word(store, "zebra")
                    store.vectors.search(next(iter(batch(version(0)).documents)).vectors[0], 3)  # type: ignore[index]
            except BaseException as error:  # noqa: BLE001 whatever it is, it must not happen
                failures.append(error)

        threads = [threading.Thread(target=read) for _ in range(6)]
        for thread in threads:
            thread.start()
        for number in range(1, 25):
            store.apply(batch(version(number)))
        done.set()
        for thread in threads:
            thread.join()
        assert failures == []
        assert store.verify() == []
