"""Object storage for tests and benchmarks: SeaweedFS (S3) and Azurite (Azure), and a proxy that makes either misbehave.

`LLMC_TEST_WEED` names the `weed` program and `LLMC_TEST_AZURITE` the `azurite-blob` script; `make test-shared` sets
both. A missing one is an error, never a reason to skip.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ObjectStorage", "StorageProxy", "azurite", "free_ports", "proxied", "seaweed"]

KEY, SECRET = "llmctestkey", "llmctestsecret"
# The account of every Azurite; it is published in its documentation.
AZURE_NAME = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
START_SECONDS = 60.0


@dataclass
class ObjectStorage:
    """`base` is an URL that prefixes are added to; `environ` are the variables that lead to it."""

    base: str
    port: int
    environ: dict[str, str]

    def through(self, port: int) -> dict[str, str]:
        """The variables, with a proxy in between."""
        return {name: value.replace(f":{self.port}", f":{port}") for name, value in self.environ.items()}


def program(variable: str, meaning: str) -> str:
    found = os.environ.get(variable, "")
    assert found, f"{variable} must name {meaning}: run `make test-shared`"
    assert Path(found).exists(), f"there is no {found}"
    return found


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL) as process,
    ):
        try:
            wait_for_port(port, process)
            yield
        finally:
            process.kill()


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise AssertionError(f"{process.args!r} does not listen at {port}")


@contextlib.contextmanager
def seaweed(folder: Path) -> Iterator[ObjectStorage]:
    """One server with everything, on loopback."""
    folder.mkdir(parents=True, exist_ok=True)
    s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc = free_ports(8)
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    (folder / "data").mkdir(exist_ok=True)
    command = [
        program("LLMC_TEST_WEED", "the `weed` program"),
        "server",
        "-ip=127.0.0.1",
        f"-dir={folder / 'data'}",
        "-s3",
        f"-s3.config={folder / 's3.json'}",
        f"-s3.port={s3}",
        f"-s3.port.grpc={s3_grpc}",
        "-s3.port.iceberg=0",  # off, as the next: two servers on a machine would have the same port
        "-s3.port.lance=0",
        f"-master.port={master}",
        f"-master.port.grpc={master_grpc}",
        "-master.volumeSizeLimitMB=256",
        f"-volume.port={volume}",
        f"-volume.port.grpc={volume_grpc}",
        "-volume.max=100",
        f"-filer.port={filer}",
        f"-filer.port.grpc={filer_grpc}",
    ]
    environ = {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3}",
    }
    with running(command, folder, s3):
        make_bucket(environ)
        yield ObjectStorage("s3://llmc", s3, environ)


def make_bucket(environ: dict[str, str]) -> None:
    """The first requests may come before the master has a leader."""
    from obstore.store import S3Store

    endpoint = environ["AWS_ENDPOINT_URL"]
    options = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region": "us-east-1", "endpoint": endpoint}
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            store = S3Store("llmc", config=options, client_options={"allow_http": True})  # type: ignore[arg-type]
            store.put("probe/ready", b"yes")  # SeaweedFS makes the bucket with its first object
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
        else:
            return


@contextlib.contextmanager
def azurite(folder: Path) -> Iterator[ObjectStorage]:
    folder.mkdir(parents=True, exist_ok=True)
    (port,) = free_ports(1)
    script = program("LLMC_TEST_AZURITE", "the script `azurite-blob`")
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder), "--silent"]
    environ = {
        "AZURE_STORAGE_ACCOUNT_NAME": AZURE_NAME,
        "AZURE_STORAGE_ACCOUNT_KEY": AZURE_KEY,
        "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{AZURE_NAME}",
        "AZURE_STORAGE_ALLOW_HTTP": "true",
    }
    with running([script, *options, "--skipApiVersionCheck"], folder, port):
        make_container(f"http://127.0.0.1:{port}/{AZURE_NAME}/llmc?restype=container", port)
        yield ObjectStorage("az://llmc", port, environ)


def make_container(url: str, port: int) -> None:
    """With a signature of the Shared Key scheme, which no library here makes for containers."""
    import base64
    import hashlib
    import hmac
    from email.utils import formatdate

    date = formatdate(usegmt=True)
    canonical = f"x-ms-date:{date}\nx-ms-version:2021-12-02\n/{AZURE_NAME}/{AZURE_NAME}/llmc\nrestype:container"
    text = "PUT" + "\n" * 12 + canonical
    signature = base64.b64encode(hmac.digest(base64.b64decode(AZURE_KEY), text.encode(), hashlib.sha256)).decode()
    headers = {
        "x-ms-date": date,
        "x-ms-version": "2021-12-02",
        "Authorization": f"SharedKey {AZURE_NAME}:{signature}",
        "Content-Length": "0",
        "Host": f"127.0.0.1:{port}",
    }
    request = urllib.request.Request(url, method="PUT", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 201


@dataclass
class StorageProxy:
    """Forwards to the storage. `latency` delays every request; `refuses` drops connections; `full` answers writes with
    507; `on_request` gets the number of each request before it is forwarded."""

    target: int
    port: int = 0
    latency: float = 0.0
    refuses: bool = False
    full: bool = False
    requests: int = 0
    on_request: Callable[[int], None] = field(default=lambda _number: None)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: set[socket.socket] = field(default_factory=set)

    def accept(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            if self.refuses:
                client.close()
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client, socket.create_connection(("127.0.0.1", self.target)) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            back = threading.Thread(target=self._copy_back, args=(server, client), daemon=True)
            back.start()
            while data := client.recv(1 << 16):
                if data.split(b" ", 1)[0] in {b"GET", b"PUT", b"HEAD", b"POST", b"DELETE"}:
                    self._begin(data, client)
                if self.refuses:
                    return
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
            back.join()

    def _begin(self, data: bytes, client: socket.socket) -> None:
        with self._lock:
            self.requests += 1
            number = self.requests
        self.on_request(number)
        if self.latency:
            time.sleep(self.latency)
        if self.full and data.startswith((b"PUT", b"POST")):
            client.sendall(b"HTTP/1.1 507 Insufficient Storage\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            raise OSError("full")

    def _copy_back(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """Refuses from now on, and ends open connections."""
        self.refuses = True
        with self._lock:
            for one in self._open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            self._open.clear()


@contextlib.contextmanager
def proxied(port: int) -> Iterator[StorageProxy]:
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
        proxy = StorageProxy(port, listening.getsockname()[1])
        accepting = threading.Thread(target=proxy.accept, args=(listening,), daemon=True)
        accepting.start()
        try:
            yield proxy
        finally:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            accepting.join(10)
            proxy.cut()
