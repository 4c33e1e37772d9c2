"""A server that answers one byte at a time delays neither the daemon nor the call beyond the configured limit."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
import search_world
from daemons import CommandLine, private_place, until
from trickling_server import trickling

from llmc.answers.research.web import web_search
from llmc.base.errors import EmbedError, WebError
from llmc.base.outbound import web_client
from llmc.embed.endpoint import HttpEmbedder
from llmc.extend.pruner.endpoint import Endpoint, PrunerError
from llmc.extend.pruner.endpoint import ask as ask_pruner
from llmc.settings import EmbedderSettings, Settings, WebResearch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PARTS = pytest.mark.parametrize("head", [True, False], ids=["the body trickles", "the head trickles"])


@PARTS
def test_an_embeddings_endpoint_has_one_deadline_for_all_attempts(head: bool) -> None:
    with trickling(head=head) as url, pytest.raises(EmbedError, match="timed out"):
        HttpEmbedder.connect(EmbedderSettings(kind="openai", endpoint=url, model="m", timeout_ms=300))


@PARTS
def test_web_research_has_a_deadline(head: bool) -> None:
    web = WebResearch(enabled=True, endpoint="", timeout_ms=300)
    with trickling(head=head) as url, pytest.raises(WebError, match="timed out"):
        web_search("retries", Settings(web_research=WebResearch(enabled=True, endpoint=url, timeout_ms=web.timeout_ms)))


@PARTS
def test_a_pruner_has_a_deadline(head: bool) -> None:
    with trickling(head=head) as url, pytest.raises(PrunerError, match="did not respond"):
        ask_pruner(Endpoint(url, 300), "code", "query")


@PARTS
def test_a_model_has_a_deadline(head: bool) -> None:
    import httpx2

    async def ask(url: str) -> None:
        async with web_client(1 << 20, httpx2.Timeout(30), seconds=0.3) as client:
            await client.get(url)

    with trickling(head=head) as url, pytest.raises(httpx2.TimeoutException):
        asyncio.run(ask(url))


def configured(url: str, **more: Any) -> tuple[str, ...]:
    values = {"kind": "openai", "model": "tiny", "endpoint": url, **more}
    return tuple(word for name, value in values.items() for word in ("--set", f"embedder.{name}={value}"))


def test_a_trickling_endpoint_holds_up_neither_search_nor_status_nor_stop(tmp_path: Path) -> None:
    folder = search_world.write(tmp_path)
    with trickling() as url, private_place() as place:
        user, flags = CommandLine(place, folder), configured(url, timeout_ms=600_000)
        searching = threading.Thread(target=user, args=("search", "retry policy", *flags))
        searching.start()
        assert user("status", *flags).returncode == 0
        searching.join()
        found = user("search", "retry policy", *flags)
        assert "src/depot/retry.py" in found.stdout
        assert "by keywords alone" in found.stdout
        assert user("stop").returncode == 0


class Embeddings(BaseHTTPRequestHandler):
    """Answers only while `up` is set."""

    up: threading.Event

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        rows = [{"index": at, "embedding": [len(text), 1, 2]} for at, text in enumerate(asked)]
        body = json.dumps({"data": rows}).encode() if type(self).up.is_set() else b"not yet"
        self.send_response(200 if type(self).up.is_set() else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def embeddings() -> Iterator[tuple[str, threading.Event]]:
    up = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Embeddings,), {"up": up}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", up
    server.shutdown()
    thread.join()
    server.server_close()


def test_vectors_are_made_once_the_endpoint_answers(
    tmp_path: Path, embeddings: tuple[str, threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    from fuzz_world import opened

    from llmc.envelope.request import RunningRequest

    url, up = embeddings
    monkeypatch.setattr("llmc.indexer.registry.RETRY_SECONDS", 0.05)
    monkeypatch.setattr("llmc.indexer.registry.WAIT_SECONDS", 0.05)
    with opened(tmp_path, *configured(url)[1::2]) as (service, client):
        ask = {"name": "search", "args": {"query": "retry policy"}}
        assert "by keywords alone" in service.call("tool", ask, RunningRequest(client)).text  # type: ignore[attr-defined]
        up.set()
        until(lambda: "by keywords alone" not in service.call("tool", ask, RunningRequest(client)).text)  # type: ignore[attr-defined]
        (writer_thread,) = service._registry.writer_threads.values()
        until(lambda: writer_thread.embedder is not None and not writer_thread.store.without_vectors())
