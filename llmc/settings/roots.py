"""Which folders may be read? The allowlist as the settings have it; without one, the work tree of the current folder.

Whether a folder is there and can be read is found out by who opens it: one bad root must not stop the others.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from llmc.base.errors import RootError
from llmc.settings.entries import RootEntry
from llmc.settings.locations import below, user_folder, work_tree
from llmc.settings.problems import SettingSource, SettingsProblem, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.settings.check import TableCheck
    from llmc.settings.convert import ValueContext

__all__ = ["check_inside", "implied_root", "is_trusted", "named", "settle_roots"]


def settle_roots(given: Sequence[RootEntry], ground: ValueContext) -> tuple[tuple[RootEntry, ...], RootError | None]:
    """The named roots, each once and with a name of its own; without any the implied one, or why there is none."""
    if not given:
        implied = implied_root(ground.folder, ground.env)
        return ((), implied) if isinstance(implied, RootError) else (_with_names([RootEntry(implied)]), None)
    distinct = {entry.path: entry for entry in given}
    return _with_names(list(distinct.values())), None


def named(roots: Sequence[RootEntry], source: SettingSource) -> list[SettingsProblem]:
    """Two roots under one name could not be told apart in a reply."""
    names = [root.name for root in roots]
    twice = sorted({name for name in names if names.count(name) > 1})
    return [SettingsProblem(source, "roots", f'two roots are named "{shown(name)}"', "rename one") for name in twice]


def check_inside(sheet: TableCheck, hint: str) -> None:
    """Problems for the roots that a workspace file names outside its own folder; says nothing of what is there."""
    value = sheet.values[("roots",)].value
    assert isinstance(value, tuple)
    folder = Path(os.path.realpath(sheet.ground.folder))
    for place, entry in enumerate(value):
        if not below(entry.path, folder):
            sheet.blame(("roots", place), "a workspace file may only name roots inside its own folder", hint)


def is_trusted(folder: Path, trust: Sequence[str]) -> bool:
    if not trust:
        return False
    real = os.path.realpath(folder)
    return any(real == each or (each.endswith("/*") and real.startswith(each[:-1])) for each in trust)


# Folders of the system, by themselves: a work tree below one of them is a project like any other.
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


def implied_root(folder: Path, env: Mapping[str, str]) -> Path | RootError:
    """The git work tree around the folder, unless it is a folder that holds far more than a project."""
    if not folder.is_dir():
        return RootError("no root", reason=f"{folder} is not a folder", path=str(folder))
    tree = work_tree(folder)
    reason = too_wide(tree or folder, env)
    if tree is None or reason:
        reason = reason or f"{folder} is not in a git work tree"
        return RootError("no root", reason=reason, hint=_HINT, path=str(folder))
    return tree


def too_wide(tree: Path, env: Mapping[str, str]) -> str:
    """Why a work tree is not taken unasked; empty if it is."""
    home = Path(os.path.realpath(user_folder(env)))
    if tree == home:
        return f"{tree} is your home folder"
    if str(tree) in _SYSTEM:
        return f"{tree} is a system directory"
    if below(home, tree):
        return f"{tree} holds your home folder"
    temporary = {os.path.realpath(each) for each in (*_TEMPORARY, env.get("TMPDIR") or _TEMPORARY[0])}
    return f"{tree} is the temporary directory" if str(tree) in temporary else ""


def _with_names(roots: list[RootEntry]) -> tuple[RootEntry, ...]:
    taken = {root.name for root in roots if root.name}
    made: list[RootEntry] = []
    for root in roots:
        name = root.name or _free(root.path.name or "root", taken)
        taken.add(name)
        made.append(replace(root, name=name))
    return tuple(made)


def _free(name: str, taken: set[str]) -> str:
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(each for each in numbered if each not in taken)
