"""The lines that a search quotes: code before documentation, names for queries about names, and no more than helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tool_calls import answer

from llmc import Workspace
from llmc.envelope.handles import Handles
from llmc.retrieval.passages.documentation import documentation, imports
from llmc.retrieval.query import QueryRoute
from llmc.retrieval.results import FileHits, SearchResult, Share
from llmc.tools.search import near_enough

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

POOL = '''# Copyright: whoever wrote it.

from connections import (
    Connection,  # of a pool
)


class Pool:
    """Keeps connections that are open."""

    def __init__(self, limit):
        self.limit = limit
        self.idle = []

    def fresh(self, connection, now):
        """
        Decide whether a connection of the pool is too old.

        A connection that is too old is closed and replaced by a new connection of the pool.
        The age of a connection is measured from when the pool opened the connection.
        """
        age = now - connection.opened
        if age > self.limit:
            connection.close()
            return self.connect(now)
        return connection

    def connect(self, now):
        return Connection(now)
'''
LONG = (
    "def settle(entries):\n"
    + "".join(f"    total_{n} = entries[{n}].cents * {n} + 17\n" for n in range(60))
    + "\n    if entries[3].disputed:\n        raise ValueError('a disputed entry is not settled')\n    return 1\n"
)
TESTS = """class PoolTests:
    def test_pool_reuses(self):
        assert reuse()

    def test_unrelated(self):
        assert True


class OtherPoolTests:
    def test_pool_limit(self):
        class PoolOfOne:
            def pool(self):
                return 1

        assert limit()
"""
HOSTS = '''class Retry:
    """Try a request again when the host is busy."""

    busy_host_request_again = 3
    busy_request_pause_again = 0.5
    busy_host_pause = 2

    def again(self, reply):
        pause = reply.headers.get("Retry-After")
        if reply.status == 503 and pause:
            self.sleep(float(pause))
            return self.send(reply.request)
        return reply
'''
GUIDE = """Backups
=======

.. _nightly-backups-of-the-archive:

Nightly backups of the archive are made by the scheduler, and whoever keeps the archive is told by mail of every
nightly backup of the archive that the scheduler could not make for whatever reason, the size of its volume included, so
that a backup of the archive is never missing for longer than two nights before somebody who can mend it hears
of it and makes that backup of the archive by hand.

.. _archive: https://example.org/archive/backups
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for path, text in {"pool.py": POOL, "ledger.py": LONG, "tests/test_pool.py": TESTS}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for number in range(6):
        (root / f"notes_{number}.py").write_text(f"# a connection, among other things\nVALUE_{number} = {number}\n")
    return root


@pytest.fixture
def ask(folder: Path, tmp_path: Path) -> Iterator[Callable[..., str]]:
    with Workspace.open(str(folder), home=str(tmp_path / "home")) as workspace:
        handles = Handles(str(tmp_path / "handles"))

        def search(query: str, **options: Any) -> str:
            workspace.index()  # a search waits only briefly for files that a test has just written
            return answer(workspace, handles, "search", {"query": query, **options}).text

        yield search
        handles.close()


def test_the_code_that_decides_is_quoted_and_its_documentation_in_a_line(ask: Callable[..., str]) -> None:
    told = ask("which code decides that a connection of the pool is too old and opens a new one")
    assert "if age > self.limit:" in told
    assert "return self.connect(now)" in told
    assert "Decide whether a connection of the pool is too old." in told
    assert "is measured from when" not in told
    assert "import" not in told
    assert "Copyright" not in told


def test_of_a_long_function_the_part_that_answers_comes_with_the_line_that_names_it(ask: Callable[..., str]) -> None:
    told = ask("what happens to a disputed entry that is settled", path="ledger.py")
    assert "\nsettle 1-65" in told
    assert "\n1 def settle(entries):" in told
    assert "raise ValueError('a disputed entry is not settled')" in told
    assert "total_30" not in told


def test_for_queries_about_tests_search_lists_test_names(ask: Callable[..., str]) -> None:
    told = ask("tests of the pool", path="tests")
    named = ("class PoolTests:", "class OtherPoolTests:", "def test_pool_reuses", "def test_pool_limit")
    assert all(name in told for name in named)
    assert "assert" not in told
    assert "PoolOfOne" not in told


def test_for_the_name_of_a_class_search_lists_its_members(ask: Callable[..., str]) -> None:
    for query in ("Pool", "Pool methods"):
        told = ask(query)
        assert all(name in told for name in ("class Pool:", "def __init__", "def fresh", "def connect"))
        assert "age = now" not in told


def test_files_far_behind_the_best_are_named_only_with_a_higher_limit(ask: Callable[..., str]) -> None:
    query = "decide whether a connection of the pool is too old"
    assert ask(query).count("notes_") < 3
    assert ask(query, limit=10).count("notes_") >= 6


def test_a_larger_budget_is_a_longer_quotation(ask: Callable[..., str]) -> None:
    query = "what happens to a disputed entry that is settled"
    assert len(ask(query, path="ledger.py", budget=2_000)) > len(ask(query, path="ledger.py")) + 1_000


def test_of_one_file_alone_more_is_quoted(ask: Callable[..., str]) -> None:
    query = "the cents of entries that are settled, among other things"
    among, alone = ask(query, limit=10), ask(query, path="ledger.py")
    assert among.splitlines()[1] == alone.splitlines()[1] == "ledger.py"
    assert "notes_" in among
    assert alone.count("total_") > among.count("total_") > 0


def test_a_file_that_changed_a_moment_ago_is_quoted_as_it_is(ask: Callable[..., str], folder: Path) -> None:
    (folder / "pool.py").write_text("# first\n" + POOL.replace("age > self.limit", "age >= self.limit"))
    told = ask("which code decides that a connection of the pool is too old and opens a new one")
    assert "if age >= self.limit:" in told
    assert "if age > self.limit:" not in told


def test_code_that_decides_is_quoted_before_the_head_of_its_class(folder: Path, ask: Callable[..., str]) -> None:
    (folder / "retry.py").write_text(HOSTS)
    told = ask("request again when the host is busy", path="retry.py", budget=300)
    assert "if reply.status == 503 and pause:" in told
    assert "busy_host_pause" not in told


def test_documentation_is_quoted_from_the_beginning_of_a_sentence_and_without_labels(
    folder: Path, ask: Callable[..., str]
) -> None:
    (folder / "backups.rst").write_text(GUIDE)
    told = ask("who hears of a nightly backup of the archive", path="backups.rst")
    assert "Nightly backups of the archive are made by the scheduler" in told
    assert "makes that backup of the archive by hand." in told
    assert ".. _" not in told


def test_three_files_that_are_as_near_are_all_quoted(folder: Path, ask: Callable[..., str]) -> None:
    for name in ("first", "second", "third", "fourth"):
        (folder / f"{name}_tariff.py").write_text(
            f"def {name}_tariff(parcel):\n    rate = parcel.weight * 3\n    fuel = rate / 10\n    return rate + fuel\n"
        )
    assert ask("tariff of a parcel by weight").count("return rate + fuel") == 3


def test_a_query_for_a_name_lists_every_file_that_has_it(folder: Path, ask: Callable[..., str]) -> None:
    (folder / "plugins").mkdir()
    (folder / "beacon.py").write_text("class Beacon:\n    def beacon(self):\n        return Beacon()\n")
    for number in range(5):
        (folder / "plugins" / f"beacon_{number}.py").write_text(f"VALUE_{number} = {number}\n" * 40)
    assert ask("beacon").count("plugins/beacon_") == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('def f():\n    """One.\n\n    Two.\n    """\n    return 1', {2, 3, 4, 5}),
        ('def f():\n    """One."""\n    # why\n    return 1', {2, 3}),
        ("/**\n * One.\n */\nint f() { /* here */ }\n*ptr = 1;", {1, 2, 3}),
        ("#include <a.h>\n#define A 1\n# a remark\n#[derive(Debug)]", {3}),
        ("-- a remark\n--count;\n// one\ncode(); // two", {1, 3}),
    ],
)
def test_documentation_is_distinguished_from_code(text: str, expected: set[int]) -> None:
    assert set(documentation(enumerate(text.split("\n"), 1))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os\nfrom a.b import (\n    c,\n)\nimported = 1\nfrom_ = 2", {1, 2, 3, 4}),
        ('package main\n\nimport (\n\t"fmt"\n)\nfunc f() {}', {1, 3, 4, 5}),
        ('#include <a.h>\n#define A 1\nimport { a } from "b";\nconst m = await import("c");', {1, 3}),
        ('const fs = require("fs");\nuse std::fmt;\npub use a::{\n    B,\n};\nuse_it();', {1, 2, 3, 4, 5}),
    ],
)
def test_imports_are_distinguished_from_code(text: str, expected: set[int]) -> None:
    assert set(imports(enumerate(text.split("\n"), 1))) == expected


def searched(tmp_path: Path, files: dict[str, str], query: str) -> str:
    for name, text in files.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
    with Workspace.open(str(tmp_path / "tree"), home=str(tmp_path / "home")) as workspace:
        workspace.index()
        return answer(workspace, Handles(str(tmp_path / "handles")), "search", {"query": query}).text


def test_left_out_lines_are_marked_and_a_short_function_is_quoted_to_its_end(tmp_path: Path) -> None:
    short = "def pay(order):\n    check(order)\n    total = order.total\n    if total:\n        charge(total)\n"
    short += "    return total\n"
    body = "".join(f"    step_{at} = prepare({at}, limit={at}, name={at})\n\n" for at in range(110))
    long = f"def settle(entries):\n{body}    raise DisputedError('a disputed entry is refused')\n"
    told = searched(tmp_path, {"pay.py": short, "ledger.py": long}, "disputed entry is refused")
    lines = told.split("\n")
    assert " …" in lines
    assert any("DisputedError" in line for line in lines)
    paid = searched(tmp_path, {}, "charge the total of an order")
    assert "    return total" in paid


def test_an_exact_identifier_brings_its_definition_and_uses_and_nothing_else(tmp_path: Path) -> None:
    files = {
        "orders.py": "def load_order(key):\n    return key\n",
        "shop.py": "from orders import load_order\n\n\ndef show(key):\n    return load_order(key)\n",
        "order_loading.py": "def order_loader():\n    '''Load an order.'''\n    return 1\n",
        "tests/test_orders.py": "from orders import load_order\n\n\ndef test_it():\n    assert load_order(1)\n",
    }
    told = searched(tmp_path, files, "load_order")
    assert told.split("\n") == [
        "1 definition, 5 lines in 3 files",
        "orders.py",
        "load_order 1-2",
        "1 def load_order(key):",
        "     return key",
        "used in",
        "shop.py: show 5",
        "tests and docs: 2",
        " tests/test_orders.py 2",
    ]


def test_the_range_beside_a_name_is_that_of_the_symbol(tmp_path: Path) -> None:
    padding = "".join(f"CONSTANT_{at} = {at}\n" for at in range(30))
    text = padding + "\n\ndef weigh_parcel(parcel):\n    '''Weighs a parcel.'''\n    return parcel.weight\n"
    others = {f"m{at}.py": f"def parcel_{at}():\n    '''A parcel.'''\n    return {at}\n" for at in range(6)}
    told = searched(tmp_path, {"scale.py": text, **others}, "what weighs a parcel")
    assert "weigh_parcel 33-35" in told


def ranked(path: str, score: float, role: str = "code", effect: float = 1.0) -> FileHits:
    shares = (Share("role", effect, role),) if effect < 1 else ()
    return FileHits("root", path, "python", role, score, (), shares=shares)


def test_far_files_are_named_by_what_they_would_score_as_code() -> None:
    first = [ranked(f"{number}.py", 1.0 if number == 0 else 0.1) for number in range(5)]
    far = [
        ranked("near.py", 0.31),
        ranked("far.py", 0.29),
        ranked("test_near.py", 0.09, "test", 0.4),
        ranked("test_far.py", 0.07, "test", 0.4),
        ranked("near.md", 0.1, "doc", 0.3),
        ranked("far.md", 0.08, "doc", 0.3),
    ]
    named = near_enough(SearchResult("seal the lid", QueryRoute.WORDS, (*first, *far)))
    assert [file.path for file in named[5:]] == ["near.py", "test_near.py", "near.md"]
