"""Every tool over published repositories: the same answers as over the folder that was published."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from shared_world import SETTINGS, Checkout, reply, shared_site, shared_url
from tool_calls import answer

from llmc import Workspace
from llmc.envelope.handles import Handles
from llmc.retrieval.grep import ripgrep
from llmc.store.shared.access import NOTHING, Access

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.shared_workspace import SharedSite

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
FILES: dict[str, str | bytes | None] = {
    "src/parser.py": 'class Parser:\n    """Reads telegrams."""\n\n    def feed(self, data):\n        return data\n',
    "src/app.py": "from parser import Parser\n\n\ndef run(data):\n    return Parser().feed(data)\n",
    "tests/test_app.py": "from app import run\n\n\ndef test_run():\n    assert run(' x ') == 'x'\n",
    "docs/guide.md": "# Guide\n\nFeed the parser with telegrams.\n",
    "latin.txt": "caf\xe9 parser\n".encode("latin-1"),
    "wide.txt": "\ufeffparser wide\n".encode("utf-16-le"),
    "nul.bin": b"parser\n" + b"x" * 9_000 + b"\0parser\n",
    "crlf.txt": b"one parser\r\ntwo\r\n",
    "long.txt": "".join(f"number {number}\n" for number in range(9_000)),
    "config.py": f'token = "{SECRET}"\n',
    ".env": f"TOKEN={SECRET}\n",
}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[SharedSite]:
    url = shared_url(tmp_path)
    api = Checkout(tmp_path / "api", "acme/api")
    api.commit(FILES)
    api.publish(url)
    web = Checkout(tmp_path / "web", "acme/web")
    web.commit({"app.js": "export function render(parser) {\n  return parser.feed()\n}\n"})
    web.publish(url)
    with shared_site(url, tmp_path) as made:
        yield made


@contextmanager
def local(tmp_path: Path) -> Iterator[tuple[Workspace, Handles]]:
    with Workspace.open(str(tmp_path / "api"), home=str(tmp_path / "local"), settings=SETTINGS) as workspace:
        workspace.index()
        yield workspace, Handles(str(tmp_path / "local-handles"))


def without_root(value: Any) -> Any:
    """Data without the names of roots and without times."""
    if isinstance(value, dict):
        return {key: without_root(one) for key, one in value.items() if key not in {"root", "mtime", "score", "shares"}}
    return [without_root(one) for one in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("grep", {"pattern": "parser"}),
        ("grep", {"pattern": "PARSER", "ignore_case": True, "before": 1}),
        ("grep", {"pattern": r"class \w+:\n", "multiline": True}),
        ("grep", {"pattern": "number 89.9$", "count": True}),
        ("grep", {"pattern": "parser", "files": True}),
        ("grep", {"pattern": "two", "invert": True, "path": "crlf.txt"}),
        ("grep", {"pattern": "caf", "path": "latin.txt"}),
        ("find", {"name": "parser"}),
        ("find", {"name": "*.txt"}),
        ("outline", {"path": "src"}),
        ("read", {"target": "src/parser.py:2-4"}),
        ("read", {"target": "Parser.feed"}),
        ("refs", {"name": "feed"}),
        ("calls", {"name": "run"}),
        ("callers", {"name": "Parser.feed"}),
        ("tests", {"name": "run"}),
        ("impls", {"name": "Parser"}),
        ("search", {"query": "how are telegrams read", "limit": 3}),
        ("search", {"query": "Parser.feed"}),
        ("context", {"query": "how are telegrams read"}),
        ("tree", {}),
    ],
)
def test_a_published_repository_answers_as_its_folder_does(
    site: SharedSite, tmp_path: Path, tool: str, args: dict[str, Any]
) -> None:
    shared = reply(site, tool, repo=["acme/api"], **args)
    with local(tmp_path) as (workspace, handles):
        here = answer(workspace, handles, tool, args)

    assert not shared.error, shared.text
    assert without_root(shared.data) == without_root(here.data)


def test_grep_equals_ripgrep_on_the_tree_without_denied_files_and_with_secrets_replaced(
    site: SharedSite, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", str(tmp_path / "api"), str(tree)], check=True)
    (tree / ".env").unlink()
    config = tree / "config.py"
    config.write_text(config.read_text().replace(SECRET, "[redacted:github-pat]"))
    for pattern in ("parser", "redacted", "number 8.*7$", "^from", "é", "x{3,}"):
        command = [ripgrep.program() or "rg", "--hidden", "--sort=path", "-c", "--glob=!.git", pattern]
        expected = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False).stdout.splitlines()
        found = reply(site, "grep", repo=["acme/api"], pattern=pattern, count=True, all=True)
        counts = sorted(f"{one['path']}:{one['count']}" for one in found.data["files"])
        assert counts == sorted(expected), pattern


def test_the_first_line_names_commit_age_and_what_was_kept_out(site: SharedSite) -> None:
    first = reply(site, "grep", repo=["acme/api"], pattern="token").text.splitlines()[0]

    head = site.index.snapshot.heads["acme/api"]["main"]
    assert f"acme/api@{head.short_commit} (main, " in first
    assert "1 denied" in first
    assert "1 secret redacted" in first


def test_several_repositories_answer_together_and_paths_can_be_opened(site: SharedSite) -> None:
    found = reply(site, "grep", pattern="feed").text
    api, web = (site.index.snapshot.heads[f"acme/{name}"]["main"].name for name in ("api", "web"))

    assert f"{api}:src/" in found
    assert f"{web}:app.js" in found
    assert "export function render" in reply(site, "read", target=f"{web}:app.js").text
    assert "export function render" in reply(site, "read", target="web@main:app.js").text


def test_repo_and_ref_narrow_every_tool_and_a_query(site: SharedSite, tmp_path: Path) -> None:
    web = Checkout.__new__(Checkout)
    web.folder, web.name, web._minutes = tmp_path / "web", "acme/web", 5
    web.git("checkout", "-q", "-b", "next")
    web.commit({"app.js": "export function draw(parser) {}\n"})
    web.publish(site.index.database.url)
    site.index.refresh()

    assert "nothing found" in reply(site, "search", query="draw repo:acme/web").text
    assert "draw" in reply(site, "search", query="draw ref:next repo:web").text
    assert "draw" in reply(site, "read", target="acme/web@next:app.js").text
    assert "render" in reply(site, "read", target="acme/web:app.js").text
    assert "draw" in reply(site, "grep", pattern="draw", ref=["next"]).text
    assert reply(site, "grep", pattern="draw", ref=["nothing"]).error == "not_found"


def test_handles_lead_to_the_rest_and_to_each_place(site: SharedSite) -> None:
    first = reply(site, "grep", pattern="feed", budget=60)

    assert first.handle
    assert "feed" in reply(site, "read", target=first.handle).text
    assert not reply(site, "read", target=f"{first.handle}:1").error


def test_a_caller_sees_only_permitted_repositories(site: SharedSite) -> None:
    web = Access(frozenset({"acme/web"}))

    assert "acme/api" not in reply(site, "grep", web, pattern="feed").text
    for error in (
        reply(site, "read", web, target="acme/api:src/app.py"),
        reply(site, "grep", web, pattern="x", repo=["acme/api"]),
        reply(site, "outline", web, path="acme/api:src"),
    ):
        assert error.error == "not_found"
        assert "acme/api@" not in error.text
    assert "no repository is open to you" in reply(site, "grep", NOTHING, pattern="x").text


def test_a_path_outside_a_published_tree_and_a_denied_one_are_refused(site: SharedSite) -> None:
    assert reply(site, "read", target="acme/api:../../etc/passwd").error in {"not_found", "outside"}
    assert reply(site, "read", target="/etc/passwd").error in {"not_found", "outside"}
    assert reply(site, "read", target="acme/api:.env").error in {"not_found", "read"}
