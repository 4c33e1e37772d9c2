"""Who does the tasks, and what one step of a script means for each: Desktop Commander, the filesystem server, a shell
with ripgrep and a reader, and llmc.

Steps stand in `tasks/*.toml` in a few words; here they become the calls that the tools take. Where a tool could be
treated well or badly it is treated well: a search of Desktop Commander is asked for its results when it is done (polls
that come too early would return nothing and cost), and what a shell prints loses its middle beyond 30,000 characters,
as agents' shells have it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from bench.fixed import at_home
from bench.servers import PEERS, replaced, started
from bench.stdio import Server
from llmc.envelope.request import ClientInfo, RunningRequest
from llmc.retrieval.grep import ripgrep
from llmc.server.surface import ToolSurface
from llmc.state.connected_sessions import ConnectedSession, RequestContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from bench.ground import Ground
    from llmc.server.service import Service

__all__ = ["ACTORS", "OF_PEERS", "Actor", "CallRecord", "LlmcInProcess", "open_actor"]

SHELL_CHARACTERS = 30_000
READ_LINES = 2_000
SEARCH_SECONDS = 90.0
RUN_SECONDS = 300
STILL_RUNNING = ("Process is running", "is waiting for input", "Status: RUNNING", "IN PROGRESS")
PRIMARY = {"search": "query", "grep": "pattern", "read": "target"}


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call: what was asked, as JSON, and what came back."""

    asked: str
    text: str
    seconds: float


class Actor(Protocol):
    def forget(self) -> None:
        """The next step belongs to another task."""

    def do(self, step: dict[str, Any]) -> Iterator[CallRecord]:
        """The calls of one step, each made when it is requested."""


class OfServer:
    """An actor behind an MCP server. `start` creates the server, not yet entered."""

    def __init__(self, start: Callable[[], Server], ground: Ground) -> None:
        self._start = start
        self._ground = ground
        self._server = start()

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    def forget(self) -> None:
        """A new task is a new session: files read in the last one are not known in this one."""

    def place(self, path: str) -> str:
        named = replaced(path, {f"{{{name}}}": value for name, value in self._ground.names.items()})
        return named if named.startswith("/") else str(self._ground.folder / named).removesuffix("/.")

    def call(self, tool: str, **arguments: Any) -> CallRecord:
        answer = self._server.call(tool, arguments, RUN_SECONDS)
        return CallRecord(asked_for(tool, arguments), answer.text, answer.seconds)


class DesktopCommander(OfServer):
    def do(self, step: dict[str, Any]) -> Iterator[CallRecord]:
        match step:
            case {"search": pattern}:
                yield from self.search(pattern, step)
            case {"read": path}:
                keys = {"from": "offset", "lines": "length"}
                window = {name: step[key] for key, name in keys.items() if key in step}
                yield self.call("read_file", path=self.place(path), **window)
            case {"read_all": paths}:
                yield self.call("read_multiple_files", paths=[self.place(path) for path in paths])
            case {"list": path}:
                depth = {"depth": step["depth"]} if "depth" in step else {}
                yield self.call("list_directory", path=self.place(path), **depth)
            case {"run": command}:
                yield from self.run(f"cd {self._ground.folder} && {self.named(command)}")
            case _:
                raise ValueError(f"no such step: {step}")

    def named(self, command: str) -> str:
        return replaced(command, {f"{{{name}}}": value for name, value in self._ground.names.items()})

    def search(self, pattern: str, step: dict[str, Any]) -> Iterator[CallRecord]:
        keys = {"files": "filePattern", "context": "contextLines", "ignore_case": "ignoreCase", "most": "maxResults"}
        options = {name: step[key] for key, name in keys.items() if key in step}
        kind = "files" if step.get("names") else "content"
        begun = self.call(
            "start_search", path=self.place(step.get("in", ".")), pattern=pattern, searchType=kind, **options
        )
        yield begun
        session = begun.text.split("session: ", 1)[1].split()[0]
        done = self.results(session, 0)
        yield done
        for page in range(1, step.get("pages", 1)):
            if "More results available" not in done.text:
                return
            done = self.results(session, 100 * page)
            yield done

    def results(self, session: str, offset: int) -> CallRecord:
        deadline = time.monotonic() + SEARCH_SECONDS
        while True:
            window = {"offset": offset} if offset else {}
            said = self.call("get_more_search_results", sessionId=session, **window)
            if "COMPLETED" in said.text or time.monotonic() > deadline:
                return said
            time.sleep(1)

    def run(self, command: str) -> Iterator[CallRecord]:
        said = self.call("start_process", command=command, timeout_ms=RUN_SECONDS * 1000 // 2)
        yield said
        pid = said.text.split("PID ", 1)[1].split()[0] if "PID " in said.text else ""
        for _ in range(6):
            if not pid or not any(word in said.text for word in STILL_RUNNING):
                return
            time.sleep(5)
            said = self.call("read_process_output", pid=int(pid), timeout_ms=5_000)
            yield said


class Filesystem(OfServer):
    def do(self, step: dict[str, Any]) -> Iterator[CallRecord]:
        match step:
            case {"find": pattern}:
                yield self.call("search_files", path=self.place(step.get("in", ".")), pattern=pattern)
            case {"read": path}:
                head = {"head": step["lines"]} if "lines" in step else {}
                yield self.call("read_text_file", path=self.place(path), **head)
            case {"read_all": paths}:
                yield self.call("read_multiple_files", paths=[self.place(path) for path in paths])
            case {"tree": path}:
                yield self.call("directory_tree", path=self.place(path))
            case _:
                raise ValueError(f"no such step: {step}")


class Llmc(OfServer):
    """A listed tool by its main argument (`{grep = "…", path = "…"}`), another through the gateway
    (`{refs = {name = "…"}}`): the definitions are those of the lean profile. Asking begins when the index is there, and
    the daemon that was started for it ends with it."""

    def __init__(self, start: Callable[[], Server], ground: Ground, environ: dict[str, str]) -> None:
        super().__init__(start, ground)
        self._environ = environ

    def __enter__(self) -> Self:
        self.command("index", "--once", "--quiet")
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.command("stop", "--quiet")

    def forget(self) -> None:
        self._server.__exit__()
        self._server = self._start()
        self._server.__enter__()

    def command(self, *words: str) -> None:
        llmc = [sys.executable, "-P", "-m", "llmc", *words]
        subprocess.run(llmc, cwd=self._ground.folder, env=self._environ, check=True, capture_output=True)

    def do(self, step: dict[str, Any]) -> Iterator[CallRecord]:
        (tool, value), *others = step.items()
        if isinstance(value, dict):
            yield self.call("llmc", name=tool, args=self.named(value))
        else:
            yield self.call(tool, **self.named({PRIMARY.get(tool, "name"): value, **dict(others)}))

    def named(self, arguments: dict[str, Any]) -> dict[str, Any]:
        names = {f"{{{name}}}": value for name, value in self._ground.names.items()}
        return {key: replaced(value, names) if isinstance(value, str) else value for key, value in arguments.items()}


class LlmcInProcess(Llmc):
    """The same tools without processes: each task has its own session in a running service."""

    def __init__(self, service: Service, ground: Ground) -> None:
        self._ground = ground
        self._surface = ToolSurface(service, "lean", data=False)
        root = {"LLMC_ROOTS": str(ground.folder)}
        self.client = ClientInfo(os.getpid(), "bench", str(ground.folder), root, ("shell.enabled=true",))
        self.forget()

    def forget(self) -> None:
        self._visit = RequestContext(self.client, ConnectedSession("bench"))

    def call(self, tool: str, **arguments: Any) -> CallRecord:
        began = time.perf_counter()
        reply = self._surface.call(self._visit, tool, arguments, RunningRequest(self.client))
        return CallRecord(asked_for(tool, arguments), reply.text, time.perf_counter() - began)


class Shell:
    """The tools of an agent without any server: `rg -n`, a reader that numbers lines, and commands."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def forget(self) -> None:
        return None

    def do(self, step: dict[str, Any]) -> Iterator[CallRecord]:
        program = ripgrep.program() or "rg"
        match step:
            case {"rg": pattern}:
                options = step.get("flags", [])
                command = [program, "-n", "--no-heading", *options, pattern, step.get("in", ".")]
                yield self.run(["rg", *command[1:]], command)
            case {"files": pattern}:
                yield self.run(["rg", "--files", "-g", pattern], [program, "--files", "-g", pattern])
            case {"read": path}:
                yield self.read(path, step.get("from", 1), step.get("lines", READ_LINES))
            case {"run": command}:
                named = self.named(command)
                yield self.run([named], ["sh", "-c", named])
            case _:
                raise ValueError(f"no such step: {step}")

    def named(self, text: str) -> str:
        return replaced(text, {f"{{{name}}}": value for name, value in self._ground.names.items()})

    def read(self, path: str, start: int, lines: int) -> CallRecord:
        began = time.perf_counter()
        found = (self._ground.folder / self.named(path)).read_text("utf-8", "replace").split("\n")
        part = found[start - 1 : start - 1 + min(lines, READ_LINES)]
        text = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(part, start))
        return CallRecord(json.dumps({"read": path, "from": start, "lines": lines}), text, time.perf_counter() - began)

    def run(self, shown: list[str], command: list[str]) -> CallRecord:
        began = time.perf_counter()
        environ = {**os.environ, "GIT_PAGER": "cat"}
        done = subprocess.run(
            command, cwd=self._ground.folder, env=environ, capture_output=True, check=False, timeout=RUN_SECONDS
        )
        text = both_ends((done.stdout + done.stderr).decode("utf-8", "replace"))
        return CallRecord(json.dumps({"run": " ".join(shown)}), text, time.perf_counter() - began)


def asked_for(tool: str, arguments: dict[str, Any]) -> str:
    return json.dumps({"name": tool, "arguments": arguments}, separators=(",", ":"), ensure_ascii=False)


def both_ends(text: str) -> str:
    half = SHELL_CHARACTERS // 2
    return (
        text
        if len(text) <= SHELL_CHARACTERS
        else f"{text[:half]}\n… {len(text) - 2 * half} characters …\n{text[-half:]}"
    )


# In the order of the report; two scripts may share an actor.
ACTORS = {
    "desktop-commander typical": "typical",
    "desktop-commander frugal": "frugal",
    "filesystem server": "filesystem",
    "rg + read": "rg",
    "llmc": "llmc",
    "llmc untrained": "untrained",
}
OF_PEERS = frozenset({"desktop-commander typical", "desktop-commander frugal", "filesystem server"})


def open_actor(name: str, ground: Ground, scratch: Path) -> AbstractContextManager[Actor]:
    """A context manager; `CannotRun` and `ServerError` give the reason if it cannot be opened."""
    peers = {peer.name: peer for peer in PEERS}
    if name.startswith("desktop-commander"):
        return DesktopCommander(lambda: started(peers["desktop-commander"], ground.folder, scratch), ground)
    if name == "filesystem server":
        return Filesystem(lambda: started(peers["filesystem"], ground.folder, scratch), ground)
    if name == "rg + read":
        return Shell(ground)
    return serve(ground, scratch)


def serve(ground: Ground, scratch: Path) -> Llmc:
    """The lean profile with the shell tool switched on, since the others have a shell too."""
    settings, environ = ["shell.enabled=true", "shell.seconds=250"], at_home(scratch, ground.folder)
    if "python" in ground.names:  # a user who runs tests has activated their environment
        programs = Path(ground.names["python"]).parent
        environ["PATH"] = os.pathsep.join((str(programs), environ["PATH"]))
        settings += ['shell.allow=["python tests/runtests.py"]', f'shell.writable=["{programs.parent}"]']
    flags = [part for one in settings for part in ("--set", one)]
    command = [sys.executable, "-P", "-m", "llmc", "serve", *flags]
    return Llmc(lambda: Server(command, cwd=ground.folder, environ=environ), ground, environ)
