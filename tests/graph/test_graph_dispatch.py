"""Callers of implementations: through base classes, interfaces, trait objects and bounded type parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graph_world import GraphWorld, graph_world

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {
    "Cargo.toml": '[package]\nname = "depot"\n',
    "src/lib.rs": "pub mod disk;\npub mod store;\n",
    "src/store.rs": """\
pub trait Store {
    fn save(&self, parcel: u32);
}

pub struct Disk;

pub fn boxed(store: Box<dyn Store + Send + 'static>) {
    store.save(1);
}

pub fn bounded<S: Store + Sync>(store: &S) {
    store.save(2);
}

pub fn chosen<S>(store: &S) where S: Store {
    store.save(3);
}
""",
    "src/disk.rs": """\
use crate::store::{Disk, Store};

impl Store for Disk {
    fn save(&self, parcel: u32) {}
}
""",
    "go.mod": "module depot\n",
    "depot/depot.go": """\
package depot

type Saver interface {
	Save(parcel string) error
}

type Tape struct{}

func (t *Tape) Save(parcel string) error { return nil }

type Keeper interface {
	Keep(parcel string)
	Drop(parcel string)
}

type Nothing struct{}

func (n Nothing) Keep(parcel string) {}
func (n Nothing) Drop(parcel string) {}

type Shelf struct {
	Nothing
}

func (s *Shelf) Drop(parcel string) {}

func Clear(keeper Keeper) {
	keeper.Drop("x")
}

func Ship(saver Saver) {
	saver.Save("x")
}
""",
    "lib/store.py": """\
class Base:
    def save(self, parcel):
        raise NotImplementedError

    def all(self, parcels):
        for parcel in parcels:
            self.save(parcel)


class Tape(Base):
    def save(self, parcel):
        super().save(parcel)
""",
    "lib/test_store.py": """\
from lib.store import Base


def test_all():
    Base().all([1])
    Base().all([2])


def boxed():
    pass
""",
    "web/store.ts": """\
export interface Parcel { weigh(): number }

export class Letter implements Parcel {
  weigh() { return 1; }
}

export function total<P extends Parcel>(parcel: P) {
  return parcel.weigh();
}
""",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphWorld]:
    with graph_world(tmp_path_factory.mktemp("dispatch"), FILES) as made:
        yield made


def through(world: GraphWorld, name: str) -> dict[str, str]:
    """What calls a definition through a base → that base."""
    data = world.ask("callers", name=name).data["definitions"][0]
    return {one["name"]: one["base"] for one in data["through"]}


@pytest.mark.parametrize(
    ("name", "callers"),
    [
        ("Disk.save", {"boxed": "Store.save", "bounded": "Store.save", "chosen": "Store.save"}),
        ("depot/depot.go:Tape.Save", {"Ship": "Saver.Save"}),
        ("Shelf.Drop", {"Clear": "Keeper.Drop"}),  # Shelf has Keep through what it embeds
        ("lib/store.py:Tape.save", {"Base.all": "Base.save"}),
        ("Letter.weigh", {"total": "Parcel.weigh"}),
    ],
)
def test_an_implementation_has_the_callers_of_what_it_implements(
    world: GraphWorld, name: str, callers: dict[str, str]
) -> None:
    assert through(world, name) == callers


def test_the_reply_says_through_what(world: GraphWorld) -> None:
    text = world.text("callers", name="Disk.save")
    assert text.startswith("0 callers · 3 through Store.save")
    assert "~ through Store.save src/store.rs:2\n src/store.rs 8 boxed, 12 bounded, 16 chosen" in text


def test_a_test_that_calls_a_base_reaches_the_override(world: GraphWorld) -> None:
    assert "test_all" in world.text("tests", name="lib/store.py:Tape.save")


def test_what_implements_an_interface_is_followed(world: GraphWorld) -> None:
    tree = world.text("calls", name="boxed", depth=2)
    assert "8 Store.save :2 · 1 implementation\n2   Disk.save ~ ./disk.rs:4" in tree
    assert "Disk.save" in world.text("path", source="boxed", target="Disk.save")


def test_a_definition_in_tests_is_only_named_beside_one_in_code(world: GraphWorld) -> None:
    text = world.text("callers", name="boxed")
    assert "1 more definition: lib/test_store.py:boxed" in text
    assert "defined lib/test_store.py" not in text


def test_uses_in_one_definition_share_a_line(world: GraphWorld) -> None:
    assert "5 test_all also 6" in world.text("impact", name="Base.all", all=True)
