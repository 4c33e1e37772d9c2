"""A user's config file: read whole, changed at once or not at all, the old one kept beside it.

Links are followed, so that a file kept in a dotfiles repository is changed there and stays linked. A file that another
program writes at the same moment is noticed and read again; one that is not text is refused.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.errors import ConfigError
from llmc.install.jsonc import BrokenError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Edit", "EditOutcome", "change"]

BOM = "\ufeff"
TRIES = 5
LARGEST = 64 << 20


@dataclass(frozen=True, slots=True)
class Edit:
    """`apply` goes from the text as it is (None: no file) and as it was before llmc came (likewise) to the text that is
    wanted; `holds` says whether a text has anything of ours."""

    apply: Callable[[str | None, str | None], str | None]
    holds: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """`after` is None for a file that was removed or never was."""

    path: Path
    before: str | None
    after: str | None
    backup: Path | None = None

    @property
    def changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class ConfigFile:
    text: str | None
    bom: str = ""
    stamp: tuple[int, ...] = ()
    mode: int = 0


def change(path: Path, edit: Edit, *, write: bool = True) -> EditOutcome:
    """Apply an edit; what was there before is kept as a backup."""
    target, backup = real(path), path.with_name(path.name + ".llmc.bak")
    for _ in range(TRIES):
        found = read(target)
        old = read(backup).text if backup.is_file() and not backup.is_symlink() else None
        after = applied(path, edit, found.text, old)
        if after == found.text or not write:
            return EditOutcome(path, found.text, after)
        kept = save(backup, found, edit, old) if found.text is not None and after not in (old, None) else None
        if replace(target, after, found):
            if after == old:
                backup.unlink(missing_ok=True)  # the file is what it was
            return EditOutcome(path, found.text, after, kept)
    raise ConfigError(f"cannot edit {path}", reason="another program keeps writing it", hint="Close it and try again.")


def applied(path: Path, edit: Edit, text: str | None, old: str | None) -> str | None:
    try:
        return edit.apply(text, old)
    except BrokenError as error:
        hint = "It was left as it is. Mend it by hand, or use --print and paste the entry."
        raise ConfigError(f"cannot edit {path}", reason=str(error), hint=hint) from None


def save(backup: Path, found: ConfigFile, edit: Edit, old: str | None) -> Path:
    """The copy from before llmc is the one worth having: an entry that is written anew does not replace it."""
    if old is None or found.text is None or not edit.holds(found.text):
        replace(backup, found.text, ConfigFile(None, found.bom, read(backup).stamp, found.mode))
    return backup


def real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise ConfigError(f"cannot use {path}", reason="its links lead in a circle") from error


def read(path: Path) -> ConfigFile:
    try:
        with contextlib.ExitStack() as stack:
            # A FIFO would keep a plain open waiting for its writer.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                raise ConfigError(f"cannot edit {path}", reason="it is not a plain file of a sensible size")
            data = b"".join(iter(lambda: os.read(descriptor, 1 << 20), b""))
        text = data.decode("utf-8")
        bom = BOM if text.startswith(BOM) else ""
        return ConfigFile(text.removeprefix(BOM), bom, stamp_of(status), stat.S_IMODE(status.st_mode))
    except FileNotFoundError:
        return ConfigFile(None)
    except UnicodeDecodeError:
        raise ConfigError(f"cannot edit {path}", reason="it is not UTF-8 text") from None
    except OSError as error:
        raise ConfigError(f"cannot read {path}", reason=error.strerror or str(error)) from None


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def replace(path: Path, text: str | None, found: ConfigFile) -> bool:
    """Put a whole new file in place of the one that was read; False when that changed meanwhile."""
    try:
        if text is not None:
            return replace_whole(path, (found.bom + text).encode("utf-8"), found)
        if now(path) != found.stamp:
            return False
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot write {path}", reason=error.strerror or str(error)) from None
    return True


def replace_whole(path: Path, data: bytes, found: ConfigFile) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(descriptor, found.mode or 0o666 & ~mask())
            file.flush()
            os.fsync(descriptor)
        if now(path) != found.stamp:
            return False
        os.replace(name, path)  # noqa: PTH105 - a name, as mkstemp gave it
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)  # noqa: PTH108 - likewise
    return True


def now(path: Path) -> tuple[int, ...]:
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116 - as in `read`
    except FileNotFoundError:
        return ()


def mask() -> int:
    """The process's umask, which can only be read by setting it."""
    value = os.umask(0o077)
    os.umask(value)
    return value
