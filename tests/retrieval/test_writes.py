"""Which lines write a name, in the shared rule and from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graph_world import graph_world

from llmc.retrieval.writes import writes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("python", "self.size = 3"),
        ("python", "    size += 1"),
        ("python", "self.size[3] = 1"),
        ("python", "size: int = 3"),
        ("python", "width, size = box"),
        ("python", "size, width = box"),
        ("python", "rows.update(size=3)"),
        ("python", 'row = {"size": 3}'),
        ("python", 'setattr(box, "size", 3)'),
        ("python", "box.set_size(3)"),
        ("python", "for size in sizes:"),
        ("go", "box.size = 3"),
        ("go", "box.Size, size := 1, 2"),
        ("go", "return Box{size: 3}"),
        ("go", "\t\tsize:   other.size,"),
        ("go", "size++"),
        ("typescript", "this.size = size;"),
        ("typescript", "return { size: box.width };"),
        ("typescript", "size ??= 3;"),
        ("rust", "Box { size: old.size }"),
        ("rust", "box.size -= 1;"),
        ("ruby", "box = { :size => 3 }"),
    ],
)
def test_assignments_fields_keywords_and_setters_write(language: str, line: str) -> None:
    spans = [(at, at + 4) for at in range(len(line)) if line[at : at + 4] == "size"]
    assert writes(line, spans, language)


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("python", "if self.size == 3:"),
        ("python", "total = box.size"),
        ("python", "def grow(box, size: int):"),
        ("python", "rows.filter(size=3)"),
        ("python", "rows.exclude(size__lt=3)"),
        ("python", "measure(size, 3)"),
        ("go", "if box.size != 3 {"),
        ("go", "case size:"),
        ("typescript", "function grow(size: number) {"),
        ("typescript", "const area = (size) => size * 2;"),
        ("rust", "fn grow(size: usize) {"),
        ("rust", "    size: &str,"),
    ],
)
def test_reads_comparisons_and_declarations_do_not_write(language: str, line: str) -> None:
    at = line.index("size")
    assert not writes(line, [(at, at + 4)], language)


FILES = {
    "shop/box.py": "class Box:\n    def __init__(self):\n        self.weight = 0\n\n    def add(self, grams):\n"
    "        self.weight += grams\n        # self.weight = 3\n        return self.weight\n",
    "shop/rows.py": "def store(rows, box):\n    rows.update(weight=box.weight)\n    return box.weight > 3\n",
}


def test_grep_and_refs_agree_on_writes(tmp_path: Path) -> None:
    with graph_world(tmp_path, FILES) as world:
        matched = world.ask("grep", pattern="weight", kind=["write"]).data["files"]
        lines = {(file["path"], line[0]) for file in matched for line in file["lines"]}
        assert lines == {("shop/box.py", 3), ("shop/box.py", 6), ("shop/rows.py", 2)}
        written = world.ask("refs", name="weight", kind=["write"]).data["references"]
        assert {(one["path"], one["line"]) for one in written} == lines
        assert "4 matches" in world.text("grep", pattern="self.weight", kind=["use", "comment"])
