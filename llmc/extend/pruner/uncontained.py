"""Files and programs without containment: whatever the daemon's user may do, but never without an end."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["LARGEST", "run_free", "whole_file"]

LARGEST: Final = 16 << 20  # bytes of a file or an output
LOOK_SECONDS: Final = 0.1
GRACE_SECONDS: Final = 2.0  # between asking a command to end and ending it


def whole_file(path: str) -> bytes:
    """Without waiting for whoever should write into a pipe, and without end for what has none."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor
        data = bytearray()
        while piece := file.read(1 << 20):
            data += piece
            if len(data) > LARGEST:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return bytes(data)


def run_free(words: Sequence[str], cwd: str, cancelled: Callable[[], bool]) -> tuple[int | None, bytes, bytes]:
    """(exit code or None, stdout, stderr). There is no time limit; it ends when nobody waits for it any more."""
    process = subprocess.Popen(
        words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
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
        # Something that left the group may hold it still; its reader then ends with it.
        if stream is not None and not reader.is_alive():
            stream.close()
    return (code if code >= 0 else None), bytes(outputs[0]), bytes(outputs[1])


def drain(stream: Any, output: bytearray) -> None:
    """To its end; what is over the limit is counted and dropped."""
    dropped = 0
    while piece := stream.read1(1 << 16):
        room = max(0, LARGEST - len(output))
        output += piece[:room]
        dropped += len(piece) - min(room, len(piece))
    if dropped:
        output += f"\n[{dropped} bytes not kept]".encode()


def end(process: subprocess.Popen[bytes]) -> None:
    """The whole process group: asked first, then ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
