"""The daemon's log: JSON lines, rotated by size, and never blocking."""

from __future__ import annotations

import json
import logging
import stat
from typing import TYPE_CHECKING, Any

import pytest

from llmc.base import logs
from llmc.server.daemon import clean_line

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.usefixtures("clean_logging")


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_is_an_object_with_the_fields_that_were_given(tmp_path: Path) -> None:
    logs.open_log(str(tmp_path / "log"), clean=clean_line, clean_level="warning")
    logs.get("part").info("indexed", files=3, path="caf\udce9\n", where=tmp_path)
    (entry,) = entries(tmp_path / "log")
    assert entry.pop("time").endswith("+00:00")
    assert entry == {
        "level": "info",
        "source": "llmc.part",
        "event": "indexed",
        "files": 3,
        "path": "caf\udce9\n",
        "where": str(tmp_path),
    }
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_an_exception_brings_its_trace(tmp_path: Path) -> None:
    logs.open_log(str(tmp_path / "log"), clean=clean_line, clean_level="warning")
    try:
        int("no")
    except ValueError:
        logs.get("part").exception("failed", step=1)
    (entry,) = entries(tmp_path / "log")
    assert (entry["level"], entry["step"], entry["trace"][-1]) == (
        "error",
        1,
        "ValueError: invalid literal for int() with base 10: 'no'",
    )


def test_levels_hold_for_us_and_libraries_only_warn(tmp_path: Path) -> None:
    logs.open_log(str(tmp_path / "log"), level="debug", clean=clean_line, clean_level="warning")
    logs.get("part").debug("detail")
    logging.getLogger("library").info("chatter")
    logging.getLogger("library").warning("careful %s", "now")
    assert [entry["event"] for entry in entries(tmp_path / "log")] == ["detail", "careful now"]


def test_the_log_is_turned_over_and_old_ones_are_dropped(tmp_path: Path) -> None:
    logs.open_log(str(tmp_path / "log"), max_bytes=1_000, keep=2, clean=clean_line, clean_level="warning")
    for number in range(60):
        logs.get("part").info("event", number=number)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "log.1", "log.2"]
    kept = [entry["number"] for name in ("log.2", "log.1", "log") for entry in entries(tmp_path / name)]
    assert kept == list(range(60 - len(kept), 60))
    assert len(kept) < 40


def test_opening_again_replaces_the_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        logs.open_log(str(tmp_path / name), clean=clean_line, clean_level="warning")
        logs.get("part").info(name)
    assert [entry["event"] for entry in entries(tmp_path / "a")] == ["a"]
    assert [entry["event"] for entry in entries(tmp_path / "b")] == ["b"]


def test_lines_that_cannot_be_written_are_counted_and_not_raised(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("/dev/full")
    logs.open_log(str(tmp_path / "log"), clean=clean_line, clean_level="warning")
    logs.get("part").info("lost")
    logs.get("part").info("lost too")
    (tmp_path / "log").unlink()
    logs.get("part").info("kept")
    assert [entry["event"] for entry in entries(tmp_path / "log")] == ["lines lost", "kept"]
    assert entries(tmp_path / "log")[0]["lines"] == 2


def test_tail_gives_the_last_lines_and_nothing_without_a_file(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("".join(f"{number}\n" for number in range(20_000)))
    assert logs.tail(str(tmp_path / "log"), 2) == ["19998", "19999"]
    assert logs.tail(str(tmp_path / "none")) == []
