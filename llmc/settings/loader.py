"""Defaults < user file < workspace file < environment < flags: one `Settings`, and where each value came from.

A workspace file may have come with a clone. It shapes what is indexed below it and how replies look, and no more: roots
only inside its own folder, and no programs, endpoints or secrets, unless the user's own file trusts that folder.

One invalid persona, delegate or server is left out with a notice; any other mistake is an error, because acting on the
default of a misspelled setting could index or send what the user excluded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.settings.assemble import Values, assemble
from llmc.settings.documents import read_document
from llmc.settings.layer import Key, SettingsLayer, Value, dotted
from llmc.settings.locations import FILE_NAMES, config_folder, find_file, workspace_file
from llmc.settings.overrides import CONFIG_VARIABLE, read_environment, read_flags
from llmc.settings.problems import SettingSource, SettingsProblem, as_error, shown
from llmc.settings.roots import check_inside, is_trusted
from llmc.settings.types import ValueContext, absolute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.base.errors import RootError
    from llmc.settings.entries import RootEntry
    from llmc.settings.sections import Settings

__all__ = ["Loaded", "examine", "load"]

_NOTHING = Value((), SettingSource("default"), user_only=False)
_NOT_TAKEN = "is not taken from a workspace file"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, the source of every key that is not at its default, and notices about what is ignored. `resolved`
    has where each path in the settings led."""

    settings: Settings
    sources: Mapping[str, SettingSource]
    files: tuple[Path, ...] = ()
    notices: tuple[SettingsProblem, ...] = ()
    problems: tuple[SettingsProblem, ...] = ()
    no_root: RootError | None = None
    resolved: Mapping[str, str] = field(default_factory=dict)

    @property
    def skipped(self) -> tuple[SettingsProblem, ...]:
        """Why personas, delegates and servers were left out; these are among the notices too."""
        return tuple(notice for notice in self.notices if notice.entry)

    def roots(self) -> tuple[RootEntry, ...]:
        """The roots, or the RootError that says why there is none. Commands that need no root do not call this."""
        if self.no_root is not None:
            raise self.no_root
        return self.settings.roots


def load(
    cwd: str | Path, env: Mapping[str, str], flags: Sequence[str] = (), config_file: str | Path | None = None
) -> Loaded:
    """The settings for a folder; ConfigError with every problem of every layer if there is any."""
    loaded = examine(cwd, env, flags, config_file)
    if loaded.problems:
        raise as_error(loaded.problems)
    return loaded


def examine(
    cwd: str | Path, env: Mapping[str, str], flags: Sequence[str] = (), config_file: str | Path | None = None
) -> Loaded:
    """Like `load`, but problems are returned; the settings then hold everything that was valid."""
    folder = Path(os.path.realpath(cwd))
    context = ValueContext(folder, env)
    user = _read_file(find_file(config_folder(env)), "user", context)
    near = _workspace(context, config_file)
    from_files = {**user.values, **near.values}
    variables, notices = read_environment(context, [key for key, value in from_files.items() if value.value is None])
    above = (variables, read_flags(flags, context))
    if near.source.layer == "workspace":
        notices += _confine(near, _merged((user, *above)), config_folder(env) / "llmc.toml")
    layers = (user, near, *above)
    notices += [notice for layer in layers for notice in (*layer.notices, *_unread(layer))]
    found = [problem for layer in layers for problem in sorted(layer.problems, key=lambda each: each.source.line)]
    skipped = {entry for layer in layers for entry in layer.skipped}
    made = assemble(_merged(layers), context, skipped, found)
    return Loaded(
        made.settings,
        made.sources,
        tuple(_files(layers)),
        (*notices, *made.notices),
        tuple(each for each in made.problems if not each.entry),
        made.no_root,
        context.resolved,
    )


def _workspace(context: ValueContext, config_file: str | Path | None) -> SettingsLayer:
    named = config_file or context.env.get(CONFIG_VARIABLE)
    if named:
        return _read_file(absolute(str(named), context), "file", context)
    return _read_file(workspace_file(context.folder), "workspace", context)


def _read_file(path: Path | None, name: str, context: ValueContext) -> SettingsLayer:
    if path is None:
        return SettingsLayer(SettingSource(name), context)
    found = read_document(path, name, follow=name != "workspace")
    # The folder as it is, not where a link of the user's leads: dotfiles are often links.
    layer = SettingsLayer(SettingSource(name, str(path)), ValueContext(path.parent, context.env, context.resolved))
    if isinstance(found, SettingsProblem):
        layer.problems.append(found)
        return layer
    table, layer.places = found
    layer.read(table)
    return layer


def _confine(layer: SettingsLayer, others: Values, user_file: Path) -> list[SettingsProblem]:
    """Remove from a workspace file what only the user may set, with a notice."""
    folder = layer.context.folder
    given: Any = others.get(("trust",), _NOTHING).value
    trusted = is_trusted(folder, given)
    hint = f"put it into {user_file}, or there trust this folder: trust = ['{shown(folder, 400)}']"
    if not trusted and ("roots",) in layer.values:
        check_inside(layer, hint)
    foreign = {key for key, value in layer.values.items() if not trusted and _is_foreign(key, value, others)}
    wrong = foreign | ({("trust",)} & layer.values.keys())
    taken = {key: layer.values.pop(key) for key in sorted(wrong, key=dotted)}
    # An entry is reported once, not part by part.
    whole = {key: each for key, each in taken.items() if not any(key[:end] in wrong for end in range(1, len(key)))}
    return [SettingsProblem(each.source, dotted(key), _NOT_TAKEN, hint) for key, each in whole.items()]


def _is_foreign(key: Key, value: Value, others: Values) -> bool:
    """What only the user may set, and any part of an entry that the user defined."""
    made = (key[:end] for end in range(1, len(key) + 1))
    return value.user_only or any(part in others and others[part].value is None for part in made)


def _unread(layer: SettingsLayer) -> list[SettingsProblem]:
    """Of two settings files in one folder the TOML is read; mention the other."""
    path = Path(layer.source.name or os.devnull)
    if layer.source.layer == "file" or path.name != FILE_NAMES[0] or not os.path.lexists(path.with_name(FILE_NAMES[1])):
        return []
    return [
        SettingsProblem(
            SettingSource(layer.source.layer, str(path.with_name(FILE_NAMES[1]))), "", f"is not read beside {path.name}"
        )
    ]


def _merged(layers: Sequence[SettingsLayer]) -> Values:
    merged: Values = {}
    for layer in layers:
        for key, value in layer.values.items():
            # An entry that a higher layer only modifies keeps the place where it was defined.
            if value.value is not None or key not in merged:
                merged[key] = value
    return merged


def _files(layers: Sequence[SettingsLayer]) -> list[Path]:
    return [Path(layer.source.name) for layer in layers if layer.source.name]
