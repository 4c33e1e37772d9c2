"""The code graph of Python: calls, callers, implementations and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graph_world import GraphWorld, graph_world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = {
    "src/depot/__init__.py": "from .courier import Courier as Courier\nfrom .routes import plan\n",
    "src/depot/store.py": """\
from abc import ABC, abstractmethod


class Store(ABC):
    @abstractmethod
    def save(self, parcel): ...

    def close(self):
        self.flush()

    def flush(self):
        pass


class MemoryStore(Store):
    def save(self, parcel):
        return parcel


class DiskStore(MemoryStore):
    def save(self, parcel):
        self.flush()
        return super().save(parcel)


def open_store(kind) -> Store:
    return DiskStore()
""",
    "src/depot/routes.py": '''\
from functools import partial


def plan(parcel):
    return shortest(parcel)


def shortest(parcel):
    return parcel


def save(parcel):
    """The same name as a method elsewhere."""


def schedule(pool):
    pool.submit(plan)
    pool.submit(partial(shortest, 1))
''',
    "src/depot/courier.py": """\
import json

from depot import routes
from depot.store import MemoryStore, open_store


class Courier:
    def __init__(self, store: MemoryStore, log):
        self.store = store
        self.backup = open_store("disk")
        self.log = log

    @property
    def name(self):
        return "x"

    def deliver(self, parcel):
        route = routes.plan(parcel)
        self.store.save(route)
        self.backup.close()
        self.log.save(route)
        json.dumps(route)
        self.ring(self.name)
        return route

    def ring(self, name):
        shadow = lambda plan: plan(name)
        return shadow
""",
    "tests/test_courier.py": '''\
from unittest.mock import patch

from depot import Courier, plan
from depot.store import MemoryStore


def make():
    return Courier(MemoryStore(), None)


def test_deliver():
    courier = make()
    assert courier.deliver(1)


def test_mocked():
    with patch("depot.routes.shortest") as shortest:
        plan(1)


def save():
    """A helper of tests, which product code never means."""
''',
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphWorld]:
    with graph_world(tmp_path_factory.mktemp("python"), FILES) as made:
        yield made


def test_callees_are_resolved_through_imports_attributes_and_return_types(world: GraphWorld) -> None:
    assert world.callees("Courier.deliver") == {
        "src/depot/routes.py:plan": "exact",
        "src/depot/store.py:MemoryStore.save": "likely",
        "src/depot/store.py:Store.close": "likely",
        "src/depot/courier.py:Courier.ring": "exact",
        "src/depot/courier.py:Courier.name": "exact",
    }


def test_callees_stand_in_source_order_with_path_and_line(world: GraphWorld) -> None:
    text = world.text("calls", name="Courier.deliver", depth=2)
    lines = text.split("\n")
    assert lines[1] == "src/depot/courier.py:17 Courier.deliver(parcel)"
    assert lines[2] == "18 plan ./routes.py:4 · also shortest"
    signatures = world.text("calls", name="Courier.deliver", depth=2, signatures=True).split("\n")
    assert signatures[2:4] == ["18 plan(parcel) ./routes.py:4", "5   shortest(parcel) :8"]
    direct = [line.split()[1].partition("(")[0] for line in lines[2:] if line[:2] in ("18", "19", "20", "23")]
    assert direct == ["plan", "MemoryStore.save", "Store.close", "Courier.ring", "Courier.name"]


def test_a_receiver_of_unknown_type_is_counted_and_listed_only_on_request(world: GraphWorld) -> None:
    reply = world.ask("calls", name="Courier.deliver", depth=1)
    assert reply.data["definitions"][0]["guesses"] == 1
    assert "unresolved" not in reply.text  # `save` is a name that any library has
    guessed = world.callees("Courier.deliver", guesses=True)
    assert guessed["src/depot/store.py:DiskStore.save"] == "by name"
    assert "tests/test_courier.py:save" not in guessed


def test_a_parameter_hides_a_function_of_the_same_name(world: GraphWorld) -> None:
    assert world.callees("Courier.ring") == {}


def test_functions_passed_as_values_are_edges(world: GraphWorld) -> None:
    text = world.text("calls", name="schedule", depth=1)
    assert "17 plan :4 passed as a value" in text
    assert "18 shortest :8 passed as a value" in text
    assert "17 schedule as a value" in world.text("callers", name="routes.py:plan")


def test_callers_come_through_reexports_and_leave_out_other_definitions_of_the_name(world: GraphWorld) -> None:
    assert world.callers("plan") == {
        "src/depot/courier.py:Courier.deliver": "exact",
        "src/depot/routes.py:schedule": "exact",
        "tests/test_courier.py:test_mocked": "exact",
    }
    assert world.callers("routes.py:save") == {}


def test_callers_of_callers_are_a_tree(world: GraphWorld) -> None:
    text = world.text("callers", name="shortest", depth=2)
    assert "5 plan" in text
    assert "\n18   Courier.deliver src/depot/courier.py" in text


def test_an_inherited_member_is_found_through_its_base(world: GraphWorld) -> None:
    assert world.callers("DiskStore.close") == {"src/depot/courier.py:Courier.deliver": "likely"}
    assert "Store.close" in world.text("callers", name="DiskStore.close")


def test_implementations_and_overrides_are_listed(world: GraphWorld) -> None:
    subtypes = world.ask("impls", name="Store").data["definitions"][0]["types"]
    assert [one["name"] for one in subtypes] == ["MemoryStore", "DiskStore"]
    overrides = world.ask("impls", name="Store.save").data["definitions"][0]["members"]
    assert [one["name"] for one in overrides] == ["MemoryStore.save", "DiskStore.save"]


def test_super_means_the_base(world: GraphWorld) -> None:
    assert world.callees("DiskStore.save") == {
        "src/depot/store.py:Store.flush": "exact",
        "src/depot/store.py:MemoryStore.save": "exact",
    }


def test_tests_are_found_through_callers_and_mocks_are_listed_separately(world: GraphWorld) -> None:
    text = world.text("tests", name="shortest")
    assert "tests/test_courier.py via deliver → plan\n11 test_deliver" in text
    assert "replaced by a mock\n tests/test_courier.py 17" in text


def test_a_path_of_calls_is_found(world: GraphWorld) -> None:
    text = world.text("path", source="Courier.deliver", target="shortest")
    assert "→ plan src/depot/routes.py:4" in text
    assert "→ shortest :8" in text
    assert "no chain of calls" in world.text("path", source="shortest", target="Courier.deliver")


def test_impact_separates_uses_overrides_and_tests(world: GraphWorld) -> None:
    text = world.text("impact", name="MemoryStore.save")
    assert text.startswith("2 uses in code · 0 in tests · 1 override")
    assert "overrides Store.save" in text.split("\n")[0]
    assert "tests\n tests/test_courier.py 18 test_mocked" in world.text("impact", name="plan")


def test_a_save_changes_the_graph(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = {"a.py": "def one():\n    return two()\n\n\ndef two():\n    pass\n"}
    with graph_world(tmp_path_factory.mktemp("save"), files) as world:
        assert world.callees("one") == {"a.py:two": "exact"}
        world.write({"a.py": "from b import two\n\n\ndef one():\n    return two()\n", "b.py": "def two():\n    pass\n"})
        assert world.callees("one") == {"b.py:two": "exact"}
        assert world.callers("two") == {"a.py:one": "exact"}


def test_cycles_and_names_defined_many_times_are_bounded(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = {f"pkg/m{number}.py": "def run(x):\n    x.run()\n    return run(x)\n" for number in range(520)}
    files["pkg/loop.py"] = "def ping():\n    pong()\n\n\ndef pong():\n    ping()\n\n\na = b\nb = a\na.run()\n"
    with graph_world(tmp_path_factory.mktemp("many"), files) as world:
        text = world.text("calls", name="run")
        assert "more definitions" in text
        assert "narrow with path:name" in text
        assert world.callees("ping") == {"pkg/loop.py:pong": "exact"}
        assert "1 call" in world.text("calls", name="ping", depth=9)


def test_an_unknown_name_suggests_similar_names(world: GraphWorld) -> None:
    reply = world.ask("calls", name="shortes")
    assert reply.error == "not_found"
    assert "Did you mean shortest?" in reply.text


def test_refs_of_a_qualified_name_leave_out_uses_of_other_definitions(world: GraphWorld) -> None:
    text = world.text("refs", name="MemoryStore.save")
    assert "19 self.store.save(route)" in text
    assert "1 use of other definitions left out" not in world.text("refs", name="save")
    lines = [(one["path"], one["line"]) for one in world.ask("refs", name="routes.py:save").data["references"]]
    assert ("src/depot/courier.py", 19) not in lines


def test_refs_find_inherited_members_through_their_bases(world: GraphWorld) -> None:
    data = world.ask("refs", name="DiskStore.close").data
    assert [(one["path"], one["within"]) for one in data["definitions"]] == [("src/depot/store.py", "Store")]
    assert [(one["path"], one["line"]) for one in data["references"]] == [("src/depot/courier.py", 20)]


def test_refs_tell_reads_from_writes_and_definitions(world: GraphWorld) -> None:
    writes = world.ask("refs", name="backup", kind="write").data["references"]
    assert [one["line"] for one in writes] == [10]
    reads = world.ask("refs", name="backup", kind="read").data["references"]
    assert [one["line"] for one in reads] == [20]
    assert world.ask("refs", name="plan", kind="def").data["references"] == []


def test_decorators_that_register_a_handler_are_reported(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = {
        "app.py": "from web import A\n\napp = A()\n\n\n@app.route('/x')\n@login\ndef index(n=len('a')):\n    ping()\n"
    }
    with graph_world(tmp_path_factory.mktemp("decorated"), files) as world:
        decorators = world.ask("impls", name="index").data["definitions"][0]["decorators"]
        assert decorators == [{"line": 6, "name": "@app.route('/x')"}, {"line": 7, "name": "@login"}]
        assert "6 @app.route('/x')" in world.text("impls", name="index")


def test_a_call_of_a_variable_that_holds_a_wrapped_function_is_an_edge(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    files = {
        "cache.py": "def cached(f):\n    return f\n",
        "policies.py": "from cache import cached\n\n\ndef _fetch(x):\n    return x\n\n\nfetch = cached(_fetch)\n",
        "app.py": "from policies import fetch\n\n\ndef go():\n    return fetch(1)\n",
    }
    with graph_world(tmp_path_factory.mktemp("wrapped"), files) as world:
        assert world.callees("go") == {"policies.py:fetch": "exact"}
        assert "_fetch" in world.text("calls", name="go")


SHAPES = {
    "shop/base.py": "from outside import Model\n\n\nclass Base(Model):\n    def save(self): ...\n"
    "\n    def load(self): ...\n",
    "shop/mixins.py": "from shop.base import Base\n\n\nclass Locked(Base):\n    def save(self): ...\n"
    "\n    def lock(self): ...\n\n\nclass Dated(Base):\n    def load(self): ...\n\n    def date(self): ...\n",
    "shop/order.py": "from shop.mixins import Dated, Locked\n\n\nclass Order(Locked, Dated):\n    def pay(self): ...\n",
    "shop/odd.py": "class First(Second): ...\n\n\nclass Second(First): ...\n",
}


def test_a_class_has_its_bases_in_the_order_of_lookup_and_what_it_inherits_from_each(tmp_path: Path) -> None:
    with graph_world(tmp_path, SHAPES) as world:
        assert world.text("outline", path=["Order"], inherited=True).split("\n") == [
            "1 member, 4 inherited",
            "shop/order.py:4 Order",
            " looked up in: Locked ./mixins.py:4, Dated ./mixins.py:10, Base ./base.py:4, Model (outside)",
            "5 def pay(self)",
            "from Locked ./mixins.py:4",
            " save 5, lock 7",
            "from Dated ./mixins.py:10",
            " load 11, date 13",
        ]
        data = world.ask("outline", path=["shop/order.py::Order"], inherited=True).data["types"][0]
        assert [one["name"] for one in data["bases"]] == ["Locked", "Dated", "Base", "Model"]
        assert data["inherited"] == {"Locked": ["save", "lock"], "Dated": ["load", "date"]}
        assert "from " not in world.text("outline", path=["Order"])
        assert "looked up in: Second :4" in world.text("outline", path=["First"])
        assert "not a class" in world.ask("outline", path=["shop/order.py"], inherited=True).text
        assert world.ask("outline", path=["Nothing"]).error


def test_tests_of_a_class_are_those_of_its_methods_and_calls_by_name_are_marked(tmp_path: Path) -> None:
    files = {
        "shop/box.py": "class Box:\n    def weigh_all(self): ...\n\n    def seal_box(self): ...\n",
        "shop/crate.py": "class Crate:\n    def weigh_all(self): ...\n",
        "tests/test_box.py": "from shop.box import Box\n\n\ndef make() -> Box:\n    return load()\n\n\n"
        "def test_seal():\n    make().seal_box()\n\n\ndef test_weigh(thing):\n    thing.weigh_all()\n",
    }
    with graph_world(tmp_path, files) as world:
        text = world.text("tests", name="Box")
        assert "tests/test_box.py via seal_box\n8 test_seal" in text
        named = world.ask("tests", name="Box.weigh_all")
        assert "by name, unverified\n tests/test_box.py 13 test_weigh" in named.text
        assert [one["name"] for one in named.data["by_name"]] == ["test_weigh"]


def common_name_tree() -> dict[str, str]:
    """`price` is called by `quote`, and by `run`, a name that many files have."""
    crowd = {f"shop/job_{at}.py": f"class Job{at}:\n    def run(self): ...\n" for at in range(20)}
    return {
        **crowd,
        "shop/price.py": "def price(item): ...\n",
        "shop/quote.py": "from shop.price import price\n\n\ndef quote(item):\n    return price(item)\n",
        "shop/main.py": "from shop.price import price\n\n\ndef run(item):\n    return price(item)\n",
        "tests/test_price.py": "from shop.price import price\n\n\ndef test_price():\n    price(1)\n",
        "tests/test_quote.py": "from shop.quote import quote\n\n\ndef test_quote():\n    quote(1)\n",
        "tests/test_main.py": "from shop.main import run\n\n\ndef test_run():\n    run(1)\n",
    }


def test_tests_leaves_out_callers_with_very_common_names_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with graph_world(tmp_path, common_name_tree()) as world:
        assert {one["name"] for one in world.ask("tests", name="price").data["tests"]} == {
            "test_price",
            "test_quote",
            "test_run",
        }
        monkeypatch.setattr("llmc.tools.tests.MOST_DOCUMENTS", 10)
        world.write({"shop/empty.py": ""})  # a new generation, so that nothing is answered from a cache
        limited = world.ask("tests", name="price")
        assert {one["name"] for one in limited.data["tests"]} == {"test_price", "test_quote"}
        assert "followed 1 of 2 callers" in limited.text


def test_tests_of_a_very_common_name_reads_the_nearest_files_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmc.tools.tests.MOST_DOCUMENTS", 10)
    with graph_world(tmp_path, common_name_tree()) as world:
        text = world.text("tests", name="shop/main.py:run")
        assert "files that mention the name and were not read: 12" in text


def test_names_are_found_in_another_case(world: GraphWorld) -> None:
    assert "Courier.deliver" in world.text("calls", name="courier.DELIVER", depth=1)
