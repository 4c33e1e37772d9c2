"""The scripted model for the four roles of the crew: it recognizes its role by the instructions.

Model names are those of `model_server` and apply to every role, unless prefixed by one: `grace:lying` lies as Grace and
is a good model in the other roles. Beatrice has two names more:

    forbidden  plans a command and a tool that does not exist      hollow  plans nothing that a tool takes
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import model_server

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["role_of", "serving_crew"]

SCRIPTED = model_server.message
STEP = {"tool": "search", "args": {"query": "deliver a parcel"}, "why": "the subject"}
PLANS: dict[str, list[dict[str, Any]]] = {
    "forbidden": [{"tool": "shell", "args": {"command": "rm -rf /"}, "why": ""}, {"tool": "rm_rf", "args": {}}, STEP],
    "hollow": [{"tool": "search", "args": {"nothing": "x"}, "why": ""}],
}


def role_of(request: dict[str, Any]) -> str:
    match = re.search(r"You are (Beatrice|Otto|Rem|Grace)", model_server.prompt_of(request))
    return match[1].lower() if match else ""


def message(step: str, request: dict[str, Any]) -> dict[str, Any]:
    role = role_of(request)
    whose, _, how = step.rpartition(":")
    if whose and whose != role:
        how = "good"
    if role in {"", "grace"} or how not in {"good", "lying", "forbidden", "hollow"}:
        return SCRIPTED("good" if how in {"forbidden", "hollow"} else how, request)
    if role == "beatrice":
        return {"content": json.dumps({"steps": PLANS.get(how, [STEP])})}
    if role == "otto":
        return {"content": json.dumps({"findings": ["the courier delivers"]})}
    gap = {"tool": "grep", "args": {"pattern": "class RetryPolicy"}, "why": "where it is defined"}
    return {"content": json.dumps({"enough": False, "gaps": [gap], "doubts": ["who calls it is not clear"]})}


@contextlib.contextmanager
def serving_crew() -> Iterator[model_server.ModelServer]:
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield model_server.ModelServer(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
    finally:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    model_server.message = message
    server = ThreadingHTTPServer(("127.0.0.1", 0), model_server.Scripted)
    server.daemon_threads = True
    print(server.server_port, flush=True)  # noqa: T201 - how its starter learns the port
    server.serve_forever()
