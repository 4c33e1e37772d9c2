"""A clone of a published repository takes its vectors from the shared server instead of a slow embedder."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from daemons import Place, private_place
from shared_server import SharedNode, node, tokens_in
from shared_world import Checkout, shared_url

from llmc.settings import EmbedderSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = {f"src/part{number}.py": f"def part{number}():\n    return {number}\n" for number in range(6)}
NEW = "def written_here():\n    pass\n"
SECRET = "key = 'AKIAQ7RTZ3MNP5KXW2VD'\n"


@dataclass
class EmbeddingServer:
    """An OpenAI-compatible endpoint that remembers what it embedded."""

    url: str = ""
    texts: list[str] = field(default_factory=list)


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    made = EmbeddingServer()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            made.texts += texts
            rows = [
                {"index": at, "embedding": list(hashlib.sha256(text.encode()).digest()[:8])}
                for at, text in enumerate(texts)
            ]
            body = json.dumps({"data": rows}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: the output of tests stays clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        made.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield made
        server.shutdown()


@dataclass
class Clone:
    """A fresh clone of acme/api beside a server that has its vectors."""

    place: Place
    folder: Path
    endpoint: EmbeddingServer
    server: SharedNode
    tokens: dict[str, str]

    def index(self, token: str, url: str = "") -> list[str]:
        """The texts that were embedded here, without the embedder's own probe."""
        config = self.folder.parent / "llmc.toml"
        config.write_text(
            f'[embedder]\nkind = "openai"\nmodel = "m"\nendpoint = "{self.endpoint.url}"\n'
            f'[[remotes]]\nname = "team"\nurl = "{url or self.server.url}"\ntoken = "{token}"\n'
        )
        self.endpoint.texts.clear()
        self.place.llmc("index", "--once", "--config", str(config), cwd=self.folder)
        return [text for text in self.endpoint.texts if "def " in text or "key" in text]


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Clone]:
    with embedding_server() as endpoint:
        url = shared_url(tmp_path)
        settings = Settings(embedder=EmbedderSettings(kind="openai", model="m", endpoint=endpoint.url))
        checkout = Checkout(tmp_path / "api", "acme/api")
        checkout.commit({**FILES, "secret.py": SECRET})
        checkout.publish(url, settings=settings)
        checkout.git("remote", "add", "origin", "git@code.example:acme/api.git")
        checkout.write({"src/new.py": NEW})
        path, tokens = tokens_in(tmp_path, ann=["acme/*"], bob=["other/*"])
        embedder = ("embedder.kind=openai", "embedder.model=m", f"embedder.endpoint={endpoint.url}")
        options = [part for one in embedder for part in ("--set", one)]
        with private_place() as place, node(place, url, "--tokens", path, *options) as server:
            yield Clone(place, checkout.folder, endpoint, server, tokens)


def test_only_unpublished_content_is_embedded(clone: Clone) -> None:
    embedded = clone.index(clone.tokens["ann"])

    # A file with a secret was published without it, so its content is another.
    assert sorted("written_here" in text for text in embedded) == [False, True]
    assert all("written_here" in text or "AKIA" in text for text in embedded)
    found = clone.place.llmc("status", "--json", cwd=clone.folder).stdout
    assert '"vectors"' in found


@pytest.mark.parametrize("trouble", ["a token without access", "a dead server"])
def test_without_an_answer_everything_is_embedded_here(clone: Clone, trouble: str) -> None:
    dead = trouble == "a dead server"
    embedded = clone.index(clone.tokens["ann" if dead else "bob"], "http://127.0.0.1:9" if dead else "")

    assert len(embedded) == len(FILES) + 2


def test_vectors_of_a_repository_require_permission_to_read_it(clone: Clone) -> None:
    hashes = [hashlib.sha256(FILES["src/part1.py"].encode()).hexdigest()]
    ask = {"repo": "acme/api", "embedder": "", "hashes": hashes}
    with clone.server.client(clone.tokens["bob"]) as bob, clone.server.client() as stranger:
        hidden = bob.post("/vectors", json=ask)
        unknown = bob.post("/vectors", json={**ask, "repo": "acme/nothing"})
        assert stranger.post("/vectors", json=ask).status_code == 401
        assert bob.post("/vectors", json={"repo": 1}).status_code == 400
    assert (hidden.status_code, hidden.content) == (unknown.status_code, unknown.content)
    assert hidden.json() == {"vectors": {}}
