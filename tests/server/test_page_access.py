"""Access to the page: codes that work once, cookies that open only the page."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from http_world import Served, served
from page_world import PAGES, Seen, login_url, visitor

from llmc.base.home import Home
from llmc.server.http.logins import Logins, seal, uid_of
from llmc.server.http.token import make_token, rotate_token

if TYPE_CHECKING:
    from collections.abc import Iterator


HERE = {"type": "http", "path": "/", "method": "GET", "client": ("192.0.2.1", 5), "server": ("192.0.2.2", 80)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("strangers")) as made:
        yield made


@pytest.mark.parametrize("path", [*PAGES, "/page/live", "/page/nothing"])
def test_a_stranger_sees_the_way_to_log_in_and_nothing_else(server: Served, path: str) -> None:
    with visitor(server, logged_in=False) as browser:
        reply = browser.get(path)
    assert reply.status_code in (401, 404)
    assert server.folder.name not in reply.text
    assert "retry" not in reply.text


def test_the_code_of_ui_works_once_and_leaves_a_cookie_that_no_script_reads(server: Served) -> None:
    url = login_url(server)
    assert server.token() not in url
    with visitor(server, logged_in=False) as browser:
        first = browser.get(url)
        again = httpx.get(url, trust_env=False)
        assert browser.get("/").status_code == 200
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert server.token() not in first.headers["set-cookie"]
    assert again.status_code == 401
    assert "set-cookie" not in again.headers


def test_the_cookie_opens_the_page_and_nothing_else(server: Served) -> None:
    with visitor(server) as browser:
        for path in ("/health", "/metrics", "/openapi.json", "/tools/list"):
            assert browser.get(path).status_code == 401
        assert browser.post("/tools/read", json={"target": "src/depot/retry.py"}).status_code == 401
        assert browser.post("/mcp", json={}).status_code == 401
        assert browser.post("/", json={}).status_code == 405


@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin, cross-site"])
def test_a_page_of_another_origin_cannot_use_the_cookie(server: Served, site: str) -> None:
    with visitor(server) as browser:
        assert browser.get("/page/live", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
        assert browser.get("/page/live", headers={"Sec-Fetch-Site": site}).status_code == 401
        other = browser.get("/page/live", headers={"Origin": f"http://127.0.0.1:{server.port + 1}"})
    assert other.status_code == 403


def test_the_token_may_be_typed_but_not_that_of_a_client(server: Served) -> None:
    with visitor(server, logged_in=False) as browser:
        for wrong in ("", "wrong", server.token("--client", "first")):
            refused = browser.post("/login", data={"token": wrong}, headers={"Origin": server.url})
            assert refused.status_code == 401
            assert "set-cookie" not in refused.headers
        stolen = browser.post("/login", data={"token": server.token()}, headers={"Origin": "http://evil.example"})
        assert stolen.status_code == 403
        assert browser.post("/login", data={"token": server.token()}, headers={"Origin": server.url}).status_code == 200
        assert browser.get("/page/index").status_code == 200


def test_a_stranger_cannot_send_much(server: Served) -> None:
    with visitor(server, logged_in=False) as browser:
        assert browser.post("/login", content=b"token=" + b"x" * 10_000).status_code == 413


def test_a_forged_or_foreign_cookie_is_none(server: Served) -> None:
    name, later = f"llmc_{server.port}", str(int(time.time()) + 3600)
    forged = [f"{later}.{'0' * 64}", later, "", seal("another token of some length, but not ours", later, name)]
    master = server.token()
    forged += [
        seal(master, str(int(time.time()) - 1), name),
        seal(master, str(int(time.time()) + 10**8), name),
        seal(master, later, "llmc_1"),
    ]
    with visitor(server, logged_in=False) as browser:
        for value in forged:
            assert browser.get("/page/index", headers={"Cookie": f"{name}={value}"}).status_code == 401
        right = browser.get("/page/index", headers={"Cookie": f"a=b; {name}={seal(master, later, name)}"})
    assert right.status_code == 200


def test_rotating_the_token_ends_every_visit(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "home"))
    make_token(home)
    logins = Logins(home, 80)
    cookie = logins.exchange(logins.code(), HERE)
    assert cookie is not None
    scope = {**HERE, "headers": [(b"cookie", f"llmc_80={cookie}".encode())]}
    assert logins.admit(scope)
    assert Logins(home, 80).admit(scope)
    rotate_token(home)
    assert logins.admit(scope) is None


def test_codes_are_used_up_and_only_the_last_are_kept(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "home"))
    make_token(home)
    logins = Logins(home, 80)
    first, last = [logins.code() for _ in range(100)][::99]
    assert logins.exchange(first, HERE) is None
    assert logins.exchange(last, HERE) is not None
    assert logins.exchange(last, HERE) is None


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_kernel_says_whose_a_connection_is(family: int, host: str) -> None:
    with socket.socket(family) as listener:
        try:
            listener.bind((host, 0))
        except OSError:
            assert family == socket.AF_INET6  # a machine without IPv6
            return
        listener.listen()
        port = listener.getsockname()[1]
        with socket.create_connection((host, port)) as peer:
            mine = peer.getsockname()[1]
            if Path("/proc/net/tcp").exists():
                assert uid_of((host, mine), (host, port)) == os.getuid()
            assert uid_of((host, mine), (host, 1)) is None


def test_the_way_in_is_a_sound_page_too(server: Served) -> None:
    with visitor(server, logged_in=False) as browser:
        seen = Seen(browser.get("/login?code=%3Cscript%3E").text)
        assert seen.open == []
        assert seen.tags.count("script") == 1
        for name in ("style.css", "script.js", "icon.svg"):
            assert browser.get(f"/page/{name}").status_code == 200
