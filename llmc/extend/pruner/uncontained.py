"""Reads files and runs programs without containment, with the rights of the daemon's user, but with bounds."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["LARGEST", "run_free", "whole_file"]

LARGEST: Final = 16 << 20  # bytes of a file or an output
LOOK_SECONDS: Final = 0.1
GRACE_SECONDS: Final = 2.0  # between SIGTERM and SIGKILL


def whole_file(path: str) -> bytes:
    """The content of a file; does not block on pipes, and fails for files over the limit."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor
        data = bytearray()
        while piece := file.read(1 << 20):
            data += piece
            if len(data) > LARGEST:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return bytes(data)


def run_free(
    words: Sequence[str], cwd: str, cancelled: Callable[[], bool], environ: Mapping[str, str] | None = None
) -> tuple[int | None, bytes, bytes]:
    """(exit code or None, stdout, stderr). There is no time limit; the program is killed when the call is cancelled."""
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    outputs: list[bytearray] = [bytearray(), bytearray()]
    readers = [
        threading.Thread(target=drain, args=(stream, output), daemon=True)
        for stream, output in zip((process.stdout, process.stderr), outputs, strict=True)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        while reader.is_alive() and not cancelled():
            reader.join(LOOK_SECONDS)
    if cancelled():
        end(process)
    code = process.wait()
    for reader, stream in zip(readers, (process.stdout, process.stderr), strict=True):
        reader.join(GRACE_SECONDS)
        # A process that left the group may still hold the stream; its reader ends with that process.
        if stream is not None and not reader.is_alive():
            stream.close()
    return (code if code >= 0 else None), bytes(outputs[0]), bytes(outputs[1])


def drain(stream: Any, output: bytearray) -> None:
    """Read a stream to its end; bytes over the limit are dropped and counted."""
    dropped = 0
    while piece := stream.read1(1 << 16):
        room = max(0, LARGEST - len(output))
        output += piece[:room]
        dropped += len(piece) - min(room, len(piece))
    if dropped:
        output += f"\n[{dropped} bytes not kept]".encode()


def end(process: subprocess.Popen[bytes]) -> None:
    """Terminate the whole process group, then kill it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
