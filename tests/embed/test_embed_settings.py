"""Configured embedders, from the command line: a broken one is reported, a working one answers."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from search_world import write

from llmc.embed.static import HashEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daemons import Place

QUESTION = ("how", "long", "is", "waited", "before", "the", "next", "attempt")


def asked(place: Place, root: Path, *settings: str) -> str:
    flags = [part for setting in settings for part in ("--set", setting)]
    command = ["--no-daemon", "--root", str(root), *flags]
    assert place.llmc(*command, "index", "--once").returncode == 0
    reply = place.llmc(*command, "--plain", "search", *QUESTION)
    assert reply.returncode == 0, reply.stderr
    assert "src/depot/retry.py" in reply.stdout
    return reply.stdout


def test_the_bundled_model_needs_no_word_about_it(place: Place, tmp_path: Path) -> None:
    assert "keywords alone" not in asked(place, write(tmp_path / "depot"))


def test_a_model_folder_that_is_missing_costs_the_vectors_and_the_answer_says_so(place: Place, tmp_path: Path) -> None:
    said = asked(place, write(tmp_path / "depot"), f"embedder.model={tmp_path / 'gone'}")
    assert "by keywords alone, the embedding model cannot be used" in said
    assert "gone/llmc.json is missing" in said


def test_a_model_folder_of_another_dimension_costs_the_vectors_and_the_answer_says_so(
    place: Place, tmp_path: Path
) -> None:
    said = asked(place, write(tmp_path / "depot"), "embedder.dimension=384")
    assert "by keywords alone" in said
    assert "256 dimensions, but embedder.dimension is 384" in said


def test_status_shows_the_embedder_of_the_asker(place: Place, tmp_path: Path) -> None:
    flags = ["--root", str(write(tmp_path / "depot"))]
    assert place.llmc(*flags, "index", "--once").returncode == 0
    names = [
        json.loads(place.llmc(*flags, *more, "status", "--json").stdout)["embedder"]["name"]
        for more in ([], ["--set", "embedder.kind=hash"])
    ]
    assert names[0].startswith("llmc-code")
    assert "hash" in names[1]


def test_the_built_in_model_and_an_endpoint_answer_together(place: Place, tmp_path: Path) -> None:
    with endpoint() as (address, texts):
        said = asked(
            place,
            write(tmp_path / "depot"),
            "embedder.kind=combined",
            f"embedder.endpoint={address}",
            "embedder.model=m",
        )
    assert "keywords alone" not in said
    assert any("class RetryPolicy" in text for text in texts)
    assert " ".join(QUESTION) in texts


@contextmanager
def endpoint() -> Iterator[tuple[str, list[str]]]:
    """An embeddings server on this machine, and the texts that it received."""
    texts: list[str] = []
    embedder = HashEmbedder()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            inputs = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            texts.extend(inputs)
            rows = [{"index": at, "embedding": row.tolist()} for at, row in enumerate(embedder.embed(inputs))]
            body = json.dumps({"data": rows}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing to the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", texts
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
