"""A model server that follows a script, for coding agents that need one: it speaks the API of each vendor.

A script is a list of `Step`s: a tool of llmc, a shell command, or a sub-agent. The n-th reply of a conversation is the
n-th step; afterwards the model ends the turn. A request whose prompt contains `SUBTASK` belongs to the sub-agent, which
has a script of its own. Every request is recorded: which tools the client offered, and what the tools returned.
"""

from __future__ import annotations

import json
import os
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SUBTASK", "Conversation", "Model", "Step", "serving"]

Json = dict[str, Any]

SUBTASK = "Find the code that estimates the arrival day, as a sub-agent."
DONE = "That is all."
OURS = "toolu_llmc_"
HANDLE = re.compile(r"→ (h[0-9a-z]+)")
AGENT = re.compile(r'"agent_id":"([^"]+)"')


@dataclass(frozen=True)
class Step:
    """`tool` is a tool of llmc, `shell`, `task` (start a sub-agent) or `wait` (for it, where it runs by itself).

    `{handle}` in an argument is the handle of the first result, `{agent}` what starting the sub-agent returned.
    """

    tool: str
    args: Json

    def arguments(self, results: list[str]) -> Json:
        handle = HANDLE.search(results[0]) if results else None
        agent = AGENT.search(results[-1]) if results else None
        named = {"{handle}": handle[1] if handle else "none", "{agent}": agent[1] if agent else "none"}
        return {key: named.get(value, value) for key, value in self.args.items()}


@dataclass
class Conversation:
    """What one conversation has shown: `offered` are the tools in its first request, `results` what tools returned."""

    offered: list[str] = field(default_factory=list)
    text: str = ""
    results: list[str] = field(default_factory=list)
    waits: int = 0


class Call(NamedTuple):
    """`name` as the client knows the tool; `id` begins with `OURS` if the call is a step of the script."""

    name: str
    args: Json
    id: str


class Api(Protocol):
    path: str

    def prompt(self, asked: Json) -> str:
        """The user's text in the first messages."""

    def tools(self, asked: Json) -> list[str]: ...

    def results(self, asked: Json) -> list[str]: ...

    def call(self, step: Step, args: Json) -> tuple[str, Json]: ...

    def wait(self) -> tuple[str, Json]:
        """A harmless call while the client's servers start."""

    def events(self, asked: Json, call: Call | None) -> Iterator[Json]: ...


class Messages:
    """Claude Code."""

    path = "/v1/messages"

    def prompt(self, asked: Json) -> str:
        return flat(next((one["content"] for one in asked["messages"] if one["role"] == "user"), ""))

    def tools(self, asked: Json) -> list[str]:
        return [tool["name"] for tool in asked.get("tools", ()) if not tool.get("defer_loading")]

    def results(self, asked: Json) -> list[str]:
        blocks = [block for message in asked["messages"] for block in message["content"] if isinstance(block, dict)]
        ours = [block for block in blocks if block.get("tool_use_id", "").startswith(OURS)]
        return [flat(block.get("content", "")) for block in ours]

    def call(self, step: Step, args: Json) -> tuple[str, Json]:
        if step.tool == "shell":
            return "Bash", {**args, "description": "search"}
        if step.tool == "task":
            return "Agent", {"description": "find it", "prompt": SUBTASK, "subagent_type": "general-purpose"}
        if step.tool == "wait":
            return "Bash", {"command": "sleep 4", "description": "wait for the sub-agent"}
        return f"mcp__llmc__{step.tool}", args

    def wait(self) -> tuple[str, Json]:
        return "Bash", {"command": "true", "description": "wait"}

    def events(self, asked: Json, call: Call | None) -> Iterator[Json]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": asked["model"], "content": []}
        yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
        block: Json = {"type": "text", "text": ""}
        delta: Json = {"type": "text_delta", "text": DONE}
        if call is not None:
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call.args)}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        reason = "tool_use" if call is not None else "end_turn"
        yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
        yield {"type": "message_stop"}


class Responses:
    """Codex."""

    path = "/v1/responses"

    def prompt(self, asked: Json) -> str:
        return flat([item["content"] for item in asked["input"] if item.get("role") == "user"])

    def tools(self, asked: Json) -> list[str]:
        names = []
        for tool in asked.get("tools", ()):
            names.append(str(tool.get("name", tool.get("type"))))
            names += [f"{tool.get('name')}__{one.get('name')}" for one in tool.get("tools", ())]
        return names

    def results(self, asked: Json) -> list[str]:
        outputs = [item for item in asked["input"] if "output" in item]
        return [flat(item["output"]) for item in outputs if item.get("call_id", "").startswith(OURS)]

    def call(self, step: Step, args: Json) -> tuple[str, Json]:
        if step.tool == "shell":
            return "exec_command", {"cmd": args["command"]}
        if step.tool == "task":
            return "multi_agent_v1__spawn_agent", {"message": SUBTASK}
        if step.tool == "wait":
            return "multi_agent_v1__wait_agent", {"targets": [args["agent"]], "timeout_ms": 60_000}
        return f"mcp__llmc__{step.tool}", args

    def wait(self) -> tuple[str, Json]:
        return "exec_command", {"cmd": "sleep 1"}

    def events(self, asked: Json, call: Call | None) -> Iterator[Json]:  # noqa: ARG002 - as in `Api`
        yield {"type": "response.created", "response": {"id": "r"}}
        item: Json = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": DONE}]}
        if call is not None:
            namespace, _, name = call.name.rpartition("__")
            item = {"type": "function_call", "call_id": call.id, "name": name, "arguments": json.dumps(call.args)}
            item |= {"namespace": namespace} if namespace else {}
        yield {"type": "response.output_item.done", "item": item}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        yield {"type": "response.completed", "response": {"id": "r", "usage": usage}}


class Chat:
    """opencode, with whatever speaks the chat completions of OpenAI."""

    path = "/chat/completions"

    def prompt(self, asked: Json) -> str:
        return flat(next((one["content"] for one in asked["messages"] if one["role"] == "user"), ""))

    def tools(self, asked: Json) -> list[str]:
        return [tool["function"]["name"] for tool in asked.get("tools", ())]

    def results(self, asked: Json) -> list[str]:
        tools = [message for message in asked["messages"] if message["role"] == "tool"]
        return [flat(message["content"]) for message in tools if message["tool_call_id"].startswith(OURS)]

    def call(self, step: Step, args: Json) -> tuple[str, Json]:
        if step.tool == "shell":
            return "bash", {**args, "description": "search"}
        if step.tool == "task":
            return "task", {"description": "find it", "prompt": SUBTASK, "subagent_type": "general"}
        if step.tool == "wait":
            return self.wait()
        return f"llmc_{step.tool}", args

    def wait(self) -> tuple[str, Json]:
        return "bash", {"command": "sleep 1", "description": "wait"}

    def events(self, asked: Json, call: Call | None) -> Iterator[Json]:
        delta: Json = {"role": "assistant", "content": DONE}
        if call is not None:
            function = {"name": call.name, "arguments": json.dumps(call.args)}
            delta = {
                "role": "assistant",
                "tool_calls": [{"index": 0, "id": call.id, "type": "function", "function": function}],
            }
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": asked["model"]}
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        reason = "tool_calls" if call is not None else "stop"
        yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


class Contents:
    """Gemini CLI."""

    path = ":streamGenerateContent"

    def prompt(self, asked: Json) -> str:
        return flat([part for content in asked["contents"][:2] for part in content["parts"]])

    def tools(self, asked: Json) -> list[str]:
        groups = [tool.get("functionDeclarations", ()) for tool in asked.get("tools", ())]
        return [one["name"] for group in groups for one in group]

    def results(self, asked: Json) -> list[str]:
        parts = [part for content in asked["contents"] for part in content["parts"]]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        return [flat(one["response"]) for one in answers if str(one.get("id", OURS)).startswith(OURS)]

    def call(self, step: Step, args: Json) -> tuple[str, Json]:
        if step.tool == "shell":
            return "run_shell_command", {**args, "description": "search"}
        if step.tool == "task":
            return "invoke_agent", {"agent_name": "generalist", "prompt": SUBTASK}
        if step.tool == "wait":
            return self.wait()
        return f"mcp_llmc_{step.tool}", args

    def wait(self) -> tuple[str, Json]:
        return "list_directory", {"dir_path": "."}

    def events(self, asked: Json, call: Call | None) -> Iterator[Json]:  # noqa: ARG002 - as in `Api`
        part: Json = {"text": DONE}
        if call is not None:
            part = {"functionCall": {"id": call.id, "name": call.name, "args": call.args}}
        content = {"role": "model", "parts": [part]}
        yield {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": {}}


APIS: tuple[Api, ...] = (Messages(), Responses(), Chat(), Contents())


def flat(content: object) -> str:
    """The texts in a tool result, however a client wraps it."""
    if isinstance(content, str):
        return content
    inner = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return "\n".join(filter(None, map(flat, inner)))


class Model(ThreadingHTTPServer):
    def __init__(self, script: list[Step], sub_script: list[Step]) -> None:
        super().__init__(("127.0.0.1", 0), Turn)
        self._scripts = {"main": script, "sub": sub_script}
        self.main, self.sub = Conversation(), Conversation()
        self._lock = threading.Lock()
        self._requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def next_call(self, api: Api, asked: Json) -> Call | None:
        """The next step of the conversation, a wait until its tool is offered, or None at the end."""
        offered = api.tools(asked)
        if not offered:
            return None  # a title or a summary, which clients request without tools
        which = "sub" if SUBTASK in api.prompt(asked) else "main"
        with self._lock:
            return self._step(api, asked, offered, which)

    def _step(self, api: Api, asked: Json, offered: list[str], which: str) -> Call | None:
        conversation: Conversation = getattr(self, which)
        conversation.offered = conversation.offered or offered
        conversation.text += json.dumps(asked, ensure_ascii=False)
        results = api.results(asked)
        conversation.results = max(conversation.results, results, key=len)
        script = self._scripts[which]
        if len(results) >= len(script):
            return None
        step = script[len(results)]
        name, args = api.call(step, step.arguments(results))
        # Claude Code names the tools of a plugin's server after the plugin.
        name = next((one for one in offered if one == f"mcp__plugin_llmc_llmc__{step.tool}"), name)
        if name not in offered and name != "Agent" and conversation.waits < 20:
            conversation.waits += 1
            return Call(*api.wait(), f"wait_{uuid4().hex[:12]}")
        return Call(name, args, f"{OURS}{which}_{len(results)}")

    def keep(self, path: str, body: bytes) -> None:
        """Writes the request to the folder LLMC_AGENT_REQUESTS, for inspection."""
        if folder := os.environ.get("LLMC_AGENT_REQUESTS"):
            with self._lock:
                self._requests += 1
                number = self._requests
            Path(folder).mkdir(parents=True, exist_ok=True)
            Path(folder, f"{number:03d}.json").write_bytes(path.encode() + b"\n" + body)


class Turn(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.keep(self.path, body)
        api = next((api for api in APIS if api.path in self.path and "count_tokens" not in self.path), None)
        if api is None:  # counting tokens, telemetry
            self.send_error(404)
            return
        asked = json.loads(body)
        call = self.server.next_call(api, asked)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in api.events(asked, call):
            named = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{named}data: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_args: object) -> None:
        """Prints nothing: the clients print enough."""


@contextmanager
def serving(script: list[Step], sub_script: list[Step]) -> Iterator[Model]:
    with Model(script, sub_script) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        try:
            yield model
        finally:
            model.shutdown()
