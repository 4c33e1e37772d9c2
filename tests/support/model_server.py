"""A scripted model: a server of the OpenAI wire format in its own process.

    with serving() as server:           # server.url is its base address
        ... ask the model "good" ...
        server.requests()               # what it was sent, as it came

The model's name says how it behaves; several names joined by `+` are its answers in turn, the last one repeats:

    good      an answer made of the first places in the prompt      lying    the same, and places that do not exist
    prose     sentences instead of JSON                             partial  JSON without a field that it must have
    call      calls the first tool that it is offered               loop     the same, every time
    unknown   calls a tool that it was not offered                  empty    an empty answer
    slow      answers after a minute                                endless  a body that never ends
    broken    half a reply, then the connection is closed           huge     an answer of 40 MB
    refused   status 401                                            busy     status 503
    limited   status 429                                            failing  status 500 and a message
    inventing only places that do not exist                         unseen   a line that exists and was not shown
    moved     a redirect to another host                            garbage  no JSON at all
    cut       JSON that ends in the middle                          choiceless a reply without any choice
    lazy      as good, a moment later

    use:NAME:JSON    calls that tool with these arguments; several joined by `&` at once
    say:TEXT         says that
    fail:TEXT        status 500 with that message

It streams where the request says so, as servers do: in pieces of a few characters, then `[DONE]`.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ModelServer", "serving"]

PLACE = re.compile(r"[\w./-]+\.\w+:\d+")
PAUSES = {"slow": 60.0, "lazy": 0.2}
HEADERS = {"moved": (302, "http://127.0.0.1:9/elsewhere"), "refused": (401, ""), "busy": (503, "")}
ERRORS = {"limited": (429, "slow down, please"), "failing": (500, "the weights are on fire")}


class ModelServer:
    def __init__(self, url: str) -> None:
        self.url = url

    def requests(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self.url}/log", timeout=60) as reply:
            found: list[dict[str, Any]] = json.load(reply)
            return found


@contextlib.contextmanager
def serving() -> Iterator[ModelServer]:
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield ModelServer(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
    finally:
        process.kill()
        process.communicate()


class Scripted(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes; the second would wait 40 ms for the first
    log: list[dict[str, Any]] = []  # noqa: RUF012 - one for the process
    turns: Counter[str] = Counter()  # noqa: RUF012 - as above
    lock = threading.Lock()
    busy: Counter[str] = Counter()  # noqa: RUF012 - as above

    def do_GET(self) -> None:
        with self.lock:
            self._json(200, self.log)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        steps = str(request["model"]).split("+")
        with self.lock:
            self.busy[request["model"]] += 1
            key = self.headers.get("Authorization", "")
            self.log.append({"path": self.path, "key": key, "at_once": self.busy[request["model"]], **request})
            step = steps[min(self.turns[request["model"]], len(steps) - 1)]
            self.turns[request["model"]] += 1
        try:
            self._act(step, request)
        finally:
            with self.lock:
                self.busy[request["model"]] -= 1

    def _act(self, step: str, request: dict[str, Any]) -> None:
        if step in HEADERS:
            self._status(*HEADERS[step])
        elif step in ERRORS:
            status, text = ERRORS[step]
            self._json(status, {"error": {"message": text, "type": "scripted"}})
        elif step.startswith("fail:"):
            self._json(500, {"error": {"message": step.removeprefix("fail:"), "type": "scripted"}})
        elif step == "endless":
            self._endless()
        elif step == "broken":
            self._cut()
        elif step == "garbage":
            self._send(200, b"<html>no model here</html>", "text/html")
        elif step == "cut":
            self._send(
                200, b'{"id": "x", "object": "chat.completion", "choices": [{"index": 0, "mess', "application/json"
            )
        elif step == "choiceless":
            reply = {"id": "x", "object": "chat.completion", "created": 0, "model": request["model"], "choices": []}
            self._json(200, reply)
        else:
            if step in PAUSES:
                threading.Event().wait(PAUSES[step])
            self._answer(request, message(step, request))

    def _answer(self, request: dict[str, Any], said: dict[str, Any]) -> None:
        reason = "tool_calls" if said.get("tool_calls") else "stop"
        if request.get("stream"):
            self._stream(request["model"], said, reason)
            return
        choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **said}}
        read = 899 if '"HEAVY"' in json.dumps(request["messages"]) else 1
        usage = {"prompt_tokens": read, "completion_tokens": 1, "total_tokens": read + 1}
        reply = {"id": "x", "object": "chat.completion", "created": 0, "model": request["model"]}
        self._json(200, {**reply, "choices": [choice], "usage": usage})

    def _stream(self, model: str, said: dict[str, Any], reason: str) -> None:
        content = said.get("content") or ""
        deltas: list[dict[str, Any]] = [{"content": content[at : at + 7]} for at in range(0, len(content), 7)]
        deltas += [{"tool_calls": [{"index": 0, **call}]} for call in said.get("tool_calls", [])]
        head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": model}
        events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        body = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events) + b"data: [DONE]\n\n"
        self._send(200, body, "text/event-stream")

    def _endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(b"1\r\n \r\n")
                self.wfile.flush()
                threading.Event().wait(0.05)

    def _cut(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.close_connection = True

    def _status(self, status: int, location: str) -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _json(self, status: int, value: object) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def message(step: str, request: dict[str, Any]) -> dict[str, Any]:
    if step.startswith("use:"):
        return {"content": None, "tool_calls": [used(part, number) for number, part in enumerate(step.split("&"))]}
    if step in {"call", "loop", "unknown"}:
        tools = [tool["function"] for tool in request.get("tools", [])]
        name = "rm_rf" if step == "unknown" or not tools else tools[0]["name"]
        needed = tools[0]["parameters"].get("required", []) if tools else []
        function = {"name": name, "arguments": json.dumps(dict.fromkeys(needed, "RetryPolicy"))}
        return {
            "content": None,
            "tool_calls": [{"id": f"c{len(request['messages'])}", "type": "function", "function": function}],
        }
    if step == "prose":
        return {"content": "I think that it is somewhere in the code. You should refactor it."}
    if step == "empty" or step.startswith("say:"):
        return {"content": step.removeprefix("empty").removeprefix("say:")}
    if step == "huge":
        return {"content": "x" * 40_000_000}
    return {"content": answer(step, prompt_of(request))}


def used(part: str, number: int) -> dict[str, Any]:
    _, name, arguments = part.split(":", 2)
    return {"id": f"u{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def prompt_of(request: dict[str, Any]) -> str:
    return "\n".join(str(one.get("content")) for one in request["messages"])


def answer(step: str, prompt: str) -> str:
    places = list(dict.fromkeys(PLACE.findall(prompt)))[:2]
    made = {
        "summary": f"The model says: see {places[0]}." if places else "The model says nothing.",
        "references": places,
        "key_findings": [f"{place} matters" for place in places],
        "confidence": "high",
        "notes": None,
    }
    if step == "lying":
        made["references"] = [*places, "src/invented.py:12", f"{places[0].partition(':')[0]}:99999", "/etc/passwd:1"]
        made["key_findings"] = [*made["key_findings"], "src/invented.py:12 does everything"]  # type: ignore[misc]
    if step == "inventing":
        made |= {"summary": "See src/invented.py:12.", "references": ["src/invented.py:12"], "key_findings": []}
    if step == "unseen":
        made["references"] = [*places, "src/depot/handlers/damage.py:1"]
    if step == "partial":
        del made["references"]
    return json.dumps(made)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    server.daemon_threads = True
    print(server.server_port, flush=True)  # noqa: T201 - how its starter learns the port
    server.serve_forever()
