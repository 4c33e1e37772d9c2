"""The code graph of typed languages: packages, modules, namespaces, receivers, interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graph_world import graph_world

from llmc.graph.entities import GraphNode
from llmc.graph.incidental import is_incidental

if TYPE_CHECKING:
    from pathlib import Path

GO = {
    "go.mod": "module example.com/depot\n\ngo 1.22\n",
    "store/store.go": """\
package store

type Store interface {
	Save(parcel string) error
	Close()
}

type Disk struct {
	path string
}

func NewDisk(path string) (*Disk, error) {
	return &Disk{path: path}, nil
}

func (d *Disk) Save(parcel string) error { return flush(d.path) }
""",
    "store/flush.go": """\
package store

func flush(path string) error { return nil }

func (d *Disk) Close() { _ = flush(d.path) }

type Half struct{}

func (h Half) Close() {}
""",
    "main.go": """\
package main

import (
	"fmt"

	st "example.com/depot/store"
)

type server struct {
	backend st.Store
}

func (s *server) handle(parcel string) {
	disk, err := st.NewDisk("/tmp")
	if err != nil {
		fmt.Println(err)
	}
	disk.Save(parcel)
	s.backend.Close()
	go s.handle(parcel)
}
""",
    "store/store_test.go": """\
package store

import "testing"

func TestSave(t *testing.T) {
	disk, _ := NewDisk("x")
	disk.Save("y")
}
""",
}


def test_go_packages_receivers_and_structural_interfaces(tmp_path: Path) -> None:
    with graph_world(tmp_path, GO) as world:
        assert world.callees("server.handle") == {
            "store/store.go:NewDisk": "exact",
            "store/store.go:Disk.Save": "likely",
            "store/store.go:Store.Close": "exact",
            "main.go:server.handle": "exact",
        }
        assert world.callees("Disk.Save") == {"store/flush.go:flush": "exact"}
        impls = world.ask("impls", name="Store").data["definitions"][0]["types"]
        assert [one["name"] for one in impls] == ["Disk"]
        assert world.text("tests", name="flush").startswith("0 tests directly, 1 through callers")
        for written in ("(*Disk).Save", "store.(*Disk).Save", "(Disk).Save"):
            assert "func (d *Disk) Save" in world.text("read", target=[written])
            assert world.text("callers", name=written).endswith(world.text("callers", name="Disk.Save"))


RUST = {
    "Cargo.toml": '[package]\nname = "depot"\n',
    "src/lib.rs": "pub mod store;\npub mod routes;\n\npub use store::Disk;\n",
    "src/store/mod.rs": """\
mod disk;
pub use self::disk::Disk;

pub trait Store {
    fn save(&self, parcel: &str);

    fn close(&self) {
        self.save("last");
    }
}
""",
    "src/store/disk.rs": """\
use super::Store;

pub struct Disk {
    path: String,
}

impl Disk {
    pub fn new(path: &str) -> Self {
        Disk { path: path.to_string() }
    }

    fn write(&self) {}
}

impl Store for Disk {
    fn save(&self, parcel: &str) {
        self.write();
        crate::routes::plan(parcel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saves() {
        Disk::new("x").save("y");
    }
}
""",
    "src/routes.rs": """\
use crate::store::{Disk, Store};

pub fn plan(parcel: &str) {
    let disk = Disk::new(parcel);
    disk.close();
    println!("{}", Disk::new("z").path);
}
""",
}


def test_rust_modules_impls_and_tests_by_attribute(tmp_path: Path) -> None:
    with graph_world(tmp_path, RUST) as world:
        called = world.callees("plan")
        assert called["src/store/disk.rs:Disk.new"] == "exact"
        assert called["src/store/mod.rs:Store.close"] == "likely"
        assert world.callees("Disk.save") == {"src/store/disk.rs:Disk.write": "exact", "src/routes.rs:plan": "exact"}
        impls = world.ask("impls", name="Store.save").data["definitions"][0]["members"]
        assert [one["name"] for one in impls] == ["Disk.save"]
        tests = world.ask("tests", name="Disk.write").data["tests"]
        assert [(one["name"], one["through"]) for one in tests] == [("tests.saves", ["Disk.save"])]


JAVA = {
    "src/main/java/shop/store/Store.java": """\
package shop.store;

public interface Store {
  void save(String parcel);
}
""",
    "src/main/java/shop/store/Disk.java": """\
package shop.store;

public class Disk extends Base implements Store {
  private final String path;

  public Disk(String path) {
    this.path = path;
  }

  @Override
  public void save(String parcel) {
    flush();
    Disk.check(parcel);
  }

  static void check(String parcel) {}
}
""",
    "src/main/java/shop/store/Base.java": "package shop.store;\n\nclass Base {\n  protected void flush() {}\n}\n",
    "src/main/java/shop/Courier.java": """\
package shop;

import java.util.List;
import shop.store.Disk;
import shop.store.Store;

public class Courier {
  private final Store store = new Disk("x");

  public void deliver(List<String> parcels) {
    for (String parcel : parcels) {
      store.save(parcel);
    }
    parcels.forEach(this::log);
  }

  private void log(String text) {
    System.out.println(text);
  }
}
""",
    "src/test/java/shop/CourierTest.java": """\
package shop;

import org.junit.jupiter.api.Test;

class CourierTest {
  @Test
  void delivers() {
    new Courier().deliver(null);
  }
}
""",
}


def test_java_packages_fields_inheritance_and_method_references(tmp_path: Path) -> None:
    with graph_world(tmp_path, JAVA) as world:
        assert world.callees("Courier.deliver") == {
            "src/main/java/shop/store/Store.java:Store.save": "exact",
            "src/main/java/shop/Courier.java:Courier.log": "exact",
        }
        assert world.callees("Disk.save") == {
            "src/main/java/shop/store/Base.java:Base.flush": "exact",
            "src/main/java/shop/store/Disk.java:Disk.check": "exact",
        }
        assert "CourierTest.delivers" in world.text("tests", name="Courier.deliver")
        assert [one["name"] for one in world.ask("impls", name="Store").data["definitions"][0]["types"]] == ["Disk"]


CSHARP = {
    "src/Store.cs": """\
namespace Depot.Storage;

public interface IStore
{
    void Save(string parcel);
}

public class Disk : IStore
{
    public void Save(string parcel) => Flush();

    private void Flush() { }
}

public class Disk<T> : Disk
{
    public T Load() => default;
}

public static class Extensions
{
    public static void Twice(this IStore store) { store.Save("a"); }
}
""",
    "src/Courier.cs": """\
using Depot.Storage;

namespace Depot
{
    public partial class Courier
    {
        private readonly IStore _store = new Disk();

        public void Deliver(string parcel)
        {
            _store.Save(parcel);
            _store.Twice();
            var typed = Make(new Disk<string>());
            new Disk<string>().Load();
            Log(parcel);
        }
    }
}
""",
    "src/Courier.Log.cs": """\
namespace Depot
{
    public partial class Courier
    {
        private void Log(string text) { }
    }
}
""",
}


def test_csharp_namespaces_partial_classes_arity_and_extensions(tmp_path: Path) -> None:
    with graph_world(tmp_path, CSHARP) as world:
        called = world.callees("Courier.Deliver")
        assert called["src/Store.cs:IStore.Save"] == "exact"
        assert called["src/Store.cs:Extensions.Twice"] == "likely"
        assert called["src/Courier.Log.cs:Depot.Courier.Log"] == "exact"
        assert called["src/Store.cs:Disk.Load"] == "exact"
        assert world.callees("Disk.Save") == {"src/Store.cs:Disk.Flush": "exact"}


C = {
    "include/store.h": "#pragma once\nstruct store { int fd; };\nint store_save(struct store *s, int parcel);\n",
    "src/store.c": """\
#include "store.h"

static int flush(struct store *s) { return s->fd; }

int store_save(struct store *s, int parcel) {
    return flush(s);
}
""",
    "src/other.c": "static int flush(int x) { return x; }\n\nint other(void) {\n    return flush(1);\n}\n",
    "src/main.cc": """\
#include "store.h"
#include "courier.h"

void Courier::deliver(int parcel) {
    ring();
    store_save(nullptr, parcel);
}
""",
    "include/courier.h": "class Courier {\n public:\n  void deliver(int parcel);\n  void ring() {}\n};\n",
}


def test_c_headers_static_functions_and_methods_outside_of_their_class(tmp_path: Path) -> None:
    with graph_world(tmp_path, C) as world:
        assert world.callees("store_save") == {"src/store.c:flush": "exact"}
        assert world.callees("other") == {"src/other.c:flush": "exact"}
        called = world.callees("src/main.cc:Courier.deliver")
        assert called == {"include/courier.h:Courier.ring": "exact", "src/store.c:store_save": "exact"}


def test_a_language_without_rules_is_answered_by_name(tmp_path: Path) -> None:
    files = {"a.rb": "def ring(door)\n  door.open\nend\n\ndef knock\n  ring(1)\nend\n"}
    with graph_world(tmp_path, files) as world:
        assert world.callees("knock") == {"a.rb:ring": "exact"}


def test_rust_modules_that_export_each_other_in_a_circle_resolve(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": '[package]\nname = "ring"\n',
        "src/lib.rs": "pub mod a;\npub mod b;\nuse crate::a::*;\npub fn start() {\n    finish();\n    missing();\n}\n",
        "src/a.rs": "pub use super::b::*;\npub use super::*;\n",
        "src/b.rs": "pub use super::a::*;\npub fn finish() {}\n",
    }
    with graph_world(tmp_path, files) as world:
        assert list(world.callees("start")) == ["src/b.rs:finish"]


def test_rust_parameter_with_the_name_of_a_crate_is_not_its_module(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": '[workspace]\nmembers = ["shard", "app"]\n',
        "shard/Cargo.toml": '[package]\nname = "shard"\n',
        "shard/src/lib.rs": "pub mod facet;\n",
        "shard/src/facet.rs": "pub fn count() {}\n",
        "app/Cargo.toml": '[package]\nname = "app"\n',
        "app/src/lib.rs": (
            "pub struct Local;\nimpl Local {\n    pub fn facet(&self) {}\n}\n"
            "pub fn ask() {\n    each(|shard| shard.facet());\n}\n"
        ),
    }
    with graph_world(tmp_path, files) as world:
        assert world.callees("ask") == {"app/src/lib.rs:Local.facet": "by name"}


# An `impl` in another file than its type, a trait with a method of the same name, a free function of the same name.
IMPLS = {
    "Cargo.toml": '[package]\nname = "depot"\n',
    "src/lib.rs": "pub mod query;\npub mod checks;\npub mod shard;\npub mod routes;\n",
    "src/query.rs": (
        "pub struct Query;\n\npub struct Request {\n    pub query: Option<Query>,\n}\n\n"
        "pub trait Verify {\n    fn check(&self);\n}\n"
    ),
    "src/checks.rs": """\
use crate::query::{Query, Request, Verify};

impl Query {
    pub fn check_strict(&self) {
        check_strict(1);
    }

    pub fn check_loose(&self) {}
}

impl Request {
    fn verify(&self) {
        if let Some(query) = self.query.as_ref() {
            query.check_strict()
        }
    }

    fn unknown(&self, each: Each) {
        each(|one| one.check_loose());
    }
}

pub fn check_strict(depth: u32) {}
""",
    "src/shard.rs": """\
use tokio::sync::{OwnedRwLockReadGuard, RwLockReadGuard};

pub struct Holder;

impl Holder {
    pub fn split(&self) {}

    pub fn route(&self) {}
}

pub struct Shared(Holder);

impl Shared {
    pub async fn owned(self) -> OwnedRwLockReadGuard<Holder> {
        self.0
    }

    pub async fn borrowed(&self) -> RwLockReadGuard<'_, Holder> {
        self.0
    }
}
""",
    "src/routes.rs": """\
use crate::shard::Shared;

pub struct Depot {
    shared: Shared,
}

impl Depot {
    pub async fn update(&self, runtime: Runtime) {
        let holder = self.shared.clone().owned().await;
        let pairs = holder.split();
        runtime.spawn(async move {
            self.shared.borrowed().await.route();
            for (one, other) in pairs {
                one.apply_everywhere();
            }
        });
    }
}
""",
    "src/replica.rs": "use crate::x::Replica;\n\nimpl Replica {\n    pub fn apply_everywhere(&self) {}\n}\n",
}


def test_rust_impls_in_another_file_than_their_type_have_callers(tmp_path: Path) -> None:
    with graph_world(tmp_path, IMPLS) as world:
        assert world.callers("Query.check_strict") == {"src/checks.rs:Request.verify": "likely"}
        assert world.callers("Query.check_loose") == {"src/checks.rs:Request.unknown": "likely"}


def test_a_bare_call_is_not_the_method_of_that_name(tmp_path: Path) -> None:
    with graph_world(tmp_path, IMPLS) as world:
        assert world.callees("Query.check_strict") == {"src/checks.rs:check_strict": "exact"}


def test_calls_in_async_blocks_and_through_guards_are_edges(tmp_path: Path) -> None:
    with graph_world(tmp_path, IMPLS) as world:
        assert world.callees("Depot.update") == {
            "src/shard.rs:Shared.owned": "likely",
            "src/shard.rs:Holder.split": "likely",
            "src/shard.rs:Shared.borrowed": "exact",
            "src/shard.rs:Holder.route": "likely",
            "src/replica.rs:Replica.apply_everywhere": "likely",
        }


def test_calls_that_were_inferred_to_be_others_are_listed_where_none_is_found(tmp_path: Path) -> None:
    files = {
        "a.py": "class Cart:\n    def settle(self): ...\n\n\nclass Order:\n    def settle(self): ...\n\n\n"
        "def make(flag):\n    return Cart()\n\n\ndef run():\n    thing = make(1)\n    thing.settle()\n"
    }
    with graph_world(tmp_path, files) as world:
        assert "by name, unverified\n a.py 15 run" in world.text("callers", name="Order.settle")


def test_bases_of_languages_without_resolution_are_matched_by_name_and_folder(tmp_path: Path) -> None:
    def calculator(folder: str) -> str:
        return f"<?php\nnamespace App\\{folder};\ninterface Calculator {{\n    function sum($x);\n}}\n"

    def implementing(folder: str, name: str) -> str:
        head = f"<?php\nnamespace App\\{folder}\\Kinds;\nuse App\\{folder}\\Calculator;\n"
        return f"{head}class {name} implements Calculator {{\n    function sum($x) {{}}\n}}\n"

    files = {
        "src/Invoice/Calculator.php": calculator("Invoice"),
        "src/Timesheet/Calculator.php": calculator("Timesheet"),
        "src/Invoice/Kinds/Weekly.php": implementing("Invoice", "Weekly"),
        "src/Timesheet/Kinds/Rate.php": implementing("Timesheet", "Rate"),
        "src/Timesheet/Kinds/Fixed.php": "<?php\nclass Fixed extends Rate {\n    function sum($x) {}\n}\n",
    }
    with graph_world(tmp_path, files) as world:
        text = world.text("impls", name="src/Timesheet/Calculator.php:Calculator")
        assert text.startswith(
            "2 subtypes\n src/Timesheet/Kinds/Rate.php:4 Rate\n src/Timesheet/Kinds/Fixed.php:2 Fixed"
        )
        assert "Weekly" not in text
        impact = world.text("impact", name="src/Invoice/Calculator.php:Calculator.sum")
        assert "1 override" in impact
        assert "Weekly.sum" in impact


def test_of_many_calls_by_name_those_near_the_owner_are_listed_and_the_headline_is_not_zero(tmp_path: Path) -> None:
    files = {
        "src/ModeInterface.php": "<?php\ninterface TrackingModeInterface {\n    public function create($entry);\n}\n",
        "src/Service.php": "<?php\nclass Service {\n    function prepare(TrackingModeService $modes) {\n"
        "        $mode = $modes->active();\n        $mode->create($this);\n    }\n}\n",
    }
    files |= {
        f"lib/User{at}.php": f"<?php\nclass User{at} {{\n    function make($x) {{\n        $x->create();\n    }}\n}}\n"
        for at in range(25)
    }
    with graph_world(tmp_path, files) as world:
        for tool, none in (("callers", "no caller resolved"), ("impact", "no use resolved in code")):
            text = world.text(tool, name="TrackingModeInterface.create")
            assert text.startswith(none)
            assert "in files that name its owner\n src/Service.php 5 Service.prepare\n" in text
            assert "25 more by name, unverified\n lib 25;" in text


def test_the_only_method_of_a_name_of_several_words_is_likely_meant(tmp_path: Path) -> None:
    files = {
        "shard.py": "class Shard:\n    def drain_queue(self): ...\n    def drain(self): ...\n",
        "run.py": "def run(shards):\n    for shard in shards:\n        shard.drain_queue()\n        shard.drain()\n",
    }
    with graph_world(tmp_path, files) as world:
        assert world.callers("Shard.drain_queue") == {"run.py:run": "likely"}
        assert "by name, unverified\n run.py 4 run" in world.text("callers", name="Shard.drain")
        world.write({"tank.py": "class Tank:\n    def drain_queue(self): ...\n"})
        assert "by name, unverified\n run.py 3 run" in world.text("callers", name="Shard.drain_queue")


def test_unresolved_calls_are_named(tmp_path: Path) -> None:
    files = {f"{name}.py": f"class {name.title()}:\n    def settle(self): ...\n" for name in ("one", "two", "three")}
    with graph_world(tmp_path, {**files, "run.py": "def run(thing):\n    thing.settle()\n    thing.get()\n"}) as world:
        assert world.text("calls", name="run").startswith("0 calls · 1 unresolved by name: settle")


def test_copies_and_errors_are_named_in_one_line_and_definitions_without_calls_in_a_note(tmp_path: Path) -> None:
    files = {
        "a.py": (
            "class ParcelError(Exception):\n    def __init__(self):\n        describe()\n\n\ndef describe(): ...\n\n\n"
            "class Box:\n    def copy(self): ...\n\n    def weigh(self): ...\n\n\n"
            "def pack(box: Box):\n    box.copy()\n    box.weigh()\n    raise ParcelError\n\n\n"
            "def fail():\n    raise ParcelError()\n"
        ),
        "stub.py": "def pack(box): ...\n",
    }
    with graph_world(tmp_path, files) as world:
        text = world.text("calls", name="pack")
        assert "17 Box.weigh :12\nplumbing: Box.copy" in text.replace("\n ", "\n")
        assert "without calls: stub.py:1 pack" in text.split("\n")[0]
        assert "describe" not in world.text("calls", name="fail")


def test_short_functions_that_many_files_call_are_named_in_one_line(tmp_path: Path) -> None:
    files = {
        "go.mod": "module shop\n",
        "db/db.go": "package db\n\nfunc GetEngine() int {\n\treturn 1\n}\n",
        "logger/out.go": "package logger\n\nfunc Error(text string) {}\n",
        "order/order.go": 'package order\n\nimport (\n\t"shop/db"\n\t"shop/logger"\n)\n\nfunc Place() {\n'
        '\tdb.GetEngine()\n\tlogger.Error("a")\n\tlogger.Error("b")\n\treserve()\n}\n\n'
        "func reserve() {\n\tdb.GetEngine()\n}\n",
        **{
            f"part{at}/use.go": f'package part{at}\n\nimport "shop/db"\n\nfunc Use() {{\n\tdb.GetEngine()\n}}\n'
            for at in range(20)
        },
    }
    with graph_world(tmp_path, files) as world:
        reply = world.ask("calls", name="Place")
        assert reply.text.split("\n")[2:] == ["12 reserve :15", " plumbing: db.GetEngine ×2, logger.Error ×2"]
        assert reply.data["definitions"][0]["plumbing"] == {"db.GetEngine": 2, "logger.Error": 2}
        assert {"db/db.go:GetEngine", "logger/out.go:Error"} < {*world.callees("Place")}
        assert "GetEngine db/db.go:3" in world.text("calls", name="Place", all=True)


def test_a_type_is_not_a_member_of_the_same_name(tmp_path: Path) -> None:
    files = {
        "Shop.cs": "class Shop {\n    public Colour Colour { get; }\n}\nclass Colour {}\n",
        "Shape.java": "class Shape {\n    Shape(int a) {}\n    static class Round extends Shape {}\n}\n",
        "Settings.java": "class Settings {\n    int proxy;\n    int proxy() { return proxy; }\n}\n"
        "class User {\n    int use(Settings settings) { return settings.proxy(); }\n}\n",
    }
    with graph_world(tmp_path, files) as world:
        assert "Shop.cs:Shop" in world.callers("Colour")
        assert "Shape.java:Shape.Round" in world.callers("Shape")
        assert world.callees("User.use") == {"Settings.java:Settings.proxy": "exact"}


@pytest.mark.parametrize(
    ("qualified", "is_logging"),
    [
        ("Logger.info", True),
        ("AppLogger.warning", True),
        ("console.log", True),
        ("Log.Error", True),
        ("klog.Infof", True),
        ("get_logger", True),
        ("Factory.getLogger", True),
        ("println", True),
        ("warn", True),
        ("log", False),
        ("log_action", False),
        ("append_log", False),
        ("trace", False),
        ("LogActionRegistry.log", False),
        ("AuditLogger.log", False),
        ("Log.append", False),
        ("Job.debug", False),
    ],
)
def test_only_calls_on_a_logger_and_printing_are_logging(qualified: str, *, is_logging: bool) -> None:
    assert is_incidental(GraphNode(1, qualified)) is is_logging


def test_an_audit_log_is_a_step_of_a_flow(tmp_path: Path) -> None:
    """`log(…)` writes a record, wherever it is defined and however many files call it."""
    files = {
        "audit/log.py": "def log(instance, action):\n    save(instance)\n\n\ndef save(instance): ...\n",
        "app/logger.py": "class Logger:\n    def info(self, text): ...\n\n\nlogger = Logger()\n",
        "app/order.py": "from app.logger import logger\nfrom audit.log import log\n\n\ndef place(order):\n"
        "    logger.info('a')\n    log(instance=order, action='placed')\n",
        **{
            f"part{at}.py": f"from audit.log import log\n\n\ndef use{at}(one):\n    log(one, 'used')\n"
            for at in range(20)
        },
    }
    with graph_world(tmp_path, files) as world:
        reply = world.ask("calls", name="place")
        assert "7 log audit/log.py:1" in reply.text
        assert reply.data["definitions"][0]["plumbing"] == {"Logger.info": 1}


def test_a_call_through_an_embedded_type_is_exact(tmp_path: Path) -> None:
    files = {
        "go.mod": "module shop\n",
        "shop.go": "package shop\n\ntype Service struct{}\n\nfunc (s *Service) Add() {}\n\n"
        "type Handler struct {\n\t*Service\n}\n\nfunc (h *Handler) Add() {\n\th.Service.Add()\n}\n",
    }
    with graph_world(tmp_path, files) as world:
        assert world.callees("Handler.Add") == {"shop.go:Service.Add": "exact"}


def test_a_call_through_a_type_that_dereferences_to_its_parameter_is_not_lost(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": '[package]\nname = "shop"\n\n[dependencies]\nactix-web = "4"\n',
        "src/lib.rs": "pub mod guard;\npub mod routes;\npub struct Depot;\nimpl Depot { pub fn admit(&self) {} }\n",
        "src/guard.rs": (
            "use std::ops::Deref;\nuse actix_web::FromRequest;\npub struct Guarded<P, D> { policy: P, data: D }\n"
            "impl<P, D> Deref for Guarded<P, D> {\n    type Target = D;\n    fn deref(&self) -> &D { &self.data }\n}\n"
            "impl<P, D> FromRequest for Guarded<P, D> {}\n"
        ),
        "src/routes.rs": (
            "use crate::guard::Guarded;\nuse crate::Depot;\n\n"
            "pub fn admit_route(depot: Guarded<Admin, Depot>) {\n    depot.admit();\n}\n\n"
            "pub fn boot(all: &Vec<u8>) {\n    let depot = pick(all);\n    depot.admit();\n}\n"
        ),
    }
    with graph_world(tmp_path, files) as world:
        assert "src/routes.rs 5 admit_route, 10 boot" in world.text("callers", name="Depot.admit")


def test_a_trait_of_another_crate_adds_methods(tmp_path: Path) -> None:
    files = {
        "a/Cargo.toml": '[package]\nname = "a"\n',
        "a/src/lib.rs": "pub struct Parcel;\n",
        "b/Cargo.toml": '[package]\nname = "b"\n',
        "b/src/lib.rs": "use a::Parcel;\npub trait Weigh { fn weigh() -> u32; }\n"
        "impl Weigh for Parcel { fn weigh() -> u32 { 1 } }\npub fn total() -> u32 { Parcel::weigh() }\n",
    }
    with graph_world(tmp_path, files) as world:
        assert world.callees("total") == {"b/src/lib.rs:Parcel.weigh": "exact"}


def test_a_method_and_what_overrides_it_are_one_target_of_a_call_on_an_unknown_value(tmp_path: Path) -> None:
    files = {
        "store.py": "class Store:\n    def save_parcel(self): ...\n\n\n"
        "class Disk(Store):\n    def save_parcel(self): ...\n",
        "box.py": "class Box:\n    def seal_box(self): ...\n\n\nclass Crate:\n    def seal_box(self): ...\n",
        "use.py": "def keep(store, box):\n    store.save_parcel()\n    box.seal_box()\n",
    }
    with graph_world(tmp_path, files) as world:
        assert world.callees("keep") == {
            "store.py:Store.save_parcel": "likely",
            "box.py:Box.seal_box": "by name",
            "box.py:Crate.seal_box": "by name",
        }


def test_a_type_of_go_whose_methods_take_other_arguments_does_not_implement_an_interface(tmp_path: Path) -> None:
    files = {
        "go.mod": "module shop\n",
        "shop.go": "package shop\n\ntype Client interface {\n\tAdd(ctx int, id int, options ...string) error\n}\n\n"
        "type Server interface {\n\tAdd(ctx, id int) error\n}\n\ntype service struct{}\n\n"
        "func (s *service) Add(\n\tctx int,\n\tid int,\n) error {\n\treturn nil\n}\n",
    }
    with graph_world(tmp_path, files) as world:
        assert "service" in world.text("impls", name="Server")
        assert world.ask("impls", name="Client").data["definitions"][0]["types"] == []


def test_a_method_of_a_library_trait_is_not_the_target_of_a_call_on_an_unknown_value(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": '[package]\nname = "shop"\n',
        "src/lib.rs": "use web::IntoReply;\npub struct Parcel;\nimpl IntoReply for Parcel {\n"
        "    fn into_reply(self) -> u32 { 1 }\n}\nimpl Parcel {\n    pub fn weigh_all(&self) -> u32 { 1 }\n}\n"
        "pub fn total() -> u32 {\n    other(|one| one.into_reply());\n    other(|one| one.weigh_all())\n}\n",
    }
    with graph_world(tmp_path, files) as world:
        assert world.callees("total") == {
            "src/lib.rs:Parcel.into_reply": "by name",
            "src/lib.rs:Parcel.weigh_all": "likely",
        }
