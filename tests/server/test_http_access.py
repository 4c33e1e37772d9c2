"""HTTP is closed to strangers: which requests are refused, and what cannot keep the server busy."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from http_world import Served, served

from llmc.base.errors import ConfigError
from llmc.server.http.address import Address, parse_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daemons import Place

SMALL = 64 << 10


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = ("--set", "server.request_seconds=1", "--set", f"server.max_request_bytes={SMALL}")
    with served(tmp_path_factory.mktemp("http"), *limits) as made:
        yield made


def raw(server: Served, request: bytes) -> bytes:
    """Everything that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as peer:
        peer.sendall(request)
        return b"".join(iter(lambda: peer.recv(65536), b""))


def head(server: Served, *lines: str, method: str = "GET /health") -> bytes:
    token = f"Authorization: Bearer {server.token()}"
    return "\r\n".join([f"{method} HTTP/1.1", token, "Connection: close", *lines, "", ""]).encode("latin-1")


def status(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1:{other}",
        "127.0.0.1",
        "localhost:{port}.",
        "localhost.evil.example:{port}",
        "evil.example",
        "evil.example:{port}",
        "user@127.0.0.1:{port}",
        "127.0.0.1:{port}@evil.example",
        "127.0.0.1:{port},evil.example",
        "127.1:{port}",
        "0.0.0.0:{port}",
        "",
    ],
)
def test_a_host_that_is_not_exactly_the_servers_is_refused(server: Served, host: str) -> None:
    named = host.format(port=server.port, other=server.port % 65535 + 1)
    assert status(raw(server, head(server, f"Host: {named}"))) == 421


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LocalHost:{port}", "[::1]:{port}"])
def test_our_own_names_are_let_in(server: Served, host: str) -> None:
    assert status(raw(server, head(server, f"Host: {host.format(port=server.port)}"))) == 200


def test_no_host_or_two_of_them_are_refused(server: Served) -> None:
    mine = f"Host: 127.0.0.1:{server.port}"
    assert status(raw(server, head(server))) == 400
    assert status(raw(server, head(server, mine, "Host: evil.example"))) == 400
    old = f"GET /health HTTP/1.0\r\nAuthorization: Bearer {server.token()}\r\n\r\n".encode()
    assert status(raw(server, old)) == 421


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1:{port}.evil.example",
        "http://127.0.0.1:{other}",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1",
        "http://127.0.0.1:{port}/",
        "null",
        "",
    ],
)
def test_pages_of_another_origin_may_not_ask(server: Served, origin: str) -> None:
    named = origin.format(port=server.port, other=server.port % 65535 + 1)
    with server.client(Origin=named) as client:
        reply = client.get("/health")
        asked = client.options("/tools/search", headers={"Access-Control-Request-Method": "POST"})
    assert reply.status_code == asked.status_code == 403
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_our_own_pages_may_ask(server: Served) -> None:
    with server.client(Origin=server.url) as client:
        reply = client.get("/health")
    assert reply.status_code == 200
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/health", "/metrics", "/openapi.json", "/tools/list", "/mcp", "/", "/nothing"])
def test_nothing_is_answered_without_the_token(server: Served, path: str) -> None:
    for token in ("", "wrong", server.token()[:-1], server.token() + "x", "first." + "0" * 64, "."):
        with server.client(token) as client:
            for reply in (client.get(path), client.post(path, json={})):
                assert reply.status_code == 401
                assert reply.headers["www-authenticate"].startswith("Bearer")
                assert server.folder.name not in reply.text


def test_a_token_elsewhere_than_in_its_header_is_none(server: Served) -> None:
    token, mine = server.token(), f"Host: 127.0.0.1:{server.port}"
    twice = head(server, mine, f"Authorization: Bearer {token}")
    assert status(raw(server, twice)) == 401
    with server.client("") as client:
        assert client.get(f"/health?token={token}").status_code == 401
        assert client.get("/health", headers={"Authorization": f"Basic {token}"}).status_code == 401
        assert client.get("/health", headers={"Authorization": token}).status_code == 401
        assert client.get("/health", headers={"X-Forwarded-For": "127.0.0.1", "Cookie": f"token={token}"}).is_error


def test_a_body_over_the_limit_is_refused_however_it_is_announced(server: Served) -> None:
    large = b'{"query": "' + b"x" * SMALL + b'"}'
    mine = f"Host: 127.0.0.1:{server.port}"
    with server.client() as client:
        assert client.post("/tools/search", content=large).status_code == 413
        assert client.post("/mcp", content=large).status_code == 413
        assert client.post("/tools/search", content=iter([large])).status_code == 413
    stated = head(server, mine, "Content-Length: 99999999999", method="POST /tools/search")
    assert status(raw(server, stated)) == 413


def test_a_head_without_end_is_refused(server: Served) -> None:
    mine = f"Host: 127.0.0.1:{server.port}"
    assert status(raw(server, head(server, mine, *(f"X-{n}: {'y' * 1000}" for n in range(64))))) == 431
    assert status(raw(server, b"GET /" + b"x" * (1 << 16))) == 400
    assert status(raw(server, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")) == 400


def test_slow_clients_are_cut_off_and_others_are_served_meanwhile(server: Served) -> None:
    """The event that is waited for is the server closing the connection."""
    mine = f"Host: 127.0.0.1:{server.port}"
    begun = head(server, mine, "Content-Type: application/json", "Content-Length: 100", method="POST /tools/search")
    with contextlib.ExitStack() as stack:
        peers = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60)) for _ in range(60)
        ]
        for number, peer in enumerate(peers):
            peer.sendall((b"", b"GET /health HTTP/1.1\r\nHost: ", begun)[number % 3])
        trickling = threading.Event()
        trickle = threading.Thread(target=trickled, args=(peers[1], trickling))
        trickle.start()
        assert server.call("find", tool="retry").status_code == 400
        assert server.call("search", query="retry").status_code == 200
        for peer in peers:
            rest = b""
            with contextlib.suppress(ConnectionResetError):
                rest = b"".join(iter(lambda peer=peer: peer.recv(65536), b""))  # type: ignore[misc]
            assert rest == b"" or status(rest) == 408
        trickling.set()
        trickle.join()
    assert server.call("search", query="retry").status_code == 200


def trickled(peer: socket.socket, stop: threading.Event) -> None:
    """A byte now and then, forever."""
    with contextlib.suppress(OSError):
        while not stop.wait(0.05):
            peer.sendall(b"x")


def test_a_client_that_does_not_read_is_cut_off(server: Served) -> None:
    """Pipelined requests whose replies are not read: eventually the server closes the connection and continues."""
    ask = head(server, f"Host: 127.0.0.1:{server.port}", method="GET /openapi.json").replace(
        b"Connection: close\r\n", b""
    )
    with socket.socket() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(60)
        peer.connect(("127.0.0.1", server.port))
        peer.sendall(ask * 800)
        ended = select.poll()
        ended.register(peer, select.POLLRDHUP)
        assert ended.poll(60_000)
    assert server.call("search", query="retry").status_code == 200


def test_a_new_token_ends_the_old_one_at_once(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        old, named = server.token(), server.token("--client", "ci")
        assert server.call("find", named, "", glob="*.py").status_code == 200
        new = server.place.llmc("token", "rotate").stdout.strip()
        file = Path(server.place.home.path) / "token"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert [server.call("find", token, glob="*.py").status_code for token in (old, named, new)] == [401, 401, 200]
        file.chmod(0o644)
        assert server.call("find", new, glob="*.py").status_code == 401
        again = server.place.llmc("token", "show").stdout.strip()
        assert again != new
        assert server.call("find", again, glob="*.py").status_code == 200


def test_the_listener_ends_with_the_command_that_holds_it(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert server.call("find", glob="*.py").status_code == 200
        server.process.terminate()
        server.process.wait(60)
        with contextlib.suppress(httpx.TransportError):
            while server.call("find", glob="*.py").status_code == 200:
                pass
        assert server.place.llmc("find", "retry", cwd=server.folder).returncode == 0


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", ":::0", "127.0.0.1:99999", "no.such.host.invalid:0"])
def test_it_does_not_listen_where_it_must_not(place: Place, tmp_path: Path, address: str) -> None:
    done = place.llmc("serve", "--http", address, "--root", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""


def test_a_folder_that_cannot_be_served_is_reported_at_once(place: Place) -> None:
    done = place.llmc("serve", "--http", "127.0.0.1:0", cwd="/")
    assert done.returncode == 2
    assert "--root" in done.stderr


def test_half_of_tls_and_broken_tls_are_refused(place: Place, tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("no certificate")
    one = place.llmc("serve", "--http", "127.0.0.1:0", "--tls-cert", "cert.pem", cwd=tmp_path)
    two = place.llmc("serve", "--http", "0.0.0.0:0", "--tls-cert", "cert.pem", "--tls-key", "cert.pem", cwd=tmp_path)
    assert (one.returncode, two.returncode) == (2, 2)
    assert "both" in one.stderr
    assert "cert.pem" in two.stderr


def test_a_port_that_is_taken_is_named(place: Place, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = place.llmc("serve", "--http", f"127.0.0.1:{port}", cwd=tmp_path)
    assert done.returncode == 4
    assert str(port) in done.stderr


def test_with_tls_it_listens_beyond_this_machine(tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ("-subj", "/CN=llmc.test", "-addext", "subjectAltName=DNS:llmc.test,IP:127.0.0.1")
    made = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "1", "-nodes")
    files = ("-keyout", str(key), "-out", str(cert))
    subprocess.run(["openssl", "req", "-x509", *made, *files, *subject], check=True, capture_output=True)
    tls = ("--tls-cert", str(cert), "--tls-key", str(key), "--allow-host", "llmc.test")
    with served(tmp_path, *tls, address="0.0.0.0:0") as server:
        authorization = {"Authorization": f"Bearer {server.token()}"}
        url = f"https://127.0.0.1:{server.port}/health"
        with httpx.Client(verify=context_for(cert), headers=authorization, trust_env=False) as client:
            assert client.get(url).status_code == 200
            assert client.get(url, headers={"Host": f"llmc.test:{server.port}"}).status_code == 200
            assert client.get(url, headers={"Host": f"other.test:{server.port}"}).status_code == 421


def context_for(cert: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(cert))


def test_serving_without_tls_needs_the_option_insecure(tmp_path: Path) -> None:
    with served(tmp_path, "--insecure", address="0.0.0.0:0") as server:
        url = f"http://127.0.0.1:{server.port}/health"
        authorization = {"Authorization": f"Bearer {server.token()}"}
        assert httpx.get(url, headers=authorization, trust_env=False).status_code == 200
        assert httpx.get(url, trust_env=False).status_code == 401


def test_addresses_are_read_as_people_write_them() -> None:
    assert parse_address("", "127.0.0.1", 7331) == ("127.0.0.1", 7331)
    assert parse_address("8080", "127.0.0.1", 7331) == ("127.0.0.1", 8080)
    assert parse_address(":8080", "127.0.0.1", 7331) == ("127.0.0.1", 8080)
    assert parse_address("localhost", "127.0.0.1", 7331) == ("localhost", 7331)
    assert parse_address("[::1]:80", "127.0.0.1", 7331) == ("::1", 80)
    assert parse_address("[::1]", "127.0.0.1", 7331) == ("::1", 7331)
    with pytest.raises(ConfigError):
        parse_address("::1:80", "127.0.0.1", 7331)


def test_a_default_port_may_be_left_out() -> None:
    assert Address("127.0.0.1", 443, "https").is_own_host("localhost", "127.0.0.1")
    assert not Address("127.0.0.1", 443, "http").is_own_host("localhost", "127.0.0.1")


def test_a_server_for_others_has_the_names_it_was_given_and_its_address() -> None:
    shared = Address("0.0.0.0", 7331, "https", ("Code.example",))
    for host in ("10.0.0.5:7331", "code.example:7331"):
        assert shared.is_own_host(host, "10.0.0.5")
        assert shared.is_own_origin(f"https://{host}", "10.0.0.5")
    for host in ("0.0.0.0:7331", "localhost:7331", "10.0.0.6:7331", "code.example", "evil.code.example:7331"):
        assert not shared.is_own_host(host, "10.0.0.5")
    assert Address("build.example", 7331).is_own_host("build.example:7331", "10.0.0.5")
    assert Address("::1", 7331).is_own_host("[::1]:7331", "::1")


def test_a_client_that_dies_in_the_middle_harms_no_other(server: Served) -> None:
    script = (
        "import httpx, sys, os, threading\n"
        "threading.Timer(0.05, os._exit, (1,)).start()\n"
        "c = httpx.Client(base_url=sys.argv[1], headers={'Authorization': 'Bearer ' + sys.argv[2]}, trust_env=False)\n"
        "while True: c.post('/tools/grep', json={'pattern': '.', 'all': True})\n"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-c", script, server.url, server.token()], check=False)
    assert server.call("search", query="retry").status_code == 200


def test_a_daemon_that_dies_listens_again_at_the_same_place(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        os.kill(server.place.pid, signal.SIGKILL)
        assert server.process.stderr is not None
        while "listening again" not in (said := server.process.stderr.readline()):
            assert said, "it gave up"
        assert server.call("search", query="retry").status_code == 200


def test_a_daemon_stopped_by_the_user_is_not_restarted(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert server.place.llmc("stop").returncode == 0
        assert server.process.wait(60) == 4
        with pytest.raises(httpx.TransportError):
            server.call("search", query="retry")
