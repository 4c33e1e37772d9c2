"""Finds the user's folders and settings file, the workspace file, the git work tree and the implied root.

It checks only whether files exist and reads none. The environment is an argument, so that tests and embedding programs
can pass another one. `llmc install` uses this module without pydantic.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import TYPE_CHECKING, Final

from llmc.base.errors import RootError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "FILE_NAMES",
    "below",
    "config_folder",
    "find_file",
    "implied_root",
    "user_folder",
    "work_tree",
    "workspace_file",
]

FILE_NAMES = ("llmc.toml", "llmc.json")

# System folders. Only these folders themselves are excluded; a work tree below one of them is a normal project.
_SYSTEM: Final = frozenset(
    {
        *("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/proc", "/run"),
        *("/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/include", "/usr/lib", "/usr/local", "/usr/share"),
        *("/usr/src", "/var", "/var/cache", "/var/lib", "/var/log", "/Applications", "/Library", "/System", "/Users"),
        *("/Volumes", "/private", "/private/etc", "/private/var"),
    }
)
_TEMPORARY: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - named to be refused
_HINT: Final = "Go into a git work tree, or name a root: --root PATH, or roots = [...] in your own llmc.toml."


def user_folder(env: Mapping[str, str]) -> Path:
    """The home folder; in a container the process may have a user id without a user."""
    try:
        return Path(env.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path("/")


def config_folder(env: Mapping[str, str]) -> Path:
    """The folder of the user's settings file. The XDG specification requires relative values to be ignored."""
    named = Path(env.get("XDG_CONFIG_HOME", ""))
    return (named if named.is_absolute() else user_folder(env) / ".config") / "llmc"


def find_file(folder: Path) -> Path | None:
    return next((folder / name for name in FILE_NAMES if os.path.lexists(f"{folder}/{name}")), None)


def work_tree(folder: Path) -> Path | None:
    """The nearest folder upwards with a `.git`, which is a file in a linked work tree or a submodule."""
    return next((each for each in _upwards(folder) if os.path.lexists(f"{each}/.git")), None)


def workspace_file(folder: Path) -> Path | None:
    """The nearest settings file from here up to the top of the work tree; without a work tree only here.

    Further up, anybody with write access to a shared folder such as /tmp could change the settings of all users.
    """
    top = work_tree(folder) or folder
    return next((found for each in _upwards(folder, top) if (found := find_file(each))), None)


def below(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def implied_root(folder: Path, env: Mapping[str, str]) -> Path | RootError:
    """The git work tree around the folder, unless it contains far more than a project."""
    if not folder.is_dir():
        return RootError("no root", reason=f"{folder} is not a folder", path=str(folder))
    tree = work_tree(folder)
    reason = too_wide(tree or folder, env)
    if tree is None or reason:
        reason = reason or f"{folder} is not in a git work tree"
        return RootError("no root", reason=reason, hint=_HINT, path=str(folder))
    return tree


def too_wide(tree: Path, env: Mapping[str, str]) -> str:
    """Why a work tree cannot be the implied root; empty if it can."""
    home = Path(os.path.realpath(user_folder(env)))
    if tree == home:
        return f"{tree} is your home folder"
    if str(tree) in _SYSTEM:
        return f"{tree} is a system directory"
    if below(home, tree):
        return f"{tree} contains your home folder"
    temporary = {os.path.realpath(each) for each in (*_TEMPORARY, env.get("TMPDIR") or _TEMPORARY[0])}
    return f"{tree} is the temporary directory" if str(tree) in temporary else ""


def _upwards(folder: Path, top: Path | None = None) -> Iterator[Path]:
    for each in (folder, *folder.parents):
        yield each
        if each == top:
            return
