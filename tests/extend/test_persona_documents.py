"""Personas include the project's own documents, by name and role, in any markup, and never add noise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from llmc.extend.personas.project_documents import ROLES, document_title, documents_of

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place

FILES = {
    "README.rst": "Depot\n=====\n\nParcels in, parcels out.\n",
    "CONTRIBUTING": "Run `tox` before you send a patch.\n",
    "docs/ARCHITECTURE.adoc": "= How the depot is built\n\nA belt carries parcels to the scales.\n",
    "docs/adr/0007-queue.txt": "Use one queue\n-------------\n\nThe belt has one queue, since two starved couriers.\n",
    "docs/adr/0008-colour.txt": "Paint it red\n------------\n\nVans are red.\n",
    "ops/runbooks/belt.md": "# The belt stopped\n\nPress the green button twice.\n",
    "docs/style-guide.rst": "Style guide\n===========\n\nSentences end with a full stop.\n",
    "tests/fixtures/README.md": "# A fixture\n\nNoise of tests.\n",
    "vendor/lib/CONTRIBUTING.md": "# Someone else\n\nNoise of others.\n",
    "src/belt.py": "def start_belt():\n    return 'belt'\n",
}
SETTINGS = """
[agents.keen]
system_prompt = "hi"
tools = ["search", "get", "teleport"]

[agents.broken]
description = "has no prompt"

[agents.guide]
system_prompt = "hi"
arguments = [{ name = "topic" }]
context = [{ documents = ["decisions"], search = "{topic}", limit = 2, budget = 300 }]
"""


@pytest.fixture(scope="module")
def depot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("depot")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "llmc.toml").write_text(SETTINGS)
    return folder


def primed(shared_place: Place, folder: Path, name: str, *args: str) -> tuple[str, dict[str, Any]]:
    given = [word for arg in args for word in ("--arg", arg)]
    done = shared_place.llmc("agent", "test", name, *given, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return "\n".join(message["content"] for message in found["prompt"]["messages"]), found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("architect", ["A belt carries parcels to the scales.", "two starved couriers", "Parcels in, parcels out."]),
        ("onboarding", ["Parcels in, parcels out.", "Run `tox` before you send a patch."]),
        ("code-reviewer", ["Sentences end with a full stop.", "Run `tox`"]),
        ("writer", ["Sentences end with a full stop."]),
        ("incident-responder", ["Press the green button twice."]),
    ],
)
def test_a_built_in_persona_quotes_the_documents_of_its_role_without_arguments(
    shared_place: Place, depot: Path, name: str, said: list[str]
) -> None:
    text, _ = primed(shared_place, depot, name)
    assert all(words in text for words in said), text
    assert "Noise" not in text
    assert "def start_belt" not in text


def test_a_project_without_documents_adds_nothing(shared_place: Place, tmp_path: Path) -> None:
    (tmp_path / "test_readme.py").write_text("def test_contributing():\n    assert 'architecture decisions tests'\n")
    for name in ("architect", "onboarding", "code-reviewer", "writer"):
        assert primed(shared_place, tmp_path, name)[0] == ""


DECORATED = {
    "README.md": """<div align="center"> <a href="https://depot.example/">
  <img
    src="https://depot.example/logo.svg"
    width="650"
  />
</a>
</div>

[![CI](https://ci.example/badge.svg)](https://ci.example)
[![Package
version](https://ci.example/version.svg)](https://ci.example)

[Website](https://depot.example) | [Chat](https://chat.example) | [Rules](https://rules.example)

# Depot

## Sponsors

The Bank of Parcels gave us a lot of money this year.

### Gold

More words about the money of others.

## Use

Put a parcel on the belt.
""",
    "CONTRIBUTING.rst": """.. image:: https://depot.example/banner.png
   :alt: a banner

|build-status| |coverage| |license|

:Version: 5.6.2
:Keywords: parcels, belts,
  scales

Donations
=========

`The fund <https://fund.example>`_ pays for our coffee every morning.

Patches
=======

Run `tox` first.
""",
}


def test_badges_links_and_sponsors_are_left_out(shared_place: Place, tmp_path: Path) -> None:
    for name, text in DECORATED.items():
        (tmp_path / name).write_text(text)
    text, _ = primed(shared_place, tmp_path, "onboarding")
    assert "# Depot\n \n ## Use\n \n Put a parcel on the belt." in text
    assert "Patches\n =======\n \n Run `tox` first." in text
    for noise in ("logo", "badge", "Website", "money", "banner", "build-status", "Keywords", "coffee"):
        assert noise not in text


def test_a_document_that_only_includes_another_one_is_left_out(shared_place: Place, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "CONTRIBUTING.rst").write_text("Run `tox` before you send a patch.\n")
    (tmp_path / "docs" / "contributing.rst").write_text(".. include:: ../CONTRIBUTING.rst\n   :start-line: 2\n")
    (tmp_path / "docs" / "setup.adoc").write_text("= Setup\n\ninclude::../INSTALL.adoc[]\n")
    text, _ = primed(shared_place, tmp_path, "onboarding")
    assert "Run `tox`" in text
    assert "include" not in text


def test_a_topic_leaves_out_the_decisions_that_do_not_mention_it(shared_place: Place, depot: Path) -> None:
    text, _ = primed(shared_place, depot, "guide", "topic=queue")
    assert "two starved couriers" in text
    assert "Vans are red" not in text
    assert "Vans are red" in primed(shared_place, depot, "guide")[0]


def test_a_tool_that_does_not_exist_is_reported_and_an_invalid_persona_breaks_nothing(
    shared_place: Place, depot: Path
) -> None:
    _, found = primed(shared_place, depot, "keen")
    assert found["notes"] == ["keen names the tool teleport, which does not exist"]
    assert shared_place.llmc("search", "belt", cwd=depot).returncode == 0
    listed = shared_place.llmc("agent", "list", cwd=depot)
    assert "agents.broken" in listed.stderr
    assert "keen" in listed.stdout


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("README", "readme"),
        ("readme.md", "readme"),
        ("HACKING.org", "contributing"),
        ("doc/Getting-Started.textile", "start"),
        ("docs/internals.md", "architecture"),
        ("doc/decisions/12-use-it.md", "decisions"),
        ("ADR-12.md", "decisions"),
        ("operations/restart.adoc", "runbooks"),
        ("docs/on-call.md", "runbooks"),
        ("CODING_STYLE.txt", "style"),
        ("AGENTS.md", "style"),
    ],
)
def test_a_document_is_recognised_by_its_name_or_its_folder(path: str, role: str) -> None:
    assert [one for one in ROLES if documents_of([path], [one])] == [role]


@pytest.mark.parametrize("path", ["readme.py", "tests/README.md", "node_modules/x/README.md", "src/styled.md"])
def test_other_files_are_not_documents_of_the_project(path: str) -> None:
    assert not documents_of([path], list(ROLES))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n\ntext", "One"),
        ("![badge](x)\n\n## Two ##\n", "Two"),
        ("Three\n=====\n", "Three"),
        ("= Four\n:toc:\n", "Four"),
        ("no heading at all", "a.md"),
    ],
)
def test_the_title_of_a_document_is_its_first_heading(text: str, title: str) -> None:
    assert document_title(text.split("\n"), "a.md") == title
