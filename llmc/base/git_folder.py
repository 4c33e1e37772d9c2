"""Where is the git directory of a root, which commit is the root at, and what is the repository called?

Files are read as text, bounded, never through links; of the configuration only the URL of `origin` is read, whose path
(`team/service`) is the repository's name. The git directory of a linked work tree may lie outside the root. It is used
only if the user owns it."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from llmc.base.errors import NotFoundError

__all__ = ["REPO_NAME", "GitCommit", "GitFolder", "git_folder", "name_of_remote", "origin_name"]

REMOTE: Final = re.compile(r"(?:[a-z+]+://[^/]+/|[^/@]+@[^:/]+:)(?P<path>.+?)(?:\.git)?/?")
REPO_NAME: Final = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*")


def name_of_remote(url: str) -> str:
    """Empty if the URL has no such path."""
    found = REMOTE.fullmatch(url.strip())
    name = found["path"].strip("/") if found else ""
    return name if REPO_NAME.fullmatch(name) else ""


SMALL_FILE: Final = 4_096
LARGEST_REFS: Final = 16 << 20
_REF = re.compile(r"ref: (refs/[\w./@+-]{1,200})\s*")
_ORIGIN = re.compile(r'\[remote "origin"\][^\[]*?\n\s*url\s*=\s*(?P<url>[^\n]+)')
LARGEST_CONFIG: Final = 64 << 10
_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class GitFolder:
    """`state` changes when older commits may have arrived: a shallow clone was deepened, objects were repacked.
    `borrows`: git would look for missing objects in another repository (alternates), which llmc does not read."""

    objects: str
    head: str
    state: str = ""
    borrows: bool = False


@dataclass(frozen=True, slots=True)
class GitCommit:
    """`paths` are the files changed relative to the first parent (none for a merge); `is_cut` if there were more."""

    id: str
    time: int
    author: str
    message: str
    parents: tuple[str, ...]
    paths: tuple[str, ...] = ()
    is_cut: bool = False


def git_folder(root: str) -> GitFolder:
    """Find the objects of a work tree and the commit it is at; NotFoundError if there is no history."""
    own, common = _folders(os.path.join(root, ".git"))  # noqa: PTH118 - text throughout, as in `paths`
    objects = os.path.join(common, "objects")  # noqa: PTH118
    for folder in (own, common, objects):
        if _changed_at(folder) is None:
            raise NotFoundError("there is no git history here", reason="the git directory is incomplete")
    packs = _changed_at(os.path.join(objects, "pack"))  # noqa: PTH118
    boundary = _small(os.path.join(common, "shallow"))  # noqa: PTH118 - commits whose parents were not fetched
    borrows = os.path.lexists(os.path.join(objects, "info", "alternates"))  # noqa: PTH118
    return GitFolder(objects, _head(own, common), f"{packs} {crc32(boundary.encode())}", borrows)


def origin_name(root: str) -> str:
    """The name of the repository by its remote `origin`, as `llmc publish` names it; empty if there is none."""
    try:
        _, common = _folders(os.path.join(root, ".git"))  # noqa: PTH118
    except NotFoundError:
        return ""
    section = _ORIGIN.search(_small(os.path.join(common, "config"), LARGEST_CONFIG))  # noqa: PTH118
    return name_of_remote(section["url"]) if section else ""


def _folders(place: str) -> tuple[str, str]:
    """(the git directory of this work tree, the one that its repository shares)"""
    try:
        mode = os.lstat(place).st_mode
    except OSError:
        raise NotFoundError("there is no git history here", reason="the root has no .git") from None
    if stat.S_ISDIR(mode):
        return place, place
    if not stat.S_ISREG(mode):
        raise NotFoundError("there is no git history here", reason=".git is neither a folder nor a file")
    named = _small(place).strip().removeprefix("gitdir:").strip()
    own = os.path.realpath(os.path.join(os.path.dirname(place), named))  # noqa: PTH118, PTH120
    shared = _small(os.path.join(own, "commondir")).strip()  # noqa: PTH118
    return own, os.path.realpath(os.path.join(own, shared)) if shared else own  # noqa: PTH118


def _changed_at(folder: str) -> int | None:
    """The time at which an entry was last added or removed; None if the folder does not exist. A link, or a folder of
    another user, is an error."""
    try:
        found = os.lstat(folder)
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        reason = "the git directory belongs to another user or is a link"
        raise NotFoundError("the git history is not read", reason=reason)
    return found.st_mtime_ns


def _small(path: str, most: int = SMALL_FILE) -> str:
    """The text of a regular file; empty if it does not exist or is a link."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        return file.read(most).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(handle).st_mode) else ""


def _head(own: str, common: str) -> str:
    text = _small(os.path.join(own, "HEAD")).strip()  # noqa: PTH118
    if _SHA.fullmatch(text):
        return text
    named = _REF.fullmatch(text)
    if named and ".." not in named[1]:
        for folder in (own, common):
            found = _small(os.path.join(folder, named[1])).strip()  # noqa: PTH118
            if _SHA.fullmatch(found):
                return found
        for line in _small(os.path.join(common, "packed-refs"), LARGEST_REFS).splitlines():  # noqa: PTH118
            sha, _, name = line.partition(" ")
            if name == named[1] and _SHA.fullmatch(sha):
                return sha
    raise NotFoundError("there is no git history here", reason="HEAD names no commit")
