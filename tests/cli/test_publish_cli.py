"""`llmc publish` and `llmc shared` as a CI job or an operator runs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from shared_world import Checkout

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "api")
    made.commit({"app.py": "def run():\n    pass\n", ".env": "A=1\n"})
    return made


HASH = ("--set", "embedder.kind=hash")


def test_publish_says_what_it_did_and_list_shows_it(place: Place, checkout: Checkout, tmp_path: Path) -> None:
    shared = ("--shared", str(tmp_path / "index"))

    done = place.llmc("publish", *shared, *HASH, "--repo", "acme/api", cwd=checkout.folder)

    assert done.returncode == 0, done.stderr
    commit = checkout.git("rev-parse", "HEAD")[:8]
    assert done.stdout.startswith(f"acme/api@main is at {commit} · 1 file, 1 chunk · 1 document written")
    assert "1 denied" in done.stdout
    assert f"acme/api@main  {commit}" in place.llmc("shared", "list", *shared).stdout
    assert place.llmc("shared", "verify", *shared).stdout == "all published files are present and unchanged\n"
    assert "1 repository, 1 ref" in place.llmc("shared", "status", *shared).stdout


def test_json_is_for_machines(place: Place, checkout: Checkout, tmp_path: Path) -> None:
    shared = ("--json", "--shared", str(tmp_path / "index"))

    published = json.loads(place.llmc("publish", *shared, *HASH, "--repo", "acme/api", cwd=checkout.folder).stdout)

    assert (published["repo"], published["written"], published["is_current"]) == ("acme/api", 1, True)
    assert [one["repo"] for one in json.loads(place.llmc("shared", "list", *shared).stdout)] == ["acme/api"]
    assert json.loads(place.llmc("shared", "status", *shared).stdout)["documents"] == 1
    assert json.loads(place.llmc("shared", "optimize", *shared).stdout)["shards"] == [0]
    assert json.loads(place.llmc("shared", "drop", "acme/api", *shared).stdout) == {"dropped": ["acme/api@main"]}
    assert json.loads(place.llmc("shared", "list", *shared).stdout) == []


def test_a_shared_index_in_the_settings_needs_no_option(place: Place, checkout: Checkout, tmp_path: Path) -> None:
    index = ("--set", f"shared.url={tmp_path / 'index'}")

    assert place.llmc("publish", *index, *HASH, cwd=checkout.folder).returncode == 0
    assert "api@main" in place.llmc("shared", "list", *index).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("publish",), "no shared index is configured"),
        (("shared", "status", "--shared", "ftp://x"), "cannot use storage of the kind"),
        (("shared", "status", "--shared", "nothing-here"), "there is no folder"),
        (("shared", "drop", "acme/none", "--shared", "INDEX"), "acme/none is not published"),
        (("publish", "--shared", "INDEX", "--commit", "abcdef1", *HASH), "there is no commit abcdef1"),
    ],
)
def test_errors_say_what_to_do(
    place: Place, checkout: Checkout, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    index = str(tmp_path / "index")
    place.llmc("publish", "--shared", index, *HASH, cwd=checkout.folder)

    done = place.llmc(*(index if one == "INDEX" else one for one in arguments), cwd=checkout.folder)

    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_damage_is_found_and_repaired(place: Place, checkout: Checkout, tmp_path: Path) -> None:
    from llmc.store.shared.database import SharedDatabase

    shared = ("--shared", str(tmp_path / "index"))
    place.llmc("publish", *shared, *HASH, cwd=checkout.folder)
    SharedDatabase.open(shared[1]).table("chunks").delete("true")

    found = place.llmc("shared", "verify", "--repair", *shared)

    assert found.returncode == 1
    assert "app.py: 0 of 1 rows are there (chunks)" in found.stdout
    assert "publish again: api" in found.stdout
    place.llmc("publish", *shared, *HASH, cwd=checkout.folder)
    assert place.llmc("shared", "verify", *shared).returncode == 0
