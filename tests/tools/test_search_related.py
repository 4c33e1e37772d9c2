"""A search for keywords also names the other definitions of a file that are called after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tool_calls import answer, opened_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.envelope.reply import Reply

UPLOAD = "".join(f"    upload(files[{at}], 'upload files to the album, watch for duplicates')\n" for at in range(12))
FILLER = "".join(f"    total = {at} + math.sqrt(total)\n" for at in range(60))
FILES = {
    "cli/upload.py": (
        f"def upload_files(files):\n{UPLOAD}\n\n"
        f"def start_watch(total):\n{FILLER}\n\n"
        f"def check_duplicates(total):\n{FILLER}\n\n"
        f"class Progress:\n    def __repr__(self):\n        return 'album'\n\n"
        f"    def advance(self, total):\n        self.total += total\n"
    ),
    "server/main.py": "def serve(port):\n    return listen(port)\n",
    "docs/upload.md": "# Upload\n\nThe command uploads files.\n\n## Album\n\nAn album is a folder.\n",
}
KEYWORDS = "upload files album watch duplicates"


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Reply]]:
    with opened_tree(tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home"), FILES) as (workspace, handles):

        def search(query: str, **options: Any) -> Reply:
            return answer(workspace, handles, "search", {"query": query}, **options)

        yield search


def related(reply: Any) -> list[str]:
    """What the line of the best file names, with its lines."""
    rows = [line.strip() for line in str(reply.text).splitlines() if line.strip().startswith("also ")]
    return [name for row in rows for name in row.removeprefix("also ").split(", ")]


def test_keywords_name_the_other_definitions_that_they_fit(search: Callable[..., Reply]) -> None:
    lines = FILES["cli/upload.py"].splitlines()
    watch, check = (lines.index(f"def {name}(total):") + 1 for name in ("start_watch", "check_duplicates"))
    assert set(related(search(KEYWORDS))) == {f"start_watch {watch}", f"check_duplicates {check}"}


def test_a_sentence_and_a_name_list_nothing_else(search: Callable[..., Reply]) -> None:
    assert related(search("where are the files uploaded and the duplicates in an album")) == []
    assert related(search("upload_files")) == []


def test_json_has_the_related_definitions_with_their_lines(search: Callable[..., Reply]) -> None:
    files = search(KEYWORDS, data=True).data["files"]
    listed = {one["name"]: one["end_line"] - one["start_line"] for file in files for one in file.get("related", ())}
    assert listed == {"start_watch": 60, "check_duplicates": 60}
