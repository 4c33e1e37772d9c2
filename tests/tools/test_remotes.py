"""`[[remotes]]`: a shared server is asked beside the local roots, and never at their expense."""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from daemons import Place, private_place
from shared_server import SharedNode, node, tokens_in
from shared_world import publish_team, shared_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

API = {
    "src/parser.py": "class Parser:\n    def feed(self, data):\n        return data\n",
    "README.md": "# Api\n",
}
WEB = {
    "app.js": "export function render(parser) {\n  return parser.feed()\n}\n",
    "wide.txt": "".join(f"{number} widgets\n" for number in range(60)),
}


@dataclass
class Desk:
    """A developer's machine: acme/api is checked out and changed, acme/web is only published."""

    place: Place
    folder: Path
    server: SharedNode
    token: str

    def config(self, name: str, url: str = "", token: str | None = None, more: str = "") -> str:
        path = self.folder.parent / f"{name}.toml"
        given = self.token if token is None else token
        limit = "" if "timeout_ms" in more else "timeout_ms = 20_000"  # a busy machine is not what is tested
        values = f'name = "team"\nurl = "{url or self.server.url}"\ntoken = "{given}"\n{limit}'
        path.write_text(f"[[remotes]]\n{values}\n{more}\n")
        return str(path)

    def run(self, *arguments: str, config: str = "") -> str:
        done = self.place.llmc(*arguments, "--config", config or self.config("team"), cwd=self.folder)
        return done.stdout + done.stderr

    def data(self, *arguments: str, config: str = "") -> str:
        return json.dumps(json.loads(self.run(*arguments, "--json", config=config)))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    url = shared_url(folder)
    api = publish_team(folder, url, API, WEB)
    api.git("remote", "add", "origin", "git@code.example:acme/api.git")
    api.write({"src/parser.py": "class Parser:\n    def feed(self, data):\n        return changed_here(data)\n"})
    path, tokens = tokens_in(folder, ann=["acme/*"])
    with private_place() as place, node(place, url, "--tokens", path) as server:
        made = Desk(place, folder / "api", server, tokens["ann"])
        place.llmc("index", "--once", cwd=made.folder)
        yield made


def test_one_reply_has_local_and_remote_results_and_the_local_checkout_wins(desk: Desk) -> None:
    found = desk.run("grep", "feed")

    first = found.splitlines()[0]
    assert "team: 1 match in 1 file" in first
    assert "acme/web@" in first
    assert "src/parser.py" in found
    assert "app.js" in found
    assert "acme/api@" not in found


@pytest.mark.parametrize(("tool", "query"), [("search", "render the parser"), ("refs", "feed")])
def test_search_and_refs_ask_remotes_too(desk: Desk, tool: str, query: str) -> None:
    found = desk.run(tool, query)

    assert "acme/web@" in found
    assert "app.js" in found


def test_files_of_a_remote_can_be_read_and_local_ones_are_local(desk: Desk) -> None:
    assert "export function render" in desk.run("read", "acme/web@main:app.js")
    head, first, *_ = desk.run("read", "acme/web:app.js").splitlines()
    assert head.startswith("acme/web@")
    assert "export function render" in first  # the first line names the file, and no other does
    assert "changed_here" in desk.run("read", "acme/api:src/parser.py")
    assert "changed_here" not in desk.run("read", "acme/api@main:src/parser.py")
    assert "there is no 'acme/web:nothing.js'" in desk.run("read", "acme/web:nothing.js")


def test_items_of_a_remote_open_through_the_handle(desk: Desk) -> None:
    cut = json.loads(desk.run("grep", "widgets", "--budget", "60", "--json"))
    assert cut["handle"]

    assert "widgets" in desk.run("read", cut["handle"])
    assert "widgets" in desk.run("read", f"{cut['handle']}:1")


def test_repo_and_ref_lead_to_a_repository_that_is_not_here(desk: Desk) -> None:
    assert "app.js" in desk.run("grep", "feed", "--repo", "acme/web")
    assert "src/parser.py" not in desk.run("grep", "feed", "--repo", "acme/web")
    none = desk.run("grep", "feed", "--repo", "acme/none")
    assert "no root and no repository of a remote matches repo:acme/none" in none


@pytest.mark.parametrize("repo", ["acme/api", "acme/a*"])
def test_a_checkout_is_named_as_its_published_repository_and_still_wins(desk: Desk, repo: str) -> None:
    found = desk.run("grep", "return", "--repo", repo)

    assert "changed_here" in found
    assert "acme/api@" not in found
    assert "acme/web@" not in found


def test_a_pattern_covers_checkouts_and_remotes(desk: Desk) -> None:
    found = desk.run("grep", "feed", "--repo", "acme/*")

    assert "src/parser.py" in found
    assert "acme/web@" in found
    assert "acme/api@" not in found


def test_a_dead_remote_is_reported_and_local_answers_continue(desk: Desk) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        config = desk.config("dead", f"http://127.0.0.1:{free.getsockname()[1]}")
    found = desk.run("grep", "feed", config=config)

    assert "src/parser.py" in found
    assert "team cannot be reached" in found.splitlines()[0]


def test_a_slow_remote_is_reported_once_and_left_alone_for_a_while(desk: Desk) -> None:
    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        accepting = threading.Thread(target=accept_all, args=(silent, connections), daemon=True)
        accepting.start()
        config = desk.config("slow", f"http://127.0.0.1:{silent.getsockname()[1]}", more="timeout_ms = 200")
        first, second = desk.run("grep", "feed", config=config), desk.run("grep", "data", config=config)
        silent.shutdown(socket.SHUT_RDWR)
        accepting.join()

    assert "team did not respond within 0.2 s" in first.splitlines()[0]
    assert "src/parser.py" in first
    assert "team was not asked" in second.splitlines()[0]
    assert len(connections) == 1
    for one in connections:
        one.close()


def accept_all(listening: socket.socket, connections: list[socket.socket]) -> None:
    while True:
        try:
            connections.append(listening.accept()[0])
        except OSError:
            return


def test_a_refused_token_is_reported_and_never_shown(desk: Desk) -> None:
    found = desk.run("grep", "feed", config=desk.config("refused", token="wrong-token-of-mine"))

    assert "team refused the token" in found.splitlines()[0]
    assert "wrong-token-of-mine" not in found


def test_a_token_from_a_variable_that_is_not_set_names_the_variable(desk: Desk) -> None:
    found = desk.run("grep", "feed", config=desk.config("unset", token="${LLMC_TOKEN_NOT_SET}"))

    assert "team was not asked: the environment has no LLMC_TOKEN_NOT_SET" in found.splitlines()[0]
    assert "src/parser.py" in found
