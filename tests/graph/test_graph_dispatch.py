"""Callers of implementations: through base classes, interfaces, trait objects and bounded type parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graph_world import GraphWorld, graph_world

from llmc.graph.implementations import FEW_FILES, FEW_MENTIONS
from llmc.graph.trees import MOST_IMPLEMENTATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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

pub fn known(disk: &Disk) {
    disk.save(4);
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
    """The callers of a definition through a base → that base."""
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
    assert text.startswith("1 caller · 3 through Store.save")
    assert "~ through Store.save src/store.rs:2\n src/store.rs 8 boxed, 12 bounded, 16 chosen" in text


def test_an_interface_has_the_callers_of_its_implementations_apart(world: GraphWorld) -> None:
    text = world.text("callers", name="src/store.rs:Store.save")
    assert text.startswith("3 callers · 1 of implementations")
    assert "of the implementation Disk.save src/disk.rs:4\n src/disk.rs 8 known" in text


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


def many_implementations() -> dict[str, str]:
    """A Go interface and a Python base class, each with more implementations than a call is followed to."""
    files = {
        "go.mod": "module shop\n",
        "web/web.go": "package web\n\ntype Handler interface {\n\tServe(text string)\n}\n\n"
        'func Run(handler Handler) {\n\thandler.Serve("a")\n}\n',
        "lib/base.py": "class Job:\n    def work(self):\n        raise NotImplementedError\n\n"
        "    def stop(self):\n        return 1\n\n\n"
        "def start(job: Job):\n    job.work()\n    job.stop()\n",
    }
    for number in range(FEW_FILES):
        files[f"site/p{number}/page.go"] = (
            f"package p{number}\n\ntype Page struct{{}}\n\n"
            f"func (p Page) Serve(text string) {{\n\tshow{number}()\n}}\n\nfunc show{number}() {{}}\n"
        )
    for number in range(FEW_MENTIONS):
        work = "    def work(self):\n        return 1\n" if number < MOST_IMPLEMENTATIONS else "    pass\n"
        files[f"lib/job{number}.py"] = f"from lib.base import Job\n\n\nclass Job{number}(Job):\n{work}"
    return files


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphWorld]:
    with graph_world(tmp_path_factory.mktemp("crowd"), many_implementations()) as made:
        yield made


def test_an_interface_that_is_not_followed_says_how_many_files_may_implement_it(crowd: GraphWorld) -> None:
    assert f"8 Handler.Serve :4 · {FEW_FILES + 1} files may implement it: impls" in crowd.text("calls", name="Run")
    assert crowd.text("impls", name="Handler.Serve").startswith(f"{FEW_FILES} overrides")


def test_a_base_that_is_not_followed_says_how_many_files_may_override_it(crowd: GraphWorld) -> None:
    text = crowd.text("calls", name="lib/base.py:start")
    assert f"10 Job.work :2 · {MOST_IMPLEMENTATIONS} files may implement it: impls" in text
    assert "11 Job.stop :5\n" in f"{text}\n"  # no other file defines it


def test_a_path_that_ends_at_an_interface_names_it(crowd: GraphWorld) -> None:
    text = crowd.text("path", source="Run", target="show3")
    assert text.startswith("no chain of calls was found, and not all calls were followed")
    assert (
        f"not all implementations were followed of Handler.Serve (in {FEW_FILES + 1} files): impls lists them" in text
    )
    assert "show3" in crowd.text("path", source="site/p3/page.go:Page.Serve", target="show3")


def test_what_embeds_an_implementation_may_be_left_out(tmp_path: Path) -> None:
    """`Get` is defined in too many files to look for a type that gets `Rare` through an embedded type."""
    files = {
        f"p{number}/p.go": f"package p{number}\n\ntype T struct{{}}\n\nfunc (t T) Get() {{}}\n"
        for number in range(FEW_FILES)
    }
    files |= {
        "go.mod": "module shop\n",
        "store/store.go": "package store\n\ntype Store interface {\n\tGet()\n\tRare()\n}\n\n"
        "type Disk struct{}\n\nfunc (d Disk) Get() {}\n\nfunc (d Disk) Rare() {}\n\n"
        "func Use(store Store) {\n\tstore.Get()\n}\n",
    }
    with graph_world(tmp_path, files) as world:
        assert "Store.Get :4 · 1+ implementations" in world.text("calls", name="Use")


FORWARDING = {
    "go.mod": "module shop\n",
    "notify/notify.go": "package notify\n\ntype Notifier interface {\n\tOrdered(id int)\n\tShipped(id int)\n}\n\n"
    "var all []Notifier\n\nfunc Ordered(id int) {\n\tfor _, one := range all {\n\t\tone.Ordered(id)\n\t}\n}\n",
    "mail/mail.go": "package mail\n\ntype Mailer struct{}\n\nfunc (m *Mailer) Ordered(id int) {}\n\n"
    "func (m *Mailer) Shipped(id int) {}\n",
    "feed/feed.go": "package feed\n\ntype Feed struct{}\n\nfunc (f *Feed) Ordered(id int) {}\n\n"
    "func (f *Feed) Shipped(id int) {}\n",
    "Store.java": "interface Store {\n    void save(int id);\n}\nclass Disk implements Store {\n"
    "    public void save(int id) {}\n}\nclass Tape implements Store {\n    public void save(int id) {}\n}\n"
    "class Shop {\n    private Store store;\n    void keep(int id) { store.save(id); }\n}\n",
    "store.ts": "export interface Sink { put(id: number): void }\nexport class File implements Sink {\n"
    "  put(id: number) {}\n}\nexport function keepIt(sink: Sink, id: number) {\n  sink.put(id);\n}\n",
    "Cargo.toml": '[package]\nname = "shop"\n',
    "src/lib.rs": "pub trait Queue {\n    fn push(&self, id: u32);\n}\npub struct Ring;\nimpl Queue for Ring {\n"
    "    fn push(&self, id: u32) {}\n}\npub fn push(queue: &dyn Queue, id: u32) {\n    queue.push(id);\n}\n",
    "Repo.cs": "interface IRepo {\n    void Add(int id);\n}\nclass Repo : IRepo {\n    public void Add(int id) {}\n}\n"
    "class Service {\n    private readonly IRepo repo;\n    void AddAll(int id) { repo.Add(id); }\n}\n",
    "repo.py": "from abc import ABC, abstractmethod\n\n\nclass Cache(ABC):\n    @abstractmethod\n"
    "    def fill(self, id): ...\n\n\nclass Memory(Cache):\n    def fill(self, id):\n        pass\n\n\n"
    "def refill(cache: Cache, id):\n    cache.fill(id)\n",
}


@pytest.fixture(scope="module")
def forwarding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphWorld]:
    with graph_world(tmp_path_factory.mktemp("forwarding"), FORWARDING) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "member", "implementations"),
    [
        ("notify/notify.go:Ordered", "Notifier.Ordered", {"Mailer.Ordered", "Feed.Ordered"}),
        ("Shop.keep", "Store.save", {"Disk.save", "Tape.save"}),
        ("keepIt", "Sink.put", {"File.put"}),
        ("src/lib.rs:push", "Queue.push", {"Ring.push"}),
        ("Service.AddAll", "IRepo.Add", {"Repo.Add"}),
        ("refill", "Cache.fill", {"Memory.fill"}),
    ],
)
def test_the_impact_of_a_function_that_forwards_names_the_implementations(
    forwarding: GraphWorld, name: str, member: str, implementations: set[str]
) -> None:
    found = forwarding.ask("impact", name=name).data["definitions"][0]["forwards"]
    assert [one["name"] for one in found] == [member]
    assert {one["name"] for one in found[0]["implementations"]} == implementations


def test_the_impact_of_an_implementation_names_the_others_and_the_calls_through_the_interface(
    forwarding: GraphWorld,
) -> None:
    text = forwarding.text("impact", name="Mailer.Ordered")
    assert text.startswith("0 uses in code · 0 in tests · overrides Notifier.Ordered · 1 through Notifier.Ordered")
    assert "~ through Notifier.Ordered notify/notify.go:4\n notify/notify.go 12 Ordered" in text
    assert "overrides Notifier.Ordered notify/notify.go:4, as do\n feed/feed.go:5 Feed.Ordered" in text
