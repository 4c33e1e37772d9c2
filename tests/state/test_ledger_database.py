"""The file of the ledger in trouble: a full disk, damage, old lines, concurrent writers."""

from __future__ import annotations

import sqlite3
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llmc.envelope.reply import Reply
from llmc.envelope.tokens import TokenAccount, plain_size, weigh
from llmc.state.connected_sessions import ConnectedSession
from llmc.state.ledger import CallEntry, Ledger, LedgerDatabase, LedgerFilter, figures
from llmc.state.ledger.ledger import CLIENT_TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def database(tmp_path: Path) -> Iterator[LedgerDatabase]:
    made = LedgerDatabase(str(tmp_path / "ledger.db"))
    yield made
    made.close()


def line(at: float | None = None, **fields: object) -> CallEntry:
    made = CallEntry(time.time() if at is None else at, "s", "c", "mcp", "grep", 0.01, 100, 5, 400)
    return replace(made, **fields)  # type: ignore[arg-type]


def noted(ledger: Ledger, weight: TokenAccount, **fields: str) -> None:
    ledger.note(ConnectedSession("s"), weight.tool or "grep", 0.01, Reply("text", weight=weight, **fields))  # type: ignore[arg-type]


def calls(database: LedgerDatabase) -> int:
    return figures(database, LedgerFilter()).tokens.calls


def test_lines_written_by_one_process_are_read_by_the_next(database: LedgerDatabase) -> None:
    database.write([line(), line(error="query")])
    again = LedgerDatabase(database.path)
    found = figures(again, LedgerFilter())
    again.close()
    assert (found.tokens.calls, found.tokens.errors, found.tokens.kept_back) == (2, 1, 600)


def test_a_full_disk_loses_lines_and_says_how_many(database: LedgerDatabase) -> None:
    database.write([line()])
    database.rows("PRAGMA max_page_count = 12")
    for _ in range(40):
        database.write([line()] * 50)
        database.rows("PRAGMA max_page_count = 12")
    assert database.lost > 0
    assert any("not recorded" in note and "full" in note for note in figures(database, LedgerFilter()).notes)
    database.close()
    before = calls(database)
    database.write([line()])
    assert calls(database) == before + 1


@pytest.mark.parametrize("damage", [b"garbage" * 4000, b"SQLite format 3\0" + b"\xff" * 8000, b"SQLite"])
def test_a_damaged_file_is_recreated_with_a_note(database: LedgerDatabase, damage: bytes) -> None:
    database.write([line()])
    database.close()
    Path(database.path).write_bytes(damage)
    database.write([line()])
    found = figures(database, LedgerFilter())
    assert found.tokens.calls == 1
    assert "was restarted" in found.notes[0]
    assert Path(f"{database.path}.damaged").read_bytes() == damage


def test_pages_overwritten_while_it_is_open_cost_no_call(database: LedgerDatabase) -> None:
    database.write([line()] * 2000)
    database.close()
    data = bytearray(Path(database.path).read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    Path(database.path).write_bytes(data)
    database.write([line()])
    database.write([line()])
    assert calls(database) >= 1
    assert any("was restarted" in note for note in figures(database, LedgerFilter()).notes)


def test_a_file_of_another_version_is_put_aside(database: LedgerDatabase) -> None:
    database.write([line()])
    database.close()
    with sqlite3.connect(database.path) as raw:
        raw.execute("PRAGMA user_version = 99")
    raw.close()
    database.write([line()])
    assert calls(database) == 1
    assert "version 99" in figures(database, LedgerFilter()).notes[0]


def test_a_folder_that_cannot_be_written_fails_no_call(tmp_path: Path) -> None:
    ledger = Ledger(LedgerDatabase(str(tmp_path / "nowhere" / "ledger.db")))
    noted(ledger, weigh("text"))
    ledger.flush()
    assert ledger.database.lost == 1
    ledger.close()


def test_old_lines_and_those_over_the_limit_go(tmp_path: Path) -> None:
    database = LedgerDatabase(str(tmp_path / "ledger.db"), days=2, most=100)
    database.write([line(at=time.time() - 3 * 86_400)] * 50)
    database.write([line()] * 6_000)
    assert calls(database) == 100
    database.close()


def test_lines_of_many_threads_are_all_there(database: LedgerDatabase) -> None:
    ledger = Ledger(database)

    def many() -> None:
        for _ in range(100):
            noted(ledger, weigh("some text"))

    threads = [threading.Thread(target=many) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    ledger.flush()
    assert calls(database) == 800
    ledger.close()


def test_what_a_plain_tool_would_return_is_capped_at_what_a_client_shows(database: LedgerDatabase) -> None:
    ledger = Ledger(database)
    noted(ledger, TokenAccount(content=1_000, frame=10, raw=900_000))
    noted(ledger, TokenAccount(content=60_000, frame=0, raw=900_000))
    ledger.flush()
    found = figures(database, LedgerFilter())
    assert found.tokens.raw == CLIENT_TOKENS + 60_000
    assert found.tokens.kept_back == CLIENT_TOKENS - 1_000
    ledger.close()


def test_a_reply_that_costs_more_than_a_plain_one_is_negative(database: LedgerDatabase) -> None:
    ledger = Ledger(database)
    noted(ledger, TokenAccount(content=500, frame=20, raw=400))
    ledger.flush()
    found = figures(database, LedgerFilter())
    assert (found.tokens.negative, found.tokens.lost, found.net) == (1, 120, -120)
    ledger.close()


def test_a_ledger_that_is_switched_off_writes_nothing(database: LedgerDatabase) -> None:
    ledger = Ledger(database, enabled=False)
    noted(ledger, weigh("text"))
    ledger.listed(ConnectedSession("s"), (), "words")
    ledger.close()
    assert not Path(database.path).exists()


def test_a_handle_of_the_network_is_kept_in_part_only(database: LedgerDatabase) -> None:
    ledger = Ledger(database)
    noted(ledger, weigh("text"), handle="h" + "a" * 26)
    ledger.flush()
    assert figures(database, LedgerFilter()).largest[0].handle == "haaaa"
    ledger.close()


def test_shares_and_percentiles_are_those_of_the_lines(database: LedgerDatabase) -> None:
    database.write([line(seconds=number / 1000) for number in range(101)])
    found = figures(database, LedgerFilter())
    assert found.share == pytest.approx(0.05)
    assert [found.latency.p50, found.latency.p95, found.latency.p99] == pytest.approx([0.05, 0.095, 0.099])
    assert [round(one.seconds, 3) for one in found.slowest[:2]] == [0.1, 0.099]
    assert sum(one.calls for one in found.slots) == 101


def test_omitted_items_weigh_as_much_as_shown_ones() -> None:
    from llmc.envelope import Envelope, Group, Item, Row

    rows = tuple(Row(f"value_{number} = compute({number})", number) for number in range(1, 400))
    envelope = Envelope("read", "a.py · 399 lines", (Group("", (Item(rows),)),))
    text = "\n".join([envelope.found, *(f" {row.number} {row.text}" for row in rows)])
    assert plain_size(envelope) == len(text) + 1
    whole = weigh(text)
    part = weigh(text[: len(text) // 4], "", plain_size(envelope))
    assert part.raw == pytest.approx(whole.content, rel=0.1)
