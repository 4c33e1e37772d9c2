"""An agent's only access to a repository in a trial over MCP: a client that stays connected between shell commands.

    python -m bench.trials.mcp_session CHECKOUT LOG 'tools'                      what a client shows its model
    python -m bench.trials.mcp_session CHECKOUT LOG 'mark ID'                    before each question
    python -m bench.trials.mcp_session CHECKOUT LOG 'search {"query": "words"}'  a tool and its arguments
    python -m bench.trials.mcp_session CHECKOUT LOG 'close'

The first command starts `llmc serve` (the lean profile) in CHECKOUT and keeps it, as a client does; an hour without
commands ends it. `-` instead of a command reads it from stdin, where nothing needs to be quoted. The log has the form
of the other arms. Fair because the definitions and instructions, which a model reads in every session, are its first
row whether or not the agent asks for them.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import socket
import socketserver
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fixed import compact, shown
from bench.stdio import Server, ServerError
from llmc.envelope.tokens import count

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_REPLY = 30_000  # characters that a client would show
IDLE_SECONDS = 3_600.0
DEFINITIONS = "tools"


class Session:
    """Answers one line at a time and logs its cost."""

    def __init__(self, server: Server, log: Path) -> None:
        self._server = server
        self._log = log
        self.is_open = True
        self._definitions = definitions(server)
        self._note(command=DEFINITIONS, tokens_in=0, tokens_out=count(self._definitions), seconds=0.0)

    def answer(self, line: str) -> str:
        word, _, rest = line.partition(" ")
        if line == DEFINITIONS:
            return self._definitions
        if line in {"", "close"}:
            self.is_open = line != "close"
            return "" if self.is_open else "closed"
        if word == "mark" and rest:
            self._note(mark=rest.split()[0])
            return "marked"
        began = time.monotonic()
        text, failed = called(self._server, line)
        self.is_open = self._server.is_running
        taken = round(time.monotonic() - began, 2)
        self._note(command=line, tokens_in=count(line), tokens_out=count(text), seconds=taken, code=int(failed))
        return text

    def _note(self, **row: object) -> None:
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def server_in(checkout: Path, environ: Mapping[str, str]) -> Server:
    return Server([sys.executable, "-P", "-m", "llmc", "serve"], cwd=checkout, environ=environ)


def definitions(server: Server) -> str:
    return f"{server.instructions}\n{compact(shown(server.tools()))}"


def called(server: Server, line: str) -> tuple[str, bool]:
    """(the text that the model sees, whether it is an error) for `TOOL {JSON}`."""
    name, _, arguments = line.partition(" ")
    try:
        given = json.loads(arguments or "{}")
    except json.JSONDecodeError as error:
        return f"error: the arguments of {name} are not JSON: {error}", True
    if not isinstance(given, dict):
        return f"error: the arguments of {name} are not a JSON object", True
    try:
        answer = server.call(name, given)
    except ServerError as error:
        return f"error: {error}", True
    return cut(answer.text), answer.error


def cut(text: str) -> str:
    return (
        text if len(text) <= LONGEST_REPLY else f"{text[:LONGEST_REPLY]}\n[output cut at {LONGEST_REPLY:,} characters]"
    )


def keep_open(checkout: Path, log: Path) -> None:
    """The process behind the commands: returns once there is a socket, to which a child of it listens."""
    sessions: list[Session] = []

    class Command(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(sessions[0].answer(self.rfile.read().decode().strip()).encode())

    place = socket_of(log)
    with socketserver.UnixStreamServer(str(place), Command) as listening:
        if os.fork():
            os._exit(0)
        try:
            with server_in(checkout, os.environ) as server:
                sessions.append(Session(server, log))
                listening.timeout = IDLE_SECONDS
                while sessions[0].is_open:
                    last = time.monotonic()
                    listening.handle_request()
                    sessions[0].is_open &= time.monotonic() - last < IDLE_SECONDS
        finally:
            place.unlink(missing_ok=True)


def socket_of(log: Path) -> Path:
    """Not beside the log: the path of a socket is limited to about a hundred characters."""
    name = hashlib.sha256(str(log.resolve()).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"llmc-trial-{os.getuid()}-{name}.sock"


def send(log: Path, line: str) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(socket_of(log)))
        connection.sendall(line.encode())
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as reply:
            return reply.read().decode()


def ask(checkout: Path, log: Path, line: str) -> str:
    try:
        return send(log, line)
    except OSError:
        if line == "close":
            return "not open"
        return start(checkout, log) or send(log, line)


def start(checkout: Path, log: Path) -> str:
    """Starts it once, however many commands come first at the same time. Returns why it failed, or nothing."""
    place, errors = socket_of(log), log.with_suffix(".err")
    with log.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_listening(log):
            return ""
        place.unlink(missing_ok=True)
        command = [sys.executable, "-m", "bench.trials.mcp_session", "--keep-open", str(checkout), str(log)]
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        with errors.open("w") as said:
            subprocess.run(
                command, env=environ, stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False,
                start_new_session=True,
            )  # fmt: skip
        if is_listening(log):
            errors.unlink()
            return ""
    return f"error: llmc serve did not start, see {errors}"


def is_listening(log: Path) -> bool:
    """An empty command does nothing; a socket without a listener is left over from a session that was killed."""
    try:
        send(log, "")
    except OSError:
        return False
    return socket_of(log).exists()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("line", nargs="?", default="-", help="`-` or nothing: from stdin")
    parser.add_argument("--keep-open", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.checkout.is_dir():
        parser.error(f"{given.checkout} is not a folder")
    if given.keep_open:
        keep_open(given.checkout.resolve(), given.log)
        return 0
    line = sys.stdin.read() if given.line == "-" else given.line
    if not line.strip():
        parser.error("the command is empty")
    print(ask(given.checkout.resolve(), given.log, line.strip()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
