"""Two real servers over one shared index: tools, handles, freshness, health, and what happens when one is killed."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from daemons import Place, private_place, until
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from shared_server import SharedNode, node, tokens_in
from shared_world import Checkout, publish_team, shared_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

API = {
    "src/parser.py": 'class Parser:\n    """Reads telegrams."""\n\n    def feed(self, data):\n        return data\n',
    "src/app.py": "from parser import Parser\n\n\ndef run(data):\n    return Parser().feed(data)\n",
    "lines.txt": "".join(f"telegram number {number}\n" for number in range(400)),
}
WEB = {"app.js": "export function render(parser) {\n  return parser.feed()\n}\n"}


@dataclass
class Team:
    place: Place
    url: str
    api: Checkout
    first: SharedNode
    second: SharedNode
    tokens: dict[str, str]
    audit: Path

    def token(self, name: str = "ann") -> str:
        return self.tokens[name]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    url = shared_url(folder)
    api = publish_team(folder, url, API, WEB)
    path, tokens = tokens_in(folder, ann=["acme/*"], bob=["acme/web"], eve=[], prom=[])
    with (folder / "tokens.toml").open("a") as file:
        file.write("metrics = true\n")
    audit = folder / "audit.jsonl"
    with (
        private_place() as place,
        node(place, url, "--tokens", path) as first,
        node(place, url, "--tokens", path, "--set", f"shared.audit_log={audit}") as second,
    ):
        yield Team(place, url, api, first, second, tokens, audit)


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("search", {"query": "how are telegrams read"}, "class Parser"),
        ("grep", {"pattern": "feed"}, "app.js"),
        ("find", {"name": "parser.py"}, "src/parser.py"),
        ("read", {"target": "acme/api@main:src/app.py"}, "def run(data)"),
        ("outline", {"path": "api:src"}, "Parser"),
        ("refs", {"name": "feed"}, "def feed"),
        ("calls", {"name": "run"}, "Parser.feed"),
        ("context", {"query": "how are telegrams read"}, "Parser"),
        ("research_codebase", {"question": "What does Parser.feed do?"}, "src/parser.py"),
    ],
)
def test_every_tool_answers_over_http(team: Team, tool: str, args: dict[str, Any], expected: str) -> None:
    reply = team.first.post(team.token(), tool, **args)

    assert reply.status_code == 200, reply.text
    assert expected in reply.json()["text"]
    assert "acme/" in reply.json()["text"].splitlines()[0]


def test_a_handle_made_on_one_server_opens_on_the_other_for_its_owner_alone(team: Team) -> None:
    cut = team.first.post(team.token(), "grep", pattern="telegram number", budget=60).json()

    assert cut["handle"]
    assert "telegram number" in team.second.text(team.token(), "read", target=cut["handle"])
    refused = team.second.post(team.token("bob"), "read", target=cut["handle"])
    assert refused.status_code == 404
    assert "telegram" not in refused.text


def test_a_commit_is_visible_on_every_server_without_a_restart(team: Team) -> None:
    commit = team.api.commit({"src/late.py": "def arrived_late():\n    pass\n"})
    team.api.publish(team.url)

    for server in (team.first, team.second):
        find = partial(server.text, team.token(), "grep", pattern="arrived_late")
        until(lambda find=find: "src/late.py" in find())  # type: ignore[misc]
        assert f"acme/api@{commit[:8]}" in find()


def test_mcp_needs_no_session_so_any_server_answers_any_request(team: Team) -> None:
    async def ask(server: SharedNode) -> tuple[list[str], str]:
        headers = {"Authorization": f"Bearer {team.token()}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as web,
            Client(streamable_http_client(f"{server.url}/mcp", http_client=web)) as client,
        ):
            tools = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("grep", {"pattern": "render"})
            return tools, str(result.content)

    for server in (team.first, team.second):
        tools, text = asyncio.run(ask(server))
        assert tools == ["search", "grep", "read", "llmc"]
        assert "app.js" in text


@pytest.mark.parametrize("tool", ["shell", "session", "history", "ask", "create_handoff", "run"])
def test_tools_that_need_a_work_tree_or_write_are_not_offered(team: Team, tool: str) -> None:
    with team.first.client(team.token()) as client:
        names = [one["name"] for one in client.get("/tools/list?profile=full").json()["tools"]]

    assert tool not in names
    assert team.first.post(team.token(), tool).status_code in {400, 404}


def test_health_and_readiness_need_no_token_and_metrics_need_one_that_may(team: Team) -> None:
    with team.first.client() as stranger, team.first.client(team.token("prom")) as prom:
        assert stranger.get("/health").json()["status"] == "ok"
        assert stranger.get("/ready").json()["status"] == "ready"
        assert stranger.get("/metrics").status_code == 401
        metrics = prom.get("/metrics").text
    with team.first.client(team.token("bob")) as bob:
        assert bob.get("/metrics").status_code == 403
    assert "llmc_shared_repositories 2.0" in metrics
    assert "acme" not in metrics


def test_the_audit_log_names_caller_and_repositories_without_content(team: Team) -> None:
    team.second.post(team.token("bob"), "grep", pattern="render")

    last = json.loads(team.audit.read_text().splitlines()[-1])
    assert (last["caller"], last["tool"], last["error"]) == ("token:bob", "grep", "")
    assert [name.partition("@")[0] for name in last["repositories"]] == ["acme/web"]
    assert "render" not in team.audit.read_text()


def test_callers_without_a_repository_get_a_clear_answer(team: Team) -> None:
    assert "no repository is open to you" in team.first.text(team.token("eve"), "grep", pattern="feed")


def test_clients_continue_with_another_server_when_one_is_killed(team: Team, tmp_path: Path) -> None:
    path, tokens = tokens_in(tmp_path, ann=["**"])
    with node(team.place, team.url, "--tokens", path) as victim:
        cut = victim.post(tokens["ann"], "grep", pattern="telegram number", budget=60).json()
        victim.process.kill()
        victim.process.wait()

    assert "telegram number" in team.second.text(team.token(), "grep", pattern="telegram number")
    assert team.second.post(team.token(), "read", target=cut["handle"]).status_code == 404  # of another owner


def test_a_server_reports_missing_settings_before_it_listens(team: Team, tmp_path: Path) -> None:
    place, (path, _) = team.place, tokens_in(tmp_path, ann=["**"])

    no_callers = place.llmc("serve", "--http", "127.0.0.1:0", "--shared", team.url)
    no_index = place.llmc("serve", "--http", "127.0.0.1:0", "--shared", str(tmp_path), "--tokens", path)
    no_http = place.llmc("serve", "--shared", team.url, "--tokens", path)

    assert "no access rules are configured for the shared index" in no_callers.stderr
    assert "there is no shared index here" in no_index.stderr
    assert "Add --http HOST:PORT." in no_http.stderr
    assert all(one.returncode in {1, 2} for one in (no_callers, no_index, no_http))


def test_maintenance_of_a_repository_that_is_not_published_says_so(team: Team) -> None:
    missing = [team.place.llmc("shared", verb, "acme/none", "--shared", team.url) for verb in ("verify", "drop")]
    listed = team.place.llmc("shared", "list", "none/*", "--shared", team.url)

    assert all(one.returncode == 1 and "acme/none is not published" in one.stderr for one in missing)
    assert listed.stdout == "no published repository matches none/*\n"
    assert "all published files" in team.place.llmc("shared", "verify", "acme/api", "--shared", team.url).stdout
