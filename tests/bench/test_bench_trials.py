"""Trials: transcripts are summed up by question, and replayed without a shell."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from bench.trials import __main__ as trials

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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
    (trial / "score.json").write_text(json.dumps({"plain-1": "3 of 3", "llmc-1": "3 of 3", "llmc-2": "3 of 3"}))
    monkeypatch.setattr(trials, "HERE", tmp_path)
    assert trials.table()[2:] == [
        "| 2026-01-01-demo | plain | 3 | 1 (1 to 1) | 200 (100 to 300) | 100% | 3 of 3 |",
        "| 2026-01-01-demo | llmc | 3 | 1 (1 to 1) | 50 (40 to 90) | 25% | 3 of 3 |",
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
