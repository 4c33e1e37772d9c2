"""The parts of the benchmarks whose mistakes would go unnoticed."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from locations import REPOSITORY
from search_world import write

from bench import __main__ as bench_main
from bench import excerpts, fetch, readme, report
from bench.__main__ import free_folder, main
from bench.actors import ACTORS, OF_PEERS, both_ends
from bench.check import BASELINE, RULES, compare
from bench.fixed import counted
from bench.goals import FRUGAL, TYPICAL, goals
from bench.grep import is_equal
from bench.ground import PACKAGES, Ground
from bench.homes import HOMES, home_of
from bench.packages import read_list
from bench.peers import by_words
from bench.peers import run as peer_run
from bench.scale import describe
from bench.servers import ALLOWED, PEERS, CannotRun, Peer, installed, reason_of
from bench.session import LENGTHS, QUESTIONS, Length, opened, play, settle
from bench.stdio import Server, ServerError
from bench.suites import DATA, SUITES, Done, Part, minutes_of, run
from bench.tasks import FILES, HELD_OUT, LATER, TUNED, evidence_of, failed_tests, tasks
from bench.trees import commit
from bench.workload import OURS, Row, actors_here, figures, held, tables

ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    print("this is no protocol")
    if message["method"] == "tools/list": result = {"tools": [{"name": "say", "inputSchema": {}}]}
    elif message["method"] == "tools/call": result = {"content": [{"type": "text", "text": message["params"]["name"]}]}
    else: result = {"instructions": "Say it."}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def row(actor: str, task: str, tokens: int, found: int = 2, first: int = 2, *, tree: str = "tree") -> Row:
    return Row(tree, task, "A", actor, 1, tokens, 10, 0.1, 2, found, first)


def test_every_task_has_a_script_for_both_sides_and_evidence_that_compiles() -> None:
    assert [sum(len(tasks(name)) for name in part) for part in (TUNED, LATER, HELD_OUT)] == [40, 24, 9]
    for task in [task for name in FILES for task in tasks(name)]:
        assert {"typical", "frugal", "rg", "llmc", "untrained"} <= set(task.scripts) <= set(ACTORS.values())
        assert task.evidence or task.lines or task.failures
        for pattern in task.evidence:
            re.compile(pattern)


def test_every_repository_is_pinned_by_hash() -> None:
    pinned = {package.name: package.sha256 for package in read_list(PACKAGES)}
    assert set(pinned) == set(FILES)
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in pinned.values())


def test_held_out_tasks_have_their_own_table_and_count_in_no_other(tmp_path: Path) -> None:
    seen, unseen = TUNED[0], HELD_OUT[0]
    rows = [row("llmc", "a", 10, tree=seen), row("llmc", "a", 40, tree=unseen), row("peer", "a", 80, tree=unseen)]
    found = tables(rows)
    assert {name: list(actors) for name, actors in found.items()} == {"A": ["llmc"], "A held out": ["llmc", "peer"]}
    assert found["A"]["llmc"]["tokens"] == 10
    assert found["A held out"]["peer"]["to llmc"] == 2
    written(tmp_path, workload=[asdict(one) for one in rows])
    assert "## Workload: tasks that ask for an answer, held out" in (tmp_path / "summary.md").read_text()


def test_evidence_is_made_from_the_lines_of_the_tree(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1  # TODO: (later)\n# nothing\n")
    task = next(task for task in tasks("django") if task.id == "03-list-todos")
    assert evidence_of(task, Ground("tree", tmp_path)) == (re.escape("TODO: (later)"),)


def test_a_failed_test_is_known_by_its_name_and_its_first_reason() -> None:
    log = "FAIL: test_a (m.C.test_a)\nTraceback\nAssertionError: 1 != 2\n\nERROR: test_b (n.D.test_b)\nKeyError: 'x'\n"
    assert failed_tests(log) == [r"\btest_a\b", r"\btest_b\b", re.escape("1 != 2"), re.escape("'x'")]
    assert failed_tests(log, ("n",)) == [r"\btest_b\b", re.escape("'x'")]


def test_ratios_are_taken_over_tasks_that_both_did_and_without_the_largest() -> None:
    rows = [row("llmc", "a", 10), row("llmc", "b", 10), row("peer", "a", 100), row("peer", "b", 900, found=1, first=0)]
    found = figures(rows)["peer"]
    assert (found["to llmc"], found["to llmc without it"], found["largest task"]) == (50, 10, "b")
    assert (found["recall"], found["answered"], found["in the first reply"]) == (0.75, 0.5, 0.5)
    assert "to llmc" not in figures([row("llmc", "a", 10), row("peer", "c", 5)])["peer"]


def test_evidence_may_be_spread_over_replies() -> None:
    class Said:
        def __init__(self, text: str) -> None:
            self.text = text

    said = [Said("alpha"), Said("beta")]
    assert held(["^alpha", "beta$", "gamma"], said) == 2  # type: ignore[arg-type]


def test_a_server_is_asked_over_stdio_and_its_noise_is_passed_over(tmp_path: Path) -> None:
    with Server([sys.executable, "-c", ECHO], cwd=tmp_path, environ={}) as server:
        assert server.instructions == "Say it."
        assert counted(server.tools(), server.instructions)["tools"] == 1
        assert server.call("say", {}).text == "say"


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    for command in ([sys.executable, "-c", "raise SystemExit('no model')"], [str(tmp_path / "nothing")]):
        with pytest.raises(ServerError, match=r"no model|No such file"):
            Server(command, cwd=tmp_path, environ={}).__enter__()


def test_a_peer_without_node_is_reported_and_not_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LLMC_BENCH_CACHE", str(tmp_path))
    with pytest.raises(CannotRun, match="no node"):
        installed(Peer("one", "npm", "one", "1.0", "one"))


def test_a_peer_that_cannot_be_installed_reports_its_installers_message() -> None:
    pip = "WARNING: retrying\nERROR: Could not find a version that satisfies one==1.0\nERROR: No matching distribution"
    assert reason_of(pip) == "ERROR: Could not find a version that satisfies one==1.0"
    assert reason_of("npm is lost\n\n") == "npm is lost"
    assert reason_of("") == "it said nothing"


def test_peers_are_pinned() -> None:
    assert len({peer.name for peer in PEERS}) == len(PEERS) == 10
    assert all(re.fullmatch(r"[\d.]+", peer.version) for peer in PEERS)


def test_a_measurement_that_fails_is_a_result_with_its_reason(tmp_path: Path) -> None:
    done = run(Part("no_such_measurement", "?"), tmp_path)
    assert "no_such_measurement" in done.problem
    assert set(SUITES) == {"tokens", "session", "quality", "public", "latency", "indexing", "scale"}


def test_a_shell_keeps_both_ends() -> None:
    text = both_ends("a" * 20_000 + "b" * 20_000)
    assert text.startswith("aaa")
    assert text.endswith("bbb")
    assert "10000 characters" in text


def test_a_session_has_the_requested_length(tmp_path: Path) -> None:
    tree, flags = write(tmp_path / "tree"), ("embedder.kind=hash",)
    with opened(tmp_path / "home") as service:
        settle(service, tree, flags)
        assert [one.tool for one in play(service, tree, Length.of("3 questions"), *flags)].count("search") == 3
        assert len(play(service, tree, Length.of("3 calls"), *flags)) == 3
    with pytest.raises(argparse.ArgumentTypeError, match="questions or calls"):
        Length.of("3 hours")
    asked = Path(QUESTIONS).read_text("utf-8").splitlines()
    assert len(set(asked)) == len(asked) >= next(iter(LENGTHS)).number


def test_the_guard_names_what_became_worse() -> None:
    before = {"definitions lean": 275.0, "ndcg demo": 0.8, "frame demo": 1.0, "evidence x": 9.0}
    assert compare(dict(before), before) == []
    worse = {"definitions lean": 276.0, "ndcg demo": 0.7, "frame demo": 1.02, "evidence x": 8.0}
    assert [one.split(":")[0] for one in compare(worse, before)] == ["definitions lean", "ndcg demo", "evidence x"]
    assert compare({"first new": 1.0}, before) == ["first new: 1, and the baseline has none"]


def test_the_baseline_has_a_rule_for_every_figure() -> None:
    figures = json.loads(BASELINE.read_text("utf-8"))
    assert {name.partition(" ")[0] for name in figures} == {rule.partition(" ")[0] for rule in RULES}


def test_a_report_is_made_of_what_there_is(tmp_path: Path) -> None:
    servers = [
        {"server": "llmc lean", "version": "1", **counted([], "hello there")},
        {"server": "peer", "version": "2", "problem": "there is no node on this machine"},
    ]
    found = written(tmp_path, fixed=servers)
    assert "could not run: there is no node" in (tmp_path / "summary.md").read_text()
    page = tmp_path / "README.md"
    page.write_text("# Title\n")
    assert not readme.put(page, found, "today")
    page.write_text(f"# Title\n{readme.MARKS[0]}\nold\n{readme.MARKS[1]}\nend\n")
    assert readme.put(page, found, "today")
    assert "old" not in page.read_text()
    assert page.read_text().startswith("# Title\n")
    assert "no peer ran" in page.read_text()


def test_requested_texts_count_and_are_shown_separately(tmp_path: Path) -> None:
    asked = [
        replace(row(actor, "read it", tokens, tree=TUNED[0]), text=True)
        for actor, tokens in ((OURS, 90), (TYPICAL, 90))
    ]
    rows = [row(OURS, "a", 10, tree=TUNED[0]), row(TYPICAL, "a", 400, tree=TUNED[0]), *asked]
    found = written(tmp_path, workload=[asdict(one) for one in rows])
    assert found["workload"]["A"][TYPICAL]["to llmc"] == 4.9
    assert {half: actors[TYPICAL]["to llmc"] for half, actors in found["apart"]["A"].items()} == {
        "text": 1,
        "others": 40,
    }
    told = (tmp_path / "summary.md").read_text()
    assert f"| a text as such, against {TYPICAL} | 1 | 90 | 90 | 1 |" in told


def test_a_missed_goal_is_listed_first(tmp_path: Path) -> None:
    rows = [row(OURS, "a", 10, tree=TUNED[0]), row(FRUGAL, "a", 30, tree=TUNED[0])]
    found = written(tmp_path, workload=[asdict(one) for one in rows], ledger={"size_ms": 0.5, "with_writing_ms": 0.1})
    assert [(goal.bound, goal.met) for goal in goals(found)] == [(4, False), (95, True), (1, True)]
    told = (tmp_path / "summary.md").read_text().split("## ")
    assert told[1].startswith("Goals")
    assert f"| tokens against {FRUGAL} (tuned) | ≥ 4 × fewer | 3 | no |" in told[1]
    assert "| the ledger, for the largest call | ≤ 1 ms | 0.6 | yes |" in told[1]


def written(folder: Path, **measured: object) -> dict[str, Any]:
    (folder / "raw").mkdir()
    for name, one in measured.items():
        (folder / "raw" / f"{name}.json").write_text(json.dumps(one))
    return report.write(folder)


PACKAGE = '''def kept(parcel):
    """Keep a parcel that nobody asked for.

    For a while.
    """
    shelf = parcel.shelf
    shelf.add(parcel)
    shelf.sort()
    shelf.count += 1
    return shelf


def brief(parcel):
    """Return the weight of a parcel in grams."""
    return parcel.grams
'''


def test_sentences_are_drawn_from_functions_that_decide_something(tmp_path: Path) -> None:
    for path, text in {"depot.py": PACKAGE, "test_depot.py": PACKAGE, "broken.py": "def ("}.items():
        (tmp_path / path).write_text(text)
    (one,) = excerpts.sentences(tmp_path, "seed")
    assert (one.path, one.text, one.function) == ("depot.py", "Keep a parcel that nobody asked for", range(1, 11))
    (question,) = excerpts.documented([one], "seed")
    assert len(question.text.split()) == 4
    (question,) = excerpts.undocumented([one], tmp_path)
    ((path, lines),) = question.wanted
    left = (tmp_path / path).read_text().split("\n")
    assert [left[at - 1] for at in (lines[0], lines[-1])] == ["def kept(parcel):", "    return shelf"]
    assert "nobody asked for" not in "\n".join(left)


def test_the_table_of_the_readme_is_that_of_the_run_that_it_links_to() -> None:
    page = (REPOSITORY / "README.md").read_text()
    linked = re.search(r"\(bench/runs/([^/)]+)/summary\.md\)", page)
    assert linked is not None
    run = REPOSITORY / "bench" / "runs" / linked[1]
    made = page.partition(readme.MARKS[0])[2].partition(readme.MARKS[1])[0].strip().splitlines()
    assert made == list(readme.block(report.gathered(run / "raw"), linked[1]))
    assert 0 < len(made[4:]) <= readme.MOST_ROWS
    assert "`rg` and `sed`" in made[4]


# Figures in README.md that are not measurements: a version of Python, a decision, a limit, a licence.
NOT_MEASURED = {"3.11", "30", "2", "2.0"}


def test_every_other_number_of_the_readme_is_in_the_run_too() -> None:
    page = (REPOSITORY / "README.md").read_text()
    linked = re.search(r"\(bench/runs/([^/)]+)/summary\.md\)", page)
    assert linked is not None
    before, _, rest = page.partition(readme.MARKS[0])
    prose = re.sub(
        r"(?s)```.*?```|(?m:^    [^\n]*$)|`[^`\n]*`|\]\([^)]*\)", " ", before + rest.partition(readme.MARKS[1])[2]
    )
    raw = (REPOSITORY / "bench" / "runs" / linked[1] / "raw").glob("*.json")
    measured = {number for file in raw for number in re.findall(r"[\d.]*\d", file.read_text())}
    told = {number.replace(",", "") for number in re.findall(r"\d[\d.,]*\d|\d", prose)}
    assert told - measured - NOT_MEASURED == set()
    assert told >= NOT_MEASURED, "remove what the page does not say any more"


def test_a_published_run_is_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "2026-01-01-linux-2-cores"
    assert free_folder(tmp_path, name) == tmp_path / name
    (tmp_path / name).mkdir()
    (tmp_path / name / "summary.md").write_text("figures")
    assert free_folder(tmp_path, name) == tmp_path / name  # unpublished: it is continued
    commit(tmp_path)
    assert free_folder(tmp_path, name) == tmp_path / f"{name}-2"
    monkeypatch.setattr(sys, "argv", ["bench", "tokens", "--out", str(tmp_path / name)])
    with pytest.raises(SystemExit):
        main()
    assert (tmp_path / name / "summary.md").read_text() == "figures"


def test_public_data_that_is_missing_is_named_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for data, said in (("", "is not set: docs/bench.md"), (str(tmp_path), "is missing: docs/bench.md")):
        monkeypatch.setenv(DATA, data)
        done = [run(part, tmp_path) for part in SUITES["public"]]
        assert all(said in one.problem for one in done)
        assert [one.seconds for one in done] == [0.0] * 4
    assert f"{tmp_path}/localisation/lite.jsonl" in done[0].problem


def test_a_report_names_what_a_measurement_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, mirror = tmp_path / "data", tmp_path / "mirror"
    for folder in (data / "swe-qa", mirror):
        folder.mkdir(parents=True)
    (data / "swe-qa" / "questions.jsonl").write_text("")
    (data / "swe-qa" / "repos.json").write_text(json.dumps([{"name": "a", "repo": "x/a", "commit": "0" * 40}]))
    monkeypatch.setenv(DATA, str(data))
    monkeypatch.setenv("LLMC_BENCH_MIRROR", str(mirror))
    (part,) = [one for one in SUITES["public"] if one.name == "citations"]
    done = run(part, tmp_path)
    assert done.left_out == (f"a is left out: the mirror/x+a/repo has no commit {'0' * 12}",)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "run.json").write_text(json.dumps({"done": [asdict(done)]}))
    report.write(tmp_path)
    assert f"- `citations`: {done.left_out[0]}" in (tmp_path / "summary.md").read_text()


def test_programs_of_others_are_not_installed_unless_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMC_BENCH_CACHE", str(tmp_path))
    monkeypatch.setenv(ALLOWED, "no")
    with pytest.raises(CannotRun, match="--peers was not given"):
        installed(PEERS[0])
    assert not (tmp_path / "servers").exists()


def test_an_installed_peer_is_omitted_too_unless_requested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMC_BENCH_CACHE", str(tmp_path))
    PEERS[0].folder.mkdir(parents=True)
    (PEERS[0].folder / ".ready").touch()
    monkeypatch.setenv(ALLOWED, "no")
    with pytest.raises(CannotRun, match="left out"):
        installed(PEERS[0])
    assert not OF_PEERS.intersection(actors_here())
    monkeypatch.setenv(ALLOWED, "yes")
    assert set(actors_here()) >= OF_PEERS


def test_untimed_parts_run_first_and_in_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Part("slow", "?", timed=True, minutes=2), Part("a", "?", minutes=1), Part("b", "?", minutes=3)]
    assert minutes_of(parts, peers=False) == 5
    assert minutes_of([replace(part, peer_minutes=1.0) for part in parts], peers=True) == 7
    ran: list[str] = []

    def fake(part: Part, _raw: Path) -> Done:
        ran.append(part.name)
        return Done(part.name, 1.0, "no data" if part.name == "b" else "")

    monkeypatch.setattr(bench_main, "run", fake)
    failed = bench_main.measured(parts, tmp_path)
    assert (set(ran[:2]), ran[2]) == ({"a", "b"}, "slow")
    assert [one.part for one in failed] == ["b"]
    noted = json.loads((tmp_path / "raw" / "run.json").read_text())["done"]
    assert {one["part"] for one in noted} == {"a", "b", "slow"}


def test_everything_is_fetched_beforehand_though_something_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [name for name, _ in fetch.steps(peers=True)]
    lists = [line for file in fetch.LISTS for line in file.read_text().splitlines() if not line.startswith("#")]
    assert {line.split("\t")[2] for line in lists if not line.endswith("\ttune")} <= {name.split()[0] for name in names}
    assert {f"{peer.package} {peer.version}" for peer in PEERS} <= set(names)
    assert not {name for name, _ in fetch.steps(peers=False)} & {f"{peer.package} {peer.version}" for peer in PEERS}
    acts = [("a", lambda: None), ("b", lambda: 1 / 0), ("c", lambda: None)]
    monkeypatch.setattr(fetch, "steps", lambda peers: acts[: 3 if peers else 1])
    monkeypatch.setattr(bench_main, "may_install", lambda: True)
    monkeypatch.setenv(ALLOWED, "no")
    monkeypatch.setattr(sys, "argv", ["bench", "--fetch", "--peers"])
    assert main() == 1
    assert capsys.readouterr().err.splitlines() == ["a: 0 s", "b: division by zero", "c: 0 s"]
    monkeypatch.setattr(sys, "argv", ["bench", "--fetch"])
    assert main() == 0


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = tmp_path / "2026-01-02-linux-2-cores"
    (stopped / "raw").mkdir(parents=True)
    (stopped / "raw" / "logs.json").write_text("{}")
    assert bench_main.folder_for(tmp_path, resume=True) == stopped
    assert bench_main.folder_for(tmp_path, resume=False) != stopped
    ran: list[str] = []

    def fake(part: Part, _raw: Path) -> Done:
        ran.append(part.name)
        return Done(part.name, 1.0)

    monkeypatch.setattr(bench_main, "run", fake)
    monkeypatch.setenv("LLMC_BENCH_CACHE", str(tmp_path / "cache"))
    for name in (ALLOWED, HOMES):  # `main` sets them
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(bench_main, "draw", lambda _target: None)
    monkeypatch.setattr(sys, "argv", ["bench", "tokens", "--part", "logs", "--part", "fixed", "--resume"])
    monkeypatch.setattr(bench_main, "folder_for", lambda _runs, **_options: stopped)
    assert main() == 0
    assert ran == ["fixed"]


def test_measurements_of_one_run_share_the_index_of_a_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOMES, raising=False)
    with home_of(tmp_path) as first, home_of(tmp_path) as second:
        assert first != second
    assert not first.exists()
    monkeypatch.setenv(HOMES, str(tmp_path / "homes"))
    with home_of(tmp_path) as first:
        (first / "store").touch()
    with home_of(tmp_path) as second:
        assert (second / "store").exists()


def test_growth_is_described_in_sentences() -> None:
    one = {"build": 1.0, "save": 10.0, "search": 8.0, "grep": 1.0, "memory": 100.0, "disk": 3.0}
    rows = [{"files": 1_000.0, **one}, {"files": 100_000.0, **one, "build": 100.0, "search": 40.0}]
    told = list(describe(rows, "files"))
    assert told[0].startswith("build grows in step with the files: 1 CPU s with 1,000 files, 100 with 100,000")
    assert told[2].startswith("search grows more slowly than the files: 8 CPU ms")
    assert told[4].startswith("memory hardly grows")


def test_lines_that_llmc_hides_are_not_counted_as_different() -> None:
    theirs = Counter([b"a.py:1:x = 1", b"a.py:2:token = 'abc'", b".env:1:x"])
    assert is_equal(Counter([b"a.py:1:x = 1", b"a.py:2:token = '[redacted:token]'"]), theirs)
    assert not is_equal(Counter([b"a.py:2:token = '[redacted:token]'"]), theirs)
    assert not is_equal(Counter([b"a.py:1:x = 2", b"a.py:2:token = '[redacted:token]'"]), theirs)
    note = b'c.mo: WARNING: stopped searching binary file after match (found "\\0" byte around offset 4)'
    assert is_equal(Counter([b"b.mo:1:x\\0"]), Counter([b"b.mo:1:x\0", note]))


def test_ripgrep_orders_files_by_the_words_that_they_contain(tmp_path: Path) -> None:
    for name, text in {"a.py": "parcel\n", "b.py": "def weight_of_parcel(): ...\n", "c.py": "shelf\n"}.items():
        (tmp_path / name).write_text(text)
    assert by_words(tmp_path, "What is the weight of a parcel?") == ["b.py", "a.py"]


def test_all_that_a_command_starts_is_counted(tmp_path: Path) -> None:
    child = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    script = f"import subprocess, sys; print('said'); subprocess.run([sys.executable, '-c', {child!r}])"
    cost, said = peer_run([sys.executable, "-c", script], tmp_path)
    assert said == "said\n"
    assert cost.cpu_seconds > 0.1
    assert cost.peak_mb > 5
    failed, _ = peer_run([sys.executable, "-c", "raise SystemExit('no model')"], tmp_path)
    assert failed.problem == "no model (exit code 1)"
