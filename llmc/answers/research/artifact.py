"""Reports on disk: written only on request, only into the artifact folder, for their owner alone.

The folder is opened once and everything happens relative to it: a name has no slash, no link is followed, a file that
is there is never written over. Names are checked before anything is opened, so that one that leads out is an error and
not a file. What the text says is the business of `handoff`.
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
TRIES = 100
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
        """The path of the new file; a name that is taken gets a number."""
        checked(name)
        data = text.encode("utf-8", "replace")
        with self._opened(make=True) as at:
            stem = name.removesuffix(".md")
            for number in range(1, TRIES):
                chosen = name if number == 1 else f"{stem}-{number}.md"
                try:
                    fd = os.open(
                        chosen, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at
                    )
                except FileExistsError:
                    continue
                except OSError as error:
                    raise self._failed(error) from None
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                return f"{self.folder}/{chosen}"
        raise ArtifactError(f"{name} is taken too often", hint="Give another name, or clear the artifact folder.")

    def read(self, name: str) -> str:
        name = name if name.endswith(".md") else f"{name}.md"
        checked(name)
        with self._opened() as at:
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
            with self._opened() as at:
                found = [
                    (name, os.stat(name, dir_fd=at, follow_symlinks=False))
                    for name in os.listdir(at)  # noqa: PTH208 - of a descriptor
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
    def _opened(self, *, make: bool = False) -> Iterator[int]:
        if make:
            try:
                os.makedirs(self.folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - strings, as in Home
            except OSError as error:
                raise self._failed(error) from None
        try:
            at = os.open(self.folder, _FOLDER)
        except FileNotFoundError:
            raise NotFoundError(
                "there are no artifacts yet", hint="`research --artifact` or `handoff create` writes one."
            ) from None
        except OSError as error:
            raise self._failed(error) from None
        try:
            yield at
        finally:
            os.close(at)

    def _missing(self, name: str) -> NotFoundError:
        known = ", ".join(one.name for one in self.all()[:3])
        return NotFoundError(f"there is no artifact {name}", hint=f"The newest are {known}." if known else "")

    def _failed(self, error: OSError) -> ArtifactError:
        return ArtifactError(
            "the artifact folder cannot be used",
            reason=(error.strerror or "").lower(),
            hint="Set artifacts.folder to a folder of yours.",
        )


def checked(name: str) -> str:
    if not NAME.fullmatch(name) or ".." in name:
        raise QueryError(
            f"{name[:60]!r} is no name for an artifact",
            hint="Use letters, digits, dots, dashes and underscores, and no folder.",
        )
    return name


def file_name(prefix: str, title: str, now: float | None = None) -> str:
    """`research-20260131-120000-how-are-sessions-3f2a.md`."""
    slug = "-".join(re.findall(r"[a-z0-9]+", title.lower()))[:48].strip("-")
    digest = blake2b(title.encode("utf-8", "replace"), digest_size=2).hexdigest()
    moment = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return "-".join(part for part in (prefix, moment, slug, digest) if part) + ".md"


def artifacts_of(workspace: Workspace) -> ArtifactFolder:
    """The folder that the settings name; a relative one lies in the state folder, never in a root."""
    folder = str(workspace.settings.artifacts.folder)
    return ArtifactFolder(os.path.realpath(os.path.join(workspace.registry.home.path, folder)))  # noqa: PTH118 - likewise
