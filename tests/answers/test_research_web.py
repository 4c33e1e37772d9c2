"""Research outside the roots: off by default, limited to one configured address, with untrusted responses."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from research_world import TOKEN, opened, write

from llmc.answers.research.web import web_search
from llmc.base.errors import ConfigError, LlmcError, WebError
from llmc.settings import Secret, Settings, WebResearch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RESULTS = (
    b'{"results": [{"title": "Retry \\u202e storms", "url": "https://example.org/a", "content": "Use jitter."},'
    b' {"title": "no address", "url": "javascript:alert(1)"}, "nonsense"]}'
)


class Service(BaseHTTPRequestHandler):
    asked: list[tuple[str, str]]
    status, body, location = 200, RESULTS, ""

    def do_GET(self) -> None:
        type(self).asked.append((self.path, self.headers.get("Authorization", "")))
        self.send_response(type(self).status)
        if type(self).location:
            self.send_header("Location", type(self).location)
        self.end_headers()
        self.wfile.write(type(self).body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def service() -> Iterator[type[Service]]:
    handler = type("Own", (Service,), {"asked": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    handler.address = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


def settings(endpoint: str, **more: Any) -> Settings:
    return Settings(web_research=WebResearch(enabled=True, endpoint=endpoint, **more))


def test_web_research_is_off_unless_it_is_enabled(tmp_path: Path, service: type[Service]) -> None:
    with pytest.raises(ConfigError, match="switched off"):
        web_search("retries", Settings(web_research=WebResearch(endpoint=service.address)))  # type: ignore[attr-defined]
    with opened(tmp_path / "home", write(tmp_path / "depot")) as world:
        assert world.ask("web_research", query="retries").error
    assert not service.asked


def test_results_come_from_the_configured_address_with_its_key(tmp_path: Path, service: type[Service]) -> None:
    web = WebResearch(enabled=True, endpoint=f"{service.address}/s?x={{query}}", api_key=Secret("k3y"))  # type: ignore[attr-defined]
    with opened(tmp_path / "home", write(tmp_path / "depot"), web_research=web) as world:
        reply = world.ask("web_research", query=f"retry storms {TOKEN}")
    assert "1 result" in reply.text
    assert "https://example.org/a" in reply.text
    assert "\u202e" not in reply.text
    ((path, key),) = service.asked
    assert path.startswith("/s?x=retry%20storms")
    assert TOKEN not in path
    assert key == "Bearer k3y"


@pytest.mark.parametrize(
    ("status", "body", "location"),
    [
        (302, b"", "http://127.0.0.1:1/elsewhere"),
        (500, b"", ""),
        (200, b"<html>", ""),
        (200, b"[" * 100_000, ""),
        (200, b"{}", ""),
    ],
)
def test_whatever_is_wrong_with_the_answer_is_an_error(
    service: type[Service], status: int, body: bytes, location: str
) -> None:
    service.status, service.body, service.location = status, body, location
    with pytest.raises(WebError, match="web search failed"):
        web_search("retries", settings(service.address))  # type: ignore[attr-defined]
    assert len(service.asked) == 1


def test_a_long_answer_is_cut_off(service: type[Service]) -> None:
    service.body = b"x" * 100_000
    with pytest.raises(WebError, match="larger"):
        web_search("retries", settings(service.address, max_bytes=2_000))  # type: ignore[attr-defined]


@pytest.mark.parametrize("endpoint", ["", "ftp://x/y", "file:///etc/passwd", "http://user:pw@host/"])
def test_an_endpoint_that_is_not_a_plain_address_is_refused(endpoint: str) -> None:
    with pytest.raises(ConfigError):
        web_search("retries", settings(endpoint))


def test_a_dead_endpoint_is_an_error() -> None:
    with pytest.raises(LlmcError, match="web search failed"):
        web_search("retries", settings("http://127.0.0.1:9/", timeout_ms=500))
