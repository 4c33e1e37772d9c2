"""A real `llmc serve --http` in its own process, called like by any client."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
from daemons import Place, as_work_tree, private_place
from search_world import write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Served", "served"]


@dataclass
class Served:
    place: Place
    folder: Path
    url: str
    process: subprocess.Popen[str]
    tokens: dict[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def token(self, *arguments: str) -> str:
        if arguments not in self.tokens:
            self.tokens[arguments] = self.place.llmc("token", "show", *arguments).stdout.strip()
        return self.tokens[arguments]

    def client(self, token: str | None = None, **headers: str) -> httpx.Client:
        """`httpx` with the token, unless another is given; an empty one sends none."""
        token = self.token() if token is None else token
        authorization = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers={**authorization, **headers}, timeout=60, trust_env=False)

    def call(self, tool: str, /, *who: str | None, **args: Any) -> httpx.Response:
        """`who` is a token (None: the usual one) and the name of a session."""
        token, session = (*who, None, None)[:2] if who else (None, None)
        headers = {"Llmc-Session": session} if session else {}
        with self.client(token, **headers) as client:
            return client.post(f"/tools/{tool}", json=args)


@contextlib.contextmanager
def served(tmp_path: Path, *arguments: str, address: str = "127.0.0.1:0") -> Iterator[Served]:
    folder = tmp_path / "depot"
    folder.mkdir()
    write(folder)
    with private_place() as place:
        assert place.llmc("index", "--once", cwd=folder).returncode == 0
        command = [sys.executable, "-m", "llmc", "serve", "--http", address, "--json", *arguments]
        with subprocess.Popen(
            command,
            cwd=as_work_tree(folder),
            env=place.environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                assert line, process.stderr.read() if process.stderr else ""
                yield Served(place, folder, json.loads(line)["url"], process)
            finally:
                process.terminate()
