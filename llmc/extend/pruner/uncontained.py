"""Reads files and runs programs without containment, with the rights of the daemon's user, but with bounds."""

from __future__ import annotations

import errno
import os
import subprocess
from typing import TYPE_CHECKING, Final

from llmc.base.process import end_group, read_output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["LARGEST", "run_free", "whole_file"]

LARGEST: Final = 16 << 20  # bytes of a file or an output
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
    assert process.stdout is not None
    assert process.stderr is not None
    outputs = {process.stdout.fileno(): BoundedOutput(), process.stderr.fileno(): BoundedOutput()}
    sinks = {fd: output.add for fd, output in outputs.items()}
    try:
        if not read_output(process, sinks, proceed=lambda: not cancelled()):
            end_group(process, GRACE_SECONDS)
        code = process.wait()
    finally:
        process.stdout.close()
        process.stderr.close()
    out, err = (output.done() for output in outputs.values())
    return (code if code >= 0 else None), out, err


class BoundedOutput:
    """The beginning of an output; bytes over the limit are dropped and counted."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._dropped = 0

    def add(self, piece: bytes) -> None:
        room = max(0, LARGEST - len(self._data))
        self._data += piece[:room]
        self._dropped += max(0, len(piece) - room)

    def done(self) -> bytes:
        note = f"\n[{self._dropped} bytes not kept]".encode() if self._dropped else b""
        return bytes(self._data) + note
