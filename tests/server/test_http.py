"""REST: calls of a program without MCP, and their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jsonschema
import pytest
from http_world import Served, served
from prometheus_client.parser import text_string_to_metric_families

from llmc.tools.registry import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("http")) as made:
        yield made


def test_a_tool_answers_with_text_and_data(server: Served) -> None:
    reply = server.call("search", query="retry policy")
    assert reply.status_code == 200
    body = reply.json()
    assert "src/depot/retry.py" in body["text"]
    assert body["data"]["files"]
    assert body["tool"] == "search"


def test_grep_filters_tests_and_kinds(server: Served) -> None:
    found = server.call("grep", pattern="RetryPolicy", no_tests=True, kind=["def"]).json()
    assert [file["path"] for file in found["data"]["files"]] == ["src/depot/retry.py"]
    assert server.call("grep", pattern="RetryPolicy", kind=["klass"]).status_code == 400
    assert server.call("outline", path="src/depot/retry.py:1-8").json()["text"].endswith("class RetryPolicy")


def test_the_rest_of_a_reply_is_read_and_searched_by_its_handle(server: Served) -> None:
    first = server.call("grep", pattern=".", budget=80).json()
    handle = first["handle"]
    assert first["text"].endswith(handle)
    assert server.call("read", target=handle).status_code == 200
    inside = server.call("grep", pattern="class", path=handle).json()
    assert "class" in inside["text"]


def test_health_names_the_roots_and_their_state(server: Served) -> None:
    with server.client() as client:
        body = client.get("/health").json()
    assert body["status"] == "ok"
    assert [root["name"] for root in body["roots"]] == ["depot"]


def test_the_list_of_tools_is_that_of_the_profile(server: Served) -> None:
    with server.client() as client:
        lean = [tool["name"] for tool in client.get("/tools/list").json()["tools"]]
        full = [tool["name"] for tool in client.get("/tools/list?profile=full").json()["tools"]]
        wrong = client.get("/tools/list?profile=everything")
    assert lean == ["search", "grep", "read", "llmc"]
    assert set(lean) < set(full)
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "query")


def test_an_unknown_agent_is_not_found(server: Served) -> None:
    with server.client() as client:
        assert client.get("/tools/list?agent=nobody").status_code == 404
        assert client.post("/tools/search?agent=nobody", json={"query": "x"}).status_code == 404
        assert client.post("/mcp?agent=nobody", json={}).status_code == 404


def test_the_openapi_document_has_every_tool(server: Served) -> None:
    with server.client() as client:
        document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {f"/tools/{name}" for name in ("search", "grep", "read", "find")} <= set(document["paths"])
    assert {path.removeprefix("/tools/") for path in document["paths"] if path.startswith("/tools/")} <= {
        *TOOLS,
        "list",
    }
    body = document["paths"]["/tools/grep"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator.check_schema(body)
    jsonschema.validate({"pattern": "x", "path": ["a", "b"]}, body)
    reply = document["components"]["schemas"]["Reply"]
    jsonschema.validate(server.call("find", name="retry").json(), reply)


def test_metrics_are_prometheus_text(server: Served) -> None:
    server.call("find", name="ledger")
    server.call("read", target="nowhere.py")
    with server.client() as client:
        reply = client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {one.name: one for one in text_string_to_metric_families(reply.text)}
    samples = {(one.name, *one.labels.values()): one.value for family in families.values() for one in family.samples}
    assert samples["llmc_calls_total", "find"] >= 1
    assert samples["llmc_errors_total", "not_found", "read"] == 1
    assert samples["llmc_files", "depot", "indexed"] == 6
    assert samples["llmc_call_seconds_bucket", "+Inf", "find"] == samples["llmc_calls_total", "find"]
    assert families["llmc_call_seconds"].type == "histogram"


@pytest.mark.parametrize(
    ("name", "args", "status", "said"),
    [
        ("serach", {"query": "x"}, 404, "search"),
        ("search", {}, 400, "query"),
        ("search", {"qurey": "x"}, 400, "query"),
        ("grep", {"pattern": "("}, 400, ""),
        ("grep", {"pattern": "x", "budget": "many"}, 400, "whole number"),
        ("read", {"target": "nowhere.py"}, 404, "nowhere.py"),
        ("read", {"target": "../../etc/passwd"}, 403, ""),
        ("read", {"target": "haaaaaaaaaaaaaaaaaaaaaaaaaa"}, 404, "no result"),
    ],
)
def test_every_invalid_request_gets_an_error_of_the_same_shape(
    server: Served, name: str, args: dict[str, str], status: int, said: str
) -> None:
    reply = server.call(name, **args)
    assert reply.status_code == status
    error = reply.json()["error"]
    assert set(error) == {"code", "message", "reason", "hint", "context"}
    assert said in str(error)


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("GET", "/nothing", {}, 404),
        ("GET", "/tools/list/", {}, 404),
        ("GET", "/tools/search", {}, 405),
        ("DELETE", "/health", {}, 405),
        ("OPTIONS", "/tools/search", {}, 405),
        ("POST", "/tools/search", {"content": b'{"query": "x"}', "headers": {"content-type": "text/plain"}}, 415),
        ("POST", "/tools/search", {"content": b"query=x"}, 415),
        ("POST", "/tools/search", {"json": ["x"]}, 400),
        ("POST", "/tools/search", {"content": b"{", "headers": {"content-type": "application/json"}}, 400),
        ("POST", "/tools/search", {"content": b"[" * 9000, "headers": {"content-type": "application/json"}}, 400),
        ("POST", "/tools/search", {}, 400),
    ],
)
def test_what_http_does_not_know_is_refused_as_json(
    server: Served, method: str, path: str, options: dict[str, object], status: int
) -> None:
    with server.client() as client:
        reply = client.request(method, path, **options)  # type: ignore[arg-type]
    assert reply.status_code == status
    assert reply.json()["error"]["code"]
    assert "access-control-allow-origin" not in reply.headers


def test_two_clients_cannot_open_each_others_handles(server: Served) -> None:
    """Foreign and unknown handles give the same message for every user."""
    first, second = server.token("--client", "first"), server.token("--client", "second")
    handle = server.call("grep", first, pattern=".", budget=80).json()["handle"]
    assert len(handle) == 27
    assert server.call("read", first, target=handle).status_code == 200
    local = server.place.llmc("grep", ".", "--budget", "80", cwd=server.folder).stdout.split()[-1]
    told = set()
    for token, session, name in [
        (second, "", handle),
        (None, "", handle),
        (first, "other", handle),
        (first, "", "h" + "a" * 26),
        (first, "", local),
    ]:
        refused = server.call("read", token, session, target=name)
        told.add((refused.status_code, refused.text.replace(name, "NAME")))
    assert len(told) == 1
    assert next(iter(told))[0] == 404
    assert server.place.llmc("read", handle, cwd=server.folder).returncode == 1


def test_an_agent_sees_and_uses_its_own_tools_alone(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        (server.folder / "llmc.toml").write_text(
            '[agents.reader]\nsystem_prompt = "Read."\ntools = ["read", "llmc"]\n', "utf-8"
        )
        with server.client() as client:
            listed = client.get("/tools/list?agent=reader").json()["tools"]
            refused = client.post("/tools/search?agent=reader", json={"query": "retry"})
            allowed = client.post("/tools/read?agent=reader", json={"target": "docs/returns.md"})
        assert [tool["name"] for tool in listed] == ["read", "llmc"]
        assert (refused.status_code, allowed.status_code) == (404, 200)
