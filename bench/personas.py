"""How long does a persona take to resolve, and how long after its time does a script still run?

    python -m bench.personas [--tree DIR] [--home DIR] [--rounds 100] [--json FILE]

Inline: a persona with two primed searches. Lua: the same two searches from a script, in a worker that is warm; the
first one, which starts the worker, is given apart. Each round asks about other words of the tree, so that no search is
answered from memory; the same words again are given apart. Overrun: from the end of a script's time to the error, for a
script that loops. Everything is the wall time of the call that MCP and HTTP make, on one index, in one process.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import trees
from llmc.agents import AgentRegistry, AgentTimeoutError
from llmc.extend.personas.inline import TomlAgent
from llmc.extend.personas.sandbox import pool
from llmc.extend.personas.script import LuaAgent
from llmc.settings import AgentArgumentEntry, AgentEntry, AgentSearchEntry
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

INLINE = AgentEntry(
    description="two searches",
    system_prompt="You know {topic}.",
    arguments=(AgentArgumentEntry(name="topic"),),
    context=(AgentSearchEntry(search="{topic} conventions"), AgentSearchEntry(search="how does {topic} work")),
)
LUA = """
return { arguments = { { name = "topic" } }, resolve = function(args, config, context)
  local found = context.search({ query = args.topic .. " conventions", limit = 3, budget = 400 })
  local more = context.search({ query = "how does " .. args.topic .. " work", limit = 3, budget = 400 })
  local text = "You know " .. args.topic
  for _, one in ipairs(found) do text = text .. "\\n\\n" .. one.id .. "\\n" .. one.text end
  for _, one in ipairs(more) do text = text .. "\\n\\n" .. one.id .. "\\n" .. one.text end
  return { system = text }
end }
"""
LOOP = "return { resolve = function() while true do end end }"
LOOP_SECONDS = 0.5
LOOPS = 10


@dataclass(frozen=True)
class Figures:
    p50: float
    p95: float
    least: float

    @classmethod
    def of(cls, took: list[float]) -> Figures:
        ordered = sorted(took)
        return cls(statistics.median(ordered), ordered[int(len(ordered) * 0.95)], ordered[0])


def registry_in(folder: Path) -> AgentRegistry:
    registry = AgentRegistry()
    registry.register(TomlAgent("inline", INLINE))
    for name, text, seconds in (("lua", LUA, 30.0), ("loop", LOOP, LOOP_SECONDS)):
        (folder / f"{name}.lua").write_text(text)
        registry.register(LuaAgent(name, folder / f"{name}.lua", seconds, {}))
    return registry


def topics(workspace: Workspace, seed: int) -> Iterator[str]:
    """Names defined in the tree, no two alike."""
    writer_thread = workspace.registry.writer_thread(workspace.root_indexes[0])
    paths = sorted(set(writer_thread.store.catalog.places(workspace.root_indexes[0].root.id).values()))
    words = sorted({Path(path).stem.replace("_", " ") for path in paths})
    random.Random(seed).shuffle(words)
    yield from words


def overrun(registry: AgentRegistry, workspace: Workspace) -> float:
    """The last script ended a worker; starting the next one is not part of the measurement."""
    registry.describe("lua")
    registry.resolve(workspace, "lua", {"topic": "warm"})
    began = time.perf_counter()
    try:
        registry.resolve(workspace, "loop", {})
    except AgentTimeoutError:
        return (time.perf_counter() - began - LOOP_SECONDS) * 1000
    raise AssertionError("it came back")


def rounds_of(registry: AgentRegistry, workspace: Workspace, name: str, asked: list[str]) -> dict[str, float]:
    took = []
    for word in asked:
        began = time.perf_counter()
        registry.resolve(workspace, name, {"topic": word})
        took.append((time.perf_counter() - began) * 1000)
    return asdict(Figures.of(took))


def measure(tree: Path, home: str, rounds: int) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory() as made,
        Workspace.open(str(tree), home=home or f"{made}/home", watch=True) as workspace,
    ):
        workspace.index()
        registry = registry_in(Path(made))
        words = topics(workspace, 7)
        registry.resolve(workspace, "inline", {"topic": "warm"})
        root_index = workspace.root_indexes[0]
        found: dict[str, Any] = {
            "files": len(workspace.registry.writer_thread(root_index).store.catalog.places(root_index.root.id))
        }
        found["lua, first"] = rounds_of(registry, workspace, "lua", ["warm"])["p50"]
        for name in ("inline", "lua"):
            asked = [next(words) for _ in range(rounds)]
            found[name] = rounds_of(registry, workspace, name, asked)
            found[f"{name}, again"] = rounds_of(registry, workspace, name, asked[-20:] * (rounds // 20))
        registry.describe("loop")
        found["overrun"] = asdict(Figures.of([overrun(registry, workspace) for _ in range(LOOPS)]))
        pool.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, help="what to index; Django five times over when not given")
    parser.add_argument("--home", default="", help="where the index is kept, to be used again")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tree = options.tree or trees.copies(trees.sdist("django", "5.2.7"), 5, trees.cache() / "django-x5")
    found = measure(tree, options.home, options.rounds)
    for name, figures in found.items():
        if isinstance(figures, dict):
            told = "  ".join(f"{key} {value:7.1f} ms" for key, value in figures.items())
            print(f"{name:14} {told}")
        else:
            print(f"{name:14} {figures:,.0f}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
