"""Atomic edits of a user's configuration file, with a backup next to it.

Links are followed, so a file in a dotfiles repository is changed there and stays linked. If another program writes the
file at the same time, it is read again. A file that is not text is refused.
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
MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Edit:
    """`apply` maps the current text and the backup's text (None: no file) to the new text.

    `holds` returns whether a text contains anything that llmc added.
    """

    apply: Callable[[str | None, str | None], str | None]
    holds: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """`after` is None for a file that was removed or never existed."""

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
    """Apply an edit; the previous file is kept as a backup."""
    target, backup = resolve(path), path.with_name(path.name + ".llmc.bak")
    for _ in range(TRIES):
        current = read(target)
        old = read(backup).text if backup.is_file() and not backup.is_symlink() else None
        after = apply_edit(path, edit, current.text, old)
        if after == current.text or not write:
            return EditOutcome(path, current.text, after)
        saved = save(backup, current, edit, old) if current.text is not None and after not in (old, None) else None
        if replace(target, after, current):
            if after == old:
                backup.unlink(missing_ok=True)  # the original file is restored
            return EditOutcome(path, current.text, after, saved)
    hint = "Close the program that uses the file and try again."
    raise ConfigError(f"cannot edit {path}", reason="another program keeps writing it", hint=hint)


def apply_edit(path: Path, edit: Edit, text: str | None, old: str | None) -> str | None:
    try:
        return edit.apply(text, old)
    except BrokenError as error:
        hint = "The file was not changed. Fix it by hand, or paste the entry that --print shows."
        raise ConfigError(f"cannot edit {path}", reason=str(error), hint=hint) from None


def save(backup: Path, current: ConfigFile, edit: Edit, old: str | None) -> Path:
    """Write the backup. A backup from before llmc was installed is kept when the entry is only updated."""
    if old is None or current.text is None or not edit.holds(current.text):
        replace(backup, current.text, ConfigFile(None, current.bom, read(backup).stamp, current.mode))
    return backup


def resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise ConfigError(f"cannot use {path}", reason="its symbolic links form a loop") from error


def read(path: Path) -> ConfigFile:
    try:
        with contextlib.ExitStack() as stack:
            # Opening a FIFO without O_NONBLOCK would wait for a writer.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                raise ConfigError(
                    f"cannot edit {path}", reason=f"it is not a regular file of at most {MAX_BYTES >> 20} MiB"
                )
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


def replace(path: Path, text: str | None, previous: ConfigFile) -> bool:
    """Replace the file that was read; False if it has changed meanwhile."""
    try:
        if text is not None:
            return write_atomically(path, (previous.bom + text).encode("utf-8"), previous)
        if current_stamp(path) != previous.stamp:
            return False
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot write {path}", reason=error.strerror or str(error)) from None
    return True


def write_atomically(path: Path, data: bytes, previous: ConfigFile) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(descriptor, previous.mode or 0o666 & ~umask())
            file.flush()
            os.fsync(descriptor)
        if current_stamp(path) != previous.stamp:
            return False
        os.replace(name, path)  # noqa: PTH105 - mkstemp returns a string
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)  # noqa: PTH108 - mkstemp returns a string
    return True


def current_stamp(path: Path) -> tuple[int, ...]:
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116 - as in `read`
    except FileNotFoundError:
        return ()


def umask() -> int:
    """The process's umask, which can only be read by setting it."""
    value = os.umask(0o077)
    os.umask(value)
    return value
