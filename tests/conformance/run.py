"""Run the conformance suite against the HTTP application: `python run.py NODE PACKAGE`, as `make conformance` does.

Every scenario of both eras must pass. The server's own example of the SDK passes all of them, so nothing is excused.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ERAS = ("2025-11-25", "2026-07-28")
PATIENCE = 60.0


def main(node: str, package: str) -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, str(Path(__file__).with_name("server.py")), str(port)])
    try:
        wait_for(port, server)
        suite = str(Path(package).resolve() / "dist" / "index.js")
        return max(run([node, suite], port, era) for era in ERAS)
    finally:
        server.terminate()
        server.wait()


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as peer:
            if peer.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the server did not start")


def run(suite: list[str], port: int, era: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = [*suite, "server", "--url", f"http://127.0.0.1:{port}/mcp"]
        command += ["--suite", "all", "--spec-version", era, "--output-dir", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    out = done.stdout + done.stderr
    failed = [line for line in out.splitlines() if "✗" in line or "FAILURE" in line]
    shown = failed or out.splitlines()[-1:]
    sys.stdout.write("\n".join([f"{era}: exit {done.returncode}", *shown, ""]))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
