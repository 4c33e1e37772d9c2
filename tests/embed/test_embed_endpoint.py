"""The OpenAI-compatible embedder with a transport that answers like servers do, correctly and incorrectly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest

from llmc.base.errors import EmbedError
from llmc.embed import endpoint
from llmc.embed.endpoint import HttpEmbedder
from llmc.settings import EmbedderSettings, Secret

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[[httpx.Request], httpx.Response]

KEY = "sk-very-secret"


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "PAUSES", (0.0, 0.0))


def settings(**changes: Any) -> EmbedderSettings:
    values = {
        "kind": "openai",
        "endpoint": "http://127.0.0.1:1/v1",
        "model": "nomic",
        "api_key": Secret(KEY),
        **changes,
    }
    return EmbedderSettings(**values)


def connect(answer: Answer, **changes: Any) -> HttpEmbedder:
    return HttpEmbedder.connect(settings(**changes), httpx.MockTransport(answer))


def good(request: httpx.Request, size: int = 4) -> httpx.Response:
    texts = json.loads(request.content)["input"]
    rows = [{"index": number, "embedding": [len(text), *range(1, size)]} for number, text in enumerate(texts)]
    return httpx.Response(200, json={"data": rows[::-1]})


def test_rows_come_back_in_order_and_of_length_one() -> None:
    texts = [f"{'x' * number}" for number in range(1, 8)]
    rows = connect(good, batch=3).embed(texts)
    wanted = np.array([[len(text), 1, 2, 3] for text in texts], dtype=np.float32)
    assert np.allclose(rows, wanted / np.linalg.norm(wanted, axis=1, keepdims=True))


def test_the_prefix_is_put_before_queries_only() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.extend(json.loads(request.content)["input"])
        return good(request)

    embedder = connect(answer, query_prefix="query: ")
    embedder.embed_query("where")
    embedder.embed(["code"])
    assert seen[1:] == ["query: where", "code"]


def test_an_empty_text_and_a_lone_surrogate_reach_the_server_as_text() -> None:
    assert connect(good).embed(["", "\udcff"]).shape == (2, 4)


def test_a_busy_server_is_asked_again_and_not_for_ever() -> None:
    calls: list[int] = []

    def busy(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        return httpx.Response(503) if len(calls) != 3 else good(request)

    assert connect(busy).dimension == 4
    calls[:] = [1] * 10
    with pytest.raises(EmbedError, match="status 503"):
        connect(busy)
    assert len(calls) == 13


def test_a_refusal_is_not_repeated() -> None:
    calls: list[int] = []

    def refuse(_: httpx.Request) -> httpx.Response:
        calls.append(1)
        return httpx.Response(401, json={"error": f"bad key {KEY}"})

    with pytest.raises(EmbedError, match="status 401"):
        connect(refuse)
    assert len(calls) == 1


def test_a_redirect_is_not_followed() -> None:
    hosts: list[str] = []

    def elsewhere(request: httpx.Request) -> httpx.Response:
        hosts.append(request.url.host)
        return httpx.Response(307, headers={"location": "http://elsewhere.example/v1/embeddings"})

    with pytest.raises(EmbedError, match="status 307"):
        connect(elsewhere)
    assert set(hosts) == {"127.0.0.1"}


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b'{"data": []}',
        b'{"data": [{"index": 1, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": [NaN]}]}',
        b'{"data": [{"index": 0, "embedding": ["a"]}]}',
        b'{"data": [{"index": 0, "embedding": 3}]}',
        b"[" * 100_000,
    ],
)
def test_a_reply_that_is_not_an_embedding_is_reported(body: bytes) -> None:
    with pytest.raises(EmbedError, match="not a list of embeddings"):
        connect(lambda _: httpx.Response(200, content=body))


def test_an_endless_reply_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_REPLY", 1 << 20)
    with pytest.raises(EmbedError, match="larger than 1,048,576 bytes"):
        connect(lambda _: httpx.Response(200, content=b" " * (2 << 20)))


def test_a_server_that_changes_its_dimension_is_reported() -> None:
    sizes = iter([4, 5])
    embedder = connect(lambda request: good(request, next(sizes)))
    with pytest.raises(EmbedError, match="5 dimensions, earlier replies had 4"):
        embedder.embed(["text"])


def test_a_server_that_is_down_is_reported_without_the_key() -> None:
    def down(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(EmbedError) as caught:
        connect(down)
    assert "refused" in str(caught.value)
    assert KEY not in str(caught.value.as_dict())


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "127.0.0.1:1", "http://me:pw@host/v1", "http://host/v1?key=a"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(EmbedError, match=r"embedder\.endpoint"):
        connect(good, endpoint=address)


def test_the_key_goes_into_the_header_and_nowhere_else() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return good(request)

    embedder = connect(answer)
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in seen[0].content.decode() + str(seen[0].url) + embedder.name + repr(vars(embedder))
