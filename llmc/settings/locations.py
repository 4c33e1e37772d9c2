"""Where things stand: the user's folders, the user's file, the workspace file, the git work tree.

Only names are looked at here; nothing is read. The environment comes in as an argument, so that a test or an embedding
program can have another one.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "FILE_NAMES",
    "below",
    "config_folder",
    "find_file",
    "user_folder",
    "work_tree",
    "workspace_file",
]

FILE_NAMES = ("llmc.toml", "llmc.json")


def user_folder(env: Mapping[str, str]) -> Path:
    """The home folder; a container may have given us a number that no user has."""
    try:
        return Path(env.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path("/")


def config_folder(env: Mapping[str, str]) -> Path:
    """Where the user's file is looked for. The XDG specification has relative values ignored."""
    named = Path(env.get("XDG_CONFIG_HOME", ""))
    return (named if named.is_absolute() else user_folder(env) / ".config") / "llmc"


def find_file(folder: Path) -> Path | None:
    return next((folder / name for name in FILE_NAMES if os.path.lexists(f"{folder}/{name}")), None)


def work_tree(folder: Path) -> Path | None:
    """The nearest folder above that holds `.git`, whatever that is: a file in a linked work tree or a submodule."""
    return next((each for each in _upwards(folder) if os.path.lexists(f"{each}/.git")), None)


def workspace_file(folder: Path) -> Path | None:
    """The nearest settings file from here up to the top of the work tree; without a work tree only here.

    Going further up would let anybody who can write to a shared folder such as /tmp set things for everyone below it.
    """
    top = work_tree(folder) or folder
    return next((found for each in _upwards(folder, top) if (found := find_file(each))), None)


def below(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _upwards(folder: Path, top: Path | None = None) -> Iterator[Path]:
    for each in (folder, *folder.parents):
        yield each
        if each == top:
            return
