"""What does standing between cost: in tokens of frame, and in milliseconds of enveloping?

    python -m bench.frame [--tree DIR] [--json FILE]

The workload is what an agent asks in a session about one repository: questions, patterns, names, files, ranges, pages
and items of cut replies, and some reads a second time. Frame is counted as llmc defines it (handle, `showing`, pending
and cut notes); the tools' definitions are `bench.fixed`'s business. Fair because every reply is made by the very
function that all surfaces call, with the default budgets. Times are CPU time, since the machine is shared; the 200 KB
of matches are real ones, from as many files as they came from, and go through every stage each time.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import trees
from bench.tool_calls import answer
from llmc.base.text import DecodedText, decode
from llmc.envelope import fit, render, shorten
from llmc.envelope.clean import clean
from llmc.envelope.handles import LOCAL, Handles
from llmc.envelope.redact.redactor import redact
from llmc.envelope.tokens import count
from llmc.server.local import GARBAGE
from llmc.settings import EmbedderSettings, Settings
from llmc.state.connected_sessions import ConnectedSession
from llmc.tool import ToolRequest
from llmc.tools.registry import tool
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.envelope import Envelope
    from llmc.envelope.reply import Reply

RAW = 200_000  # characters of matches
REDACTED = 4_000_000
TIMES = 40

QUESTIONS = (
    "where are passwords hashed",
    "how is a session expired",
    "parse the accept language header",
    "retry when the connection is lost",
    "which class renders a form",
    "how are migrations ordered",
)
PATTERNS = ("import", r"class \w+Error", "TODO|FIXME", r"def test_\w+_cache", "timeout", "deprecated", "no_such_thing")
NAMES = ("get", "Field", "parse", "connect", "Manager")


@dataclass(frozen=True, slots=True)
class FramedReply:
    call: str
    tokens: int
    frame: int
    kind: str  # whole, cut, or known: content that the session has already is only named


def workload(workspace: Workspace, handles: Handles) -> list[FramedReply]:
    """A session; it reads the files that its questions found."""
    session, told = ConnectedSession("bench"), []

    def ask(name: str, /, **args: Any) -> Reply:
        reply = answer(workspace, handles, name, args, session=session, data=True)
        known = " unchanged" in reply.text.partition("\n")[0]
        kind = "known" if known else "cut" if reply.handle else "whole"
        told.append(FramedReply(name, count(reply.text), count(reply.frame), kind))
        return reply

    for question in QUESTIONS:
        found = ask("search", query=question)
        files = found.data.get("files", [])
        for file in files[:2]:
            hit = file["hits"][0]
            ask("read", target=file["path"])
            ask("read", target=f"{file['path']}:{hit['start_line']}-{hit['end_line']}")
            ask("read", target=file["path"])
        if found.handle:
            ask("read", target=f"{found.handle}:2")
            ask("read", target=found.handle)
    for pattern in PATTERNS:
        found = ask("grep", pattern=pattern)
        if found.handle:
            ask("read", target=found.handle)
            ask("grep", pattern="return", path=found.handle)
    for name in NAMES:
        ask("refs", name=name)
        ask("find", name=name.lower())
    for name in ("tree", "outline"):
        ask(name)
    return told


def envelope_of(workspace: Workspace, handles: Handles) -> Envelope:
    """Some 200 KB of matches."""
    found = tool("grep").run(
        ToolRequest("grep", {"pattern": "import|def |func |return", "all": True}, workspace, handles)
    )
    groups, size = [], 0
    for group in found.groups:
        groups.append(group)
        size += sum(len(row.text) for item in group.items for row in item.rows)
        if size >= RAW:
            break
    assert size >= RAW
    return replace(found, groups=tuple(groups), data={})


def enveloping(envelope: Envelope, handles: Handles) -> Callable[[int], object]:
    def once(number: int) -> object:
        fitted = fit(shorten(clean(envelope)), 1_200)
        assert fitted.whole is not None
        handle = handles.put("grep", {"n": number}, fitted.whole, fitted.kept, owner=LOCAL)
        return render(fitted.envelope, fitted.shown, fitted.total, handle.id, fitted.left)

    return once


def milliseconds(act: Callable[[int], object], times: int = TIMES) -> tuple[float, float]:
    """(median, p95) of CPU time; the first call warms up."""
    act(-1)
    taken = []
    for number in range(times):
        began = time.process_time()
        act(number)
        taken.append((time.process_time() - began) * 1e3)
    return statistics.median(taken), statistics.quantiles(taken, n=20)[-1]


def redaction_speed(folder: Path) -> float:
    """MB per second of CPU, over source code, warm."""
    texts: list[tuple[str, str]] = []
    size = 0
    for path in sorted(folder.rglob("*.py")) + sorted(folder.rglob("*.go")):
        text = decode(path.read_bytes())
        if isinstance(text, DecodedText) and size < REDACTED:
            texts.append((text.text, path.name))
            size += len(text.text)
    for _ in range(2):
        began = time.process_time()
        for body, name in texts:
            redact(body, name)
        seconds = time.process_time() - began
    return size / 1e6 / seconds


def measure(folder: Path) -> dict[str, Any]:
    gc.set_threshold(*GARBAGE)  # as the daemon has it
    settings = Settings(embedder=EmbedderSettings(kind="hash"))
    with (
        tempfile.TemporaryDirectory() as home,
        Workspace.open(str(folder), home=home, settings=settings, watch=True) as workspace,
    ):
        workspace.index()
        handles = Handles(f"{home}/handles")
        told = workload(workspace, handles)
        envelope = envelope_of(workspace, handles)
        whole, cut = milliseconds(enveloping(envelope, handles))
        usual = tool("search").run(ToolRequest("search", {"query": QUESTIONS[0]}, workspace, handles))
        fitted = fit(clean(usual, data=False), 400)
        kept = fitted.whole or usual
        names: list[str] = []

        def put(number: int) -> None:
            names.append(handles.put("search", {"n": number}, kept, fitted.kept, owner=LOCAL).id)

        puts = milliseconds(put, 200)
        opens = milliseconds(lambda number: Handles.open(handles, names[number], LOCAL), 200)
        handles.close()
        return summary(told, (whole, cut), puts, opens, redaction_speed(folder))


def summary(
    told: list[FramedReply],
    enveloped: tuple[float, float],
    puts: tuple[float, float],
    opens: tuple[float, float],
    speed: float,
) -> dict[str, Any]:
    tokens, frame = sum(one.tokens for one in told), sum(one.frame for one in told)
    cut, whole = ([one.frame for one in told if one.kind == kind] for kind in ("cut", "whole"))
    return {
        "calls": len(told),
        "tokens": tokens,
        "frame tokens": frame,
        "frame, % of content": round(100 * frame / (tokens - frame), 2),
        "frame of a cut reply, most": max(cut, default=0),
        "frame of a whole reply, most": max(whole, default=0),
        "cut replies": len(cut),
        "whole replies": len(whole),
        "replies of known lines": len(told) - len(cut) - len(whole),
        "enveloping 200 KB, ms p50": round(enveloped[0], 1),
        "enveloping 200 KB, ms p95": round(enveloped[1], 1),
        "handle put, ms p50": round(puts[0], 2),
        "handle put, ms p95": round(puts[1], 2),
        "handle open, ms p50": round(opens[0], 2),
        "handle open, ms p95": round(opens[1], 2),
        "redaction, MB/s": round(speed, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, help="a repository; Django by default")
    parser.add_argument("--json", type=Path, help="write the figures there")
    args = parser.parse_args()
    gc.set_threshold(*GARBAGE)  # as the daemon does
    folder = args.tree or trees.sdist("django", "5.2.7")
    figures = measure(folder)
    for name, value in figures.items():
        print(f"{name:32} {value:>12,}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
