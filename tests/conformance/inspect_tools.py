"""List and call every tool with the MCP Inspector's command line: `python inspect_tools.py NODE PACKAGE`.

Another client than the SDK's, by other people, over a real `llmc serve` in the demo workspace: by stdin and stdout, and
over HTTP. Every tool must answer with text; what it needs is filled in from `GIVEN`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parents[2]
DEMO = HERE / "data" / "demo"
GIVEN = {"target": "README.md", "name": "estimate_arrival"}
# Arguments of tools for which the general ones do not work.
OWN: dict[str, dict[str, str]] = {
    "path": {"source": "estimate_arrival", "target": "departure"},
    "session": {"action": "list"},
}
HANDLE = re.compile(r"→ (h[a-z2-7]{4,})")
ANYTHING = "arrival"
LLMC = (sys.executable, "-m", "llmc")


class Inspector:
    """`server` is a command or an address, and how to reach it."""

    def __init__(self, node: str, package: str, server: tuple[str, ...]) -> None:
        self._command = [node, str(Path(package).resolve() / "clients/launcher/build/index.js"), "--cli", *server]

    def ask(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run([*self._command, *arguments], cwd=DEMO, capture_output=True, text=True, check=False)
        if not done.stdout.lstrip().startswith("{"):
            raise SystemExit(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def main(node: str, package: str) -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as home:
        own = {"LLMC_HOME": home, "XDG_CONFIG_HOME": home, "PYTHONPATH": str(HERE)}
        environ = {**os.environ, **own}
        try:
            # The Inspector only passes on variables that are named.
            passed = [word for name, value in own.items() for word in ("-e", f"{name}={value}")]
            failed += every_tool(
                Inspector(node, package, (*passed, *LLMC, "serve", "--profile", "full", "--quiet")), keeps_handles=True
            )
            with listening(environ) as (url, token):
                header = ("--header", f"Authorization: Bearer {token}")
                failed += every_tool(
                    Inspector(node, package, (url, "--transport", "http", *header)), keeps_handles=False
                )
        finally:
            subprocess.run([*LLMC, "stop", "--quiet"], env=environ, check=False)
    return int(failed > 0)


@contextmanager
def listening(environ: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The address of /mcp with every tool, and the token."""
    command = [*LLMC, "serve", "--http", "127.0.0.1:0", "--profile", "full", "--json"]
    with subprocess.Popen(command, cwd=DEMO, env=environ, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        shown = subprocess.run([*LLMC, "token", "show"], env=environ, capture_output=True, text=True, check=True)
        try:
            yield f"{url}/mcp", shown.stdout.strip()
        finally:
            server.terminate()


def every_tool(inspector: Inspector, *, keeps_handles: bool) -> int:
    """How many of them failed. Over HTTP each command is a session of its own, which cannot open another's handles."""
    tools = inspector.ask("--method", "tools/list")["tools"]
    given = GIVEN
    if keeps_handles:
        given = {**GIVEN, "handle": handle_of(inspector)}
    else:
        tools = [tool for tool in tools if "handle" not in tool["inputSchema"].get("required", [])]
    return sum(not called(inspector, tool, given) for tool in tools)


def handle_of(inspector: Inspector) -> str:
    arguments = ("--tool-name", "grep", "--tool-arg", "pattern=return|import", "budget=80")
    cut = inspector.ask("--method", "tools/call", *arguments)
    found = HANDLE.search(cut["content"][0]["text"])
    if found is None:
        raise SystemExit(f"a grep that was cut has no handle: {cut}")
    return found[1]


def called(inspector: Inspector, tool: dict[str, Any], given: dict[str, str]) -> bool:
    own = OWN.get(tool["name"], {})
    needed = {name: given.get(name, ANYTHING) for name in tool["inputSchema"].get("required", [])} | own
    words = [f"{name}={value}" for name, value in needed.items()]
    arguments = ["--tool-arg", *words] if words else []
    reply = inspector.ask("--method", "tools/call", "--tool-name", tool["name"], *arguments)
    first = reply["content"][0]["text"].partition("\n")[0]
    wrong = "error: " if reply.get("isError") else ""
    sys.stdout.write(f"{tool['name']} {' '.join(words)}: {wrong}{first[:100]}\n")
    return bool(first) and not reply.get("isError")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
