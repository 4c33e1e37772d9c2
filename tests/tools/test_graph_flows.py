"""Flows through the code of a small project, as the command line shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from daemons import CommandLine

if TYPE_CHECKING:
    from daemons import Place

FILES = {
    "go.mod": "module shop\n",
    "audit/logger.go": 'package audit\n\nfunc Record(text string) {\n\tappend_("a", text)\n}\n\n'
    "func append_(kind, text string) {}\n",
    "audit/log/write.go": "package log\n\nfunc Write(text string) {}\n",
    "log/out.go": "package log\n\nfunc Info(text string) {}\n",
    "order/order.go": 'package order\n\nimport (\n\t"shop/audit"\n\taudits "shop/audit/log"\n\t"shop/log"\n)\n\n'
    'func Place() {\n\tlog.Info("a")\n\taudit.Record("b")\n\taudits.Write("c")\n}\n',
    "py/__init__.py": "",
    "py/disk.py": "class Disk:\n    def __init__(self):\n        self.root = locate()\n\n\n"
    "def locate():\n    return probe()\n\n\ndef probe(): ...\n",
    "py/tape.py": "class Tape:\n    def rewind(self): ...\n\n\nclass Reel(Tape):\n    def rewind(self): ...\n",
    "py/main.py": "from py.disk import Disk\n\n\ndef main():\n    disk = Disk()\n    return disk\n",
    "py/web.py": "from flask import app\n\n\n@app.route('/parcels')\ndef parcels(): ...\n\n\nclass Page:\n"
    "    @property\n    def title(self): ...\n",
    "web/routes.ts": "import { Store } from './store';\nrouter.post(\"parcels.create\", async (ctx) => {\n"
    "  const store = new Store();\n  store.save(ctx.body);\n  weigh(ctx.body);\n});\nfunction weigh(parcel) {}\n",
    "web/store.ts": "export class Store {\n  save(parcel) { this.flush(); }\n  flush() {}\n}\n",
    "py/mock.py": "def probe(): ...\n",
}


@pytest.fixture(scope="module")
def shop(shared_place: Place, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    folder = tmp_path_factory.mktemp("shop")
    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    command = CommandLine(shared_place, folder)
    assert command("index", "--once").returncode == 0
    return command


def test_an_audit_log_of_go_is_a_step_and_a_log_package_is_plumbing(shop: CommandLine) -> None:
    text = shop.text("calls", "Place")
    assert "Record audit/logger.go:3" in text
    assert "Write audit/log/write.go:3" in text
    assert "plumbing: log.Info" in text


def test_a_path_through_a_constructor_has_every_call_and_names_other_goals(shop: CommandLine) -> None:
    text = shop.text("path", "main", "probe")
    assert text.startswith("3 calls · 1 more definition: py/mock.py:probe; narrow with path:name")
    assert [line.split()[2] for line in text.splitlines()[2:5]] == ["Disk", "locate", "probe"]


def test_overrides_that_are_listed_are_not_named_again(shop: CommandLine) -> None:
    text = shop.text("impls", "rewind")
    assert "Reel.rewind" in text
    assert "more definition" not in text


def test_creating_an_object_does_not_call_its_methods(shop: CommandLine) -> None:
    text = shop.text("calls", "router.post('parcels.create')")  # spelled with the other quotes in the source
    assert [line.split()[1] for line in text.splitlines()[2:]] == ["Store", "Store.save", "weigh"]
    assert text.count("Store.flush") == 1


def test_calls_can_be_skipped_by_name_and_by_path(shop: CommandLine) -> None:
    text = shop.text("calls", 'router.post("parcels.create")', "--skip", "web/store.ts", "--skip", "nothing")
    assert text.startswith("1 call · 2 skipped\n")
    assert "weigh" not in shop.text("calls", 'router.post("parcels.create")', "--skip", "w*gh")


def test_what_a_framework_may_call_is_not_reported_as_uncalled(shop: CommandLine) -> None:
    assert shop.text("callers", "parcels").startswith("0 callers · a framework may call it: @app.route('/parcels')")
    assert shop.text("callers", "Page.title").startswith("0 callers\n")
