"""Converts paths between three forms: as typed by a user, root-relative strings (see `model`), and bytes on disk.

This module works on strings, and resolves links only to find out whether a typed path is inside a root. `root_fs` opens
files.
"""

from __future__ import annotations

import os
import re

from llmc.base.errors import NotFoundError, OutsideError

__all__ = ["LONGEST_PATH", "inside", "on_disk", "possible", "relative", "shown"]

LONGEST_PATH = 4095  # bytes; the kernel's limit
_ODD = re.compile(rb"(?:^|/)\.{0,2}(?:/|\Z)|\0")  # a part that is empty, `.` or `..`


def on_disk(path: str) -> bytes:
    """The bytes of a root-relative path in the form that `model` defines; other paths are refused."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:  # a lone surrogate from broken JSON
        name = b"\0"
    if not _ODD.search(name) and len(name) <= LONGEST_PATH:
        return name
    if name.startswith(b"/") or b".." in name.split(b"/"):
        raise OutsideError("this path is not in the workspace", reason="it is outside the root")
    raise NotFoundError(f"{shown(path[:100])} does not exist", reason="it is not a valid file name")


def relative(typed: str, cwd: str, root: str) -> str:
    """The root-relative path for `typed` in the folder `cwd`; OutsideError if it is outside `root`.

    The path is first tried without resolving links, so that a link inside the root keeps its own name. The error does
    not reveal whether a path outside exists.
    """
    full = os.path.normpath(os.path.join(cwd, typed))  # noqa: PTH118 - Path cannot remove `..` lexically
    if possible(full):
        parent, name = os.path.split(full)
        for candidate in (full, f"{os.path.realpath(parent)}/{name}", os.path.realpath(full)):
            path = inside(candidate, root)
            if path is not None:
                return path
    hint = "Give a path inside the root."
    raise OutsideError("this path is not in the workspace", reason="it is outside the root", hint=hint)


def inside(path: str, root: str) -> str | None:
    """`path` relative to `root`, compared as strings; "" for the root itself, None if it is outside."""
    if path == root:
        return ""
    prefix = root if root.endswith("/") else root + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def shown(path: str) -> str:
    """The path for a message, with unprintable characters escaped."""
    return path if path.isprintable() else ascii(path)[1:-1]


def possible(path: str) -> bool:
    """Whether the string can be a path: it can be encoded and has no NUL."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
