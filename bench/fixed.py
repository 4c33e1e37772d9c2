"""What does a session pay before anything is asked?

    python -m bench.fixed [--json FILE] [--peer NAME …]

`definitions` is the compact JSON of name, description and input schema of every tool that the server lists;
`instructions` what it says of itself when greeted; `whole` the list as it comes over the wire. Fair because every
server is started for real, at a pinned version, in the same folder, and counted by the same rule; llmc goes the same
way as the others. A client that loads definitions on demand pays for `names` first.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import trees
from bench.servers import PEERS, CannotRun, Peer, are_allowed, started
from bench.stdio import Server, ServerError
from llmc.envelope.tokens import count

__all__ = ["PROFILES", "compact", "counted", "measure", "ours", "shown"]

PROFILES = ("lean", "research", "full", "pruner")
SHOWN = ("name", "description", "inputSchema")
DEMO = Path(__file__).parent.parent / "data" / "demo"


def counted(tools: list[dict[str, Any]], instructions: str) -> dict[str, int]:
    definitions, said = count(compact(shown(tools))), count(instructions) if instructions else 0
    return {
        "tools": len(tools),
        "definitions": definitions,
        "instructions": said,
        "fixed": definitions + said,
        "whole": count(compact(tools)) + said,
        "names": count(compact([tool["name"] for tool in tools])),
    }


def shown(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each definition as clients show it to their model."""
    return [{key: tool[key] for key in SHOWN if key in tool} for tool in tools]


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def ours(profile: str, scratch: Path, *settings: str, repo: Path = DEMO) -> Server:
    """`llmc serve` with its own home and a daemon that ends with it."""
    flags = [part for one in settings for part in ("--set", one)]
    command = [sys.executable, "-P", "-m", "llmc", "serve", "--no-daemon", "--profile", profile, *flags]
    return Server(command, cwd=repo, environ=at_home(scratch, repo))


def at_home(scratch: Path, root: Path) -> dict[str, str]:
    """The root is named, since an unpacked archive is no git work tree."""
    home = {
        "LLMC_HOME": str(scratch / "home"),
        "XDG_CONFIG_HOME": str(scratch / "config"),
        "LLMC_ROOTS": str(root),
    }
    path = os.pathsep.join((str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")))
    return {**os.environ, **home, "PYTHONPATH": path}


def measure(peers: tuple[Peer, ...] = PEERS) -> list[dict[str, Any]]:
    """One row per server; a server that cannot run has `problem` and no figures."""
    rows = [row(f"llmc {name}", "this checkout", lambda scratch, name=name: ours(name, scratch)) for name in PROFILES]
    for peer in peers if are_allowed() else ():
        print(f"  {peer.name} {peer.version}", file=sys.stderr, flush=True)
        rows.append(
            row(peer.name, peer.version, lambda scratch, peer=peer: started(peer, repository(scratch), scratch))
        )
    return rows


def repository(scratch: Path) -> Path:
    """A copy of the demo workspace with a history, which some servers require; some write into it."""
    target = scratch / "demo"
    shutil.copytree(DEMO, target)
    trees.commit(target)
    return target


def row(name: str, version: str, start: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="llmc-bench-", ignore_cleanup_errors=True) as scratch:
        try:
            with start(Path(scratch)) as server:
                return {"server": name, "version": version, **counted(server.tools(), server.instructions)}
        except (CannotRun, ServerError) as error:
            return {"server": name, "version": version, "problem": str(error)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", action="append", help="only these, besides llmc")
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    rows = measure(tuple(peer for peer in PEERS if not given.peer or peer.name in given.peer))
    for one in rows:
        told = one.get("problem") or f"{one['fixed']:>7,} tokens, {one['tools']} tools"
        print(f"{one['server']:20} {one['version']:14} {told}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
