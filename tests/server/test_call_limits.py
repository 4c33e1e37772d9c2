"""Every call has a deadline and a memory limit, whatever its tool does, and releases everything afterwards."""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fuzz_world import opened, over_mcp, over_rest
from http_world import Served, served

from llmc.base.errors import CallMemoryError, CallTimeoutError
from llmc.envelope.request import ClientInfo, RunningRequest
from llmc.server.call_threads import WATCHDOG, CallThreads
from llmc.settings import LimitSettings
from llmc.store.catalog.document_paths import DocumentPaths
from llmc.tools.registry import tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from llmc.server.service import Service

PATIENCE = 60.0
SOMEBODY = ClientInfo(1, "test")


def call_within(seconds: float, memory: int = 1 << 40) -> RunningRequest:
    call = RunningRequest(SOMEBODY)
    call.allow(seconds, memory)
    return call


@pytest.fixture
def threads() -> Iterator[CallThreads]:
    with CallThreads(1, "test") as made:
        yield made


def test_a_call_that_does_not_stop_is_answered_interrupted_and_replaced(threads: CallThreads) -> None:
    ended = threading.Event()

    def loop() -> None:
        try:
            while True:
                pass
        finally:
            ended.set()

    call = call_within(0.05)
    with pytest.raises(CallTimeoutError):
        threads.submit_call(loop, call).result(PATIENCE)
    assert call.cancelled
    assert threads.submit(lambda: "next").result(PATIENCE) == "next"  # although there is one slot
    assert ended.wait(PATIENCE)


def test_the_time_before_a_tool_has_its_limit_is_not_counted(threads: CallThreads) -> None:
    call = RunningRequest(SOMEBODY, seconds=math.inf)
    began = time.monotonic() - 2 * PATIENCE  # as if an index had been built for two minutes

    def answer() -> str:
        job = next(one for one in WATCHDOG._jobs if one.call is call)
        job.began = began
        call.allow(PATIENCE, 1 << 40)
        WATCHDOG._check([(job, threads)])
        return "answer"

    assert threads.submit_call(answer, call).result(PATIENCE) == "answer"
    assert not call.cancelled


def test_a_call_in_native_code_gives_up_its_slot(threads: CallThreads) -> None:
    held = threading.Lock()
    held.acquire()
    with pytest.raises(CallTimeoutError):
        threads.submit_call(held.acquire, call_within(0.05)).result(PATIENCE)
    assert threads.submit(lambda: "next").result(PATIENCE) == "next"
    held.release()


def test_a_call_that_eats_memory_is_stopped_and_others_go_on() -> None:
    kept: list[bytes] = []
    stop = threading.Event()

    def eat() -> None:
        while True:
            kept.append(os.urandom(1 << 20))

    with CallThreads(2, "test") as threads:
        other = threads.submit_call(lambda: stop.wait(PATIENCE), call_within(PATIENCE, 64 << 20))
        with pytest.raises(CallMemoryError):
            threads.submit_call(eat, call_within(PATIENCE, 64 << 20)).result(PATIENCE)
        kept.clear()
        stop.set()
        assert other.result(PATIENCE) is True


@pytest.mark.parametrize("error", [StopIteration("none"), RuntimeError("broken"), KeyError(1), SystemExit(3)])
def test_whatever_a_call_raises_is_its_answer(threads: CallThreads, error: BaseException) -> None:
    def fail() -> None:
        raise error

    async def ask() -> None:
        await asyncio.wait_for(threads.run(fail), PATIENCE)

    with pytest.raises((RuntimeError, KeyError, SystemExit)):
        asyncio.run(ask())


def test_a_call_that_its_client_cancelled_before_it_began_never_runs(threads: CallThreads) -> None:
    free, ran = threading.Event(), threading.Event()
    first = threads.submit(free.wait, PATIENCE)
    second = threads.submit(ran.set)
    assert second.cancel()
    free.set()
    first.result(PATIENCE)
    threads.submit(lambda: None).result(PATIENCE)
    assert not ran.is_set()


def test_a_name_with_nul_is_part_of_no_path() -> None:
    assert DocumentPaths([(1, b"a.py"), (2, b"b.py")]).holding("\0") == ([], [])


# ---- from the surfaces ----


def stuck(seconds: float) -> Callable[[Any], Any]:
    def run(_asked: Any) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        raise AssertionError("nobody stopped it")

    return run


@pytest.fixture
def quick_limits(tmp_path: Path) -> Iterator[tuple[Service, ClientInfo, Path]]:
    with opened(tmp_path, "limits.call_timeout_ms=1000") as (service, client):
        yield service, client, tmp_path


def test_tools_that_hang_answer_with_an_error_and_leave_room_for_others(
    quick_limits: tuple[Service, ClientInfo, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tool is replaced by one that computes forever: no input is known to make a real one do so."""
    service, client, folder = quick_limits
    ping = tool("ping")
    monkeypatch.setattr("llmc.tools.ping.TOOL", replace(ping, run=stuck(PATIENCE), cpu_bound=True))

    async def ask() -> None:
        async with over_mcp(service, client) as lines, over_rest(service, client, folder / "home") as rest:
            for _ in range(6):  # more than a session may run at once, and more than may compute at once
                reply = await asyncio.wait_for(lines.call("ping", {}), PATIENCE)
                assert reply["result"]["isError"]
                assert "stopped after 1 s" in reply["result"]["content"][0]["text"]
            answered = await asyncio.wait_for(rest.post("/tools/ping", json={}), PATIENCE)
            assert (answered.status_code, answered.json()["error"]["code"]) == (504, "timeout")
            found = await asyncio.wait_for(lines.call("find", {"name": "retry"}), PATIENCE)
            assert "src/depot/retry.py" in found["result"]["content"][0]["text"]

    asyncio.run(ask())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("limits")) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("find", {"name": "\0"}),
        ("refs", {"name": "\0"}),
        ("read", {"target": []}),
        ("read", {"target": "x" * 400_000}),
        ("find", {"name": "[" * 20_000}),
        ("grep", {"pattern": "a" * 5_000}),
        ("grep", {"pattern": "a", "glob": "*" * 5_000}),
        ("search", {"query": "retry", "limit": -5}),
        ("search", {"query": "retry", "limit": 1e19}),
    ],
)
def test_arguments_over_a_limit_are_refused_by_name(server: Served, name: str, args: dict[str, Any]) -> None:
    reply = server.call(name, **args)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "query")
    argument = next(reversed(args))
    assert argument in reply.json()["error"]["message"]


@pytest.mark.parametrize("name", ["search", "context", "research_codebase", "ask"])
def test_pasted_text_of_any_length_passes_the_argument_check(name: str) -> None:
    argument = next(one.name for one in tool(name).arguments if one.required)
    text = "the retry policy waits longer\n" * 20_000
    assert tool(name).check({argument: text}, LimitSettings()) == {argument: text}


def test_a_refused_read_is_the_askers_mistake(server: Served) -> None:
    (server.folder / "link.py").symlink_to("/etc/passwd")
    (server.folder / "inner.py").symlink_to("src/depot/nosuch.py")
    os.mkfifo(server.folder / "fifo.py")
    for target in ("link.py", "inner.py", "fifo.py", "n" * 300 + ".py", "/dev/null", "/dev/zero"):
        reply = server.call("read", target=target)
        assert 400 <= reply.status_code < 500, (target, reply.text)
        assert reply.json()["error"]["message"]


def test_limits_are_the_users(tmp_path: Path) -> None:
    with served(tmp_path, "--set", "limits.max_pattern_chars=5") as made:
        assert made.call("grep", pattern="delay").status_code == 200
        reply = made.call("grep", pattern="delays")
    assert reply.status_code == 400
    assert "limits.max_pattern_chars" in reply.json()["error"]["hint"]


def test_a_pattern_that_takes_too_long_to_check_is_refused_with_a_reason(
    quick_limits: tuple[Service, ClientInfo, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, client, folder = quick_limits
    monkeypatch.setattr("llmc.retrieval.grep.ripgrep.CHECK_SECONDS", 0.0001)  # as on a machine that is busy otherwise

    async def ask() -> None:
        async with over_rest(service, client, folder / "home") as rest:
            reply = await rest.post("/tools/grep", json={"pattern": r"(\p{Greek}{0,900}){0,900}"})
            assert reply.status_code == 400, reply.text
            assert "too complex" in reply.json()["error"]["message"]

    asyncio.run(ask())
