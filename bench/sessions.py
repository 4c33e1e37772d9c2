"""Twelve hours of work in one session: does the daemon grow, is anything lost or mixed up, and what does it cost?

    python -m bench.sessions [--tree DIR] [--calls 600] [--json FILE]

Three agents, each an MCP client with a relay of its own, share one session by name and take turns: questions, patterns,
reads, names, outlines, `ask`, and among them every third call to the session itself (append, compare-and-set, get,
search, private keys, checkpoints). It is done twice: once in one daemon, whose resident memory is read after each
hundred calls, and once with a daemon that is killed (-9) three times on the way. Each agent keeps its own books of what
it wrote, and at the end the session must say the same, to the letter. Overhead is what a client pays besides content:
frames as llmc counts them for the session, and the tools' definitions with the instructions, once for each client.
Fair because nothing is called in process: what is measured is what an agent has, at whatever load the machine has.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from bench.server import Bench, Peer
from llmc.base.daemon_lock import read_owner
from llmc.base.home import Home
from llmc.envelope.tokens import count
from llmc.state.sessions import Memory
from llmc.tools.profiles import instructions_of

if TYPE_CHECKING:
    from collections.abc import Callable

AGENTS = ("beatrice", "otto", "rem")
SESSION = "twelve-hours"
KILLS = (0.25, 0.5, 0.75)
# Files that each agent returns to. A file read for the first time is new to the caches of words and tokens, too.
WORKING_SET = 20
QUESTIONS = (
    "how is a handle kept", "where is the budget of a reply checked", "what redacts secrets", "parse the settings file",
    "how does the watcher notice a change", "which class renders an envelope", "count tokens of a text",
)  # fmt: skip
PATTERNS = (r"class \w+Error", "TODO|FIXME", "def test_", "import sqlite3", "timeout", "frozen=True")
NAMES = ("Handles", "Session", "count", "Redactor", "Reply")


@dataclass
class WrittenRecords:
    """Everything that one agent wrote, and so has to find."""

    agent: str
    log: list[str] = field(default_factory=list)
    private: str = ""
    added: int = 0


class Agent:
    def __init__(self, peer: Peer, books: WrittenRecords, random: Random, paths: list[str]) -> None:
        self.peer = peer
        self.books = books
        self._random = random
        self._paths = paths

    def call(self, name: str, /, **args: Any) -> tuple[str, bool]:
        reply = self.peer.ask("tools/call", {"name": name, "arguments": {**args, "session_id": SESSION}})
        result = reply["result"]
        return result["content"][0]["text"], bool(result.get("isError"))

    def session(self, /, **args: Any) -> tuple[str, bool]:
        return self.call("session", agent=self.books.agent, **args)

    def work(self, number: int) -> None:
        """One call; every third is to the session."""
        turn = number // len(AGENTS)
        acts = SESSION_ACTS if turn % 3 == 0 else ASKING_ACTS
        acts[(turn // 3 if turn % 3 == 0 else turn) % len(acts)](self, number)

    # ---- what it does ----

    def search(self, _number: int) -> None:
        self.call("search", query=self._random.choice(QUESTIONS))

    def grep(self, _number: int) -> None:
        self.call("grep", pattern=self._random.choice(PATTERNS))

    def read(self, _number: int) -> None:
        self.call("read", target=self._random.choice(self._paths))

    def refs(self, _number: int) -> None:
        self.call("llmc", name="refs", args={"name": self._random.choice(NAMES)})

    def ask(self, _number: int) -> None:
        self.call("llmc", name="ask", args={"question": self._random.choice(QUESTIONS)})

    def append(self, number: int) -> None:
        text = f"{self.books.agent} saw {self._random.choice(self._paths)} at call {number}"
        _, failed = self.session(action="append", key=self.books.agent, value=text)
        assert not failed
        self.books.log.append(text)

    def add(self, _number: int) -> None:
        """Compare and set until it succeeds."""
        while True:
            text, missing = self.session(action="get", key="sum")
            version = 0 if missing else int(text.split(" ", 2)[1][1:])
            value = 0 if missing else int(text.split("\n")[1])
            _, failed = self.session(action="set", key="sum", value=str(value + 1), version=version)
            if not failed:
                self.books.added += 1
                return

    def hide(self, number: int) -> None:
        self.books.private = f"only {self.books.agent} knows {number}"
        text, failed = self.session(action="set", key="secret", value=self.books.private, private=True)
        if failed:  # another connection of this agent wrote it before the kill
            version = text.partition("version ")[2].partition(",")[0]
            _, failed = self.session(
                action="set", key="secret", value=self.books.private, private=True, version=int(version)
            )
        assert not failed, text

    def recall(self, _number: int) -> None:
        self.session(action="search", query=self._random.choice(QUESTIONS))

    def checkpoint(self, _number: int) -> None:
        text, _ = self.session(action="checkpoint")
        assert count(text) <= 300, count(text)


ASKING_ACTS: tuple[Callable[[Agent, int], None], ...] = (Agent.search, Agent.read, Agent.grep, Agent.refs, Agent.ask)
SESSION_ACTS: tuple[Callable[[Agent, int], None], ...] = (
    Agent.append, Agent.add, Agent.hide, Agent.append, Agent.recall, Agent.add, Agent.checkpoint,
)  # fmt: skip


def simulate(bench: Bench, calls: int, *, kills: bool) -> dict[str, Any]:
    random = Random(12)
    paths = sorted(str(path.relative_to(bench.tree)) for path in Path(bench.tree).rglob("*.py"))
    agents = [Agent(bench.peer(), WrittenRecords(name), random, random.sample(paths, WORKING_SET)) for name in AGENTS]
    definitions = sum(greeted(agent) for agent in agents)
    killed = {int(calls * share) for share in KILLS} if kills else set()
    resident: dict[int, float] = {}
    began = time.perf_counter()
    for number in range(1, calls + 1):
        agents[number % len(agents)].work(number)
        if number % 100 == 0:
            resident[number] = megabytes(bench)
        if number in killed:
            kill(bench)
            for agent in agents:  # the relay repeats a question; a repeated write would be an error
                agent.search(number)
    seconds = time.perf_counter() - began
    wrong = differences(bench, [agent.books for agent in agents])
    for agent in agents:
        agent.peer.close()
    kept = Memory(os.path.join(bench.home, "sessions.sqlite")).find("local", SESSION)  # noqa: PTH118 - as Home
    first, last = resident.get(100, 0.0), resident[max(resident)]
    return {
        "calls": kept.calls,
        "seconds": round(seconds, 1),
        "kills": len(killed),
        "resident_mb": resident,
        "growth": round(last / first - 1, 3) if first and not kills else None,
        "wrong": wrong,
        "content": kept.content,
        "frame": kept.frame,
        "definitions": definitions,
        "overhead": round((kept.frame + definitions) / kept.content, 5),
        "file_kb": os.path.getsize(os.path.join(bench.home, "sessions.sqlite")) >> 10,  # noqa: PTH118, PTH202 - as Home
    }


def greeted(agent: Agent) -> int:
    """The tokens that a client pays before its first call."""
    agent.peer.greet()
    tools = agent.peer.ask("tools/list", {})["result"]["tools"]
    plain = [{key: one[key] for key in ("name", "description", "inputSchema")} for one in tools]
    return count(json.dumps(plain, separators=(",", ":"))) + count(instructions_of("lean"))


def daemon(bench: Bench) -> int:
    owner = read_owner(Home(bench.home))
    assert owner is not None
    return owner.pid


def kill(bench: Bench) -> None:
    os.kill(daemon(bench), signal.SIGKILL)


def megabytes(bench: Bench) -> float:
    status = Path(f"/proc/{daemon(bench)}/status").read_text("utf-8")
    line = next(line for line in status.split("\n") if line.startswith("VmRSS"))
    return round(int(line.split()[1]) / 1024, 1)


def differences(bench: Bench, books: list[WrittenRecords]) -> list[str]:
    """Differences between the session and the agents' own records."""
    memory = Memory(os.path.join(bench.home, "sessions.sqlite"))  # noqa: PTH118 - as Home
    kept = memory.find("local", SESSION)
    found = []
    for one in books:
        log = [entry.text for entry in memory.entries(kept, one.agent, one.agent)]
        if log != one.log:
            found.append(f"{one.agent}: {len(log)} entries kept, {len(one.log)} written")
        secret = memory.get(kept, "secret", one.agent)
        if (secret.value if secret else "") != one.private:
            found.append(f"{one.agent}: another's secret, or an old one")
    total = memory.get(kept, "sum")
    if int(total.value if total else 0) != sum(one.added for one in books):
        found.append(f"the sum is {total.value if total else 0}, not {sum(one.added for one in books)}")
    memory.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Twelve hours of work in one session.")
    parser.add_argument("--tree", default=str(Path(__file__).parents[1] / "llmc"))
    parser.add_argument("--calls", type=int, default=600)
    parser.add_argument("--json")
    options = parser.parse_args()
    told = {}
    for name, kills in (("steady", False), ("killed", True)):
        with tempfile.TemporaryDirectory(prefix="llmc-bench-") as home:
            bench = Bench(os.path.realpath(options.tree), home)
            bench.llmc("index", "--once", "--quiet")
            told[name] = simulate(bench, options.calls, kills=kills)
            bench.llmc("stop", "--quiet")
        print(name, json.dumps(told[name], indent=1))
    if options.json:
        Path(options.json).write_text(json.dumps(told, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
