"""Trials: transcripts are summed up by question, and replayed without a shell."""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.trials import __main__ as trials
from bench.trials import mcp_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from daemons import Place


SCORES = {"plain-1": "3 of 3", "llmc-1": "3 of 3", "llmc-2": "2 of 3", "llmc-3": "3 of 3"}
DEMO = Path(__file__).parents[2] / "data" / "demo"


def log(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def command(line: str, tokens: int) -> dict[str, Any]:
    return {"command": line, "tokens_in": 1, "tokens_out": tokens}


def test_parts_of_a_question_that_an_agent_returned_to_are_added_up(tmp_path: Path) -> None:
    rows = ({"mark": "a"}, command("x", 5), {"mark": "b"}, command("y", 7), {"mark": "a"}, command("z", 1))
    run = trials.read_run(log(tmp_path / "llmc-1.jsonl", *rows))
    assert run.questions == {"a": (2, 6), "b": (1, 7)}
    assert run.total == (3, 13)


def test_the_table_compares_medians_of_both_arms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = tmp_path / "2026-01-01-demo"
    trial.mkdir()
    for number, (plain, llmc) in enumerate([(100, 40), (200, 50), (300, 90)], 1):
        log(trial / f"plain-{number}.jsonl", command("rg x", plain))
        log(trial / f"llmc-{number}.jsonl", command("llmc grep x", llmc))
    (trial / "score.json").write_text(json.dumps(SCORES))
    monkeypatch.setattr(trials, "HERE", tmp_path)
    log(trial / "mcp-1.jsonl", command("tools", 30), {"mark": "a"}, command('grep {"pattern": "x"}', 20))
    assert trials.table()[2:] == [
        "| 2026-01-01-demo | plain | 3 | 1 (1 to 1) | 200 (100 to 300) | 100% | 3 of 3 |",
        "| 2026-01-01-demo | llmc | 3 | 1 (1 to 1) | 50 (40 to 90) | 25% | 3, 2, 3 of 3 |",
        "| 2026-01-01-demo | mcp | 1 | 2 | 50 | 25% |  |",
    ]
    assert [(one["arm"], one["questions"], one["share"]) for one in trials.figures()] == [
        ("plain", 0, 1.0),
        ("llmc", 0, 0.25),
        ("mcp", 1, 0.25),
    ]


def test_a_replay_runs_llmc_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def run(words: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        ran.append(words)
        return subprocess.CompletedProcess(words, 0, "found\n", "")

    monkeypatch.setattr(subprocess, "run", run)
    printed = trials.run_again("llmc grep 'a|b; c' src; rm -rf x && llmc read \"f g\" | head", tmp_path, {})
    assert ran == [["llmc", "grep", "a|b; c", "src"], ["llmc", "read", "f g"]]
    assert printed == "found\nfound\n"


def test_facts_are_paths_symbols_or_values() -> None:
    text = "api/src/flows.ts\n394 FlowManager.executeFlow\nlimit 25"
    assert trials.is_named(["api/src/flows.ts::FlowManager.executeFlow"], text)
    assert trials.is_named(["other/x.ts", "src/flows.ts:12"], text)
    assert trials.is_named(["25"], text)
    assert not trials.is_named(["2"], text)
    assert not trials.is_named(["api/src/flows.ts::load"], text)


def test_a_score_is_what_the_answers_name(tmp_path: Path) -> None:
    truth = [
        {"id": "a", "truth": {"must": [["25"], ["src/x.py"]]}},
        {"id": "b", "truth": {"must": [["src/y.py::run"]]}},
    ]
    (tmp_path / "questions.json").write_text(json.dumps(truth))
    said = trials.score(tmp_path, "mcp-1", {"a": {"answer": "at most 25", "places": ["src/x.py:3"]}})
    assert said == ["a: complete", "b: missing ['src/y.py::run']", "2 of 3"]
    assert json.loads((tmp_path / "score.json").read_text()) == {"mcp-1": "2 of 3"}


@pytest.fixture
def command_of(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Runs a command of a session on the indexed demo; the session ends with the test."""
    place.environ["LLMC_ROOTS"] = str(DEMO)
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    assert place.llmc("index", "--once", "--quiet").returncode == 0
    run = partial(mcp_session.ask, DEMO, tmp_path / "mcp-1.jsonl")
    yield run
    run("close")


def test_a_session_stays_open_and_logs_the_cost_of_commands(command_of: Callable[[str], str], tmp_path: Path) -> None:
    assert command_of("close") == "not open"
    assert '"name":"search"' in command_of("tools")
    assert command_of("mark demo-1") == "marked"
    assert "estimate_arrival" in command_of('grep {"pattern": "def estimate_arrival"}')
    assert "departure" in command_of('llmc {"name": "calls", "args": {"name": "estimate_arrival"}}')
    assert command_of('grep {"pattern"').startswith("error: the arguments of grep are not JSON")
    assert "no tool 'nonsense'" in command_of("nonsense {}")
    assert command_of("close") == "closed"
    rows = trials.rows_of(tmp_path / "mcp-1.jsonl")
    assert [row.get("mark") or row["command"].split()[0] for row in rows] == [
        "tools",
        "demo-1",
        "grep",
        "llmc",
        "grep",
        "nonsense",
    ]
    assert [row["code"] for row in rows[2:]] == [0, 0, 1, 1]
    assert all(row["tokens_out"] > 0 for row in rows if "command" in row)


def test_a_session_is_replayed_in_one_session(command_of: Callable[[str], str], tmp_path: Path) -> None:
    for line in ("mark demo-1", 'read {"target": "services/tracking/tracking/eta.py::estimate_arrival"}', "close"):
        command_of(line)
    replies = list(trials.replies_to(tmp_path / "mcp-1.jsonl", DEMO, dict(os.environ)))
    assert [question for question, _ in replies] == [trials.BEFORE, "demo-1"]
    assert '"name":"search"' in replies[0][1]
    assert "def estimate_arrival" in replies[1][1]


def test_a_reply_is_cut_where_a_client_would() -> None:
    assert mcp_session.cut("x" * 30_000) == "x" * 30_000
    assert mcp_session.cut("x" * 30_001) == "x" * 30_000 + "\n[output cut at 30,000 characters]"
