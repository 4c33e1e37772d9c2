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
