"""An index.scip next to the code: exact where it fits the files, ignored and reported where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graph_world import GraphWorld, graph_world

from llmc.graph.scip import ScipError, read_scip
from llmc.graph.scip_index import descriptor_name

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "app.py": "def handle(store):\n    store.save(1)\n",
    "store.py": "class Disk:\n    def save(self, x):\n        pass\n\n\n"
    "class Memory:\n    def save(self, x):\n        pass\n",
}
SAVE = "scip-test python depot 1 `store`/Memory#save()."
HANDLE = "scip-test python depot 1 `app`/handle()."


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def occurrence(line: int, start: int, end: int, symbol: str, roles: int = 0) -> bytes:
    place = b"".join(map(varint, (line, start, end)))
    return field(2, field(1, place) + field(2, symbol.encode()) + field(3, roles))


def document(path: str, *occurrences: bytes) -> bytes:
    return field(2, field(1, path.encode()) + b"".join(occurrences))


INDEX = (
    field(1, field(3, b"file:///depot"))
    + document("app.py", occurrence(0, 4, 10, HANDLE, 1), occurrence(1, 10, 14, SAVE))
    + document("store.py", occurrence(6, 8, 12, SAVE, 1))
)


def put(world: GraphWorld, data: bytes) -> None:
    (world.folder / "index.scip").write_bytes(data)
    world.workspace.index()


@pytest.fixture
def world(tmp_path: Path) -> object:
    with graph_world(tmp_path, FILES) as made:
        yield made


def test_an_index_resolves_a_value_without_a_type(world: GraphWorld) -> None:
    assert world.callees("handle") == {}
    put(world, INDEX)
    assert world.callees("handle") == {"store.py:Memory.save": "exact"}
    assert world.callers("Memory.save") == {"app.py:handle": "exact"}
    assert world.callers("Disk.save") == {}


def test_a_file_that_changed_since_is_resolved_without_the_index(world: GraphWorld) -> None:
    put(world, INDEX)
    world.write({"app.py": "import os\n\n\n" + FILES["app.py"]})
    assert world.callees("handle") == {}


def test_an_index_of_another_commit_is_left_alone(world: GraphWorld) -> None:
    shifted = document("app.py", occurrence(3, 4, 10, HANDLE, 1), occurrence(4, 10, 14, SAVE))
    put(world, shifted + document("store.py", occurrence(9, 8, 12, SAVE, 1)))
    assert world.callees("handle") == {}


@pytest.mark.parametrize(
    "data",
    [
        b"not protobuf at all",
        INDEX[:-3],
        b"\x12\xff\xff\xff\xff\x0f",
        b"\x80" * 40,
        b"\x12" + b"\xff" * 9 + b"\x01",
    ],
)
def test_a_damaged_index_is_reported_and_ignored(world: GraphWorld, data: bytes) -> None:
    put(world, data)
    text = world.text("calls", name="handle")
    assert "index.scip is ignored" in text.split("\n")[0]
    assert world.callees("handle") == {}


def test_a_damaged_document_costs_only_itself(world: GraphWorld) -> None:
    put(world, field(2, field(1, b"app.py") + b"\x12\x7f") + document("store.py", occurrence(6, 8, 12, SAVE, 1)))
    assert "index.scip" in world.text("calls", name="handle").split("\n")[0]


def test_the_reader_gives_places_symbols_and_roles() -> None:
    app, store = read_scip(INDEX)
    assert [(one.line, one.start, one.end, one.symbol, one.roles) for one in app.occurrences] == [
        (0, 4, 10, HANDLE, 1),
        (1, 10, 14, SAVE, 0),
    ]
    assert store.path == "store.py"
    with pytest.raises(ScipError):
        list(read_scip(b"\x07"))


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        (SAVE, "save"),
        ("scip-typescript npm hono 4 src/`context.ts`/Context#`<get>req`().", "req"),
        ("scip-typescript npm a 1 `b.ts`/C#`<constructor>`().", "<constructor>"),
        ("scip-python python a 1 `a.b`/f().(x)", "x"),
        ("local 4", ""),
    ],
)
def test_the_name_of_a_symbol_is_its_last_descriptor(symbol: str, name: str) -> None:
    assert descriptor_name(symbol) == name
