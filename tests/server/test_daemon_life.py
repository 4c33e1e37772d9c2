"""When a daemon starts and ends, and what its clients see."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from daemons import PATIENCE, Place, until, wait_for_lock
from locations import SUPPORT

import llmc
from llmc.base.daemon_lock import DaemonLock, Owner, read_owner
from llmc.base.errors import DaemonError, DaemonGoneError, DaemonRunningError, NotFoundError
from llmc.base.home import SOCKET_PATH_LIMIT
from llmc.base.protocol import is_newer
from llmc.server.daemon import in_thread

if TYPE_CHECKING:
    from llmc.client.daemon_client import DaemonConnection


def events_of(place: Place) -> list[str]:
    return [json.loads(line)["event"] for line in Path(place.home.log).read_text().splitlines()]


def test_the_first_client_starts_a_daemon_and_says_so(place: Place) -> None:
    with place.connect() as connection:
        assert place.said == [f"started the index daemon (pid {place.pid})"]
        assert connection.hello["pid"] == place.pid != os.getpid()
    with place.connect() as again:
        assert again.hello["pid"] == place.pid
    assert len(place.said) == 1


def test_twenty_clients_at_once_start_one_daemon_and_get_twenty_answers(place: Place) -> None:
    barrier = threading.Barrier(20)

    def ask(number: int) -> tuple[int, int]:
        barrier.wait()
        with place.connect() as connection:
            return connection.call("echo", {"n": number})["n"], connection.hello["pid"]

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, range(20)))
    assert answers == [(number, place.pid) for number in range(20)]
    assert len(place.said) == 1
    assert events_of(place).count("listening") == 1


def test_a_second_daemon_names_the_running_one_and_exits(place: Place) -> None:
    place.connect().close()
    second = place.twin()
    _, words = second.communicate(timeout=PATIENCE)
    assert second.returncode == DaemonRunningError.exit_code
    assert f"pid {place.pid}" in words
    assert "since 20" in words
    with place.connect() as connection:
        assert connection.call("echo", {"still": "here"}) == {"still": "here"}


def test_after_kill_9_the_next_client_starts_another(place: Place) -> None:
    place.connect().close()
    killed = place.pid
    os.kill(killed, signal.SIGKILL)
    place.wait_until_free()
    assert Path(place.home.socket).exists()
    with place.connect() as connection:
        assert connection.hello["pid"] == place.pid != killed
        assert connection.call("echo", {"a": 1}) == {"a": 1}


def test_the_daemon_has_left_its_starter_behind(place: Place) -> None:
    place.connect(LLMC_PASS_ENV="WANTED", WANTED="1", OTHER="2", SOME_API_KEY="3").close()
    process = Path("/proc", str(place.pid))
    assert os.getsid(place.pid) != os.getsid(0)
    assert (process / "cwd").readlink() == Path("/")
    assert (process / "fd/0").readlink() == Path(os.devnull)
    assert (process / "fd/2").readlink() == Path(place.home.output)
    names = {each.partition(b"=")[0] for each in (process / "environ").read_bytes().split(b"\0")}
    assert {b"LLMC_HOME", b"WANTED", b"SOME_API_KEY", b"PATH"} <= names
    assert not names & {b"OTHER", b"PYTEST_CURRENT_TEST"}


def test_no_one_else_can_reach_the_home(place: Place) -> None:
    place.connect().close()
    paths = [place.home.path, place.home.logs, place.home.socket, place.home.lock, place.home.log]
    assert [stat.S_IMODE(Path(path).stat().st_mode) for path in paths] == [0o700, 0o700, 0o600, 0o600, 0o600]


def test_the_daemon_exits_after_its_idle_time(place: Place) -> None:
    place.connect(LLMC_TWIN_IDLE="0.05").close()
    place.wait_until_free()
    assert not Path(place.home.socket).exists()
    assert Path(place.home.path, "closed").exists()
    assert events_of(place)[-2:] == ["exiting", "exited"]


def test_it_stays_while_a_client_is_there_or_work_is_under_way(place: Place) -> None:
    asked = Path(place.home.path, "asked")
    with place.connect(LLMC_TWIN_IDLE="0.05") as connection:
        pid = place.pid
        connection.call("hold", {"reason": "a build is under way"})
        assert not asked.exists()
    until(asked.exists)
    with place.connect() as connection:
        assert connection.hello["pid"] == pid
        connection.call("hold", {"reason": None})
    place.wait_until_free()


@pytest.mark.parametrize("how", ["stop", "SIGTERM", "SIGINT"])
def test_a_stop_answers_running_requests_and_closes_the_handler(place: Place, how: str) -> None:
    connection = place.connect()
    with place.connect() as other, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(connection.call, "wait", {"gate": "a"}, on_event=print)
        assert other.call("meet", {"gate": "a reached"})
        _stop(place, how, other)
        with pytest.raises(DaemonGoneError, match="stopping"):
            waiting.result(PATIENCE)
    connection.close()
    place.wait_until_free()
    assert Path(place.home.path, "closed").exists()
    assert not Path(place.home.socket).exists()


def _stop(place: Place, how: str, connection: DaemonConnection) -> None:
    if how == "stop":
        connection.call("stop")
    else:
        os.kill(place.pid, signal.Signals[how])


def test_a_reply_that_is_nearly_there_is_waited_for(place: Place) -> None:
    connection = place.connect()
    with place.connect() as other, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(connection.call, "wait", {"gate": "a"})
        assert other.call("meet", {"gate": "a reached"})
        other.call("stop")
        assert other.call("open", {"gate": "a"})
        assert waiting.result(PATIENCE) == "opened"
    connection.close()
    place.wait_until_free()


def test_a_client_that_comes_while_it_leaves_gets_the_next_one(place: Place) -> None:
    holding = place.connect()
    with place.connect() as other, ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(holding.call, "wait", {"gate": "a"})
        assert other.call("meet", {"gate": "a reached"})
        first = place.pid
        other.call("stop")
        until(lambda: not Path(place.home.socket).exists())
        coming = pool.submit(place.caller().ask, "echo", {"a": 1})
        other.call("open", {"gate": "a"})
        assert (waiting.result(PATIENCE), coming.result(PATIENCE)) == ("opened", {"a": 1})
    holding.close()
    assert place.pid != first


def test_a_crash_is_reported_with_the_log_and_its_last_words(place: Place) -> None:
    with place.connect() as connection:
        pid = place.pid
        with pytest.raises(DaemonGoneError) as caught:
            connection.call("crash")
    assert f"pid {pid}" in caught.value.message
    assert "Fatal Python error: Aborted" in caught.value.reason
    assert place.home.log in caught.value.hint
    with place.connect() as connection:
        assert connection.call("echo", {"a": 1}) == {"a": 1}


def test_a_call_is_asked_again_when_the_daemon_dies_in_the_middle(place: Place) -> None:
    with ThreadPoolExecutor(1) as pool:
        with place.connect() as connection:
            asking = pool.submit(place.caller().ask, "wait", {"gate": "a"})
            assert connection.call("meet", {"gate": "a reached"})
            os.kill(place.pid, signal.SIGKILL)
        with place.connect() as connection:
            assert connection.call("meet", {"gate": "a reached"})
            connection.call("open", {"gate": "a"})
        assert asking.result(PATIENCE) == "opened"


def test_a_call_that_has_begun_to_answer_is_not_asked_again(place: Place) -> None:
    seen: list[object] = []

    def listen(event: object) -> None:
        seen.append(event)
        with place.connect() as other:
            other.call("open", {"gate": "half heard"})

    with pytest.raises(DaemonGoneError):
        place.caller().ask("half", on_event=listen)
    assert seen == [{"half": 1}]


def test_an_older_daemon_makes_room_for_a_newer_client(place: Place) -> None:
    older = place.caller(LLMC_TWIN_VERSION="0.0.9")
    older.about["version"] = "0.0.9"
    older.connect().close()
    old = place.pid
    with place.connect() as connection:
        assert connection.hello["pid"] != old
        assert place.said[1] == f"replacing the daemon of llmc 0.0.9 (pid {old})"
        assert connection.call("echo", {"a": 1}) == {"a": 1}


def test_an_older_client_uses_a_newer_daemon(place: Place) -> None:
    place.connect(LLMC_TWIN_VERSION="99.0").close()
    newer = place.pid
    with place.connect() as connection:
        assert connection.hello["pid"] == newer
        assert connection.call("echo", {"a": 1}) == {"a": 1}


def test_a_daemon_with_another_protocol_is_a_clear_error(place: Place) -> None:
    with pytest.raises(DaemonError, match="speaks protocol 7, not 1") as caught:
        place.connect(LLMC_TWIN_PROTOCOL="7", LLMC_TWIN_VERSION="99.0")
    assert "upgrade this llmc" in caught.value.hint


def test_versions_have_an_order_and_builds_decide_between_equals() -> None:
    assert is_newer("0.10.0", 1, "0.9.9", 5)
    assert is_newer("0.1.0", 6, "0.1.0", 5)
    assert not is_newer("0.1.0", 5, "0.1.0", 5)
    assert not is_newer("0.1", 9, "0.1.0", 5)


def test_it_leaves_when_its_home_is_removed_and_spares_the_next_ones_socket(place: Place) -> None:
    place.connect(LLMC_TWIN_TEND="0.05").close()
    with Path(place.home.lock).open() as lock:
        # In one step, or the daemon may put its socket back into a folder that is being removed.
        Path(place.home.path).rename(f"{place.home.path}.gone")
        place.home.make()
        Path(place.home.socket).touch()
        wait_for_lock(lock)
    assert Path(place.home.socket).exists()


def test_it_exits_when_llmc_is_uninstalled(place: Place, tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    shutil.copytree(Path(llmc.__file__).parent, installed / "llmc", ignore=shutil.ignore_patterns("__pycache__"))
    place.environ["PYTHONPATH"] = str(installed)
    assert place.llmc("status", cwd=tmp_path).returncode == 0
    with Path(place.home.lock).open() as lock:
        shutil.rmtree(installed / "llmc")
        wait_for_lock(lock)
    assert "llmc was uninstalled" in Path(place.home.log).read_text()


def test_a_socket_that_was_cleaned_away_comes_back(place: Place) -> None:
    place.connect(LLMC_TWIN_TEND="0.05").close()
    pid = place.pid
    Path(place.home.socket).unlink()
    with place.connect() as connection:
        assert connection.hello["pid"] == pid


def test_a_handler_that_cannot_be_opened_is_every_calls_answer(place: Place) -> None:
    with place.connect(LLMC_TWIN_BROKEN="1") as connection:
        for _ in range(2):
            with pytest.raises(NotFoundError, match="the twin is broken"):
                connection.call("echo")


def test_a_daemon_that_cannot_begin_says_why(place: Place) -> None:
    caller = place.caller()
    caller.command = [sys.executable, "-c", "import sys; sys.exit('no such luck')"]
    with pytest.raises(DaemonGoneError, match="no such luck"):
        caller.connect()


def test_without_start_nothing_is_started(place: Place) -> None:
    with pytest.raises(DaemonGoneError, match="no daemon is running"):
        place.connect(start=False)
    assert not Path(place.home.path).exists()


def test_a_home_that_cannot_be_made_names_the_way_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = Place(tmp_path / "file" / "home")
    with pytest.raises(DaemonError, match="Not a directory") as caught:
        place.connect()
    assert "--no-daemon" in caught.value.hint


def test_a_home_whose_path_is_too_long_for_a_socket_works(tmp_path: Path) -> None:
    place = Place(tmp_path / ("deep" * 40))
    assert len(place.home.socket) <= SOCKET_PATH_LIMIT
    with place.connect() as connection:
        assert connection.call("echo", {"a": 1}) == {"a": 1}
        connection.call("stop")
    place.wait_until_free()
    assert not Path(place.home.socket).parent.exists()


def test_a_socket_folder_that_is_a_strangers_link_is_refused(tmp_path: Path) -> None:
    place = Place(tmp_path / ("deep" * 40))
    folder = Path(place.home.socket).parent
    folder.symlink_to(tmp_path)
    try:
        with pytest.raises(DaemonError, match="is a link"):
            place.connect()
    finally:
        folder.unlink()


def test_a_lock_is_free_whatever_its_text_says(place: Place) -> None:
    place.home.make()
    Path(place.home.lock).write_text('{"pid": 1}')
    assert read_owner(place.home) is None
    with DaemonLock(place.home) as lock:
        lock.acquire(Owner(os.getpid(), "1", 2, 3.0, "a test", foreground=True))
        assert read_owner(place.home) == Owner(os.getpid(), "1", 2, 3.0, "a test", foreground=True)
        Path(place.home.lock).write_text("")
        held = read_owner(place.home)
        assert held is not None
        assert held.pid == 0


def test_a_daemon_that_hangs_is_named_instead_of_waited_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmc.client.daemon_client.HELLO_SECONDS", 0.2)
    place.connect().close()
    os.kill(place.pid, signal.SIGSTOP)
    with pytest.raises(DaemonGoneError, match="does not respond"):
        place.connect()
    os.kill(place.pid, signal.SIGCONT)


def test_a_leftover_socket_without_an_owner_is_replaced(place: Place) -> None:
    place.home.make()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(place.home.socket)
    with place.connect() as connection:
        assert connection.call("echo", {"a": 1}) == {"a": 1}


def test_in_the_foreground_of_a_unit_it_runs_until_sigterm(place: Place) -> None:
    daemon = place.twin()
    until(lambda: Path(place.home.socket).exists())
    assert place.pid == daemon.pid
    daemon.terminate()
    assert daemon.wait(PATIENCE) == 0
    assert daemon.stderr is not None
    assert daemon.stderr.read() == ""
    daemon.stderr.close()


def test_the_daemon_is_not_the_childs_business(place: Place) -> None:
    """A long-lived starter has no zombie to reap."""
    script = "import os, sys; sys.path[:0] = sys.argv[1:]; from daemons import Place; from pathlib import Path\n"
    script += "Place(Path(os.environ['LLMC_HOME'])).connect().close()\n"
    script += "try: os.wait()\nexcept ChildProcessError: print('no child')"
    done = subprocess.run(
        [sys.executable, "-c", script, str(SUPPORT)], env=place.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == "no child\n"


def test_a_thread_that_ends_after_the_daemon_began_to_exit_is_no_error() -> None:
    failures: list[dict[str, object]] = []

    async def exit_while_it_runs() -> None:
        gate = threading.Event()

        def wait() -> None:
            gate.wait()

        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failures.append(context))
        in_thread(wait, "llmc-test").cancel()
        gate.set()
        for thread in threading.enumerate():
            if thread.name == "llmc-test":
                thread.join()
        await asyncio.sleep(0)

    asyncio.run(exit_while_it_runs())
    assert failures == []
