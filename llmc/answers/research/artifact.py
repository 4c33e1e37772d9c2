"""Report files: written only on request, only into the artifact folder, readable by their owner only.

The folder is opened once and all access is relative to its descriptor: names contain no slash, symbolic links are not
followed, and existing files are never overwritten. Names are checked before anything is opened, so a name that leads
out of the folder is an error. `handoff` produces the text.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from llmc.base.errors import ArtifactError, NotFoundError, QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.workspace import Workspace

__all__ = ["ArtifactFolder", "ArtifactListing", "artifacts_of", "file_name"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}\.md")
LARGEST = 1 << 20
MOST_SUFFIXES = 100
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class ArtifactListing:
    name: str
    written: float
    size: int


class ArtifactFolder:
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> str:
        """Write a new file and return its path; a number is appended to a name that exists."""
        check_name(name)
        data = text.encode("utf-8", "replace")
        with self._open_folder(make=True) as at:
            stem = name.removesuffix(".md")
            for number in range(1, MOST_SUFFIXES):
                chosen = name if number == 1 else f"{stem}-{number}.md"
                try:
                    fd = os.open(
                        chosen, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at
                    )
                except FileExistsError:
                    continue
                except OSError as error:
                    raise self._unusable(error) from None
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                return f"{self.folder}/{chosen}"
        raise ArtifactError(
            f"cannot write {name}",
            reason=f"{MOST_SUFFIXES - 1} artifacts have this name",
            hint="Choose another name, or delete old artifacts.",
        )

    def read(self, name: str) -> str:
        name = name if name.endswith(".md") else f"{name}.md"
        check_name(name)
        with self._open_folder() as at:
            try:
                fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
            except OSError:
                raise self._missing(name) from None
            with os.fdopen(fd, "rb") as file:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise self._missing(name)
                return file.read(LARGEST).decode("utf-8", "replace")

    def all(self) -> list[ArtifactListing]:
        """Newest first."""
        try:
            with self._open_folder() as at:
                found = [
                    (name, os.stat(name, dir_fd=at, follow_symlinks=False))
                    for name in os.listdir(at)  # noqa: PTH208 - listing a descriptor
                    if NAME.fullmatch(name)
                ]
        except NotFoundError:
            return []
        listed = [
            ArtifactListing(name, status.st_mtime, status.st_size)
            for name, status in found
            if stat.S_ISREG(status.st_mode)
        ]
        return sorted(listed, key=lambda one: (-one.written, one.name))

    @contextlib.contextmanager
    def _open_folder(self, *, make: bool = False) -> Iterator[int]:
        if make:
            try:
                os.makedirs(self.folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - strings, as in Home
            except OSError as error:
                raise self._unusable(error) from None
        try:
            at = os.open(self.folder, _FOLDER)
        except FileNotFoundError:
            raise NotFoundError(
                "there are no artifacts yet", hint="Create one with `research --artifact` or `handoff create`."
            ) from None
        except OSError as error:
            raise self._unusable(error) from None
        try:
            yield at
        finally:
            os.close(at)

    def _missing(self, name: str) -> NotFoundError:
        known = ", ".join(one.name for one in self.all()[:3])
        return NotFoundError(f"artifact {name} not found", hint=f"The most recent are {known}." if known else "")

    def _unusable(self, error: OSError) -> ArtifactError:
        return ArtifactError(
            "the artifact folder is not usable",
            reason=(error.strerror or "").lower(),
            hint="Set artifacts.folder to a folder that you own.",
        )


def check_name(name: str) -> str:
    if not NAME.fullmatch(name) or ".." in name:
        raise QueryError(
            f"invalid artifact name {name[:60]!r}",
            hint="Use letters, digits, dots, dashes and underscores, without a folder.",
        )
    return name


def file_name(prefix: str, title: str, now: float | None = None) -> str:
    """`research-20260131-120000-how-are-sessions-3f2a.md`."""
    slug = "-".join(re.findall(r"[a-z0-9]+", title.lower()))[:48].strip("-")
    digest = blake2b(title.encode("utf-8", "replace"), digest_size=2).hexdigest()
    moment = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return "-".join(part for part in (prefix, moment, slug, digest) if part) + ".md"


def artifacts_of(workspace: Workspace) -> ArtifactFolder:
    """The folder from the settings; a relative path is inside the state folder, never inside a root."""
    folder = str(workspace.settings.artifacts.folder)
    return ArtifactFolder(os.path.realpath(os.path.join(workspace.registry.home.path, folder)))  # noqa: PTH118 - strings, as in Home
