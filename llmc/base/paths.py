"""The forms of a path: as a user types it, as model.py fixes it (root-relative text), and as the bytes on the disk.

Only text is decided here, and where a typed path leads by way of links outside a root. Nothing is opened: that is
left to `door`.
"""

from __future__ import annotations

import os
import re

from llmc.base.errors import NotFoundError, OutsideError

__all__ = ["LONGEST_PATH", "inside", "on_disk", "possible", "relative", "shown"]

LONGEST_PATH = 4095  # bytes: what the kernel takes in one call
_ODD = re.compile(rb"(?:^|/)\.{0,2}(?:/|\Z)|\0")  # a part that is empty, `.` or `..`


def on_disk(path: str) -> bytes:
    """The bytes of a root-relative path that is of the form that model.py fixes; any other is refused."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair, as broken JSON has it
        name = b"\0"
    if not _ODD.search(name) and len(name) <= LONGEST_PATH:
        return name
    if name.startswith(b"/") or b".." in name.split(b"/"):
        raise OutsideError("this path is not in the workspace", reason="it leads out of the root")
    raise NotFoundError(f"{shown(path[:100])} does not exist", reason="no file can have this name")


def relative(typed: str, cwd: str, root: str) -> str:
    """The path in `root` that a user means by `typed` in the folder `cwd`; OutsideError if there is none.

    The text is tried before any link is resolved, so that a link inside the root keeps its own name. The error is the
    same whether the outside path exists or not.
    """
    full = os.path.normpath(os.path.join(cwd, typed))  # noqa: PTH118 - Path cannot take away `..` by its text
    if possible(full):
        parent, name = os.path.split(full)
        for candidate in (full, f"{os.path.realpath(parent)}/{name}", os.path.realpath(full)):
            path = inside(candidate, root)
            if path is not None:
                return path
    hint = "Give a path inside the root."
    raise OutsideError("this path is not in the workspace", reason="it lies outside the root", hint=hint)


def inside(path: str, root: str) -> str | None:
    """`path` relative to `root`, by their text alone; "" for the root itself, None outside of it."""
    if path == root:
        return ""
    prefix = root if root.endswith("/") else root + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def shown(path: str) -> str:
    """The path for a message: whatever a terminal or a log could stumble over is escaped."""
    return path if path.isprintable() else ascii(path)[1:-1]


def possible(path: str) -> bool:
    """Whether the system can be asked about this text at all."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
