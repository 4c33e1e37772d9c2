"""What does llmc add to a whole session, and what stays in the context at its end?

    python -m bench.session [--lengths "50 questions, 600 calls, 50 calls"] [--tree DIR] [--json FILE]

A session is worked through as an agent works: a question, the places that it found, a pattern, who uses it, a range
read again after an edit, the rest of a cut reply. Two hours are 50 questions of a user, with all the calls that each
leads to; twelve hours are 600 calls; the first 50 calls are shown too, as the stricter reading. The script is drawn
with a fixed seed from the questions of `questions.txt` and from what the replies name, on a copy of Django whose
files it edits. Definitions and instructions are paid once; frame is what llmc puts around content (handles,
`showing`, notes). Fair because every reply goes through the surface that MCP clients reach, because nothing is left
out of the count, and because the saving of differential replies is the difference to the very same session without
them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from bench.fixed import counted
from bench.ground import ground
from llmc.base.home import Home
from llmc.envelope.request import ClientInfo, RunningRequest
from llmc.envelope.tokens import count
from llmc.server.local import open_service
from llmc.server.surface import ToolSurface
from llmc.state.connected_sessions import ConnectedSession, RequestContext
from llmc.tools.profiles import instructions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llmc.envelope.reply import Reply
    from llmc.server.service import Service

__all__ = ["CallCost", "Length", "figures", "opened", "play", "settle"]

QUESTIONS = Path(__file__).parent / "tasks" / "questions.txt"
PATH = re.compile(r"^([\w./-]+\.\w+)(?: · .*)?$", re.MULTILINE)
NAMED = re.compile(r"^ ([A-Za-z_][\w.]*) (\d+)-(\d+)$", re.MULTILINE)


class Length(NamedTuple):
    number: int
    unit: str  # questions of a user, or calls of an agent

    @classmethod
    def of(cls, text: str) -> Self:
        number, unit = text.split()
        if unit not in UNITS:
            raise argparse.ArgumentTypeError(f"{text!r}: a length is so many {' or '.join(UNITS)}")
        return cls(int(number), unit)

    def __str__(self) -> str:
        return f"{self.number} {self.unit}"


UNITS = ("questions", "calls")
LENGTHS = {Length(50, "questions"): "two hours", Length(600, "calls"): "twelve hours", Length(50, "calls"): ""}


@dataclass(frozen=True, slots=True)
class CallCost:
    tool: str
    tokens: int
    frame: int
    asked: int
    seconds: float
    again: bool  # the same call was made before
    known: bool  # content that the session has already was only named


class Agent:
    """Derives the next call from the last replies; the same seed and replies produce the same session."""

    def __init__(self, tree: Path) -> None:
        self._draw = random.Random(8)
        self._tree = tree
        self._questions = [line for line in QUESTIONS.read_text("utf-8").splitlines() if line]
        self._read: list[str] = []
        self._before: dict[Path, bytes] = {}
        self._edits = 0
        self.asked = 0  # questions

    def calls(self) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        """(tool, arguments, where its reply goes); one round is a question with its follow-up calls."""
        for number in range(10_000):
            said: list[str] = []
            self.asked += 1
            yield "search", {"query": self._questions[number % len(self._questions)]}, said
            names, paths = NAMED.findall(said[0]), PATH.findall(said[0])
            if paths:
                yield from self.around(paths, names)
            if "→ " in said[0] and self._draw.random() < 0.4:
                yield "read", {"target": said[0].rsplit("→ ", 1)[1].strip()}, []

    def around(
        self, paths: list[str], names: list[tuple[str, str, str]]
    ) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        path = paths[0]
        if names:
            name, start, end = names[0]
            yield "read", {"target": f"{path}:{start}-{end}"}, []
            last = name.rsplit(".", 1)[-1]
            if self._draw.random() < 0.6:
                yield "grep", {"pattern": rf"\b{last}\b"}, []
            if self._draw.random() < 0.4:
                yield "llmc", {"name": "refs", "args": {"name": last}}, []
        yield "read", {"target": path}, []
        self._read.append(path)
        if self._draw.random() < 0.5:
            self.edit(self._draw.choice(self._read[-8:]))
        if self._draw.random() < 0.5:
            yield "read", {"target": self._draw.choice(self._read[-8:])}, []

    def edit(self, path: str) -> None:
        """A line in the middle of a file that was read, as agents edit."""
        file = self._tree / path
        self._before.setdefault(file, file.read_bytes())
        lines = file.read_text("utf-8").split("\n")
        self._edits += 1
        lines.insert(len(lines) // 2, f"# edit {self._edits}")
        file.write_text("\n".join(lines), "utf-8")

    def undo(self) -> None:
        for file, data in self._before.items():
            file.write_bytes(data)


def play(service: Service, tree: Path, length: Length, *flags: str, settled: bool = False) -> list[CallCost]:
    """`settled`: no call starts before all edits are indexed, so no reply depends on how busy the machine is."""
    client = ClientInfo(os.getpid(), "bench", str(tree), {"LLMC_ROOTS": str(tree)}, flags)
    session = ConnectedSession("bench")
    visit, surface = RequestContext(client, session), ToolSurface(service, "lean", data=False)
    surface.definitions(visit)
    told: list[CallCost] = []
    seen: set[str] = set()
    agent = Agent(tree)
    for tool, args, said in agent.calls():
        done = len(told) if length.unit == "calls" else agent.asked - 1
        if done == length.number:
            break
        asked = json.dumps({"name": tool, "arguments": args}, separators=(",", ":"))
        if settled:
            settle(service, tree, flags)
        began = time.process_time()
        reply = surface.call(visit, tool, args, RunningRequest(client))
        told.append(of(tool, asked, reply, time.process_time() - began, again=asked in seen))
        seen.add(asked)
        said.append(reply.text)
    agent.undo()
    return told


def of(tool: str, asked: str, reply: Reply, seconds: float, *, again: bool) -> CallCost:
    frame = count(reply.frame) if reply.frame else 0
    known = " unchanged" in reply.text.partition("\n")[0]
    return CallCost(tool, count(reply.text), frame, count(asked), seconds, again, known)


def figures(told: list[CallCost], plain: list[CallCost], fixed: int) -> dict[str, Any]:
    """`plain` is the same session without differential replies."""
    tokens, frame = sum(one.tokens for one in told), sum(one.frame for one in told)
    content = tokens - frame
    repeated, first = [o.seconds for o in told if o.again], [o.seconds for o in told if not o.again]
    return {
        "calls": len(told),
        "definitions": fixed,
        "frame": frame,
        "content": content,
        "frame, % of content": round(100 * frame / content, 3),
        "overhead, % of content": round(100 * (fixed + frame) / content, 3),
        "resident at the end": fixed + tokens + sum(one.asked for one in told),
        "saved by differential replies": sum(one.tokens for one in plain) - tokens,
        "replies of known lines": sum(one.known for one in told),
        "asked again": len(repeated),
        "CPU ms, asked first": round(1000 * median(first), 1),
        "CPU ms, asked again": round(1000 * median(repeated), 1) if repeated else None,
    }


def measure(source: Path, lengths: Sequence[Length]) -> list[dict[str, Any]]:
    """All on one copy, whose edits are undone after each session, so it is indexed once."""
    with tempfile.TemporaryDirectory(prefix="llmc-bench-", ignore_cleanup_errors=True) as name:
        tree = Path(name) / "tree"
        shutil.copytree(source, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        with opened(Path(name) / "home") as service:
            return [one_length(service, tree, length) for length in lengths]


def one_length(service: Service, tree: Path, length: Length) -> dict[str, Any]:
    runs = []
    for flags in ((), ("envelope.differential=false",)):
        print(f"  {length} {' '.join(flags)}", file=sys.stderr, flush=True)
        settle(service, tree, flags)
        runs.append(play(service, tree, length, *flags))
    named = {"session": str(length), "stands for": LENGTHS.get(length, "")}
    return {**named, **figures(runs[0], runs[1], fixed_cost())}


@contextlib.contextmanager
def opened(home: Path) -> Iterator[Service]:
    """The daemon's service in this process, with its own home."""
    environ = {"LLMC_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    service: Any = open_service(Home(environ["LLMC_HOME"]), environ).handler
    service.start()
    try:
        yield service
    finally:
        service.close()


def settle(service: Service, tree: Path, flags: tuple[str, ...]) -> None:
    workspace = service.workspace(
        RunningRequest(ClientInfo(os.getpid(), "bench", str(tree), {"LLMC_ROOTS": str(tree)}, flags))
    )
    workspace.index()


def fixed_cost() -> int:
    from llmc.settings import Settings
    from llmc.tool_schema import definition_of
    from llmc.tools.profiles import listed

    entries = [definition_of(one).as_dict() for one in listed(Settings())]
    return counted(entries, instructions_of("lean"))["fixed"]


def lengths_of(text: str) -> list[Length]:
    return [Length.of(one) for one in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=lengths_of, default=list(LENGTHS), help="how long the sessions are")
    parser.add_argument("--tree", type=Path, help="a repository; Django by default")
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    rows = measure(given.tree or ground("django").folder, given.lengths)
    for row in rows:
        print(json.dumps(row))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
