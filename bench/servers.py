"""The peers: other MCP servers, from npm and PyPI, at pinned versions, each installed separately.

A peer that cannot be installed or started raises `CannotRun` with the reason, which the report shows instead of a
figure. An npm package whose install scripts fail is installed without them; browsers are never downloaded.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench import trees
from bench.stdio import Server

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ALLOWED", "PEERS", "CannotRun", "Peer", "are_allowed", "installed", "is_ready", "reason_of", "started"]

SECONDS = 1_200
# "no": programs of others are neither installed nor measured.
ALLOWED = "LLMC_BENCH_PEERS"


class CannotRun(Exception):  # noqa: N818 - it is a result of the bench, not a fault in it
    """Why a peer has no figures."""


@dataclass(frozen=True, slots=True)
class Peer:
    """`arguments` follow the program; `{repo}` is the folder that it is asked about, `{scratch}` one of its own."""

    name: str
    ecosystem: str  # npm or pip
    package: str
    version: str
    program: str
    arguments: tuple[str, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def folder(self) -> Path:
        return trees.cache() / "servers" / f"{self.name}-{self.version}"


PEERS = (
    Peer(
        "desktop-commander",
        "npm",
        "@wonderwhy-er/desktop-commander",
        "0.2.52",
        "desktop-commander",
        overrides={"typedarray.prototype.slice": "1.0.5"},
        note="adds a hint to eleven tools where it thinks that it runs in a container",
    ),
    Peer(
        "filesystem",
        "npm",
        "@modelcontextprotocol/server-filesystem",
        "2026.8.31",
        "mcp-server-filesystem",
        ("{repo}",),
    ),
    Peer("context-mode", "npm", "context-mode", "1.0.169", "context-mode"),
    Peer("codegraph", "npm", "@colbymchenry/codegraph", "1.6.1", "codegraph", ("serve", "--mcp")),
    Peer(
        "serena",
        "pip",
        "serena-agent",
        "2.1.0",
        "serena",
        ("start-mcp-server", "--context", "claude-code", "--project", "{repo}", "--enable-web-dashboard", "false"),
    ),
    Peer("semble", "pip", "semble", "0.7.0", "semble", note="with its extra `mcp`"),
    Peer("code-index", "pip", "code-index-mcp", "2.17.1", "code-index-mcp"),
    Peer("jcodemunch", "pip", "jcodemunch-mcp", "1.108.399", "jcodemunch-mcp"),
    Peer(
        "chunkhound",
        "pip",
        "chunkhound",
        "6.1.0",
        "chunkhound",
        ("mcp", "--stdio", "--no-embeddings", "--database-provider", "lancedb", "{repo}"),
        note="without embeddings: its model cannot be loaded offline",
    ),
    Peer("mcp-server-git", "pip", "mcp-server-git", "2026.10.19", "mcp-server-git", ("--repository", "{repo}")),
)


def installed(peer: Peer) -> Path:
    """Its program. Everything is installed once; an incomplete folder is created again."""
    if not are_allowed():
        raise CannotRun("left out: --peers was not given")
    if not is_ready(peer):
        shutil.rmtree(peer.folder, ignore_errors=True)
        peer.folder.mkdir(parents=True)
        (from_npm if peer.ecosystem == "npm" else from_pip)(peer)
        (peer.folder / ".ready").touch()
    inside = "node_modules/.bin" if peer.ecosystem == "npm" else "bin"
    program = peer.folder / inside / peer.program
    if not program.exists():
        raise CannotRun(f"{peer.package} {peer.version} has no program {peer.program}")
    return program


def are_allowed() -> bool:
    return os.environ.get(ALLOWED) != "no"


def is_ready(peer: Peer) -> bool:
    return (peer.folder / ".ready").exists()


def from_npm(peer: Peer) -> None:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise CannotRun(f"there is no {program} on this machine")
    wanted = {"private": True, "dependencies": {peer.package: peer.version}, "overrides": dict(peer.overrides)}
    (peer.folder / "package.json").write_text(json.dumps(wanted))
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(peer.folder)]
    try:
        run(command)
    except CannotRun:  # scripts that download or compile; a tool list mostly needs neither
        run([*command, "--ignore-scripts"])


def from_pip(peer: Peer) -> None:
    run([sys.executable, "-m", "venv", str(peer.folder)])
    extra = "[mcp]" if peer.name == "semble" else ""
    python = peer.folder / "bin" / "python"
    run([str(python), "-m", "pip", "install", "--quiet", f"{peer.package}{extra}=={peer.version}"])


def run(command: list[str]) -> None:
    environ = {**os.environ, "PUPPETEER_SKIP_DOWNLOAD": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(str(error)) from error
    if done.returncode:
        raise CannotRun(f"cannot be installed: {reason_of(done.stdout + done.stderr)}")


def reason_of(said: str) -> str:
    """The line that contains an error; the last one if none does."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors[:1] or lines[-1:] or ["it said nothing"])[0][:300]


def started(peer: Peer, repo: Path, scratch: Path) -> Server:
    """A context manager. Its home is the scratch folder: it neither reads nor changes a user's own settings."""
    program = installed(peer)
    names = {"{repo}": str(repo), "{scratch}": str(scratch)}
    arguments = [replaced(one, names) for one in peer.arguments]
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LLMC_", "VIRTUAL_ENV"))},
        "HOME": str(scratch),
        "XDG_CONFIG_HOME": str(scratch / "config"),
        "XDG_CACHE_HOME": str(scratch / "cache"),
        "XDG_DATA_HOME": str(scratch / "data"),
        "DO_NOT_TRACK": "1",
    }
    return Server([str(program), *arguments], cwd=repo, environ=environ)


def replaced(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(name, value)
    return text
