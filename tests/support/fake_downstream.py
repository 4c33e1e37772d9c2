"""A downstream MCP server that does as its name says, in the standard library alone.

    fake_downstream.py BEHAVIOUR [STATE]

It notes what happens to it in STATE/events, so that tests wait on that. Tools: `echo` gives back its arguments, `env`
its variables; others by behaviour:

    good      no more                                  liar     tools with schemas that are none, and references
    flood     `flood` floods with notifications        hang     `hang` never answers, and notes when it is given up
    dies      `die` ends the program                   long     `long` answers with a line of 6 MB
    images    `picture` answers with binaries          secret   `secret` answers with a key, and writes it to stderr
    changing  the description is STATE/description     deaf     never answers anything
    big       `big` answers with 3,000 lines           many     `tool0` to `tool25`, with long descriptions
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

BEHAVIOUR = sys.argv[1]
STATE = Path(sys.argv[2]) if len(sys.argv) > 2 else None
TEXT = {"type": "object", "properties": {"text": {"type": "string", "description": "Anything."}}}
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
BINARY = base64.b64encode(bytes(range(256)) * 20).decode()
ROWS = {"rows": [{"name": f"row{number}", "size": number, "noise": "x" * 40} for number in range(30)]}
_lock = threading.Lock()


def tool(name: str, description: str = "A tool.", schema: Any = TEXT) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": schema}


def tools() -> list[Any]:
    own = {"flood": "flood", "hang": "hang", "dies": "die", "long": "long", "images": "picture"}
    own |= {"secret": "secret", "big": "big", "table": "rows"}
    found: list[Any] = [tool("echo", described()), tool("env")]
    if BEHAVIOUR in own:
        found.append(tool(own[BEHAVIOUR]))
    if BEHAVIOUR == "liar":
        deep: dict[str, Any] = {}
        for _ in range(200):
            deep = {"items": deep}
        remote = {"type": "object", "properties": {"x": {"$ref": f"http://127.0.0.1:{sys.argv[3]}/schema"}}}
        found += [tool("text", schema="no schema"), tool("deep", schema=deep), tool("remote", schema=remote)]
        found += [tool("bad name\n"), 17, {"description": "nameless"}, tool("array", schema={"type": "array"})]
    if BEHAVIOUR == "many":
        found = [tool(f"tool{number}", "Does a thing at length. " * 60) for number in range(26)]
    return found


def described() -> str:
    if BEHAVIOUR == "changing" and STATE is not None:
        return (STATE / "description").read_text()
    return "Gives back what it is given. A second sentence."


def call(identifier: Any, name: str, arguments: dict[str, Any]) -> None:
    text = json.dumps(ROWS if name == "rows" else arguments)
    if name == "env":
        text = json.dumps(dict(os.environ))
    elif name == "flood":
        while True:
            send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 900}})
    elif name == "hang":
        note(f"hang {identifier}")
        return
    elif name == "die":
        note("die")
        os._exit(3)
    elif name == "long":
        text = "x" * 6_000_000
    elif name == "secret":
        sys.stderr.write(f"the key is {KEY} {os.environ.get('TWIN_KEY')}\n")
        sys.stderr.flush()
        text = f"token = {KEY}"
    elif name == "big":
        text = "\n".join(f"line {number} of the answer" for number in range(3_000))
    elif name == "picture":
        resource = {"uri": "file:///a.bin", "mimeType": "application/pdf", "blob": BINARY}
        content = [
            {"type": "image", "mimeType": "image/png", "data": BINARY},
            {"type": "resource", "resource": resource},
            {"type": "text", "text": "two binaries"},
            "no block",
        ]
        reply(identifier, {"content": content})
        return
    note(f"{name} {json.dumps(arguments, sort_keys=True)}")
    reply(identifier, {"content": [{"type": "text", "text": text}]})


def reply(identifier: Any, result: Any) -> None:
    send({"jsonrpc": "2.0", "id": identifier, "result": result})


def send(message: Any) -> None:
    with _lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def note(text: str) -> None:
    if STATE is not None:
        with (STATE / "events").open("a") as file:
            file.write(f"{text}\n")


def take(message: dict[str, Any]) -> None:
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        about = {"name": BEHAVIOUR, "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        version = params["protocolVersion"]
        reply(message["id"], {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about})
    elif method == "tools/list":
        reply(message["id"], {"tools": tools()})
    elif method == "tools/call":
        threading.Thread(
            target=call, args=(message["id"], params["name"], params.get("arguments") or {}), daemon=True
        ).start()
    elif method == "notifications/cancelled":
        note(f"cancelled {params.get('requestId')}")
    elif "id" in message:
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}})


def main() -> None:
    note(f"started {os.getpid()}")
    sys.stdout.write("this is no protocol\n")
    for line in sys.stdin:
        if BEHAVIOUR != "deaf":
            take(json.loads(line))


if __name__ == "__main__":
    main()
