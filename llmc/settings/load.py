"""Defaults < user file < workspace file < environment < flags: one `Settings`, and where each value came from.

A workspace file may have come with a clone. It shapes what is indexed below it and how replies look, and no more: roots
only inside its own folder, and no programs, endpoints or secrets, unless the user's own file trusts that folder.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.base.home import find_home
from llmc.settings.check import CheckedValue, Key, TableCheck, dotted
from llmc.settings.convert import ValueContext, absolute
from llmc.settings.cross_checks import disagreements, doubts
from llmc.settings.documents import read_document
from llmc.settings.locations import FILE_NAMES, config_folder, find_file, workspace_file
from llmc.settings.overrides import CONFIG_VARIABLE, read_environment, read_flags
from llmc.settings.problems import SettingSource, SettingsProblem, as_error, shown
from llmc.settings.record import FrozenRecord, record
from llmc.settings.roots import check_inside, is_trusted, named, settle_roots
from llmc.settings.rows import ValueKind, rows_of
from llmc.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.base.errors import RootError
    from llmc.settings.entries import RootEntry

__all__ = ["Loaded", "examine", "load"]

Values = dict[Key, CheckedValue]

_DEFAULTS = Settings()
_NOTHING = CheckedValue((), SettingSource("default"), personal=False)
_NOT_TAKEN = "is not taken from a workspace file"


@record
class Loaded(FrozenRecord):
    """The settings, the source of every key that is not at its default, and what was passed by with a word."""

    settings: Settings
    sources: Mapping[str, SettingSource]
    files: tuple[Path, ...] = ()
    notices: tuple[SettingsProblem, ...] = ()
    problems: tuple[SettingsProblem, ...] = ()
    no_root: RootError | None = None

    def roots(self) -> tuple[RootEntry, ...]:
        """The roots, or the RootError that says why there is none. Commands that need no root never ask."""
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
    """As `load`, but problems are handed back; the settings then hold what was right."""
    folder = Path(os.path.realpath(cwd))
    ground = ValueContext(folder, env)
    user = _read_file(find_file(config_folder(env)), "user", ground)
    near = _workspace(ground, config_file)
    from_files = {**user.values, **near.values}
    variables, notices = read_environment(ground, [key for key, value in from_files.items() if value.value is None])
    above = (variables, read_flags(flags, ground))
    if near.source.layer == "workspace":
        notices += _confine(near, _merged((user, *above)), config_folder(env) / "llmc.toml")
    sheets = (user, near, *above)
    notices += [notice for sheet in sheets for notice in _unread(sheet)]
    problems = [problem for sheet in sheets for problem in sorted(sheet.problems, key=lambda each: each.source.line)]
    return _assemble(_merged(sheets), ground, tuple(_files(sheets)), notices, problems)


def _workspace(ground: ValueContext, config_file: str | Path | None) -> TableCheck:
    named = config_file or ground.env.get(CONFIG_VARIABLE)
    if named:
        return _read_file(absolute(str(named), ground), "file", ground)
    return _read_file(workspace_file(ground.folder), "workspace", ground)


def _read_file(path: Path | None, layer: str, ground: ValueContext) -> TableCheck:
    if path is None:
        return TableCheck(SettingSource(layer), ground)
    found = read_document(path, layer, follow=layer != "workspace")
    # The folder as it is, not where a link of the user's leads: dotfiles are often links.
    sheet = TableCheck(SettingSource(layer, str(path)), ValueContext(path.parent, ground.env))
    if isinstance(found, SettingsProblem):
        sheet.problems.append(found)
        return sheet
    table, sheet.places = found
    sheet.take(table)
    return sheet


def _confine(sheet: TableCheck, others: Values, user_file: Path) -> list[SettingsProblem]:
    """Take out of a workspace file what a stranger must not set, and say so."""
    folder = sheet.ground.folder
    given: Any = others.get(("trust",), _NOTHING).value
    trusted = is_trusted(folder, given)
    hint = f"put it into {user_file}, or there trust this folder: trust = ['{shown(folder, 400)}']"
    if not trusted and ("roots",) in sheet.values:
        check_inside(sheet, hint)
    foreign = {key for key, value in sheet.values.items() if not trusted and _is_foreign(key, value, others)}
    wrong = foreign | ({("trust",)} & sheet.values.keys())
    taken = {key: sheet.values.pop(key) for key in sorted(wrong, key=dotted)}
    # An entry is named once, not by its parts.
    whole = {key: each for key, each in taken.items() if not any(key[:end] in wrong for end in range(1, len(key)))}
    return [SettingsProblem(each.source, dotted(key), _NOT_TAKEN, hint) for key, each in whole.items()]


def _is_foreign(key: Key, value: CheckedValue, others: Values) -> bool:
    """What only the user may set, and any part of an entry that the user has made."""
    made = (key[:end] for end in range(1, len(key) + 1))
    return value.personal or any(part in others and others[part].value is None for part in made)


def _unread(sheet: TableCheck) -> list[SettingsProblem]:
    """Two settings files in one folder: the TOML is read, and nobody should wonder about the other."""
    path = Path(sheet.source.name or os.devnull)
    if sheet.source.layer == "file" or path.name != FILE_NAMES[0] or not os.path.lexists(path.with_name(FILE_NAMES[1])):
        return []
    return [
        SettingsProblem(
            SettingSource(sheet.source.layer, str(path.with_name(FILE_NAMES[1]))), "", f"is not read beside {path.name}"
        )
    ]


def _merged(sheets: Sequence[TableCheck]) -> Values:
    merged: Values = {}
    for sheet in sheets:
        for key, value in sheet.values.items():
            # An entry that a higher layer only touches keeps the place where it was made.
            if value.value is not None or key not in merged:
                merged[key] = value
    return merged


def _assemble(
    values: Values,
    ground: ValueContext,
    files: tuple[Path, ...],
    notices: list[SettingsProblem],
    problems: list[SettingsProblem],
) -> Loaded:
    given: Any = values.get(("roots",), _NOTHING)
    roots, no_root = settle_roots(given.value, ground)
    problems += named(roots, given.source)
    home = Path(find_home(ground.env).path)
    settings = replace(_DEFAULTS, home=home, roots=roots)
    if values:
        settings = _built(Settings, values, (), problems, home=home, roots=roots)
    for key, reason, hint in disagreements(settings):
        if not any(problem.key.startswith(dotted(key)) for problem in problems):
            problems.append(SettingsProblem(_place(values, key), dotted(key), reason, hint))
    notices += [
        SettingsProblem(_place(values, key), dotted(key), reason, hint) for key, reason, hint in doubts(settings)
    ]
    sources = {dotted(key): each.source for key, each in values.items() if each.value is not None}
    if ground.env.get("LLMC_HOME"):
        sources["home"] = SettingSource("environment", "LLMC_HOME")
    return Loaded(settings, sources, files, tuple(notices), tuple(problems), no_root)


def _place(values: Values, key: Key) -> SettingSource:
    around = (values[key[:end]].source for end in range(len(key), 0, -1) if key[:end] in values)
    return next(around, SettingSource("default"))


def _files(sheets: Sequence[TableCheck]) -> list[Path]:
    return [Path(sheet.source.name) for sheet in sheets if sheet.source.name]


def _built(cls: type, values: Values, key: Key, problems: list[SettingsProblem], **fixed: Any) -> Any:
    made: dict[str, Any] = dict(fixed)
    for row in rows_of(cls).values():
        here: Key = tuple(row.at.split(".")) if row.at else (*key, row.name)
        if row.name in fixed:
            continue
        if row.kind is ValueKind.SECTION:
            assert row.of is not None
            made[row.name] = _built(row.of, values, here, problems)
        elif row.kind is ValueKind.ENTRIES:
            assert row.of is not None
            made[row.name] = _built_entries(row.of, values, here, problems)
        elif here in values:
            made[row.name] = values[here].value
    return cls(**made)


def _built_entries(cls: type, values: Values, key: Key, problems: list[SettingsProblem]) -> dict[str, Any]:
    names = [here for here, value in values.items() if here[:-1] == key and value.value is None]
    for name in names:
        entry = TableCheck(values[name].source, ValueContext(Path(), {}), problems=problems)
        entry.require(cls, {str(here[-1]) for here in values if here[:-1] == name}, name)
    return {str(name[-1]): _built(cls, values, name, problems) for name in names}
