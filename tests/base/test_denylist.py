"""The denylist: environment, key and credential files are not indexed, read, quoted or named in artifacts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from daemons import CommandLine, private_place

from llmc.base.denylist import Denylist

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daemons import Place

DENIED = [
    ".env",
    "app/.env",
    ".env.production",
    ".env.local",
    "prod.env",
    ".envrc",
    ".ssh/config",
    "home/.ssh/known_hosts",
    "id_rsa",
    "keys/id_ed25519",
    "server.pem",
    "client.p12",
    "tls/server.key",
    ".npmrc",
    ".netrc",
    ".pypirc",
    ".aws/credentials",
    "secrets/prod.yml",
    "deploy/secrets/db/password.txt",
    "secrets/token",
    "Secrets/Prod.JSON",
    "secrets/prod.yml.tmpl",
    "secrets/db.env.tmpl",
    "secrets/.tmpl",
    "secrets/page.txt",
    ".env~",
    "#.env#",
    "app/.env.bak",
    "id_rsa.old",
    ".id_rsa.swp",
    "server.key.bak",
    "..env.swp",
    ".npmrc.orig~",
    "secrets/prod.yml.bak",
    "secrets/prod.yml~",
    "store.jks",
    "AuthKey_1.p8",
    "passwords.kdbx",
    ".my.cnf",
    ".bash_history",
    ".config/gh/hosts.yml",
]
ALLOWED = [
    ".env.example",
    ".env.sample",
    ".env.template",
    "example.env",
    "environment.py",
    "id_rsa.pub",
    "keys.py",
    "key",
    "aws/credentials",
    "secrets/manager.py",
    "secrets/README.md",
    "templates/shared/secrets/add_list.tmpl",
    "views/secrets/list.html.tmpl",
    "views/secrets/list.html",
    "src/secrets/List.vue",
    "pages/secrets/list.hbs",
    "pages/secrets/list.j2",
    "Views/Secrets/Index.cshtml",
    "secrets.yml",
    "src/.envoy.yaml",
    ".env/lib/site.py",
    "monkey.json",
    ".env.example~",
    ".env.example.bak",
    "app.py~",
    "id_rsa.pub.bak",
    "history.py",
    "etc/hosts.yml",
    "src/auth.json",
]


@pytest.mark.parametrize("path", DENIED)
def test_credential_files_are_denied(path: str) -> None:
    assert "denylist" in Denylist().reason(path)


@pytest.mark.parametrize("path", ALLOWED)
def test_other_files_are_not(path: str) -> None:
    assert Denylist().reason(path) == ""


def test_the_user_allows_and_adds() -> None:
    own = Denylist(deny=("!.npmrc", "!/secrets/", "/secrets/prod/", "*.secret"))
    assert own.reason(".npmrc") == ""
    assert own.reason("secrets/dev.yml") == ""
    assert own.reason("secrets/prod/a.yml")
    assert own.reason("a/b.secret")
    assert own.reason(".env")
    assert Denylist(deny=("!*",)).reason(".env") == ""


def test_an_excluded_folder_is_refused_with_everything_below_it() -> None:
    own = Denylist(exclude=("/private/", "!/private/a.py", "*.tmp"))
    assert "index.exclude" in own.reason("private/a.py")
    assert "index.exclude" in own.reason("x/y.tmp")
    assert own.reason("x/private/a.py") == ""


def test_a_copy_that_an_editor_made_of_a_denied_file_is_denied_too(place: Place, tmp_path: Path) -> None:
    for name in (".env~", "id_rsa.bak", ".id_rsa.swp", "store.jks"):
        (tmp_path / name).write_text("needle\n")
    (tmp_path / "app.py~").write_text("needle\n")
    world = CommandLine(place, tmp_path)
    assert world.text("grep", "--all", "needle") == "app.py~:1:needle\n"
    assert "denylist" in world("read", "id_rsa.bak").stderr
    assert "id_rsa" not in world.text("find", "app")


SECRET = "swordfish-under-the-harbour"
PLAN = "the excluded plan"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    folder = tmp_path_factory.mktemp("work")
    (folder / ".git").mkdir()
    for name in (".env", "secrets/prod.yml", ".ssh/id_rsa", "tls/server.key", "private/plan.md"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"needle {PLAN if name.endswith('.md') else SECRET}\n")
    (folder / ".env.example").write_text("needle=\n")
    (folder / "secrets" / "manager.py").write_text("def needle():\n    return 1\n")
    (folder / "link.txt").symlink_to(".env")
    (folder / "app.py").write_text("needle = 1\n")
    (folder / "llmc.toml").write_text('[index]\nexclude = ["/private/"]\ndeny = ["!.env"]\n')
    with private_place() as place:
        standing = CommandLine(place, folder)
        standing.text("index", "--once")
        yield standing


def test_denied_files_are_not_found_and_are_named_in_the_first_line(world: CommandLine) -> None:
    shown = world.text("grep", "needle")
    assert SECRET not in shown
    assert {line for line in shown.split("\n") if not line.startswith(" ")} >= {".env.example", "app.py"}
    # Keys hold nothing that is searched for, and files with variables only variables.
    assert shown.split("\n")[0].endswith(" · denied: prod.yml")
    assert "denied: .env, prod.yml" in world.text("grep", "API_TOKEN|needle").split("\n")[0]
    assert "secrets/manager.py" in shown


@pytest.mark.parametrize(
    "command", [("search", "needle"), ("tree",), ("find", "*"), ("context", "needle"), ("research", "where is needle")]
)
def test_no_tool_quotes_or_lists_a_denied_file(world: CommandLine, command: tuple[str, ...]) -> None:
    shown = world(*command).stdout
    assert SECRET not in shown
    assert "prod.yml" not in shown.split("\n", 1)[-1]


@pytest.mark.parametrize("path", [".env", "secrets/prod.yml", ".ssh/id_rsa", "tls/server.key", "link.txt"])
def test_reading_a_denied_file_is_refused_with_the_reason(world: CommandLine, path: str) -> None:
    for command in (("read", path), ("grep", "needle", path), ("te", "cat", path), ("te", "grep", "needle", path)):
        done = world(*command)
        assert SECRET not in done.stdout + done.stderr, command
        assert "denylist" in done.stdout + done.stderr, command
        assert done.returncode != 0, command


def test_reading_an_excluded_file_is_refused_with_the_reason(world: CommandLine) -> None:
    done = world("read", "private/plan.md")
    assert PLAN not in done.stdout + done.stderr
    assert "index.exclude" in done.stdout + done.stderr


def test_a_name_that_is_denied_is_reported_where_files_are_looked_for(world: CommandLine) -> None:
    done = world("find", ".env")
    assert "denied: .env" in done.stdout.split("\n")[0]
    assert "denied" not in world("find", "app.py").stdout


def test_the_refusal_says_how_the_user_allows_the_file(world: CommandLine) -> None:
    done = world("read", "tls/server.key")
    assert "index.deny" in done.stdout + done.stderr


def test_a_workspace_file_cannot_allow_denied_files_but_the_user_can(world: CommandLine, tmp_path: Path) -> None:
    assert world("read", ".env").returncode != 0  # llmc.toml of the clone has deny = ["!.env"]
    own = tmp_path / "own.toml"
    own.write_text('[index]\ndeny = ["!.env", "app.py"]\n')
    assert SECRET in world.text("--config", str(own), "read", ".env")
    assert world("--config", str(own), "read", "app.py").returncode != 0


def test_a_list_of_files_names_a_few_denied_ones(world: CommandLine) -> None:
    first = world.text("grep", "-l", "needle", "-g", ".env*").split("\n")[0]
    assert "denied: .env" in first
    assert "4 denied: 2 in ., 1 in secrets, 1 in tls" in world.text("grep", "-l", "needle").split("\n")[0]


def test_a_new_denied_file_is_named(world: CommandLine) -> None:
    (world.folder / ".npmrc").write_text(f"needle {SECRET}\n")
    try:
        assert "denied: .npmrc, prod.yml" in world.text("grep", "needle").split("\n")[0]
    finally:
        (world.folder / ".npmrc").unlink()
    assert "denied: prod.yml" in world.text("grep", "needle").split("\n")[0]


def test_json_replies_hold_no_denied_text(world: CommandLine) -> None:
    assert SECRET not in json.dumps(world.json("grep", "needle"))


@pytest.mark.parametrize(
    "command", [("sed", "-n", "1p", ".env"), ("cat .env | head",), ("git", "diff", "--no-index", ".env", "app.py")]
)
def test_the_output_of_a_command_that_names_a_denied_file_is_not_shown(
    world: CommandLine, command: tuple[str, ...]
) -> None:
    done = world("te", *command)
    assert SECRET not in done.stdout + done.stderr
    assert "denylist" in done.stderr
    assert done.returncode != 0


def test_lines_of_a_command_that_quote_a_denied_file_are_withheld(world: CommandLine) -> None:
    done = world("te", "grep -rn needle . | sort")
    assert SECRET not in done.stdout
    assert " .env: [denied]" in done.stdout
    assert "./app.py:1:needle = 1" in done.stdout
