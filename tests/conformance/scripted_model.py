"""A model that knows its lines, for agents that want one: the API of whoever asks, and three calls of llmc's tools.

Each agent speaks to its vendor's API; `API` has what is common to them: the texts of the tool results so far, and how
the next turn is streamed. The turns are `search`, `read` of the handle in its reply, `grep` inside that handle. Claude
Code searches by hand before, so that the hook has something to say.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from llmc.install.notes import REMINDER

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

HANDLE = re.compile(r"→ (h[0-9a-z]+)")
DONE = "That is all."
OURS = "toolu_llmc_"
BY_HAND = "grep -rn arrival ."


def next_call(results: list[str]) -> tuple[str, Json] | None:
    """What to call after these results; None: say `DONE`."""
    if not results:
        return "search", {"query": "how is the arrival day estimated", "budget": 120}
    if not (handle := HANDLE.search(results[0])) or len(results) > 2:
        return None
    if len(results) == 1:
        return "read", {"target": handle[1]}
    return "grep", {"pattern": "day", "path": handle[1]}


class Messages:
    """Claude Code."""

    path = "/v1/messages"

    def results(self, asked: Json) -> list[str]:
        blocks = [block for message in asked["messages"] for block in message["content"] if isinstance(block, dict)]
        ours = [block for block in blocks if block.get("tool_use_id", "").startswith(OURS)]
        return [flat(block["content"]) for block in ours]

    def by_hand(self, asked: Json) -> bool:
        """Whether it has searched in its shell already."""
        return BY_HAND in json.dumps(asked["messages"])

    def events(self, asked: Json, call: tuple[str, Json] | None) -> Iterator[Json]:
        tools = [tool["name"] for tool in asked.get("tools", ())]
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": asked["model"], "content": []}
        yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
        block: Json
        if call is None or not tools:  # a title for the session is asked for without tools
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}
        elif not self.by_hand(asked):
            block = {"type": "tool_use", "id": "toolu_by_hand", "name": "Bash", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": BY_HAND})}
        elif f"mcp__llmc__{call[0]}" in tools:
            block = {"type": "tool_use", "id": f"{OURS}{call[0]}", "name": f"mcp__llmc__{call[0]}", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        else:  # its servers are still starting
            block = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": "WaitForMcpServers", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": "{}"}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
        yield {"type": "message_stop"}


class Responses:
    """Codex."""

    path = "/v1/responses"

    def results(self, asked: Json) -> list[str]:
        return [
            flat(item["output"])
            for item in asked["input"]
            if item.get("call_id", "").startswith(OURS) and "output" in item
        ]

    def events(self, asked: Json, call: tuple[str, Json] | None) -> Iterator[Json]:
        yield {"type": "response.created", "response": {"id": "r"}}
        item: Json = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": DONE}]}
        if call is not None and any(tool.get("name") == "mcp__llmc" for tool in asked["tools"]):
            item = {"type": "function_call", "call_id": f"{OURS}{call[0]}", "name": call[0], "namespace": "mcp__llmc"}
            item["arguments"] = json.dumps(call[1])
        elif call is not None:  # its servers are still starting
            item = {"type": "function_call", "call_id": uuid4().hex, "name": "exec_command"}
            item["arguments"] = json.dumps({"cmd": "sleep 2"})
        yield {"type": "response.output_item.done", "item": item}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        yield {"type": "response.completed", "response": {"id": "r", "usage": usage}}


class Chat:
    """opencode, with whatever speaks the chat completions of OpenAI."""

    path = "/chat/completions"

    def results(self, asked: Json) -> list[str]:
        return [flat(message["content"]) for message in asked["messages"] if message["role"] == "tool"]

    def events(self, asked: Json, call: tuple[str, Json] | None) -> Iterator[Json]:
        delta: Json = {"role": "assistant", "content": DONE}
        if call is not None and asked.get("tools"):
            function = {"name": f"llmc_{call[0]}", "arguments": json.dumps(call[1])}
            made = {"index": 0, "id": f"c_{call[0]}", "type": "function", "function": function}
            delta = {"role": "assistant", "tool_calls": [made]}
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": asked["model"]}
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        reason = "tool_calls" if "tool_calls" in delta else "stop"
        yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


class Contents:
    """Gemini CLI."""

    path = ":streamGenerateContent"

    def results(self, asked: Json) -> list[str]:
        parts = [part for content in asked["contents"] for part in content["parts"]]
        return [flat(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]

    def events(self, asked: Json, call: tuple[str, Json] | None) -> Iterator[Json]:
        part: Json = {"text": DONE}
        if call is not None and asked.get("tools"):
            part = {"functionCall": {"name": f"mcp_llmc_{call[0]}", "args": call[1]}}
        content = {"role": "model", "parts": [part]}
        yield {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": {}}


API = Messages | Responses | Chat | Contents
APIS: tuple[API, ...] = (Messages(), Responses(), Chat(), Contents())


def flat(content: object) -> str:
    """The texts in what a tool gave back, however a client wraps it."""
    if isinstance(content, str):
        return content
    inner = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return "\n".join(filter(None, map(flat, inner)))


class Model(ThreadingHTTPServer):
    """`results` are the texts that came back from tools, the longest list that was seen. `reminded`: the hook spoke."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Turn)
        self.results: list[str] = []
        self.reminded = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Turn(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        api = next((api for api in APIS if api.path in self.path), None)
        if api is None:  # counting tokens, telemetry
            self.send_error(404)
            return
        results = api.results(asked)
        self.server.results = max(self.server.results, results, key=len)
        self.server.reminded = self.server.reminded or REMINDER in json.dumps(asked, ensure_ascii=False)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in api.events(asked, next_call(results)):
            named = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{named}data: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_args: object) -> None:
        """Quiet: the clients print enough."""


@contextmanager
def serving() -> Iterator[Model]:
    with Model() as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        try:
            yield model
        finally:
            model.shutdown()
