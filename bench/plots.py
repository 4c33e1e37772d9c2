"""Plots of a run: fixed cost, tokens by actor, sessions, growth. SVG, beside the summary.

    python -m bench.plots RUN

Needs matplotlib and nothing of llmc: it runs in an environment of its own (`make bench` makes it), from `figures.json`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OURS, THEIRS = "#b5179e", "#8d99ae"
TASKS = {
    "A": "an answer (tuned)",
    "A later": "an answer (held out until looked at)",
    "A held out": "an answer (held out)",
    "B": "content",
}


def main(run: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text: a tenth of the size
    mpl.rcParams["svg.hashsalt"] = "llmc"  # the same figures give the same file
    found = json.loads((run / "figures.json").read_text("utf-8"))
    if rows := [row for row in found["raw"].get("fixed", ()) if "fixed" in row]:
        bars(run / "fixed", "Tokens before anything is asked", {row["server"]: row["fixed"] for row in rows})
    for table, actors in found["workload"].items():
        tasks = TASKS[table]
        title = f"Tokens of the tasks that ask for {tasks}; beside each name how many were answered"
        names = {f"{name}\n{one['answered']:.0%} of {one['tasks']}": one["tokens"] for name, one in actors.items()}
        bars(run / f"workload-{table.replace(' ', '-')}", title, names)
    for of in ("files", "roots"):
        if rows := found["raw"].get("scale", {}).get(of):
            scale(run / f"scale-{of}", rows, of)
    if found["raw"].get("session"):
        sessions(run / "session", found["raw"]["session"])


UNITS = {
    "build": "build, CPU s",
    "save": "one save, CPU ms",
    "search": "search, CPU ms",
    "grep": "grep, CPU ms",
    "memory": "daemon, MB without mapped files",
    "disk": "index on disk, MB (dashed: its text)",
}


def scale(target: Path, rows: list[dict[str, float]], of: str) -> None:
    """One panel for each figure, both axes logarithmic; a dotted line grows in step with the x axis."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 3, figsize=(10, 5.4))
    xs = [row[of] for row in rows]
    for axes, (name, label) in zip(panels.flat, UNITS.items(), strict=True):
        ys = [max(row[name], 0.05) for row in rows]
        axes.plot(xs, ys, marker="o", color=OURS)
        axes.plot(xs, [ys[0] * x / xs[0] for x in xs], linestyle=":", color=THEIRS)
        if name == "disk":
            axes.plot(xs, [row["text"] for row in rows], linestyle="--", color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(xs, [f"{x:,.0f}" for x in xs], fontsize=7)
        axes.minorticks_off()
        axes.set_xlabel(of, fontsize=8)
        axes.set_ylabel(label, fontsize=8)
        for x, y in zip(xs, ys, strict=True):
            axes.annotate(f"{y:,.3g}", (x, y), textcoords="offset points", xytext=(0, 5), fontsize=7, ha="center")
        axes.margins(0.15)
    figure.suptitle(f"Growth with the number of {of}; dotted: in step with it", fontsize=10)
    save(figure, target)


def bars(target: Path, title: str, values: dict[str, float]) -> None:
    import matplotlib.pyplot as plt

    ordered = sorted(values.items(), key=lambda pair: pair[1])
    figure, axes = plt.subplots(figsize=(9, 0.45 * len(ordered) + 1.6))
    colours = [OURS if name.startswith("llmc") else THEIRS for name, _ in ordered]
    drawn = axes.barh([name for name, _ in ordered], [value for _, value in ordered], color=colours)
    axes.bar_label(drawn, labels=[f"{value:,.0f}" for _, value in ordered], padding=3)
    axes.set_xlabel("o200k tokens")  # from zero: on another scale the length of a bar would be misleading
    axes.set_title(title, fontsize=10)
    axes.margins(x=0.12)
    save(figure, target)


def sessions(target: Path, rows: list[dict[str, Any]]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.2))
    names = [row["session"] for row in rows]
    definitions = [100 * row["definitions"] / row["content"] for row in rows]
    frame = [row["frame, % of content"] for row in rows]
    axes.bar(names, definitions, color=THEIRS, label="definitions and instructions", width=0.5)
    axes.bar(names, frame, bottom=definitions, color=OURS, label="frame", width=0.5)
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
    axes.set_ylabel("% of content")
    axes.set_title("What llmc adds to a session; the line is the goal", fontsize=10)
    axes.legend(fontsize=8)
    save(figure, target)


def save(figure: Any, target: Path) -> None:
    figure.tight_layout()
    figure.savefig(target.with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
