"""Atomic edits of a user's configuration file, with a backup next to it.

Links are followed, so a file in a dotfiles repository is changed there and stays linked. If another program writes the
file at the same time, it is read again. A file that is not text is refused. Removing restores the backup byte for byte
if nothing else has changed since, deletes a file that installing created, and deletes the backup.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.errors import ConfigError
from llmc.install.jsonc import BrokenError

if TYPE_CHECKING:
    from pathlib import Path

    from llmc.install.edits import Edit

__all__ = ["EditOutcome", "change"]

BOM = "\ufeff"
TRIES = 5
MAX_BYTES = 64 << 20
PRIVATE, WRITABLE = 0o600, 0o222
EMPTY_CONTAINER = re.compile(r'"[^"]*":(?:\{\}|\[\]|null),?')


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


def change(path: Path, edit: Edit, *, write: bool = True, private: bool = False) -> EditOutcome:
    """Apply an edit; the previous file is kept as a backup. A new `private` file is readable by its owner only."""
    target, backup = resolve(path), path.with_name(path.name + ".llmc.bak")
    for _ in range(TRIES):
        current = read(target)
        old = read(backup).text if backup.is_file() and not backup.is_symlink() else None
        after = apply_edit(path, edit, current.text, old)
        if after == current.text or not write:
            return EditOutcome(path, current.text, after)
        if current.text is not None and not current.mode & WRITABLE:
            hint = f"Make it writable first: chmod u+w {path}"
            raise ConfigError(f"cannot edit {path}", reason="it is read-only", hint=hint)
        saved = None if edit.removes or current.text is None else save(backup, current, edit, old)
        if private and current.text is None:
            current = replace_mode(current, PRIVATE)
        if replace(target, after, current):
            if edit.removes:
                backup.unlink(missing_ok=True)
            if after is None:
                remove_empty_folders(target)
            return EditOutcome(path, current.text, after, saved)
    hint = "Close the program that uses the file and try again."
    raise ConfigError(f"cannot edit {path}", reason="another program keeps writing it", hint=hint)


def apply_edit(path: Path, edit: Edit, text: str | None, old: str | None) -> str | None:
    try:
        after = edit.apply(text)
    except BrokenError as error:
        hint = "The file was not changed. Fix it by hand, or paste the entry that --print shows."
        raise ConfigError(f"cannot edit {path}", reason=str(error), hint=hint) from None
    if not edit.removes or after is None or after == text:
        return after
    if old is not None and edit.holds(old):  # made when an earlier entry was replaced
        old = edit.apply(old)
        old = old if essence(old or "") else None
    if old is None:
        return after if essence(after) else None
    return old if essence(after) == essence(old) else after


def essence(text: str) -> str:
    """The text without blanks and empty containers, which adding an entry and removing it again may leave behind."""
    text = "".join(text.split())
    while (shorter := EMPTY_CONTAINER.sub("", text)) != text:
        text = shorter
    return text.replace(",}", "}").replace(",]", "]").removesuffix("{}")


def remove_empty_folders(path: Path) -> None:
    """The file's folder and the one above, if nothing is left in them: `policies/`, `skills/llmc/`."""
    with contextlib.suppress(OSError):
        path.parent.rmdir()
        path.parent.parent.rmdir()


def replace_mode(file: ConfigFile, mode: int) -> ConfigFile:
    return ConfigFile(file.text, file.bom, file.stamp, mode)


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
