"""What `find` replies: few files by rank, many by folder, too many as counts; everything behind the handle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tool_calls import answer, opened_tree

from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.envelope.handles import Handles
    from llmc.workspace import Workspace

    World = tuple[Workspace, Handles]

FEW = {f"src/app/part{number}.py": "x = 1\n" for number in range(40)} | {"docs/guide.md": "# Guide\n", "a.py": "\n"}
MANY = {f"lib/group{number % 30}/unit{number % 5}/file_number_{number}.js": "1\n" for number in range(600)}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("tree")
    with opened_tree(folder, tmp_path_factory.mktemp("home"), FEW | MANY) as opened:
        yield opened


def text_of(world: World, **args: object) -> str:
    return answer(*world, "find", args).text


def test_a_few_files_are_listed_best_first(world: World) -> None:
    assert text_of(world, name="part7") == "1 file\nsrc/app/part7.py"
    assert text_of(world, name="guide").splitlines() == ["1 file", "docs/guide.md"]


def test_many_files_are_listed_by_folder(world: World) -> None:
    lines = text_of(world, name="*.py").splitlines()
    assert lines[0] == "41 files"
    assert "a.py" in lines
    assert lines[lines.index("src/app/") + 1].split(", ")[0] == " part0.py"
    assert {name.strip() for name in lines[lines.index("src/app/") + 1].split(",")} == {
        f"part{number}.py" for number in range(40)
    }


def test_too_many_files_are_counted_by_folder_and_all_are_behind_the_handle(world: World) -> None:
    reply = answer(*world, "find", {"name": "*.js", "budget": 400})
    lines = reply.text.splitlines()
    assert lines[:2] == ["600 files", "by folder"]
    assert sum(int(number) for number in re.findall(r"(\d+) files?$", "\n".join(lines[2:-1]), re.MULTILINE)) == 600
    assert count(reply.text) <= 400
    seen: set[str] = set()
    handle = reply.handle
    while handle:
        page = answer(*world, "read", {"target": handle})
        seen |= set(re.findall(r"^lib/\S+\.js$", page.text, re.MULTILINE))
        handle = page.handle
    assert seen == set(MANY)


def test_a_folder_row_can_be_opened(world: World) -> None:
    reply = answer(*world, "find", {"name": "*.js", "budget": 400})
    opened = answer(*world, "read", {"target": f"{reply.handle}:1"})
    assert not opened.error, opened.text


def test_all_and_fields_list_every_file(world: World) -> None:
    assert len(text_of(world, name="*.js", all=True).splitlines()) == 601
    assert len(text_of(world, name="*.js", fields=["path"], all=True).splitlines()) == 602
