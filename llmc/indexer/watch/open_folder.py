"""Opens folders of a root for listing and watching, by descriptor and without leaving the root.

This uses `openat`, the resolver behind `RootFs`, and not a `RootFs`: that keeps the root's folder open, and the kernel
does not report the removal of a folder that is held open.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llmc.base import openat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.base.model import Root

__all__ = ["identity", "open_below", "open_root"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def identity(root: Root) -> tuple[int, int] | None:
    """Device and inode of the folder at the root's path; None when no folder there can be listed and entered."""
    try:
        with open_root(root) as fd:
            found = os.fstat(fd)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def open_root(root: Root) -> Iterator[int]:
    """The folder at the root's path now, so that a root that was deleted and created again is found. Keep it briefly.

    The final `.` requires permission to enter the folder as well: without it nothing below can be read.
    """
    top = os.open(f"{root.path}/.", _FOLDER)
    try:
        yield top
    finally:
        os.close(top)


def open_below(top: int, path: str) -> int:
    return openat.pick()(top, os.fsencode(path) + b"/.", _FOLDER)
