"""List and call every tool with the MCP Inspector's command line: `python inspect_tools.py NODE PACKAGE`.

Another client than the SDK's, by other people, over a real `llmc serve` in the demo workspace. Every tool must answer
with text; what it needs is filled in from `GIVEN`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2]
DEMO = HERE / "data" / "demo"
GIVEN = {"target": "README.md", "name": "estimate_arrival"}
ANYTHING = "arrival"


class Inspector:
    def __init__(self, node: str, package: str, environ: dict[str, str]) -> None:
        self._command = [node, str(Path(package).resolve() / "clients/launcher/build/index.js"), "--cli"]
        self._command += [sys.executable, "-m", "llmc", "serve", "--profile", "full", "--quiet"]
        self._environ = environ

    def ask(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [*self._command, *arguments], env=self._environ, cwd=DEMO, capture_output=True, text=True, check=False
        )
        if not done.stdout.lstrip().startswith("{"):
            raise SystemExit(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def main(node: str, package: str) -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "LLMC_HOME": home, "XDG_CONFIG_HOME": home, "PYTHONPATH": str(HERE)}
        inspector = Inspector(node, package, environ)
        try:
            for tool in inspector.ask("--method", "tools/list")["tools"]:
                failed += not called(inspector, tool)
        finally:
            subprocess.run([sys.executable, "-m", "llmc", "stop", "--quiet"], env=environ, check=False)
    return int(failed > 0)


def called(inspector: Inspector, tool: dict[str, Any]) -> bool:
    needed = [f"{name}={GIVEN.get(name, ANYTHING)}" for name in tool["inputSchema"].get("required", [])]
    arguments = ["--tool-arg", *needed] if needed else []
    reply = inspector.ask("--method", "tools/call", "--tool-name", tool["name"], *arguments)
    first = reply["content"][0]["text"].partition("\n")[0]
    wrong = "error: " if reply.get("isError") else ""
    sys.stdout.write(f"{tool['name']} {' '.join(needed)}: {wrong}{first[:100]}\n")
    return bool(first) and not reply.get("isError")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
