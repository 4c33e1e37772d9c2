"""Real `llmc serve --shared` processes, and an issuer of JWTs for them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from llmc.server.shared.token_file import add_token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daemons import Place

__all__ = ["JwtIssuer", "SharedNode", "jwt_issuer", "node", "tokens_in"]


@dataclass
class SharedNode:
    url: str
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)  # of stderr

    def client(self, token: str = "") -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)

    def post(self, token: str, tool: str, **args: Any) -> httpx.Response:
        with self.client(token) as client:
            return client.post(f"/tools/{tool}", json=args)

    def text(self, token: str, tool: str, **args: Any) -> str:
        return str(self.post(token, tool, **args).json()["text"])


@contextlib.contextmanager
def node(place: Place, url: str, *arguments: str, **variables: str) -> Iterator[SharedNode]:
    """A server with the hashing embedder; `arguments` say who may read."""
    command = [sys.executable, "-m", "llmc", "serve", "--http", "127.0.0.1:0", "--json", "--shared", url]
    process = subprocess.Popen(
        [*command, "--set", "embedder.kind=hash", *arguments],
        env={**place.environ, **variables},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        made = SharedNode("", process)
        reader = threading.Thread(target=made.lines.extend, args=(process.stderr,), daemon=True)
        reader.start()
        try:
            line = process.stdout.readline()
            assert line, made.lines
            made.url = json.loads(line)["url"]
            yield made
        finally:
            process.terminate()
            process.wait(30)
            reader.join(30)


def tokens_in(folder: Path, **callers: list[str]) -> tuple[str, dict[str, str]]:
    """A token file, and name → token."""
    path = str(folder / "tokens.toml")
    return path, {name: add_token(path, name, patterns) for name, patterns in callers.items()}


@dataclass
class JwtIssuer:
    url: str
    key: rsa.RSAPrivateKey
    requests: list[str] = field(default_factory=list)
    kid: str = "one"

    def token(self, audience: str, key: Any = None, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        algorithm = (headers or {}).get("alg", "RS256")
        body = {"iss": self.url, "aud": audience, "sub": "ann", "exp": int(time.time()) + 600, **claims}
        body = {name: value for name, value in body.items() if value is not None}
        return jwt.encode(body, key or self.key, algorithm, headers={"kid": self.kid, **(headers or {})})


@contextlib.contextmanager
def jwt_issuer() -> Iterator[JwtIssuer]:
    key = rsa.generate_private_key(65537, 2048)
    made = JwtIssuer("", key)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.requests.append(self.path)
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
            keys = {"keys": [{**public, "kid": made.kid, "use": "sig", "alg": "RS256"}]}
            found = {"jwks_uri": f"{made.url}/keys"} if "well-known" in self.path else keys
            body = json.dumps(found).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
