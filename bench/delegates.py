"""What does llmc add to a step of a delegate, and what do somebody else's tools cost a client that does not use them?

    python -m bench.delegates [--desktop-commander DIR] [--json FILE]

Step: a delegate over two downstream servers, with a scripted model that uses one tool of each in every round. The
slope between a short and a long conversation is what a round takes; from it go what the same request to the model
takes with a plain HTTP connection, and what the same call takes over a plain pipe. What is left is llmc with all its
libraries: the agent's messages, two cleaned and fitted results, two servers' sessions. Its processor time, which a busy
machine does not change, is beside it. Medians of several runs.

Definitions: tokens (o200k) of a server's own list of tools, and of what a client of the lean profile is given instead:
the words in the gateway's definition and the line of its menu. Desktop Commander is installed by hand (`npm install
@wonderwhy-er/desktop-commander@0.2.52`); without it the server is a twin with 26 tools.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from llmc.base.home import Home
from llmc.envelope.request import ClientInfo, RunningRequest
from llmc.envelope.tokens import count
from llmc.server.local import open_service
from llmc.server.surface import ToolSurface
from llmc.state.connected_sessions import RequestContext

TESTS = Path(__file__).parent.parent / "tests" / "support"
TWIN = str(TESTS / "fake_downstream.py")
MODEL = str(TESTS / "model_server.py")
STEP = 'use:one__echo:{"text": "a parcel"}&use:two__echo:{"text": "a letter"}'
SHORT, LONG, RUNS = 2, 9, 9
WHOLE = 10


class Bench:
    """A service in this process, with its own home."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        (folder / "work").mkdir(parents=True)
        (folder / "work" / "a.py").write_text("def a():\n    return 1\n")
        config = folder / "settings.json"
        config.write_text(json.dumps(settings))
        home = Home(str(folder / "home"))
        home.make()
        handler: Any = open_service(
            home, {**os.environ, "LLMC_HOME": home.path, "XDG_CONFIG_HOME": str(folder)}
        ).handler
        self.client = ClientInfo(
            os.getpid(), "bench", str(folder / "work"), {"LLMC_ROOTS": str(folder / "work")}, config=str(config)
        )
        self.service: Any = handler
        self.surface = ToolSurface(self.service, data=False)
        self.visit = RequestContext(self.client, self.service.sessions.enter("bench"))

    def call(self, tool: str, **arguments: Any) -> str:
        return self.surface.call(self.visit, tool, arguments, RunningRequest(self.client)).text

    def close(self) -> None:
        self.service.close()


def step(folder: Path) -> dict[str, float]:
    with subprocess.Popen([sys.executable, MODEL], stdout=subprocess.PIPE, text=True) as model:
        assert model.stdout is not None
        port = int(model.stdout.readline())
        try:
            (wall, cpu), failed = slope_of(folder, port)
            asked = statistics.median(request(port) for _ in range(100))
        finally:
            model.kill()
    used = pipe()
    left = {"llmc_ms": wall - asked - used, "llmc_cpu_ms": cpu}
    return {"round_ms": wall, "model_ms": asked, "tool_ms": used, **left, "failed": failed}


def slope_of(folder: Path, port: int) -> tuple[tuple[float, float], int]:
    """Wall-clock and CPU milliseconds per round, and the number of wrong answers."""
    command = {"command": sys.executable, "args": [TWIN, "good"]}
    rounds = {"short": SHORT, "long": LONG}
    entry = {"description": "A clerk.", "internal_tools": {"one": ["echo"], "two": ["echo"]}, "provider": "scripted"}
    tools = [
        {**entry, "name": f"{name}{run}", "model": "+".join([STEP] * number + [f"say:{name}{run}"]), "max_steps": WHOLE}
        for name, number in rounds.items()
        for run in range(RUNS + 1)
    ]
    bench = Bench(
        folder,
        {
            "mcps": {"one": command, "two": command},
            "providers": {"scripted": {"base_url": f"http://127.0.0.1:{port}/v1"}},
            "tools": tools,
        },
    )
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in rounds}
    failed = 0
    try:
        for run in range(RUNS + 1):  # the first pays for imports
            for name in rounds:
                wall, cpu = time.perf_counter(), time.process_time()
                text = bench.call(f"{name}{run}")
                taken[name].append((time.perf_counter() - wall, time.process_time() - cpu))
                failed += f"{name}{run}" not in text.partition("\n")[2]
    finally:
        bench.close()
    return (slope(taken, 0), slope(taken, 1)), failed


def slope(taken: dict[str, list[tuple[float, float]]], which: int) -> float:
    middle = {name: statistics.median(one[which] for one in each[1:]) for name, each in taken.items()}
    return (middle["long"] - middle["short"]) * 1000 / (LONG - SHORT)


def request(port: int) -> float:
    """Milliseconds for one request to the model, on a persistent connection as the libraries use."""
    connection = CONNECTIONS.setdefault(port, http.client.HTTPConnection("127.0.0.1", port))
    body = json.dumps({"model": STEP, "messages": [{"role": "user", "content": "x" * 2000}]})
    began = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    connection.getresponse().read()
    return (time.perf_counter() - began) * 1000


CONNECTIONS: dict[int, http.client.HTTPConnection] = {}


def pipe() -> float:
    """Milliseconds for one call of the stand-in server's tool over its pipes; a round runs two of them side by side."""
    with subprocess.Popen(
        [sys.executable, TWIN, "good"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as twin:
        assert twin.stdin is not None
        assert twin.stdout is not None
        twin.stdout.readline()
        taken = []
        for number in range(200):
            params = {"name": "echo", "arguments": {"text": "a parcel"}}
            line = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            began = time.perf_counter()
            twin.stdin.write(f"{line}\n")
            twin.stdin.flush()
            twin.stdout.readline()
            taken.append((time.perf_counter() - began) * 1000)
        twin.stdin.close()
    return statistics.median(taken)


def definitions(folder: Path, commander: str) -> dict[str, Any]:
    """Tokens of the definitions that a server lists, and of those that a client receives for it."""
    name = "desktop-commander"
    twin = {"command": sys.executable, "args": [TWIN, "many"]}
    entry = {"command": "node", "args": [commander]} if commander else twin
    plain = Bench(folder / "plain", {})
    before = tokens([one.as_dict() for one in plain.surface.definitions(plain.visit)])
    plain.close()
    bench = Bench(folder / "with", {"mcps": {name: {**entry, "expose": "*", "env": {"HOME": str(folder)}}}})
    try:
        offer = bench.service.offer(bench.client, bench.service.settings_of(bench.client))
        bench.service.fleet.settle(offer.servers.values(), 60)
        after = tokens([one.as_dict() for one in bench.surface.definitions(bench.visit)])
        own = [
            {"name": one.name, "description": one.description, "inputSchema": one.schema}
            for one in offer.servers[name].state.tools.values()
        ]
        line = next((line for line in bench.call("llmc").splitlines() if name in line), "")
    finally:
        bench.close()
    given = {"definitions": after - before, "menu_line": count(line), "together": after - before + count(line)}
    return {"server": name if commander else "twin", "tools": len(own), "theirs": tokens(own), **given}


def tokens(listed: list[dict[str, Any]]) -> int:
    return count(json.dumps(listed, separators=(",", ":"), ensure_ascii=False))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--desktop-commander", default="", metavar="FILE", help="its dist/index.js")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="llmc-bench-") as folder:
        found = {
            "step": step(Path(folder) / "step"),
            "definitions": definitions(Path(folder), given.desktop_commander),
        }
    for name, figures in found.items():
        told = (
            f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in figures.items()
        )
        print(name, ", ".join(told))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
    return 1 if found["step"]["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
