"""A run as people read it: `summary.md`, CSV files, and the figures that plots and the README's table are made of.

Everything is made from the JSON files of a run's `raw` folder, so that a report can be made again without measuring.
What a run does not have is left out; what could not run is named with its reason.
"""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from bench.goals import goals
from bench.suites import SUITES
from bench.workload import OURS, Row, apart, tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["gathered", "summary", "table", "write"]


def write(run: Path) -> dict[str, Any]:
    """The report of a run; returns its text."""
    found = gathered(run / "raw")
    (run / "figures.json").write_text(json.dumps(found, indent=1, default=str) + "\n", "utf-8")
    (run / "summary.md").write_text("\n".join(summary(found)) + "\n", "utf-8")
    for name in ("fixed", "workload", "session"):
        if name in found["raw"]:
            write_csv(run / f"{name}.csv", found["raw"][name])
    return found


def gathered(raw: Path) -> dict[str, Any]:
    measured = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(raw.glob("*.json"))}
    told = measured.pop("run", {})
    rows = [Row(**row) for row in measured.get("workload", ())]
    return {"run": told, "raw": measured, "workload": tables(rows), "apart": apart(rows)}


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


# Without a table of their own, in this order.
FURTHER = (
    *("peers", "sessions", "frame", "focus", "logs", "quality", "excerpts", "research", "server", "grep"),
    *("delegates", "ledger", "indexing", "localisation", "ranking", "citations", "graph"),
)


QUESTIONS = {part.name: part.question for parts in SUITES.values() for part in parts}


def summary(found: dict[str, Any]) -> Iterator[str]:
    yield "# Summary"
    raw = found["raw"]
    yield from against_goals(found)
    if "trials" in raw:
        yield from ("", f"## trials: {QUESTIONS['trials']}")
        columns = list(raw["trials"][0])
        yield from table(columns, [[row[column] for column in columns] for row in raw["trials"]])
    if "fixed" in raw:
        yield from fixed(raw["fixed"])
    if found["workload"]:
        yield from workload(found, raw["workload"])
    if "session" in raw:
        yield from session(raw["session"])
    for name in FURTHER:
        if name in raw:
            yield from ("", f"## {name}: {QUESTIONS[name]}")
            yield from laid_out(raw[name])
    if "scale" in raw:
        yield from scale(raw["scale"])
    left_out = [
        f"- `{done['part']}`: {line}" for done in found["run"].get("done", ()) for line in done.get("left_out", ())
    ]
    if left_out:
        yield from ("", "## What was left out", "", *left_out)
    failed = [done for done in found["run"].get("done", ()) if done["problem"]]
    if failed:
        yield from ("", "## What could not run", "")
        yield from (f"- `{done['part']}`: {done['problem']}" for done in failed)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join('---' if number == 0 else '---:' for number in range(len(head)))}|"
    yield from (f"| {' | '.join(map(shown, row))} |" for row in rows)


def shown(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value)
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, list | tuple):
        return " to ".join(map(shown, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def share(value: float) -> str:
    return f"{100 * value:.1f} %"


def against_goals(found: dict[str, Any]) -> Iterator[str]:
    signs = {"more": "≥", "less": "≤"}
    rows = [
        (one.question, f"{signs[one.better]} {one.bound:g} {one.unit}", one.figure, "yes" if one.met else "no")
        for one in goals(found)
    ]
    if rows:
        yield from ("", "## Goals, as they were set before llmc was built")
        yield from table(("", "goal", "measured", "reached"), rows)
        yield from (
            "",
            "Lines with no text as such are no goals of their own: they show what such texts do to a ratio.",
        )


def fixed(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield from ("", "## Fixed cost: what a session pays before anything is asked", "")
    yield "o200k tokens: compact JSON of name, description and input schema of each tool, and the instructions."
    good = sorted((row for row in rows if "fixed" in row), key=lambda row: row["fixed"])
    columns = ("tools", "definitions", "instructions", "fixed", "whole", "names")
    yield from table(
        ("server", "version", *columns), [[row["server"], row["version"], *(row[c] for c in columns)] for row in good]
    )
    lean = next((row["fixed"] for row in good if row["server"] == "llmc lean"), 0)
    peers = [row for row in good if not row["server"].startswith("llmc")]
    if lean and peers:
        least, most = peers[0], peers[-1]
        yield ""
        yield (
            f"`llmc lean` is {share(lean / least['fixed'])} of the least peer ({least['server']}) and "
            f"{share(lean / most['fixed'])} of the largest ({most['server']})."
        )
    yield from (
        f"\n`{row['server']}` {row['version']} could not run: {row['problem']}" for row in rows if "problem" in row
    )


def workload(found: dict[str, Any], rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    heads = ("tasks", "calls", "tokens", "median", "recall", "answered", "in the first reply")
    for table_name, actors in found["workload"].items():
        yield from ("", f"## Workload: {TABLES[table_name]}")
        cells = [[name, *(one[h] if h in PLAIN else share(one[h]) for h in heads)] for name, one in actors.items()]
        yield from table(("actor", *heads), cells)
        ratios = ("to llmc", "to llmc without it", "largest task", "median of ratios", "to llmc, arguments too")
        others = [(name, one) for name, one in actors.items() if name != "llmc" and "to llmc" in one]
        head = (
            "against llmc's own best, same tasks",
            "total",
            "without the largest",
            "the largest",
            "median",
            "with arguments",
        )
        yield from table(head, [[name, *(one.get(r) for r in ratios)] for name, one in others])
        yield from with_and_without_texts(found["apart"].get(table_name, {}))
    yield from ("", "## Workload, task by task: tokens (calls), * if evidence is missing")
    actors_seen = list(dict.fromkeys(row["actor"] for row in rows))
    tasks = list(dict.fromkeys((row["repository"], row["task"], row["kind"]) for row in rows))
    cell = {(row["repository"], row["task"], row["actor"]): told(row) for row in rows}
    yield from table(
        ("task", "kind", *actors_seen),
        [
            [f"{repo} {task}", kind, *(cell.get((repo, task, actor), "") for actor in actors_seen)]
            for repo, task, kind in tasks
        ],
    )
    failed = {(row["actor"], row["problem"]) for row in rows if row["problem"]}
    yield from (f"\n{actor}: {problem}" for actor, problem in sorted(failed))


def with_and_without_texts(halves: dict[str, dict[str, dict[str, Any]]]) -> Iterator[str]:
    """Tasks that ask for the text itself cost every actor at least the length of that text."""
    rows = [
        [f"{words}, against {name}", one["tasks"], one["tokens"], actors[OURS]["tokens"], one["to llmc"]]
        for half, words in (("text", "a text as such"), ("others", "anything else"))
        if OURS in (actors := halves.get(half, {}))
        for name, one in actors.items()
        if name != OURS and one["tasks"] == actors[OURS]["tasks"] and "to llmc" in one
    ]
    if rows:
        yield from table(("of these, tasks that ask for", "tasks", "tokens", "llmc's", "ratio"), rows)


TABLES = {
    "A": "tasks that ask for an answer, looked at while llmc was tuned",
    "A later": "tasks that ask for an answer, held out until their misses were looked at",
    "A held out": "tasks that ask for an answer, held out",
    "B": "tasks that ask for content (llmc gives a map and a handle)",
}
PLAIN = {"tasks", "calls", "tokens", "median"}


def told(row: dict[str, Any]) -> str:
    if not row["calls"]:
        return "did not run"
    return f"{row['tokens']:,} ({row['calls']}){'' if row['found'] == row['evidence'] else '*'}"


def session(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield from ("", "## Sessions")
    keys = [key for key in rows[0] if key != "session"]
    yield from table(("", *(row["session"] for row in rows)), [[key, *(row[key] for row in rows)] for key in keys])


def scale(measured: dict[str, Any]) -> Iterator[str]:
    yield from ("", f"## scale: {QUESTIONS['scale']}")
    for of in ("files", "roots"):
        if measured[of]:
            columns = list(measured[of][0])
            yield from table(columns, [[row[column] for column in columns] for row in measured[of]])
    yield from ("", *(f"- {sentence}" for sentence in measured["growth"]))


def laid_out(value: Any, name: str = "") -> Iterator[str]:
    """Figures without a table of their own: entries with equal keys become a table, the rest lines or parts."""
    if isinstance(value, list):
        value = {str(number): one for number, one in enumerate(value, 1)}
    alone = {key: one for key, one in value.items() if not is_nested(one)}
    if alone:
        yield from table((name or "figure", ""), list(alone.items()))
    rows: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for key, one in value.items():
        if isinstance(one, dict) and not any(map(is_nested, one.values())):
            rows.setdefault(tuple(one), {})[key] = one
        elif is_nested(one):
            yield from laid_out(one, f"{name} {key}".strip())
    for columns, cells in rows.items():
        yield from table((name, *columns), [[key, *one.values()] for key, one in cells.items()])


def is_nested(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict | list) for one in value))
