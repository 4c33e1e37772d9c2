"""A swe-pruner as its clients may meet it, good and bad: `pruner_reference.py FOLDER` serves on a free port.

The path of a request says how it behaves; the port is in FOLDER/port, and each request's body is a line of
FOLDER/asked.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HUGE = 40 << 20
GATE = threading.Event()  # never set: a request that waits for it hangs


class Pruner(BaseHTTPRequestHandler):
    folder = Path()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(body)
        kind = self.headers["Content-Type"]
        with (self.folder / "asked").open("a") as file:
            file.write(json.dumps({"path": self.path, "type": kind, "body": asked}) + "\n")
        getattr(self, f"answer_{self.path.strip('/')}")(asked["code"].split("\n"))

    def do_GET(self) -> None:
        """Only a redirect that was followed gets here."""
        with (self.folder / "asked").open("a") as file:
            file.write(json.dumps({"path": "followed"}) + "\n")
        self.reply({"pruned_code": "followed"})

    def reply(self, value: Any, status: int = 200) -> None:
        self.send(json.dumps(value).encode(), status)

    def send(self, data: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def answer_good(self, lines: list[str]) -> None:
        self.reply({"pruned_code": "\n".join(line for line in lines if "wanted" in line)})

    def answer_marked(self, lines: list[str]) -> None:
        kept = [line for line in lines if "wanted" in line]
        self.reply({"pruned_code": "\n".join(["(filtered 12 lines)", *kept, "(filtered 3 lines)"])})

    def answer_content(self, _lines: list[str]) -> None:
        self.reply({"content": "from content", "text": "from text"})

    def answer_text(self, _lines: list[str]) -> None:
        self.reply({"pruned_code": 7, "content": None, "text": "from text"})

    def answer_first(self, _lines: list[str]) -> None:
        self.reply({"text": "from text", "content": "from content", "pruned_code": "from pruned_code"})

    def answer_empty(self, _lines: list[str]) -> None:
        self.reply({"pruned_code": ""})

    def answer_liar(self, _lines: list[str]) -> None:
        self.reply({"pruned_code": "import os\nos.remove('everything')\u202e\x1b[31m"})

    def answer_array(self, _lines: list[str]) -> None:
        self.reply(["pruned_code"])

    def answer_nothing(self, _lines: list[str]) -> None:
        self.reply({"result": "x"})

    def answer_garbage(self, _lines: list[str]) -> None:
        self.send(b"\xff\xfe<html>")

    def answer_deep(self, _lines: list[str]) -> None:
        self.send(b"[" * 200_000)

    def answer_refusing(self, _lines: list[str]) -> None:
        self.reply({"pruned_code": "refused"}, 500)

    def answer_created(self, _lines: list[str]) -> None:
        self.reply({"error": "busy"}, 503)

    def answer_redirecting(self, _lines: list[str]) -> None:
        self.send_response(302)
        self.send_header("Location", "/good")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer_huge(self, _lines: list[str]) -> None:
        self.send_response(200)
        self.end_headers()
        piece = b"x" * (1 << 20)
        try:
            for _ in range(HUGE >> 20):
                self.wfile.write(piece)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer_hanging(self, _lines: list[str]) -> None:
        GATE.wait()

    def answer_dripping(self, _lines: list[str]) -> None:
        """A byte now and then, so that no single read takes too long."""
        self.send_response(200)
        self.end_headers()
        try:
            while not GATE.wait(0.02):
                self.wfile.write(b" ")
                self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer_broken(self, _lines: list[str]) -> None:
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    Pruner.folder = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pruner)
    port = Pruner.folder / "port"
    port.with_suffix(".new").write_text(str(server.server_address[1]))
    port.with_suffix(".new").rename(port)
    server.serve_forever()


if __name__ == "__main__":
    main()
