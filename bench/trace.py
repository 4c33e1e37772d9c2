"""How much code does one operation pass through, and what does a save cost?

    python -m bench.trace [--saves N]

Three operations on a copy of the demo, in one process: a saved file becomes searchable, a `search`, a
`research_codebase`. For each: the files of the package whose code ran in any thread, the functions entered, calls, and
calls from one file into another. Import statements and the protocol before `call_tool` do not count: every operation
runs once before it is traced. The CPU time of a save is the process's own, tracing off, averaged over N saves.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llmc
from bench.tool_calls import answer
from llmc.envelope.handles import Handles
from llmc.settings import Settings
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

DEMO = Path(__file__).parent.parent / "data" / "demo"
PACKAGE = str(Path(llmc.__file__).parent)
SAVED = "services/tracking/tracking/timeline.py"
SECONDS = 20.0


@dataclass
class Trace:
    """Code that ran while `recording`. The hook is set before any thread starts, since a thread keeps the hook it
    started with."""

    recording: bool = False
    entered: set[CodeType] = field(default_factory=set)
    calls: int = 0
    across: int = 0

    def hook(self, frame: FrameType, event: str, _argument: object) -> None:
        if not self.recording or event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        self.entered.add(frame.f_code)
        self.calls += 1
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename != frame.f_code.co_filename:
            self.across += 1

    @contextmanager
    def on(self) -> Iterator[None]:
        self.entered, self.calls, self.across, self.recording = set(), 0, 0, True
        yield
        self.recording = False

    def figures(self) -> dict[str, Any]:
        files = sorted({str(Path(code.co_filename).relative_to(PACKAGE)) for code in self.entered})
        return {
            "files": len(files),
            "functions": len(self.entered),
            "calls": self.calls,
            "calls across files": self.across,
            "names": files,
        }


@dataclass
class Demo:
    """The demo, indexed and watched, and the number of saves of its file."""

    folder: Path
    workspace: Workspace
    handles: Handles
    saved: int = 0

    def save(self) -> None:
        """Write a file and wait until the index holds it."""
        (root_index,) = self.workspace.root_indexes
        path = self.folder / SAVED
        before = root_index.last_commit
        self.saved += 1
        path.write_text(f"{path.read_text().rstrip()}\nSAVED_{self.saved} = {self.saved}\n")
        deadline = time.monotonic() + SECONDS
        while root_index.last_commit == before or root_index.pending:
            if time.monotonic() > deadline:
                raise TimeoutError("the save was not indexed")
            time.sleep(0.005)

    def search(self) -> None:
        answer(self.workspace, self.handles, "search", {"query": f"where is a parcel scanned {self.saved}"})

    def research(self) -> None:
        question = f"where is the label of a parcel printed {self.saved}?"
        answer(self.workspace, self.handles, "research_codebase", {"question": question})


@contextmanager
def opened_demo() -> Iterator[Demo]:
    with tempfile.TemporaryDirectory(prefix="llmc-bench-") as place:
        folder = Path(place, "demo")
        shutil.copytree(DEMO, folder)
        with Workspace.open(str(folder), home=str(Path(place, "home")), settings=Settings(), watch=True) as workspace:
            workspace.index()
            yield Demo(folder, workspace, Handles(str(Path(place, "handles"))))


def traces() -> dict[str, dict[str, Any]]:
    trace = Trace()
    threading.setprofile(trace.hook)
    sys.setprofile(trace.hook)
    found = {}
    try:
        with opened_demo() as demo:
            for operation in (demo.save, demo.search, demo.research):
                operation()  # imports everything it needs
                demo.saved += 1
                with trace.on():
                    operation()
                found[operation.__name__] = trace.figures()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def cpu_per_save(saves: int) -> float:
    """Milliseconds of this process, all threads, one save after the other."""
    with opened_demo() as demo:
        demo.save()
        started = time.process_time()
        for _ in range(saves):
            demo.save()
        return (time.process_time() - started) / saves * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--saves", type=int, default=40)
    parser.add_argument("--names", action="store_true", help="list the files")
    given = parser.parse_args()
    found = {**traces(), "CPU ms per save": round(cpu_per_save(given.saves), 1)}
    if not given.names:
        for figures in found.values():
            if isinstance(figures, dict):
                del figures["names"]
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
