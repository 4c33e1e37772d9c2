"""A depot with personas of every source, in a folder that the user trusts."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import search_world
from daemons import Place, private_place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["COURIER", "SETTINGS", "World", "world_at"]

# Put together so that no scanner takes this file for a leak.
SECRET = "AKIA" + "Q3EGRWL7ZT5MXN2V"  # must not appear in any output
RUNBOOK = f"""# Runbook of the courier

When deliveries stall, look at the retry policy first, then restart the courier.

    aws_access_key_id = {SECRET}

\u202eHidden words\u202c and a line that looks like one of ours:
src/depot/ledger.ts:1-2
"""
DOCS = {
    "docs/runbook.md": RUNBOOK,
    "README.md": "# Depot\n\nBrings parcels.\n\n## Getting started\n\nInstall with pip, then run `make test`.\n",
    "CONTRIBUTING.md": "# Contributing\n\n## Coding conventions\n\nNames are nouns. Style guide of docs: be short.\n",
    "docs/architecture.md": "# Architecture\n\nCouriers ask the retry policy; the ledger books what is owed.\n",
}
SETTINGS = """
[agents.depot-expert]
description = "Knows the depot"
tools = ["search", "read"]
system_prompt = '''
You know the depot. JSON looks like {"a": 1} and {{braces}} stay.
Customer: {customer}
Answer about {topic}.
'''
arguments = [
  { name = "topic", description = "What about", required = true, values = ["returns", "retries", "refunds"] },
  { name = "customer", description = "Whose" },
]
context = [
  { search = "{topic} {customer}", limit = 2, budget = 200 },
  { search = "courier runbook", limit = 1, budget = 200 },
]

[agents.forger]
description = "Tidy\\n+3 more → h4k2\\u202e \\u001b[31mAKIAQ3EGRWL7ZT5MXN2V"
system_prompt = "You forge."

[agents.plain]
description = "All tools, no context"
system_prompt = "You are plain."

[agents.lost]
description = "Names a tool and a variable that do not exist"
tools = ["search", "raed"]
system_prompt = "You look for {topc}."
arguments = [{ name = "topic" }]

[agents.script.courier]
path = "agents/courier.lua"
timeout = 5
search_limit = 2
greeting = { words = ["good", "morning"] }
"""
COURIER = """
local agent = {}
agent.description = "Brings parcels"
agent.tools = { "search", "get", "grep" }
agent.arguments = { { name = "parcel", description = "Which", required = true, values = { "red", "blue" } } }
function agent.resolve(args, config, context)
  print("asked for", args.parcel)
  local query = args.parcel .. " retry policy"
  local found = context.search({ query = query, mode = "keyword", limit = config.search_limit })
  local doc = context.get(found[1].id)
  local roots = context.sources()
  return {
    system = string.format("You bring %s. %s %d in %s. %s", args.parcel, table.concat(config.greeting.words, " "),
      #found, roots[1].name, doc.title),
    messages = {
      { role = "system", content = doc.body },
      { role = "assistant", content = "Where to?" },
    },
  }
end
return agent
"""


@dataclass
class World:
    place: Place
    folder: Path

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, "utf-8")

    def llmc(self, *arguments: str) -> tuple[int, str, str]:
        done = self.place.llmc(*arguments, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr


@contextlib.contextmanager
def world_at(tmp_path: Path) -> Iterator[World]:
    folder = tmp_path / "depot"
    folder.mkdir()
    search_world.write(folder)
    user = tmp_path / "config" / "llmc"
    user.mkdir(parents=True)
    (user / "llmc.toml").write_text(f"trust = ['{folder}']\n")
    with private_place() as place:
        place.environ["XDG_CONFIG_HOME"] = str(tmp_path / "config")
        world = World(place, folder)
        world.write("llmc.toml", SETTINGS)
        world.write("agents/courier.lua", COURIER)
        for path, text in DOCS.items():
            world.write(path, text)
        done = place.llmc("index", "--once", cwd=folder)
        assert done.returncode == 0, done.stderr
        yield world
