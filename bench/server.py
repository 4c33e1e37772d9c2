"""What does an MCP client wait for?

    python -m bench.server [--tree DIR] [--clients 64] [--json FILE]

Start: from spawning `llmc serve` to its first reply, with a daemon that is there and with none; beside it a server of
the SDK that has one tool and does nothing, since that is the least that any server written with it takes. Call: the
round trip of a call through relay, socket and SDK, less what the same tool takes when it is called as a function in a
process that holds the same index. Crowd: so many clients at once, each with a relay process of its own, each asking a
hundred different things one after the other; its p95 against that of one client that asks the same alone. Alike: the
same, but all of them ask the same hundred things, as agents with one task do.

All are wall times, so that a busy machine shows; the minimum of the starts is given too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench import trees
from bench.homes import home_of
from bench.tool_calls import answer
from llmc.base.home import Home
from llmc.envelope.request import ClientInfo, RunningRequest
from llmc.server.local import open_service

HELLO_WORLD = """
from mcp.server import MCPServer
server = MCPServer("hello")
@server.tool()
def hello() -> str:
    return "hello"
server.run()
"""
PYTHON = (sys.executable, "-P")  # a tree may have a folder called http
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Peer:
    """A client that writes lines to a server it started."""

    def __init__(self, command: list[str], environ: dict[str, str], cwd: str) -> None:
        self.process = subprocess.Popen(
            command, env=environ, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._last = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._last += 1
        message = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            reply: dict[str, Any] = json.loads(self.process.stdout.readline())
            if reply.get("id") == self._last:
                return reply

    def greet(self) -> None:
        assert "result" in self.ask("initialize", INITIALIZE)
        assert self.process.stdin is not None
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self.process.stdin.flush()

    def call(self, name: str, args: dict[str, Any]) -> float:
        """Milliseconds; an error reply is an error of the benchmark."""
        began = time.perf_counter()
        reply = self.ask("tools/call", {"name": name, "arguments": args})
        took = (time.perf_counter() - began) * 1000
        assert not reply["result"].get("isError"), reply
        return took

    def close(self) -> None:
        self.process.communicate()


class Bench:
    def __init__(self, tree: str, home: str) -> None:
        self.tree = tree
        self.home = home
        self.environ = {**os.environ, "LLMC_HOME": home, "XDG_CONFIG_HOME": home, "LLMC_ROOTS": tree}

    def llmc(self, *arguments: str) -> None:
        subprocess.run([*PYTHON, "-m", "llmc", *arguments], env=self.environ, cwd=self.tree, check=True)

    def peer(self) -> Peer:
        return Peer([*PYTHON, "-m", "llmc", "serve"], self.environ, self.tree)

    def first_reply(self, command: list[str]) -> float:
        began = time.perf_counter()
        peer = Peer(command, self.environ, self.tree)
        peer.ask("initialize", INITIALIZE)
        took = time.perf_counter() - began
        peer.close()
        return took

    def start(self) -> dict[str, Any]:
        serve = [*PYTHON, "-m", "llmc", "serve"]
        self.first_reply(serve)
        warm = [self.first_reply(serve) for _ in range(15)]
        hello = [self.first_reply([*PYTHON, "-c", HELLO_WORLD]) for _ in range(7)]
        cold = []
        for _ in range(5):
            self.llmc("stop", "--quiet")
            cold.append(self.first_reply(serve))
        found = {"warm": spread(warm), "cold": spread(cold), "hello_world": spread(hello)}
        found["ratio"] = {"of_minima": min(warm) / min(hello), "of_medians": middle(warm) / middle(hello)}
        return found

    def call(self, asked: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
        """Each question is asked once before, both ways: a first answer does not measure the transport."""
        peer = self.peer()
        peer.greet()
        for name, args in asked:
            peer.call(name, args)
        through = [peer.call(name, args) for _ in range(3) for name, args in asked]
        peer.close()
        self.llmc("stop", "--quiet")
        own = self.in_process(asked)
        found = {"through_ms": middle(through), "own_ms": middle(own)}
        return {**found, "over_ms": middle(through) - middle(own)}

    def in_process(self, asked: list[tuple[str, dict[str, Any]]]) -> list[float]:
        service: Any = open_service(Home(self.home), self.environ).handler
        client = ClientInfo(os.getpid(), "bench", self.tree, self.environ)

        def once(name: str, args: dict[str, Any]) -> float:
            began = time.perf_counter()
            answer(service.workspace(RunningRequest(client)), service.handles, name, args, data=False)
            return (time.perf_counter() - began) * 1000

        for name, args in asked:
            once(name, args)
        taken = [once(name, args) for _ in range(3) for name, args in asked]
        service.close()
        return taken

    def crowd(self, words: list[str], clients: int, *, alike: bool) -> dict[str, Any]:
        def one(seed: int) -> list[float]:
            peer = self.peer()
            peer.greet()
            taken = [peer.call(name, args) for name, args in questions(words, seed)]
            peer.close()
            return taken

        alone = one(-1 if alike else 0)
        seeds = [clients + 1] * clients if alike else range(1, clients + 1)
        with ThreadPoolExecutor(clients) as pool:
            began = time.perf_counter()
            together = [took for taken in pool.map(one, seeds) for took in taken]
            seconds = time.perf_counter() - began
        ratio = percentile(together, 95) / percentile(alone, 95)
        return {
            "clients": clients,
            "calls": len(together),
            "calls_per_second": len(together) / seconds,
            "alone_ms": {"p50": middle(alone), "p95": percentile(alone, 95)},
            "together_ms": {"p50": middle(together), "p95": percentile(together, 95)},
            "p95_ratio": ratio,
        }


def questions(words: list[str], seed: int) -> list[tuple[str, dict[str, Any]]]:
    """A hundred, mixed as agents mix them; no two clients ask the same ones."""
    chance = random.Random(seed)
    found: list[tuple[str, dict[str, Any]]] = []
    for _ in range(100):
        word, other = chance.choice(words), chance.choice(words)
        kind = chance.randrange(5)
        if kind == 0:
            found.append(("search", {"query": f"{word} {other}"}))
        elif kind in {1, 2}:
            found.append(("grep", {"pattern": word}))
        elif kind == 3:
            found.append(("find", {"name": word[:5]}))
        else:
            found.append(("llmc", {"name": "tree", "args": {"depth": 1}}))
    return found


def words_of(tree: str) -> list[str]:
    """Words that occur in its files, so that questions have answers."""
    found: set[str] = set()
    for path in sorted(Path(tree).rglob("*.py"))[:400]:
        text = path.read_text("utf-8", "replace")
        found.update(word for word in text.replace("(", " ").split() if word.isidentifier() and len(word) > 5)
    return sorted(found)


def middle(values: list[float]) -> float:
    return statistics.median(values)


def percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def spread(seconds: list[float]) -> dict[str, float]:
    return {"min_s": min(seconds), "median_s": middle(seconds), "max_s": max(seconds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", help="a folder to index; Django 5.2.7 otherwise")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--json", help="write the figures here")
    arguments = parser.parse_args()
    tree = os.path.realpath(arguments.tree or trees.sdist("django", "5.2.7"))
    with home_of(Path(tree)) as home:
        bench = Bench(tree, str(home))
        bench.llmc("index", "--once", "--quiet")
        words = words_of(tree)
        found = {"start": bench.start(), "crowd": bench.crowd(words, arguments.clients, alike=False)}
        found["alike"] = bench.crowd(words, arguments.clients, alike=True)
        found["call"] = bench.call(questions(words, 99))
        bench.llmc("stop", "--quiet")
    print(json.dumps(found, indent=2))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
