"""A settings file from disk: opened with care, since a workspace file may have been written by a stranger.

TOML by default, JSON for `*.json`. What is wrong with the file as a whole comes back as a `SettingsProblem`; what is
wrong with its content is found by `layer`.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import TYPE_CHECKING, Any

from llmc.settings.line_numbers import locate
from llmc.settings.problems import SettingSource, SettingsProblem, shown

if TYPE_CHECKING:
    from pathlib import Path

    from llmc.settings.layer import Key

__all__ = ["read_document"]

MAX_BYTES = 1 << 20  # a settings file is some kilobytes; a larger one is something else under that name


def read_document(
    path: Path, layer: str, *, follow: bool
) -> tuple[dict[str, Any], dict[Key, SettingSource]] | SettingsProblem:
    """The table and the position of each key. `follow=False` refuses a link: it could lead to any file of the user."""
    source = SettingSource(layer, str(path))
    try:
        text = _read(path, follow=follow).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return SettingsProblem(source, "", f"is not UTF-8 (byte {error.start})", "save it as UTF-8")
    except OSError as error:
        hint = "name it with --config to use it as it is" if error.errno == errno.ELOOP else ""
        return SettingsProblem(source, "", _why(error), hint)
    is_json = path.suffix == ".json"
    try:
        table = _parse_json(text) if is_json else _parse_toml(text)
        lines = locate(text, is_json=is_json)
        return table, {key: SettingSource(layer, str(path), line) for key, line in lines.items()}
    except RecursionError:
        return SettingsProblem(source, "", "is nested too deeply")
    except ValueError as error:
        line = re.search(r"line (\d+)", str(error))
        reason = re.sub(r"\s*[(:]?\s*(at )?line \d+,? column \d+.*", "", shown(str(error), 200))
        return SettingsProblem(
            SettingSource(layer, str(path), int(line[1]) if line else 0), "", f"cannot be read: {reason}"
        )


def _read(path: Path, *, follow: bool) -> bytes:
    # O_NONBLOCK: a FIFO under this name must not make us wait for its writer.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        if found.st_size > MAX_BYTES:
            raise OSError(errno.EFBIG, f"is larger than {MAX_BYTES:,} bytes")
        return b"".join(iter(lambda: os.read(descriptor, MAX_BYTES), b""))
    finally:
        os.close(descriptor)


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "is a link, and a workspace file may not be one"
    if error.errno in (errno.EINVAL, errno.EFBIG):
        return str(error.strerror)
    return f"cannot be opened: {os.strerror(error.errno or 0)}"


def _parse_toml(text: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - most runs have no settings file

    return tomllib.loads(text)


def _parse_json(text: str) -> dict[str, Any]:
    import json  # noqa: PLC0415 - as above

    table = json.loads(text, object_pairs_hook=_distinct)
    if not isinstance(table, dict):
        raise ValueError("the top must be a table")  # noqa: TRY004 - caught as what is wrong with the file
    return table


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'"{twice}" is given twice')
    return table
