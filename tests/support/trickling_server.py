"""A server that sends a byte now and then and is never done: no time-out of a single read notices it."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["trickling"]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"


@contextlib.contextmanager
def trickling(*, head: bool = True, seconds: float = 0.05) -> Iterator[str]:
    """Its address. `head`: the head of the reply comes at once and the body trickles; else already the head does."""
    done = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def drip(peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            peer.recv(65_536)
            peer.sendall(HEAD if head else b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not done.wait(seconds):
                peer.sendall(b" " if head else b"x")

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listening.accept()
                threading.Thread(target=drip, args=(peer,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        done.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
