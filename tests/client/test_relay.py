"""`llmc serve` when things go wrong: broken input, clients that die, daemons that die."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from daemons import PATIENCE, Place, private_place, until
from fake_mcp_server import LARGEST
from locations import SUPPORT
from mcp_world import HANDSHAKE, MODERN, Raw, raw

from llmc.base.protocol import RECEIVED, REPEATABLE
from llmc.client.relay import CHUNK, Relay
from llmc.tools.registry import TOOLS, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

FAKE_SERVER = (str(SUPPORT / "fake_mcp_server.py"),)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """Shared: starting a daemon with the SDK is the slow part of these tests."""
    with private_place() as made:
        yield made


@pytest.fixture
def served(place: Place, tmp_path: Path) -> Iterator[Raw]:
    Path(place.home.path, "events").unlink(missing_ok=True)
    with raw(place, tmp_path, command=FAKE_SERVER) as made:
        yield made


def events(place: Place) -> list[str]:
    file = Path(place.home.path, "events")
    return file.read_text().splitlines() if file.exists() else []


def test_broken_lines_are_answered_and_the_session_continues(served: Raw) -> None:
    served.handshake()
    for line, code in [
        (b"{broken\n", -32700),
        (b'"\xff\xfe"\n', -32700),
        (b"[" * 50_000 + b"\n", -32700),
        (b"[]\n", -32600),
        (b"7\n", -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"1.0","id":5,"method":"ping"}\n', -32600),
    ]:
        served.write(line)
        assert served.receive()["error"]["code"] == code, line
    assert "result" in served.ask("ping")


def test_a_message_that_is_too_large_is_refused_by_its_id(served: Raw) -> None:
    served.handshake()
    large = b'"x' + b"y" * (20 << 20) + b'"'
    served.write(b'{"jsonrpc":"2.0","id":91,"method":"ping","params":{"a":' + large + b"}}\n")
    assert (reply := served.receive())["id"] == 91
    assert "too large" in reply["error"]["message"]
    served.write(b'{"method":"ping","params":{"a":"' + b"y" * LARGEST + b'"},"jsonrpc":"2.0","id":"last"}\n')
    assert served.receive()["id"] == "last"
    assert "result" in served.ask("ping")


def test_missing_and_unknown_things_are_protocol_errors(served: Raw) -> None:
    served.handshake()
    assert served.ask("tools/call", arguments={})["error"]["code"] == -32602
    assert served.ask("tools/call", name=7)["error"]["code"] == -32602
    assert served.call("reed")["error"]["message"] == "no such tool"
    assert served.call("read")["error"] == {"code": -32602, "message": "target is missing"}
    assert served.ask("no/such")["error"]["code"] == -32601


def test_questions_before_the_handshake_are_refused(served: Raw) -> None:
    assert served.ask("tools/list")["error"]["code"] == -32602
    assert "result" in served.handshake()


def test_a_cancelled_call_stops_working(served: Raw, place: Place, tmp_path: Path) -> None:
    served.handshake()
    number = served.send("tools/call", name="read", arguments={"target": str(tmp_path / "never")})
    until(lambda: events(place) == ["read begins for twin"])
    served.notify("notifications/cancelled", requestId=number)
    until(lambda: events(place)[-1] == "read cancelled")
    assert "result" in served.ask("ping")


def test_progress_comes_before_the_reply_and_only_grows(served: Raw, tmp_path: Path) -> None:
    served.handshake()
    wanted = {"name": "read", "arguments": {"target": str(tmp_path)}, "_meta": {"progressToken": "p"}}
    served.send("tools/call", **wanted)
    told = served.receive()
    assert told["params"] == {"progressToken": "p", "progress": 1.0, "total": 2.0, "message": "waiting"}
    assert served.receive()["result"]["content"][0]["text"] == "read is done"


def test_a_client_that_dies_takes_the_relay_and_its_call_along(served: Raw, place: Place, tmp_path: Path) -> None:
    served.handshake()
    served.send("tools/call", name="shell", arguments={"target": str(tmp_path / "never")})
    until(lambda: events(place))
    assert served.process.stdin is not None
    assert served.process.stdout is not None
    served.process.stdout.close()
    served.process.stdin.close()
    assert served.process.wait() == 0
    until(lambda: events(place)[-1] == "shell cancelled")


def test_a_client_that_only_closes_its_input_gets_its_last_replies(served: Raw, tmp_path: Path) -> None:
    served.send("initialize", **HANDSHAKE)
    served.send("tools/call", name="read", arguments={"target": str(tmp_path)})
    code, out = served.close()
    assert code == 0
    assert out.count(b"\n") == 2
    assert b"read is done" in out


def test_a_call_that_may_be_repeated_survives_the_daemon(served: Raw, place: Place, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    served.handshake()
    number = served.send("tools/call", name="read", arguments={"target": str(gate)})
    until(lambda: len(events(place)) == 1)
    os.kill(place.pid, signal.SIGKILL)
    until(lambda: len(events(place)) == 2)
    gate.touch()
    reply = served.receive()
    assert reply["id"] == number
    assert reply["result"]["content"][0]["text"] == "read is done"


def test_a_call_that_may_not_be_repeated_is_answered_with_an_error(served: Raw, place: Place, tmp_path: Path) -> None:
    served.handshake()
    number = served.send("tools/call", name="shell", arguments={"target": str(tmp_path / "never")})
    until(lambda: events(place))
    os.kill(place.pid, signal.SIGKILL)
    reply = served.receive()
    assert reply["id"] == number
    assert "died" in reply["error"]["message"]
    assert events(place) == ["shell begins for twin"]
    assert len(served.ask("tools/list")["result"]["tools"]) == 2


def test_a_call_is_sent_again_unless_the_daemon_confirmed_it() -> None:
    first, second = socket.socketpair(), socket.socketpair()
    daemons = iter((first[0], second[0]))
    (source, ask), (told, sink) = os.pipe(), os.pipe()
    running = threading.Thread(target=Relay(lambda: (next(daemons), b""), source, sink).run)
    running.start()
    with os.fdopen(ask, "wb", 0) as client, os.fdopen(told, "rb") as replies:
        client.write(line(7, method="tools/call", params={"name": "session"}))
        assert ids(first[1].recv(CHUNK)) == [7]
        first[1].close()  # exits without having read it
        assert ids(second[1].recv(CHUNK)) == [7]
        second[1].sendall(line(7, result="done"))
        assert json.loads(replies.readline())["result"] == "done"
        client.write(line(8, method="tools/call", params={"name": "session"}))
        assert ids(second[1].recv(CHUNK)) == [8]
        confirmed = {"jsonrpc": "2.0", "method": RECEIVED, "params": {"id": 8}}
        second[1].sendall(json.dumps(confirmed).encode() + b"\n")
        second[1].close()
        reply = json.loads(replies.readline())
        assert reply["id"] == 8
        assert "died" in reply["error"]["message"]
        client.close()
        running.join(PATIENCE)
        os.close(sink)
    os.close(source)


def test_a_daemon_that_exited_while_idle_is_started_by_the_next_request(served: Raw, place: Place) -> None:
    served.handshake()
    first = place.pid
    os.kill(first, signal.SIGTERM)
    place.wait_until_free()
    assert len(served.ask("tools/list")["result"]["tools"]) == 2
    assert place.pid != first


def test_a_reply_that_is_being_written_when_the_daemon_goes_comes_once() -> None:
    first, second = socket.socketpair(), socket.socketpair()
    daemons = iter((first[0], second[0]))
    (source, ask), (told, sink) = os.pipe(), os.pipe()
    running = threading.Thread(target=Relay(lambda: (next(daemons), b""), source, sink).run)
    running.start()
    with os.fdopen(ask, "wb", 0) as client, os.fdopen(told, "rb") as replies:
        client.write(line(1, method="initialize"))
        assert ids(first[1].recv(CHUNK)) == [1]
        first[1].sendall(line(1, result="x" * (1 << 20)))  # more than fits into a pipe
        replies.peek(1)  # the reply has started to arrive
        first[1].close()
        client.write(line(2, method="tools/list"))
        assert ids(second[1].recv(CHUNK)) == [1, 2]
        second[1].sendall(line(1, result="again") + line(2, result="list"))
        assert ids(replies.readline() + replies.readline()) == [1, 2]
        client.close()
        running.join(PATIENCE)
        os.close(sink)
        assert replies.read() == b""
    second[1].close()
    os.close(source)


def line(number: int, **said: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, **said}).encode() + b"\n"


def ids(lines: bytes) -> list[int]:
    return [json.loads(one)["id"] for one in lines.splitlines()]


def test_a_stateless_session_survives_the_daemon_too(served: Raw, place: Place) -> None:
    assert served.ask("server/discover", _meta=MODERN)["result"]["instructions"] == "Wait."
    os.kill(place.pid, signal.SIGKILL)
    place.wait_until_free()
    assert len(served.ask("tools/list", _meta=MODERN)["result"]["tools"]) == 2


def test_a_daemon_that_cannot_start_is_reported_in_the_reply(tmp_path: Path) -> None:
    with private_place() as place:
        Path(place.home.path).parent.joinpath("home").write_text("a file is in the way")
        with raw(place, tmp_path) as served:
            assert place.environ["LLMC_HOME"] in served.ask("initialize", **HANDSHAKE)["error"]["message"]
        Path(place.home.path).unlink()


def test_the_relay_repeats_only_what_the_tools_call_repeatable() -> None:
    declared = {name for name in TOOLS if tool(name).repeatable and not tool(name).has_side_effects}
    assert declared - {"llmc"} == REPEATABLE  # `llmc` is as repeatable as the tool that it calls
