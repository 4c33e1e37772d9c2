"""An agent's only access to a repository in a trial over MCP: one session of the lean profile, kept between calls.

    python -m bench.trials.mcp_session open SOCKET CHECKOUT LOG      starts llmc as a client would and waits for calls
    python -m bench.trials.mcp_session call SOCKET definitions       what a client shows its model; counted once
    python -m bench.trials.mcp_session call SOCKET 'mark ID'
    python -m bench.trials.mcp_session call SOCKET 'search {"query": "words"}'

The log has the form of the other arms. Fair because the definitions and instructions that a model reads are counted
too, and because the session stays open, as a real client's does.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import socketserver
import sys
import time
from pathlib import Path

from bench.stdio import Server, ServerError
from llmc.envelope.tokens import count

LONGEST_REPLY = 30_000  # characters that a client would show


class Session:
    def __init__(self, server: Server, log: Path) -> None:
        self._server = server
        self._log = log

    def answer(self, line: str) -> str:
        if line.startswith("mark "):
            self._note(mark=line.split()[1])
            return "marked"
        began = time.monotonic()
        text = self._text(line)[:LONGEST_REPLY]
        self._note(
            command=line, tokens_in=count(line), tokens_out=count(text), seconds=round(time.monotonic() - began, 2)
        )
        return text

    def _text(self, line: str) -> str:
        if line == "definitions":
            return f"{self._server.instructions}\n{json.dumps(self._server.tools())}"
        name, _, arguments = line.partition(" ")
        try:
            return self._server.call(name, json.loads(arguments or "{}")).text
        except (json.JSONDecodeError, ServerError) as error:
            return f"error: {error}"

    def _note(self, **row: object) -> None:
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def open_session(place: Path, checkout: Path, log: Path) -> None:
    command = [sys.executable, "-m", "llmc", "serve"]
    with Server(command, cwd=checkout, environ=os.environ) as server:
        session = Session(server, log)

        class Call(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(session.answer(self.rfile.read().decode().strip()).encode())

        with socketserver.UnixStreamServer(str(place), Call) as listening:
            listening.serve_forever()


def call(place: Path, line: str) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(place))
        connection.sendall(line.encode())
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as reply:
            return reply.read().decode()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    opening = commands.add_parser("open")
    opening.add_argument("socket", type=Path)
    opening.add_argument("checkout", type=Path)
    opening.add_argument("log", type=Path)
    calling = commands.add_parser("call")
    calling.add_argument("socket", type=Path)
    calling.add_argument("line")
    asked = parser.parse_args()
    if asked.command == "open":
        open_session(asked.socket, asked.checkout, asked.log)
    else:
        print(call(asked.socket, asked.line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
