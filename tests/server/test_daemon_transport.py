"""The daemon's socket: replies, events, cancellations, streams, and invalid input."""

from __future__ import annotations

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from llmc.base.errors import DaemonError, NotFoundError
from llmc.base.protocol import MAX_MESSAGE
from llmc.server.rpc import peer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daemons import Place


class Wire:
    """A client that sends exactly what the test specifies."""

    def __init__(self, place: Place) -> None:
        place.connect().close()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(place.home.socket)
        self.socket.settimeout(20)
        self._file = self.socket.makefile("rb")

    def send(self, *messages: Any) -> None:
        lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages]
        self.socket.sendall(b"".join(line + b"\n" for line in lines))

    def receive(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self._file.readline())
        return line

    def call(self, method: str, **params: Any) -> Any:
        self.send({"id": "call", "method": method, "params": params})
        return self.receive()["result"]

    def close(self) -> None:
        self._file.close()
        self.socket.close()


@pytest.fixture
def wire(place: Place) -> Iterator[Wire]:
    made = Wire(place)
    yield made
    made.close()


def test_a_reply_overtakes_a_slower_one_and_both_belong_to_their_requests(wire: Wire) -> None:
    wire.send(
        {"id": 1, "method": "wait", "params": {"gate": "a"}},
        {"id": "two", "method": "echo", "params": {"x": [1, None]}},
    )
    assert wire.receive() == {"id": "two", "result": {"x": [1, None]}}
    wire.send({"id": 3, "method": "open", "params": {"gate": "a"}})
    replies = sorted((wire.receive(), wire.receive()), key=lambda reply: reply["id"])
    assert replies == [{"id": 1, "result": "opened"}, {"id": 3, "result": True}]


def test_64_clients_with_100_calls_each_all_get_their_own_answers(place: Place) -> None:
    def ask(number: int) -> set[tuple[int, str]]:
        client = Wire(place)
        client.send(*({"id": n, "method": "echo", "params": {"me": f"{number}.{n}"}} for n in range(100)))
        replies = [client.receive() for _ in range(100)]
        client.close()
        return {(reply["id"], reply["result"]["me"]) for reply in replies}

    place.connect().close()
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(ask, range(64)))
    assert answers == [{(n, f"{number}.{n}") for n in range(100)} for number in range(64)]


def test_a_client_that_does_not_read_does_not_delay_others(place: Place, wire: Wire) -> None:
    wire.send(*({"id": n, "method": "big", "params": {"size": 1_000_000}} for n in range(60)))
    with place.connect() as other:
        assert [other.call("echo", {"n": n}) for n in range(50)] == [{"n": n} for n in range(50)]
    assert {len(wire.receive()["result"]) for _ in range(60)} == {1_000_000}


def test_a_client_with_many_slow_calls_leaves_threads_for_others(place: Place, wire: Wire) -> None:
    wire.send(*({"id": n, "method": "wait", "params": {"gate": "a"}} for n in range(100)))
    with place.connect() as other:
        assert other.call("meet", {"gate": "a reached"})
        wire.send({"cancel": 99}, {"cancel": 0})
        assert {wire.receive()["id"] for _ in range(2)} == {0, 99}
        other.call("open", {"gate": "a"})
    assert sorted(wire.receive()["id"] for _ in range(98)) == list(range(1, 99))


def test_events_come_in_order_and_before_the_reply(place: Place) -> None:
    seen: list[dict[str, Any]] = []
    with place.connect() as connection:
        assert connection.call("count", {"to": 500}, on_event=seen.append) == 500
        assert connection.call("count", {"to": 3}) == 3
    assert seen == [{"done": number} for number in range(500)]


def test_a_slow_reader_loses_no_event_and_does_not_delay_others(place: Place, wire: Wire) -> None:
    wire.send({"id": 1, "method": "count", "params": {"to": 100_000}, "events": True})
    with place.connect() as other:
        assert [other.call("echo", {"n": n}) for n in range(50)] == [{"n": n} for n in range(50)]
    assert [wire.receive() for _ in range(100_000)] == [{"id": 1, "event": {"done": n}} for n in range(100_000)]
    assert wire.receive() == {"id": 1, "result": 100_000}


def test_a_call_that_waits_for_its_reader_ends_when_that_goes(place: Place, wire: Wire) -> None:
    wire.send({"id": 1, "method": "count", "params": {"to": 200_000}, "events": True})
    assert wire.receive()["event"] == {"done": 0}
    wire.close()
    with place.connect() as other:
        assert other.call("meet", {"gate": "counted"})


def test_a_cancelled_call_is_answered_at_once_and_stopped(wire: Wire) -> None:
    wire.send({"id": 7, "method": "wait", "params": {"gate": "a"}})
    assert wire.call("meet", gate="a reached")
    wire.send({"cancel": 7})
    assert wire.receive()["error"]["code"] == "cancelled"
    assert wire.call("meet", gate="a cancelled")
    wire.send({"cancel": 7}, {"cancel": {}}, {"cancel": 99})
    assert wire.call("echo", still="here") == {"still": "here"}


def test_a_closed_connection_cancels_its_calls(place: Place, wire: Wire) -> None:
    wire.send({"id": 1, "method": "wait", "params": {"gate": "a"}, "events": True})
    with place.connect() as other:
        assert other.call("meet", {"gate": "a reached"})
        wire.close()
        assert other.call("meet", {"gate": "a cancelled"})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{broken", "not JSON"),
        (b"[" * 5_000, "not JSON"),
        (b'"\\ud800', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[1, 2]", "not an object"),
        (b"{}", "not an object"),
        (b'{"method": "echo"}', "no id"),
        (b'{"id": true, "method": "echo"}', "no id"),
        (b'{"id": 1, "method": 5}', "malformed"),
        (b'{"id": 1, "method": "echo", "params": [1]}', "malformed"),
        (b'{"method": "stream", "kind": "nobody"}', "cannot start"),
        (b'{"method": "stream", "kind": {}}', "cannot start"),
        (b"x" * (MAX_MESSAGE + 2), "too large"),
    ],
)
def test_rubbish_is_answered_and_the_connection_kept(wire: Wire, line: bytes, reason: str) -> None:
    wire.send(line, b"", b"   ")
    assert reason in wire.receive()["error"]["message"]
    assert wire.call("echo", still="here") == {"still": "here"}


def test_an_id_in_use_is_refused(wire: Wire) -> None:
    wire.send(*({"id": 1, "method": "wait", "params": {"gate": "a"}} for _ in range(2)))
    assert wire.receive()["error"]["message"] == "the id is in use"


def test_calls_that_may_never_end_are_limited_for_a_client(wire: Wire) -> None:
    wire.send(*({"id": n, "method": "wait", "params": {"gate": "a"}, "events": True} for n in range(33)))
    assert wire.receive()["error"]["code"] == "busy"
    assert wire.call("echo", still="here") == {"still": "here"}


def test_messages_near_the_limit_travel_both_ways_and_larger_replies_are_an_error(place: Place) -> None:
    with place.connect() as connection:
        text = "é" * (MAX_MESSAGE // 6 - 100)  # six bytes each in the client's ASCII
        assert connection.call("echo", {"text": text}) == {"text": text}
        with pytest.raises(DaemonError, match="reply is too large"):
            connection.call("big", {"size": MAX_MESSAGE})
        with pytest.raises(DaemonError, match="request is too large"):
            connection.call("echo", {"text": "x" * MAX_MESSAGE})
        assert connection.call("echo", {"still": "here"}) == {"still": "here"}


def test_an_error_arrives_as_the_class_that_was_raised(place: Place) -> None:
    with place.connect() as connection:
        with pytest.raises(NotFoundError) as caught:
            connection.call("fail", {"kind": "known"})
        assert caught.value.as_dict() == {
            "code": "not_found",
            "message": "no such thing",
            "reason": "it is not there",
            "hint": "Look again.",
            "context": {"path": "a.py", "line": 3},
        }
        for kind in ("unknown", "exit"):
            with pytest.raises(DaemonError, match=r"daemon\.log"):
                connection.call("fail", {"kind": kind})
        assert connection.call("echo", {"still": "here"}) == {"still": "here"}


def test_names_that_are_not_utf8_travel_both_ways(place: Place) -> None:
    with place.connect() as connection:
        assert connection.call("odd") == {"path": "caf\udce9"}
        assert connection.call("echo", {"path": "caf\udce9"}) == {"path": "caf\udce9"}


def test_the_handler_knows_the_caller_and_its_folder(place: Place) -> None:
    caller = place.caller(LLMC_INDEX_HIDDEN="false")
    caller.about |= {"cwd": "/somewhere", "flags": ["index.hidden=true"], "config": "/c.toml", "session": "s1"}
    with caller.connect() as connection:
        client = connection.call("who")
    assert client["environ"]["LLMC_INDEX_HIDDEN"] == "false"
    assert "PATH" not in client["environ"]
    del client["environ"], client["pid"], client["version"], client["repositories"]
    assert client == {"session": "s1", "cwd": "/somewhere", "flags": ["index.hidden=true"], "config": "/c.toml"}


def test_a_connection_becomes_a_stream_of_plain_bytes(place: Place) -> None:
    with place.connect() as connection:
        stream, first = connection.stream("echo")

        def send() -> None:
            stream.sendall(b"\x00raw\n" * 100_000)
            stream.shutdown(1)

        thread = threading.Thread(target=send)
        thread.start()
        with stream.makefile("rb") as file:
            assert first + file.read() == b"welcome\n" + b"\x00raw\n" * 100_000
        thread.join()


def test_the_kernel_identifies_the_peer() -> None:
    import os

    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        assert peer_of(here) == (os.getpid(), os.getuid())
