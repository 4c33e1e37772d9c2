"""Which folders may be read? The allowlist as the settings have it; without one, the work tree of the current folder.

Whether a folder exists and can be read is checked when it is opened: one bad root must not stop the others.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from llmc.base.errors import RootError
from llmc.settings.entries import RootEntry
from llmc.settings.locations import below, implied_root
from llmc.settings.problems import SettingSource, SettingsProblem, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.settings.layer import SettingsLayer
    from llmc.settings.types import ValueContext

__all__ = ["check_inside", "is_trusted", "named", "settle_roots"]


def settle_roots(given: Sequence[RootEntry], context: ValueContext) -> tuple[tuple[RootEntry, ...], RootError | None]:
    """The named roots, each once and with a name of its own; without any the implied one, or why there is none."""
    if not given:
        implied = implied_root(context.folder, context.env)
        return ((), implied) if isinstance(implied, RootError) else (_with_names([RootEntry(path=implied)]), None)
    distinct = {entry.path: entry for entry in given}
    return _with_names(list(distinct.values())), None


def named(roots: Sequence[RootEntry], source: SettingSource) -> list[SettingsProblem]:
    """Two roots under one name could not be told apart in a reply."""
    names = [root.name for root in roots]
    twice = sorted({name for name in names if names.count(name) > 1})
    return [SettingsProblem(source, "roots", f'two roots are named "{shown(name)}"', "rename one") for name in twice]


def check_inside(layer: SettingsLayer, hint: str) -> None:
    """Problems for the roots that a workspace file names outside its own folder; says nothing of what is there."""
    value = layer.values[("roots",)].value
    assert isinstance(value, tuple)
    folder = Path(os.path.realpath(layer.context.folder))
    for place, entry in enumerate(value):
        if not below(entry.path, folder):
            layer.report(("roots", place), "a workspace file may only name roots inside its own folder", hint)


def is_trusted(folder: Path, trust: Sequence[str]) -> bool:
    if not trust:
        return False
    real = os.path.realpath(folder)
    return any(real == each or (each.endswith("/*") and real.startswith(each[:-1])) for each in trust)


def _with_names(roots: list[RootEntry]) -> tuple[RootEntry, ...]:
    taken = {root.name for root in roots if root.name}
    made: list[RootEntry] = []
    for root in roots:
        name = root.name or _free(root.path.name or "root", taken)
        taken.add(name)
        made.append(root.model_copy(update={"name": name}))
    return tuple(made)


def _free(name: str, taken: set[str]) -> str:
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(each for each in numbered if each not in taken)
